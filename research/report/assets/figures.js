"use strict";
// Drawings that report pages are made of: curves and bars with intervals (Chart.js), histograms
// (SVG), heat maps (canvas).

// Blue, white, red: -1, 0, 1.
const DIVERGING =
    [[33, 102, 172], [146, 197, 222], [250, 250, 250], [244, 165, 130], [178, 24, 43]];

function blend(stops, share) {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  return `rgb(${
      stops[i].map((c, k) => Math.round(c + (place - i) * (stops[i + 1][k] - c))).join(",")})`;
}
// The i-th colour of count, in an order that one sees.
const rampColor = (colors, i, count) => blend(colors.ramp, count > 1 ? i / (count - 1) : 0);
const seriesColor = (colors, i, count) =>
    (count <= colors.series.length ? colors.series[i] : rampColor(colors, i, count));
function withAlpha(color, alpha) {
  const hex = color.match(/^#(..)(..)(..)$/);
  const rgb = hex ? hex.slice(1).map((h) => parseInt(h, 16)) : color.match(/\d+/g).slice(0, 3);
  return `rgba(${rgb.join(",")},${alpha})`;
}

const MARKERS = ["circle", "triangle", "rect", "rectRot", "star", "crossRot"];

// ---- Chart.js

// The box of a Chart.js chart with a fresh canvas; what was drawn there before is taken down.
function freshCanvas(box, label, height) {
  const old = box.querySelector("canvas");
  if (old && Chart.getChart(old)) Chart.getChart(old).destroy();
  box.style.height = `${height}px`;
  const canvas = element("canvas", { role: "img", "aria-label": label });
  box.replaceChildren(canvas);
  return canvas;
}

// A chart, and its config for saveButtons().
function drawChart(box, label, height, config) {
  const canvas = freshCanvas(box, label, height);
  canvas.config = config;
  return new Chart(canvas, config);
}

// ---- what the pointer shows

// The points of lines with names, as {element, datasetIndex, index}, without edges of bands.
function namedPoints(chart) {
  return chart.getSortedVisibleDatasetMetas().flatMap(
      ({ index, data }) => (
          chart.data.datasets[index].quiet
              ? []
              : data.map((point, i) => ({ element: point, datasetIndex: index, index: i }))
                    .filter(
                        (p) => isNumber(p.element.x) && isNumber(p.element.y) && !p.element.skip)));
}
const nearest = (points, distance) =>
    points.reduce((best, p) => (!best || distance(p) < distance(best) ? p : best), null);

const MOST_SHOWN = 12;  // lines that the pointer shows the values of
if (typeof Chart !== "undefined") {
  // The nearest point.
  Chart.Interaction.modes.named = (chart, event) => {
    const found = nearest(
        namedPoints(chart), ({ element }) => Math.hypot(element.x - event.x, element.y - event.y));
    return found ? [found] : [];
  };
  // For each line the point that is nearest along the axis: values of all lines at one place.
  Chart.Interaction.modes.along = (chart, event) => {
    const lines = new Map();
    for (const point of namedPoints(chart))
      lines.set(point.datasetIndex, [...(lines.get(point.datasetIndex) || []), point]);
    const closest = [...lines.values()].map(
        (points) => nearest(points, ({ element }) => Math.abs(element.x - event.x)));
    const place = nearest(closest, ({ element }) => Math.abs(element.x - event.x));
    if (!place) return [];
    const beside = closest.filter(({ element }) => Math.abs(element.x - place.element.x) < 12);
    const height = ({ element }) => Math.abs(element.y - event.y);
    return beside.sort((a, b) => height(a) - height(b))
        .slice(0, MOST_SHOWN)
        .sort((a, b) => a.element.y - b.element.y);
  };
}

// Draws each point's interval as a whisker. A logarithmic axis has no zero: of an interval that
// reaches it, the upper end alone is shown, as a triangle that points down.
const whiskers = {
  id: "whiskers",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left - 6, chartArea.top - 1, chartArea.width + 12, chartArea.height + 2);
    ctx.clip();
    chart.data.datasets.forEach((dataset, index) => {
      if (!dataset.estimates || !chart.isDatasetVisible(index)) return;
      const points = chart.getDatasetMeta(index).data;
      dataset.estimates.forEach((e, i) => {
        const x = dataset.data[i] && isNumber(dataset.data[i].x)
            ? scales.x.getPixelForValue(dataset.data[i].x)
            : points[i].x;
        drawWhisker(ctx, scales.y, x, e, dataset.borderColor);
      });
    });
    ctx.restore();
  },
};

function drawWhisker(ctx, axis, x, e, color) {
  if (!hasInterval(e)) return;
  ctx.strokeStyle = ctx.fillStyle = color;
  if (axis.type === "logarithmic" && reachesZero(e)) {
    if (e.high > 0) drawTriangle(ctx, x, axis.getPixelForValue(e.high));
    return;
  }
  const [high, low] = [axis.getPixelForValue(e.high), axis.getPixelForValue(e.low)];
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [x0, y0, x1, y1] of [
           [x, low, x, high], [x - 3, high, x + 3, high], [x - 3, low, x + 3, low]]) {
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
  ctx.stroke();
}

const reachesZero = (e) => e.value !== null && (e.value <= 0 || (e.low !== null && e.low <= 0));

function drawTriangle(ctx, x, y) {
  ctx.beginPath();
  for (const [dx, dy] of [[-5, 0], [5, 0], [0, 8]]) ctx.lineTo(x + dx, y + dy);
  ctx.fill();
}

// The least and greatest of numbers, intervals counted in; null where there is none.
function extent(estimates, extra = []) {
  const all = estimates.flatMap((e) => [e.value, e.low, e.high]).concat(extra).filter(isNumber);
  return all.length ? [Math.min(...all), Math.max(...all)] : null;
}

// Whether a logarithmic axis shows these better: all values above zero but few, over more than a
// decade.
function wantsLog(estimates) {
  const all = estimates.filter((e) => e.value !== null);
  const values = all.filter((e) => !reachesZero(e)).map((e) => e.value);
  return values.length > 1 && values.length >= 0.7 * all.length &&
      Math.max(...values) / Math.min(...values) > 12;
}

// Ends of a linear axis that hold all of it with a little air. Chart.js would go on to the next
// round number, which wastes small panels; the ticks are round all the same.
function linearRange(range, withZero) {
  let [low, high] = range || [0, 1];
  if (withZero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const air = (high - low || Math.abs(high) || 1) * 0.07;
  return {
    min: withZero && low === 0 ? 0 : low - air,
    max: withZero && high === 0 ? 0 : high + air
  };
}
function roundTicks({ min, max }, most) {
  const step = niceStep((max - min) / most);
  const first = Math.ceil(min / step - 1e-9);
  const count = Math.floor(max / step + 1e-9) - first + 1;
  return Array.from(
      { length: count }, (_, i) => ({ value: Number(((first + i) * step).toPrecision(12)) }));
}
// Ends of a logarithmic axis; one interval that almost reaches zero must not squeeze all others.
function logRange(estimates) {
  const clear = estimates.filter((e) => e.value !== null && !reachesZero(e));
  const tops = estimates.filter((e) => e.value !== null && reachesZero(e))
                   .map((e) => e.high)
                   .filter((v) => v > 0);
  const values = [...clear.map((e) => e.value), ...tops];
  const least = Math.min(...values);
  const lows = clear.map((e) => e.low).filter((v) => v > 0);
  return {
    min: 0.7 * Math.max(Math.min(least, ...lows), least / 10),
    max: 1.3 * Math.max(...values, ...clear.map((e) => e.high || 0))
  };
}

// A logarithmic axis says that it is one.
function axisTitle(title, log) {
  const text = log ? `${title || ""} (log scale)`.trim() : title;
  return { display: Boolean(text), text };
}

function valueScale({ title, estimates, log, withZero, references, range, most = 7 }, colors) {
  const common = {
    title: {...axisTitle(title, log), color: colors.muted },
    grid: { color: colors.line, drawBorder: false }
  };
  if (log) {
    return {
      ...common,
      type: "logarithmic",
      ...logRange(estimates),
      ticks: {
        color: colors.muted,
        maxTicksLimit: 9,
        maxRotation: 0,
        autoSkip: true,
        callback: logTick
      }
    };
  }
  const shown = range || extent(estimates, (references || []).map((r) => r.value));
  const ends = linearRange(shown, withZero);
  return {
    ...common,
    type: "linear",
    ...ends,
    afterBuildTicks: (axis) => {
      axis.ticks = roundTicks(ends, most);
    },
    grid: {
      drawBorder: false,
      color: (c) => (c.tick && c.tick.value === 0 ? colors.muted : colors.line)
    },
    ticks: { color: colors.muted, autoSkip: false, maxRotation: 0, callback: axisNumber }
  };
}
// A tick's number as short as can be.
function axisNumber(v) {
  const size = Math.abs(v);
  if (size === 0 || (size >= 1e-4 && size < 1e5))
    return Number(v.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 8 });
  const exponent = Math.floor(Math.log10(size) + 1e-9);
  const mantissa = Number((v / 10 ** exponent).toPrecision(3));
  return `${mantissa === 1 ? "" : `${mantissa}·`}10${superscript(exponent)}`;
}
// Powers of ten are always named; 2 and 5 of a decade only where few decades are on the axis.
function logTick(value) {
  const decades = Math.log10(this.max / this.min);
  const exact = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  const mantissa = Math.round(exact);
  if (Math.abs(exact - mantissa) > 0.01) return "";  // an end of the axis that is no round number
  const named = decades > 2.5 || this.width < 160 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 3, 5, 7];
  if (!named.includes(mantissa)) return "";
  return mantissa === 1 && value < 5e-3 ? `10${superscript(Math.round(Math.log10(value)))}`
                                        : axisNumber(value);
}

// places: {value, label} of the ticks, where they are to lie. thin: labels that have no room are
// left out, not turned.
function placeScale({ title, places, thin }, colors) {
  const labels = new Map(places.map((p) => [p.value, p.label]));
  const values = places.map((p) => p.value);
  const air = Math.max(0.35, 0.04 * (Math.max(...values) - Math.min(...values)));
  return {
    type: "linear",
    min: Math.min(...values) - air,
    max: Math.max(...values) + air,
    title: { display: Boolean(title), text: title, color: colors.muted },
    grid: { color: colors.line, drawBorder: false },
    afterBuildTicks: (axis) => {
      axis.ticks = values.map((value) => ({ value }));
    },
    ticks: {
      color: colors.muted,
      autoSkip: false,
      maxRotation: thin ? 0 : 60,
      callback: function(
          value) { return !thin || fits(this, places, value) ? labels.get(value) ?? "" : ""; }
    },
  };
}
// Whether this place's label is clear of those after it, at about 7 pixels a letter; the last one
// always is.
function fits(axis, places, value) {
  const scale = (axis.chart.width - 50) / (axis.max - axis.min);
  let free = Infinity;
  for (const p of [...places].sort((a, b) => b.value - a.value)) {
    const half = 3.5 * p.label.length + 2;
    const has = p.value * scale + half <= free;
    if (p.value === value) return has;
    if (has) free = p.value * scale - half;
  }
  return false;
}

function baseOptions(colors, legend) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    devicePixelRatio: Math.max(2, devicePixelRatio),
    interaction: { mode: "named", intersect: false },
    plugins: {
      legend: {
        display: legend,
        position: "top",
        align: "start",
        labels: {
          color: colors.ink,
          usePointStyle: true,
          boxHeight: 7,
          filter: (item, data) => !data.datasets[item.datasetIndex].quiet
        }
      },
      tooltip: {
        filter: (item) => !item.dataset.quiet,
        callbacks: {
          title: (items) => (items.length ? items[0].raw?.name ?? items[0].label : ""),
          label: (item) => `${item.dataset.label}: ${
              formatEstimate(
                  (item.dataset.tips || item.dataset.estimates || [])[item.dataIndex] ??
                  item.parsed.y)}`,
        }
      },
    },
  };
}

function referenceLine(reference, first, last, colors) {
  return {
    type: "line",
    label: reference.label,
    quiet: !reference.label,
    borderColor: colors.muted,
    borderDash: [5, 4],
    borderWidth: 1.5,
    pointRadius: 0,
    pointStyle: "line",
    data: [{ x: first, y: reference.value }, { x: last, y: reference.value }]
  };
}

// Curves of estimates. series: {label, color, marker, line, points: [{x, estimate, name}]};
// x: {title, places}; y: {title, log, withZero, references: [{value, label}]}; band: intervals as
// bands instead of whiskers.
function estimateChart(
    box, { label, series, x, y, height = 300, legend = true, band = false }, colors) {
  const estimates = series.flatMap((s) => s.points.map((p) => p.estimate));
  const xScale = placeScale(x, colors);
  const datasets = series.flatMap((s) => (band ? bandDatasets(s) : [curveDataset(s, y.log)]));
  for (const r of y.references || [])
    datasets.push(referenceLine(r, xScale.min, xScale.max, colors));
  return drawChart(box, label, height, {
    type: "line",
    data: { datasets },
    plugins: [whiskers],
    options: {
      ...baseOptions(colors, legend),
      scales: { x: xScale, y: valueScale({...y, estimates }, colors) }
    },
  });
}

function curveDataset(s, log) {
  return {
    label: s.label,
    borderColor: s.color,
    backgroundColor: s.color,
    borderWidth: s.width || (s.small ? 1.6 : 1.8),
    pointRadius: s.small ? 2 : 4,
    pointStyle: s.marker || "circle",
    showLine: s.line !== false,
    spanGaps: true,
    clip: 8,
    estimates: s.points.map((p) => p.estimate),
    data: s.points.map(
        (p) => (
            { x: p.x, y: log && reachesZero(p.estimate) ? null : p.estimate.value, name: p.name })),
  };
}

// A curve and the area between its intervals' ends.
function bandDatasets(s) {
  const edge = (key, fill) => ({
    label: s.label,
    quiet: true,
    borderWidth: 0,
    pointRadius: 0,
    pointHoverRadius: 0,
    fill,
    backgroundColor: withAlpha(s.color, s.alpha ?? 0.22),
    spanGaps: true,
    data: s.points.map((p) => ({ x: p.x, y: p.estimate[key] })),
  });
  // A single point has no area between its ends: it keeps its whisker.
  const lone = s.points.filter((p) => p.estimate.value !== null).length === 1;
  const bare = s.flat || (s.points.length > 12 && !lone);
  const curve = {
    ...curveDataset(s, false),
    pointRadius: bare ? 0 : 2.5,
    borderDash: s.dash || (s.flat ? [5, 4] : []),
    pointStyle: s.flat ? "line" : "circle"
  };
  return [
    edge("low", "+1"), edge("high", false),
    {...curve, tips: curve.estimates, estimates: lone ? curve.estimates : null }
  ];
}

// Bars that are stacked, negative ones below zero, and a marker with its interval for their total.
function stackedBars(box, { label, names, parts, total, title, height = 320 }, colors) {
  const datasets = parts.map((part) => ({
                               label: part.label,
                               backgroundColor: part.color,
                               borderColor: colors.page,
                               borderWidth: 1,
                               order: 2,
                               maxBarThickness: 64,
                               tips: part.estimates,
                               data: part.estimates.map((e) => e.value),
                               stack: "parts",
                               pointStyle: "rect",
                             }));
  datasets.push({
    type: "line",
    label: total.label,
    showLine: false,
    order: 1,
    pointStyle: "rectRot",
    pointRadius: 5.5,
    borderWidth: 1.5,
    borderColor: colors.get("total"),
    backgroundColor: colors.page,
    estimates: total.estimates,
    stack: "total",
    data: total.estimates.map((e) => e.value),
  });
  const options = baseOptions(colors, true);
  options.interaction = { mode: "index", intersect: false };
  const sums = parts.flatMap((p) => p.estimates.map((e, i) => ({ i, value: e.value || 0 })));
  const heights = names.flatMap(
      (_, i) => [1, -1].map(
          (sign) => sums.filter((s) => s.i === i && s.value * sign > 0)
                        .reduce((a, s) => a + s.value, 0)));
  const y = valueScale(
      { title, estimates: [...total.estimates, ...heights.map(estimate)], withZero: true }, colors);
  return drawChart(box, label, height, {
    type: "bar",
    data: { labels: names, datasets },
    plugins: [whiskers],
    options: {
      ...options,
      scales: {
        x: {
          stacked: true,
          grid: { display: false },
          ticks: { color: colors.muted, maxRotation: 60, autoSkip: false }
        },
        y: {...y, stacked: true }
      }
    },
  });
}

// ---- histograms

const SVG = "http://www.w3.org/2000/svg";
function svgElement(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Counts as a density: an area of one.
function densities(histogram) {
  const counts = (histogram && histogram.counts) || [];
  const all = counts.reduce((a, b) => a + b, 0);
  const width = counts.length ? (histogram.high - histogram.low) / counts.length : 1;
  return all > 0 ? counts.map((c) => c / all / width) : [];
}

function stepPath(histogram, toX, toY, closed) {
  const values = densities(histogram);
  const width = (histogram.high - histogram.low) / values.length;
  const points = values.flatMap(
      (v, i) => [[histogram.low + i * width, v], [histogram.low + (i + 1) * width, v]]);
  if (closed) points.unshift([histogram.low, 0]), points.push([histogram.high, 0]);
  return points.map(([x, y], i) => `${i ? "L" : "M"}${toX(x).toFixed(1)},${toY(y).toFixed(1)}`)
      .join("");
}

// curves: {histogram, color, area}; all panels of a figure share `top`, the greatest density.
function histogramChart(box, { label, curves, top }, colors) {
  const width = Math.max(120, box.clientWidth);
  const height = Math.max(140, Math.min(210, 0.68 * width));
  const bottom = height - 19;
  const low = Math.min(...curves.map((c) => c.histogram.low));
  const high = Math.max(...curves.map((c) => c.histogram.high));
  const toX = (x) => 26 + ((x - low) / (high - low)) * (width - 34);
  const toY = (y) => bottom - (y / (top || 1)) * (bottom - 8);
  const svg = svgElement(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const text = (x, y, anchor, words) =>
      svg.append(svgElement("text", { x, y, "text-anchor": anchor, fill: colors.muted }, words));
  const line = (x1, y1, x2, y2, color) =>
      svg.append(svgElement("line", { x1, y1, x2, y2, stroke: color }));
  const step = niceStep(top / 2.5);
  for (let v = 0; v <= top * 1.001; v += step) {
    line(26, toY(v), width - 8, toY(v), colors.line);
    text(22, toY(v) + 4, "end", axisNumber(v));
  }
  for (const v of [low, (low + high) / 2, high]) {
    line(toX(v), bottom, toX(v), bottom + 3, colors.muted);
    text(toX(v), bottom + 15, "middle", axisNumber(v).replace("-", "−"));
  }
  for (const c of curves) {
    const d = stepPath(c.histogram, toX, toY, c.area);
    svg.append(svgElement("path", c.area ? { d, fill: withAlpha(c.color, 0.45), stroke: "none" } : {
      d,
      fill: "none",
      stroke: c.color,
      "stroke-width": 1.6,
      "stroke-linejoin": "round"
    }));
  }
  box.replaceChildren(svg);
  showBins(svg, curves, toX);
}

// The densities at the pointer, as the drawing's title.
function showBins(svg, curves, toX) {
  const hint = svgElement("title", {});
  svg.append(hint);
  const valueAt = ({ histogram }, x) => {
    const values = densities(histogram);
    const bin =
        Math.floor(((x - histogram.low) / (histogram.high - histogram.low)) * values.length);
    return values[Math.min(values.length - 1, Math.max(0, bin))];
  };
  svg.addEventListener("mousemove", (event) => {
    const { low, high } = curves[0].histogram;
    const x = low + ((event.offsetX - toX(low)) / (toX(high) - toX(low))) * (high - low);
    hint.textContent = [
      `at ${formatNumber(x, 2)}`,
      ...curves.map((c) => `${c.name || "density"}: ${formatNumber(valueAt(c, x), 3)}`)
    ].join("\n");
  });
}

// 1, 2 or 5 times a power of ten, at least x.
function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(x > 0 ? x : 1));
  return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= x * 0.999) || power;
}

// ---- heat maps

// A square of numbers from -1 to 1. Every cell is a whole number of pixels: its edges stay sharp
// when scaled.
function heatMap(box, { label, matrix }, colors) {
  const size = matrix.length;
  const cell = Math.max(2, Math.ceil(380 / size));
  const canvas = element(
      "canvas",
      { role: "img", "aria-label": label, width: size * cell, height: size * cell, class: "heat" });
  canvas.paint = (ctx) => matrix.forEach((row, i) => row.forEach((value, j) => {
    ctx.fillStyle = isNumber(value) ? blend(DIVERGING, (value + 1) / 2) : colors.line;
    ctx.fillRect(j * cell, i * cell, cell, cell);
  }));
  canvas.paint(canvas.getContext("2d"));
  canvas.addEventListener("mousemove", (event) => {
    const cellAt = (offset, length) =>
        Math.min(size - 1, Math.max(0, Math.floor((offset / length) * size)));
    const i = cellAt(event.offsetY, canvas.clientHeight);
    const j = cellAt(event.offsetX, canvas.clientWidth);
    canvas.title = `blocks ${i + 1} and ${j + 1}: ${formatNumber(matrix[i][j], 3)}`;
  });
  box.replaceChildren(canvas);
}

// Items of marks have the sign of their points.
const SIGNS = {
  circle: "●",
  triangle: "▲",
  rect: "■",
  rectRot: "◆",
  star: "✳",
  crossRot: "✕"
};
function legendOf(items) {
  return element(
      "div", { class: "legend" }, ...items.map(({ label, color, area, mark, marker }) => {
        if (marker) {
          const sign = element("i", { class: "sign" }, SIGNS[marker] || SIGNS.circle);
          sign.style.color = color;
          return element("span", { class: "long" }, sign, label);
        }
        const swatch = element("i", { class: area ? "box" : null });
        if (area)
          swatch.style.background = withAlpha(color, 0.45);
        else
          swatch.style.borderColor = color;
        if (mark) swatch.style.borderTopStyle = mark;
        return element("span", {}, swatch, label);
      }));
}

function divergingScale() {
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${
          [0, 0.25, 0.5, 0.75, 1].map((s) => blend(DIVERGING, s)).join(",")})`;
  return element("div", { class: "scale" }, "−1", bar, "1");
}
