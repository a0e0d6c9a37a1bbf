"use strict";
// The section on variance: Tr Cov(G_B), its parts, and what follows from it.

const TRIANGLES =
    "On a logarithmic axis, a triangle pointing down is the upper end of an interval that " +
    "reaches " +
    "zero.";
const VARIANCE_COLUMNS = [
  ["total", "Tr Cov(G_B)"],
  ["individual", "individual"],
  ["within", "within"],
  ["across", "across"],
  ["sample_variance", "Tr Cov(g)"],
  ["squared_norm", "|E G_B|²"],
  ["variance_inflation", "VIF"],
  ["effective_sample_size", "effective sample size"],
  ["signal_to_noise", "signal to noise"],
  ["noise_scale", "noise scale"],
  ["critical_batch", "critical batch"],
];

function varianceTable(cases) {
  return {
    title: "variance and what follows from it",
    rows: inOrder(cases),
    caption: "Variance of the mean gradient of a block, by its shape. Brackets: interval.",
    columns: [
      ...caseColumns(cases), { title: "blocks", read: (c) => c.blocks },
      ...VARIANCE_COLUMNS.map(([key, title]) => keyColumn(key, title)),
      keyColumn("parts_sum", "sum of parts"), {
        title: "parts agree",
        read: (c) =>
            (c.parts_agree === undefined || c.parts_agree === null ? null
                 : c.parts_agree                                   ? "yes"
                                                                   : "no"),
        text: true,
        bad: (c) => c.parts_agree === false
      }
    ],
  };
}

function varianceBars(parent, cases) {
  const groups = groupsOf(cases.filter((c) => hasValue(c.total) || hasValue(c.individual)));
  if (!groups.length) return;
  const body = figure(parent, {
    title: "Variance of a block's mean gradient, and its parts",
    tables: [varianceTable(cases)],
    caption:
        "All shapes have the same number of transitions, from few long trajectories (left) to " +
        "many short ones (right). Bars: what single samples would give if they " +
        "were independent (individual), what pairs of one environment add or take away (within), " +
        "and pairs of different environments (across). Parts below zero " +
        "are drawn below the zero line. The diamond with its whiskers is the total, measured by " +
        "itself, with its interval: whiskers that do not " +
        "overlap tell two shapes apart. Each λ has its own axis.",
  });
  const grid = panels(body, 330);
  for (const group of groups) {
    const label = `Stacked bars of Tr Cov(G_B) by shape, ${group.name}`;
    const { box } = namedPanel(grid, group.name, "canvas");
    addChart(
        label, box,
        (colors) => stackedBars(
            box, {
              label,
              names: group.cases.map(shapeName),
              title: "variance",
              parts: ["individual", "within", "across"].map(
                  (key) => ({
                    label: key,
                    color: colors.get(`part-${key}`),
                    estimates: group.cases.map((c) => estimate(c[key]))
                  })),
              total: { label: "total", estimates: group.cases.map((c) => estimate(c.total)) },
            },
            colors));
  }
}

const lagRange = (w) =>
    (w.low_lag === w.high_lag ? String(w.low_lag) : `${w.low_lag}–${w.high_lag}`);

function withinByLag(parent, cases) {
  const shown = cases.filter((c) => (c.within_by_lag || []).some((w) => hasValue(w.value)));
  if (!shown.length) return;
  const rows = inOrder(shown).flatMap((c) => c.within_by_lag.map((w) => ({ c, w })));
  const body = figure(parent, {
    title: "Which lags the part within trajectories comes from",
    tables: [{
      title: "part within trajectories by lag",
      rows,
      caption: "What pairs of samples so many steps apart add to Tr Cov(G_B).",
      columns: [
        ...caseColumns(shown), { title: "lags", read: (r) => lagRange(r.w), text: true },
        estimateColumn("part of Tr Cov(G_B)", (r) => r.w.value)
      ]
    }],
    caption:
        "What the pairs of samples at these lags add to Tr Cov(G_B), with intervals; below zero " +
        "they take away from it. One curve a shape, each a little beside the other, " +
        "so that whiskers do not cover each other.",
  });
  const groups = groupsOf(shown);
  const longest = groups.reduce((a, b) => (b.cases.length > a.cases.length ? b : a)).cases;
  liveLegend(
      body,
      (colors) => longest.map(
          (c, i) => ({ label: shapeName(c), color: rampColor(colors, i, longest.length) })));
  const grid = panels(body, 330);
  for (const group of groups) {
    const label = `Part of the variance by lag, ${group.name}`;
    const { box } = namedPanel(grid, group.name, "canvas");
    addChart(
        label, box,
        (colors) => estimateChart(
            box, {
              label,
              x: { places: lagPlaces(group.cases), title: "lags" },
              y: { title: "part of the variance", withZero: true },
              legend: false,
              series: group.cases.map(
                  (c) => lagSeries(
                      c, longest.findIndex((d) => shapeName(d) === shapeName(c)), longest.length,
                      colors)),
            },
            colors));
  }
}
// Ranges of lags side by side. The last one of a short block may end early; the name is that of the
// longest.
function lagPlaces(cases) {
  const ranges = new Map();
  for (const w of cases.flatMap((c) => c.within_by_lag)) {
    const known = ranges.get(w.low_lag);
    if (!known || known.high_lag < w.high_lag) ranges.set(w.low_lag, w);
  }
  return [...ranges.values()]
      .sort((a, b) => a.low_lag - b.low_lag)
      .map((w) => ({ value: Math.log2(Math.max(w.low_lag, 0.5)), label: lagRange(w) }));
}
function lagSeries(c, i, count, colors) {
  const aside = count > 1 ? 0.5 * (i / (count - 1) - 0.5) : 0;
  return {
    label: shapeName(c),
    color: rampColor(colors, i, count),
    small: true,
    points: c.within_by_lag.map((w) => ({
                                  x: Math.log2(Math.max(w.low_lag, 0.5)) + aside,
                                  estimate: estimate(w.value),
                                  name: `lags ${lagRange(w)}`
                                }))
  };
}

// Shapes on an axis that doubles the number of environments at every step.
function shapePlaces(cases) {
  const shapes = new Map([...cases].sort(byShape).map((c) => [shapeName(c), c]));
  return [...shapes].map(([label, c]) => ({ value: Math.log2(c.num_envs), label }));
}

// One curve a group; points of different groups stand beside each other, so that whiskers do not
// cover each other.
function groupSeries(groups, xOf, nameOf, key, colors) {
  return groups.map(
      (group, g) => ({
        label: group.name,
        color: seriesColor(colors, g, groups.length),
        marker: MARKERS[g % MARKERS.length],
        points: group.cases.filter((c) => c[key]).map((c) => ({
                                                        x: xOf(c) +
                                                            0.13 * (g - (groups.length - 1) / 2),
                                                        estimate: estimate(c[key]),
                                                        name: nameOf(c)
                                                      })),
      }));
}

// Charts of one quantity each against the same axis. quantities: [key, title, references].
function quantityCharts(body, cases, quantities, xOf, nameOf, x) {
  const grid = panels(body, 330);
  const groups = groupsOf(cases);
  for (const [key, title, references = [], wanted] of quantities) {
    const estimates = cases.map((c) => estimate(c[key]));
    if (!estimates.some((e) => e.value !== null)) continue;
    const { box } = namedPanel(grid, title, "canvas");
    const log = wanted ?? wantsLog(estimates);
    const label = `${title}, ${x.about}`;
    addChart(
        label, box,
        (colors) => estimateChart(
            box, {
              label,
              series: groupSeries(groups, xOf, nameOf, key, colors),
              x,
              y: { log: log && estimates.some((e) => e.value > 0), references },
            },
            colors));
  }
}

function shapeCurves(parent, cases, batch) {
  const body = figure(parent, {
    title: "Signal to noise, variance inflation, effective sample size, and the variance once more",
    caption:
        "Against the shape, from few long trajectories (left) to many short ones (right), the " +
        "number of environments doubling along the axis. " +
        "Variance inflation says how many times the variance of B independent samples the block " +
        "has (dashed: 1, as good as independent). Effective sample size is B over that " +
        "(dashed: B). Signal to noise is the squared norm of the mean gradient over its " +
        "variance. " +
        "Whiskers are intervals. " +
        TRIANGLES + " The numbers are in the table of the next figure.",
  });
  const references = isNumber(batch) ? [{ value: batch }] : [];
  quantityCharts(
      body, cases,
      [
        ["signal_to_noise", "Signal to noise"],
        ["variance_inflation", "Variance inflation (VIF)", [{ value: 1 }]],
        ["effective_sample_size", "Effective sample size", references],
        ["total", "Tr Cov(G_B), on a logarithmic axis", [], true],
      ],
      (c) => Math.log2(c.num_envs), shapeName,
      { places: shapePlaces(cases), title: "N × T", about: "against the shape", thin: true });
}

function varianceSection(parent, cases, batch) {
  shapeCurves(parent, cases, batch);
  varianceBars(parent, cases);
  withinByLag(parent, cases);
}
