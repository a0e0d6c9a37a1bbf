"use strict";
// The section on variance: Tr Cov(G_B), its parts, and what follows from it.

const seriesColor = (colors, i, count) => (count <= colors.series.length ? colors.series[i] : rampColor(colors, i, count));
const VARIANCE_COLUMNS = [
  ["total", "Tr Cov(G_B)"], ["individual", "individual"], ["within", "within"], ["across", "across"], ["sample_variance", "Tr Cov(g)"],
  ["squared_norm", "|E G_B|²"], ["variance_inflation", "VIF"], ["effective_sample_size", "effective sample size"],
  ["signal_to_noise", "signal to noise"], ["noise_scale", "noise scale"], ["critical_batch", "critical batch"],
];

function varianceTable(cases) {
  return {
    title: "variance and what follows from it", rows: inOrder(cases),
    caption: "Variance of the mean gradient of a block, by its shape. Brackets: interval.",
    columns: [...caseColumns(cases), { title: "blocks", of: (c) => c.blocks }, ...VARIANCE_COLUMNS.map(([key, title]) => keyColumn(key, title)),
              keyColumn("parts_sum", "sum of parts"),
              { title: "parts agree", of: (c) => (c.parts_agree === undefined || c.parts_agree === null ? null : c.parts_agree ? "yes" : "no"), text: true,
                bad: (c) => c.parts_agree === false }],
  };
}

function varianceBars(parent, cases) {
  const groups = groupsOf(cases.filter((c) => hasValue(c.total) || hasValue(c.individual)));
  if (!groups.length) return;
  const body = figure(parent, {
    title: "Variance of a block's mean gradient, and its parts", tables: [varianceTable(cases)], long: true,
    caption: "All shapes have the same number of transitions, from few long trajectories (left) to many short ones (right). Bars: what single samples would give if they " +
      "were independent (individual), what pairs within a trajectory add or take away (within), and pairs of different trajectories (across). Parts below zero " +
      "are drawn below the zero line. The diamond with its whiskers is the total, measured by itself, with its interval: whiskers that do not " +
      "overlap tell two shapes apart. Each λ has its own axis.",
  });
  const grid = panels(body, 400);
  for (const group of groups) {
    const label = `Stacked bars of Tr Cov(G_B) by shape, ${group.name}`;
    const { box } = namedPanel(grid, group.name, "canvas");
    addChart(label, box, (colors) => stackedBars(box, {
      label, names: group.cases.map(shapeName), title: "Tr Cov(G_B)",
      parts: ["individual", "within", "across"].map((key) => ({ label: key, color: colors.get(`part-${key}`), estimates: group.cases.map((c) => estimate(c[key])) })),
      total: { label: "total, with interval", estimates: group.cases.map((c) => estimate(c.total)) },
    }, colors));
  }
}

const lagRange = (w) => (w.low_lag === w.high_lag ? String(w.low_lag) : `${w.low_lag}–${w.high_lag}`);

function withinByLag(parent, cases) {
  const shown = cases.filter((c) => (c.within_by_lag || []).some((w) => hasValue(w.value)));
  if (!shown.length) return;
  const rows = inOrder(shown).flatMap((c) => c.within_by_lag.map((w) => ({ c, w })));
  const body = figure(parent, {
    title: "Which lags the part within trajectories comes from", long: true,
    tables: [{ title: "part within trajectories by lag", rows, caption: "What pairs of samples so many steps apart add to Tr Cov(G_B).",
               columns: [...caseColumns(shown), { title: "lags", of: (r) => lagRange(r.w), text: true }, estimateColumn("part of Tr Cov(G_B)", (r) => r.w.value)] }],
    caption: "What the pairs of samples at these lags add to Tr Cov(G_B), with intervals; below zero they take away from it. Panels of one λ share their axis.",
  });
  const groups = groupsOf(shown);
  groups.forEach((group, g) => {
    const range = extent(group.cases.flatMap((c) => c.within_by_lag.map((w) => estimate(w.value))), [0]);
    const grid = groupPanels(body, group, groups, 210);
    for (const c of group.cases) {
      const label = `Part of the variance by lag, ${shapeName(c)}, ${group.name}`;
      const { box } = namedPanel(grid, shapeName(c), "canvas");
      const places = c.within_by_lag.map((w, i) => ({ value: i, label: lagRange(w) }));
      addChart(label, box, (colors) => estimateChart(box, {
        label, height: 165, legend: false, x: { places, title: "lags" }, y: { range, most: 5 },
        series: [{ label: "within", color: seriesColor(colors, g, groups.length), line: false,
                   points: c.within_by_lag.map((w, i) => ({ x: i, estimate: estimate(w.value), name: `lags ${lagRange(w)}` })) }],
      }, colors));
    }
  });
}

// Shapes on an axis that doubles the number of environments at every step.
function shapePlaces(cases) {
  const shapes = new Map([...cases].sort(byShape).map((c) => [shapeName(c), c]));
  return [...shapes].map(([label, c]) => ({ value: Math.log2(c.num_envs), label }));
}

// One curve a group; points of different groups stand beside each other, so that whiskers do not cover each other.
function groupSeries(groups, xOf, nameOf, key, colors) {
  return groups.map((group, g) => ({
    label: group.name, color: seriesColor(colors, g, groups.length), marker: MARKERS[g % MARKERS.length],
    points: group.cases.filter((c) => c[key]).map((c) => ({ x: xOf(c) + 0.13 * (g - (groups.length - 1) / 2), estimate: estimate(c[key]), name: nameOf(c) })),
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
    addChart(label, box, (colors) => estimateChart(box, {
      label, series: groupSeries(groups, xOf, nameOf, key, colors), x, y: { log: log && estimates.some((e) => e.value > 0), references },
    }, colors));
  }
}

function shapeCurves(parent, cases, batch) {
  const body = figure(parent, {
    title: "Variance inflation, effective sample size and signal to noise",
    caption: "Against the shape, from few long trajectories (left) to many short ones (right), the number of environments doubling along the axis. " +
      "Variance inflation says how many times the variance of B independent samples the block has (dashed: 1, as good as independent). Effective sample size is B over that " +
      "(dashed: B). Signal to noise is the squared norm of the mean gradient over its variance. Whiskers are intervals; on logarithmic axes, whiskers that run out of " +
      "the bottom reach zero or less, and a triangle is the upper end of an interval whose estimate is not above zero. The numbers are in the table of the variance figure.",
  });
  const references = isNumber(batch) ? [{ value: batch }] : [];
  quantityCharts(body, cases, [
    ["variance_inflation", "Variance inflation (VIF)", [{ value: 1 }]],
    ["effective_sample_size", "Effective sample size", references],
    ["signal_to_noise", "Signal to noise"],
  ], (c) => Math.log2(c.num_envs), shapeName, { places: shapePlaces(cases), title: "N × T", about: "against the shape" });
}

function varianceSection(parent, cases, batch) {
  varianceBars(parent, cases);
  shapeCurves(parent, cases, batch);
  withinByLag(parent, cases);
}
