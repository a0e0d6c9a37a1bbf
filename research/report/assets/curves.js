"use strict";
// Drawings over a continuous axis, intervals inside of tables, and heat maps that are tables of
// numbers.

// A number as short as can be: 500k, 2.5M.
function shortNumber(v) {
  const size = Math.abs(v);
  const [unit, letter] = size >= 1e6 && size < 1e9 ? [1e6, "M"]
      : size >= 1e4 && size < 1e6                  ? [1e3, "k"]
                                                   : [1, ""];
  return axisNumber(v / unit) + letter;
}

// From zero, or from the least value where the axis is logarithmic, to the greatest.
function continuousScale({ title, values, log, fromLeast }, colors) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const common = {
    title: {...axisTitle(title, log), color: colors.muted },
    grid: { color: colors.line, drawBorder: false }
  };
  if (log) {
    return {
      ...common,
      type: "logarithmic",
      min: least,
      max: most,
      ticks: { color: colors.muted, maxRotation: 0, autoSkip: true, callback: logTick }
    };
  }
  const min = fromLeast ? least : Math.min(0, least);
  const ends = { min, max: roundEnd(min, most > min ? most : min + (Math.abs(min) || 1)) };
  const ticks = function(
      axis) { axis.ticks = roundTicks(ends, Math.max(2, Math.min(7, axis.chart.width / 75))); };
  return {
    ...common,
    type: "linear",
    ...ends,
    afterBuildTicks: ticks,
    ticks: { color: colors.muted, autoSkip: false, maxRotation: 0, callback: shortNumber }
  };
}

// The end of an axis: the next round number where that is near, so that an axis to 199,680 has its
// tick at 200,000.
function roundEnd(min, max) {
  const step = niceStep((max - min) / 5);
  const round = Math.ceil(max / step - 1e-9) * step;
  return round - max <= 0.03 * (max - min) ? round : max;
}

// Names each line at its right end, in its colour; lines that end close to each other get a thin
// stroke to their names.
const LABEL_HEIGHT = 13;
const endLabels = {
  id: "endLabels",
  afterDatasetsDraw(chart, _, { color } = {}) {
    const { ctx, chartArea, scales } = chart;
    const ends = chart.data.datasets.filter((d) => d.endLabel)
                     .map((d) => {
                       const last = d.data.filter((p) => p && isNumber(p.y)).pop();
                       return last && {
                         text: d.endLabel,
                         color: d.borderColor,
                         x: scales.x.getPixelForValue(last.x),
                         y: scales.y.getPixelForValue(last.y)
                       };
                     })
                     .filter(Boolean)
                     .sort((a, b) => a.y - b.y);
    spread(ends, chartArea.top, chartArea.bottom);
    ctx.save();
    ctx.font = `12px ${Chart.defaults.font.family}`;
    ctx.textBaseline = "middle";
    for (const end of ends) {
      ctx.strokeStyle = ctx.fillStyle = end.color;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(end.x + 3, end.y);
      ctx.lineTo(chartArea.right + 8, end.at);
      ctx.stroke();
      ctx.fillStyle = color || end.color;
      ctx.fillText(end.text, chartArea.right + 11, end.at);
    }
    ctx.restore();
  },
};

// Gives each of ends, sorted by y, a place `at` near its y, none nearer to the next than a label is
// high.
function spread(ends, top, bottom) {
  let free = top;
  for (const end of ends) {
    end.at = Math.max(end.y, free);
    free = end.at + LABEL_HEIGHT;
  }
  let limit = bottom;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, limit);
    limit = end.at - LABEL_HEIGHT;
  }
}

function textWidth(text) {
  const ctx = document.createElement("canvas").getContext("2d");
  ctx.font = `12px ${Chart.defaults.font.family}`;
  return ctx.measureText(text).width;
}

// Names without the words that all of them share, and without shared keys in front of "=".
function distinctNames(names) {
  const rows = names.map((name) => name.split(" "));
  const places = [...rows[0].keys()];
  if (names.length < 2 || rows.some((row) => row.length !== rows[0].length)) return names;
  const shared = (i, part) => rows.every((row) => part(row[i]) === part(rows[0][i]));
  const kept = places.filter((i) => !shared(i, (word) => word));
  if (!kept.length) return names;
  const keyOf = (word) => word.slice(0, word.indexOf("=") + 1);
  const keys = new Set(kept.filter((i) => shared(i, keyOf)));
  const word = (row, i) => (keys.has(i) ? row[i].slice(keyOf(row[i]).length) : row[i]);
  return rows.map((row) => kept.map((i) => word(row, i)).join(", "));
}

const shortLabel = (text, width) => {
  const most = Math.max(13, Math.min(44, Math.floor(width / 24)));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
};

// Curves with bands, up to `bands` of them. series: {label, color, dash, points: [{x, estimate,
// name}]}; x: {title, log, fromLeast}; y: as of valueScale. Bands are the fainter the more there
// are. `values`: the x of all series of a figure, so that its panels share an axis.
function curveChart(
    box, { label, series, x, y, values, bands = Infinity, height = 280, endNames = true }, colors) {
  const alpha = series.length > 6 ? 0.08 : series.length > 3 ? 0.13 : 0.2;
  const estimates = series.flatMap((s) => s.points.map((p) => p.estimate));
  const xScale = continuousScale(
      {...x, values: values || series.flatMap((s) => s.points.map((p) => p.x)) }, colors);
  const named = endNames && series.length > 1 && series.length * LABEL_HEIGHT < 0.8 * height;
  const cut = named
      ? distinctNames(series.map((s) => s.label)).map((name) => shortLabel(name, box.clientWidth))
      : [];
  const distinct = new Set(cut).size === series.length;  // equal texts would say nothing
  const names = series.map((_, i) => (distinct ? cut[i] : ""));
  const datasets = series.flatMap((s, i) => {
    const all = bandDatasets({...s, alpha, small: true });
    all[2].endLabel = names[i];
    return all.slice(series.length > bands ? 2 : 0);
  });
  const room = distinct ? 16 + Math.max(...names.map(textWidth)) : 8;
  const options = {
    ...baseOptions(colors, false),
    interaction: { mode: "along", axis: "x", intersect: false }
  };
  return drawChart(box, label, height, {
    type: "line",
    data: { datasets },
    plugins: [whiskers, endLabels],
    options: {
      ...options,
      layout: { padding: { right: room } },
      plugins: {...options.plugins, endLabels: { color: colors.ink } },
      scales: { x: xScale, y: valueScale({...y, estimates }, colors) }
    },
  });
}

// A value and its interval as a dot and a line, on an axis from range[0] to range[1], for a cell of
// a table.
function intervalMark(e, range, marked) {
  const [width, height] = [120, 16];
  const svg = svgElement("svg", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    class: marked ? "interval marked" : "interval",
    role: "img",
    "aria-label": formatEstimate(e)
  });
  svg.append(svgElement("title", {}, formatEstimate(e)));
  if (!hasValue(e) || !range) return svg;
  const pixel = (v) => 6 + ((v - range[0]) / (range[1] - range[0] || 1)) * (width - 12);
  svg.append(
      svgElement("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, class: "axis" }));
  if (hasInterval(e))
    svg.append(svgElement("line", {
      x1: pixel(e.low).toFixed(1),
      x2: pixel(e.high).toFixed(1),
      y1: height / 2,
      y2: height / 2,
      class: "span"
    }));
  svg.append(svgElement("circle", { cx: pixel(e.value).toFixed(1), cy: height / 2, r: 4 }));
  return svg;
}

// The colour of a share of 0 to 1 and what can be read on it: red for 0, white for a half, blue
// for 1.
function shareColors(share) {
  const background = blend(DIVERGING, 1 - share);
  const [r, g, b] = background.match(/\d+/g).map(Number);
  return { background, color: 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1c2128" : "#ffffff" };
}

// A table whose cells have the colours of their shares. cell(i, j): {share, text, hint, strong,
// marks: list of classes}, or null. Names too long to stand above a column are numbers there, and
// before the names of rows.
function heatTable({ caption, rows, columns, cell }) {
  const long = columns.some((name) => name.length > 9);
  const numbers = new Map(rows.map((name, i) => [name, i + 1]));
  const short = (name) => (long ? String(numbers.get(name)) : name);
  const head = element(
      "tr", {}, element("th", { class: "text", scope: "col" }, ""),
      ...columns.map(
          (name) => element(
              "th", { scope: "col", title: name, class: long ? null : "tall" },
              element("span", {}, short(name)))));
  const body = rows.map(
      (name, i) => element(
          "tr", {},
          element(
              "th", { scope: "row", class: long ? "text long" : "text" },
              long ? `${i + 1}  ${name}` : name),
          ...columns.map((_, j) => heatCell(cell(i, j)))));
  return element(
      "table", { class: "matrix" }, element("caption", {}, caption), element("thead", {}, head),
      element("tbody", {}, ...body));
}

function heatCell(c) {
  if (!c) return element("td", { class: "none" });
  const td = element(
      "td",
      { class: [c.strong ? "strong" : "", ...c.marks].join(" ").trim() || null, title: c.hint },
      c.text);
  if (isNumber(c.share)) Object.assign(td.style, shareColors(c.share));
  return td;
}
