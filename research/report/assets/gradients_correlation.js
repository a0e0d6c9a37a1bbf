"use strict";
// The section on correlation: cosines and covariances of per-sample gradients, and of whole blocks'
// gradients.

const caseColumns = (cases) =>
    [{ title: "N", read: (r) => (r.c || r).num_envs, plain: true },
     { title: "T", read: (r) => (r.c || r).num_steps, plain: true },
     ...lambdaColumns(cases),
];
const lambdaColumns = (cases) =>
    [{ title: "λ", read: (r) => (r.c || r).lambda, plain: true },
     ...(new Set(cases.map((c) => c.gamma)).size > 1 || cases.length === 1
             ? [{ title: "γ", read: (r) => (r.c || r).gamma, plain: true }]
             : []),
];
const estimateColumn = (title, read) => ({ title, read, interval: true });
const keyColumn = (key, title) => estimateColumn(title, (r) => r[key]);
const cosineColumns = (read) =>
    [estimateColumn("mean cos", (r) => read(r).mean),
     estimateColumn("mean |cos|", (r) => read(r).mean_abs),
     estimateColumn("mean cos²", (r) => read(r).mean_square),
];
const inOrder = (cases) => groupsOf(cases).flatMap((g) => g.cases);

// At most `most` of the lags, the first and the last among them.
function someLags(cases, most = 5) {
  const all =
      [...new Set(cases.flatMap((c) => (c.within || []).map((w) => w.lag)))].filter(isNumber).sort(
          (a, b) => a - b);
  if (all.length <= most) return all;
  return [...new Set(Array.from(
      { length: most }, (_, i) => all[Math.round((i * (all.length - 1)) / (most - 1))]))];
}
const drawable = (h) => densities(h).length > 0;

// One group's heading and its panels, one a case.
function groupPanels(body, group, groups, width) {
  if (groups.length > 1) body.append(element("h4", {}, group.name));
  return panels(body, width, true, group.cases.length);
}
function pairTable(cases) {
  const rows = inOrder(cases).flatMap(
      (c) =>
          [...(c.within || []).map((w) => ({ c, w, kind: `lag ${w.lag}` })),
           ...(c.across ? [{ c, w: c.across, kind: "across" }] : []),
  ]);
  return {
    title: "cosine and autocovariance of pairs",
    rows,
    caption:
        "Pairs of centred per-sample gradients, by lag within a trajectory, and across " +
        "trajectories. Brackets: interval.",
    columns: [
      ...caseColumns(cases), { title: "pairs of", read: (r) => r.kind, text: true },
      { title: "number of pairs", read: (r) => r.w.pairs }, ...cosineColumns((r) => r.w),
      estimateColumn("mean cos, not centred", (r) => r.w.uncentred_mean),
      estimateColumn("autocovariance", (r) => r.w.autocovariance)
    ],
  };
}

function cosineHistograms(parent, cases) {
  const lags = someLags(cases);
  const all = new Set(cases.flatMap((c) => (c.within || []).map((w) => w.lag))).size;
  const body = figure(parent, {
    title: "Cosine between gradients of two samples",
    tables: [pairTable(cases)],
    long: true,
    caption:
        "Lines: two samples of the same trajectory, so many steps (the lag) apart. Grey area: " +
        "two " +
        "samples of different trajectories. " +
        "Each gradient is taken relative to its block's mean, as in the article that this is " +
        "after; that alone makes short gradients resemble each other (table: not centred). The " +
        "height is a density, so every curve has area one. A line that has more weight near −1 " +
        "or " +
        "1 than " +
        "the grey area shows that samples of one trajectory depend on each other, whatever the " +
        "sign. " +
        (lags.length < all ? `Drawn are ${lags.length} of ${all} lags; all are in the table.` : ""),
  });
  const colorOf = (lag, colors) => rampColor(colors, lags.indexOf(lag), lags.length);
  liveLegend(
      body,
      (colors) =>
          [...lags.map((lag) => ({ label: `lag ${lag}`, color: colorOf(lag, colors) })),
           { label: "different trajectories", color: colors.get("across"), area: true }]);
  const groups = groupsOf(cases);
  for (const group of groups) {
    const curvesOf = (c, colors) =>
        [...(c.across && drawable(c.across.histogram) ? [{
           histogram: c.across.histogram,
           name: "different trajectories",
           color: colors.get("across"),
           area: true
         }]
                                                      : []),
         ...(c.within || [])
             .filter((w) => lags.includes(w.lag) && drawable(w.histogram))
             .map((w) => ({
                    histogram: w.histogram,
                    name: `lag ${w.lag}`,
                    color: colorOf(w.lag, colors)
                  })),
    ];
    const none = { get: () => "#000000", ramp: [[0, 0, 0], [0, 0, 0]] };
    const top = Math.max(
        ...group.cases.flatMap(
            (c) => curvesOf(c, none).map((curve) => Math.max(...densities(curve.histogram)))),
        0);
    const grid = groupPanels(body, group, groups, 160);
    for (const c of group.cases.filter((each) => curvesOf(each, none).length)) {
      const label =
          `Histogram of the cosine between two samples' gradients, ${shapeName(c)}, ${group.name}`;
      const { box } = namedPanel(grid, shapeName(c), "plot");
      addChart(
          label, box,
          (colors) => histogramChart(box, { label, curves: curvesOf(c, colors), top }, colors));
    }
  }
}

function lagCurves(parent, cases) {
  const shown = cases.filter((c) => (c.within || []).some((w) => hasValue(w.autocovariance)));
  if (!shown.length) return;
  const body = figure(parent, {
    title: "Autocovariance of the gradient along a trajectory",
    long: true,
    caption:
        "Mean inner product of two gradients of the same trajectory, each less the mean over all " +
        "blocks, as a share of their variance Tr Cov(g), against the number of steps between " +
        "them " +
        "(spread out logarithmically). " +
        "Bands are intervals. Dashed and grey: the same for pairs of different trajectories. " +
        "Where a band holds zero, no covariance was found at that lag. " +
        "Panels of one λ share their axes. The numbers are in the table of cosines, folded below.",
  });
  const color = (colors) => colors.series[0];
  liveLegend(body, (colors) => [{ label: "same trajectory, with interval", color: color(colors) }, {
                     label: "different trajectories, with interval",
                     color: colors.get("across"),
                     mark: "dashed"
                   }]);
  const groups = groupsOf(shown);
  for (const group of groups) {
    const range = extent(
        group.cases.flatMap(
            (c) =>
                [...c.within.map((w) => estimate(w.autocovariance)),
                 estimate(c.across && c.across.autocovariance)]),
        [0]);
    const lags = [...new Set(group.cases.flatMap((c) => c.within.map((w) => w.lag)))]
                     .filter((lag) => lag > 0)
                     .sort((a, b) => a - b);
    const places = lags.map((lag) => ({ value: Math.log2(lag), label: String(lag) }));
    const grid = groupPanels(body, group, groups, 190);
    for (const c of group.cases) {
      const label = `Autocovariance against lag, ${shapeName(c)}, ${group.name}`;
      const { box } = namedPanel(grid, shapeName(c), "canvas");
      addChart(label, box, (colors) => lagChart(box, label, c, places, range, colors));
    }
  }
}

function lagChart(box, label, c, places, range, colors) {
  const pairs = c.within.filter((w) => w.lag > 0).sort((a, b) => a.lag - b.lag);
  const series = [{
    label: "same trajectory",
    color: colors.series[0],
    points: pairs.map(
        (w) =>
            ({ x: Math.log2(w.lag), estimate: estimate(w.autocovariance), name: `lag ${w.lag}` }))
  }];
  const across = estimate(c.across && c.across.autocovariance);
  if (across.value !== null) {
    const ends = [places[0].value - 0.3, places[places.length - 1].value + 0.3];
    series.unshift({
      label: "different trajectories",
      color: colors.get("across"),
      flat: true,
      points: ends.map((x) => ({ x, estimate: across, name: "different trajectories" }))
    });
  }
  estimateChart(
      box, {
        label,
        series,
        x: { places, title: "lag", thin: true },
        y: { range, most: 5 },
        height: 165,
        legend: false,
        band: true
      },
      colors);
}

function meanCosines(parent, cases) {
  const shown = cases.filter((c) => c.with_mean && drawable(c.with_mean.histogram));
  if (!shown.length) return;
  const groups = groupsOf(shown);
  const body = figure(parent, {
    title: "Cosine of each sample's gradient with the mean of its block's others",
    long: true,
    tables: [{
      title: "cosine with the block's mean",
      rows: inOrder(shown),
      caption:
          "Cosine between each sample's gradient and the mean gradient of all other samples of " +
          "its block.",
      columns: [
        ...caseColumns(shown), { title: "samples", read: (c) => c.with_mean.samples },
        ...cosineColumns((c) => c.with_mean)
      ]
    }],
    caption:
        "Each sample against the mean of all others. Weight to the right: most samples pull the " +
        "way the others go. Symmetric: the mean is what is left of samples that pull against " +
        "each " +
        "other. " +
        "Panels share their axis; heights are densities.",
  });
  liveLegend(
      body,
      (colors) =>
          groups.map((g, i) => ({ label: g.name, color: seriesColor(colors, i, groups.length) })));
  const top = Math.max(...shown.map((c) => Math.max(...densities(c.with_mean.histogram))));
  const shapes = [...new Map([...shown].sort(byShape).map((c) => [shapeName(c), c])).keys()];
  const grid = panels(body, 160, true, shapes.length);
  for (const name of shapes) {
    const label =
        `Histogram of the cosine between samples and their block's mean gradient, ${name}`;
    const { box } = namedPanel(grid, name, "plot");
    addChart(
        label, box,
        (colors) => histogramChart(
            box, {
              label,
              top,
              curves: groups.flatMap(
                  (g, i) => g.cases.filter((c) => shapeName(c) === name)
                                .map((c) => ({
                                       histogram: c.with_mean.histogram,
                                       color: seriesColor(colors, i, groups.length)
                                     })))
            },
            colors));
  }
}

function batchMeanMaps(parent, cases) {
  const shown = cases.filter((c) => c.batch_means);
  if (!shown.length) return;
  const body = figure(parent, {
    title: "Cosine between the mean gradients of independent blocks",
    long: true,
    tables: [{
      title: "cosine between blocks",
      rows: inOrder(shown),
      caption:
          "Cosines between the mean gradients of independent blocks, over all pairs of blocks.",
      columns: [
        ...caseColumns(shown), { title: "pairs", read: (c) => c.batch_means.pairs },
        ...cosineColumns((c) => c.batch_means)
      ]
    }],
    caption:
        "Each square is the cosine between the gradients of two blocks (row and column); red: " +
        "the " +
        "same way, blue: opposite ways, white: unrelated. " +
        "The diagonal is a block with itself. The maps show the first blocks only. The numbers " +
        "below them, the mean of the cosine and of its absolute value, are over all pairs, and " +
        "they are what counts: " +
        "a few blocks can look like anything.",
  });
  body.append(divergingScale());
  const groups = groupsOf(shown);
  for (const group of groups) {
    const grid = groupPanels(body, group, groups, 160);
    for (const c of group.cases) {
      const { panel, box } = namedPanel(grid, shapeName(c), "map");
      const means = c.batch_means;
      if ((means.matrix || []).length) {
        const label = `Heat map of cosines between the mean gradients of ${
            means.matrix.length} blocks, ${shapeName(c)}, ${group.name}`;
        addChart(label, box, (colors) => heatMap(box, { label, matrix: means.matrix }, colors));
      }
      panel.append(element(
          "dl", { class: "under" },
          ...[["cos", means.mean], ["|cos|", means.mean_abs]].flatMap(
              ([name, e]) => [element("dt", {}, name), element("dd", {}, formatEstimate(e, 1))])));
    }
  }
}

// Figures that most readers can do without: drawn to their box's width when they are opened.
function folded(parent, title) {
  const box = element("details", { class: "folded" }, element("summary", {}, title));
  box.addEventListener("toggle", () => {
    if (box.open) drawAll((chart) => box.contains(chart.box));
  });
  parent.append(box);
  return box;
}

function correlationSection(parent, cases) {
  lagCurves(parent, cases);
  const box = folded(parent, "Histograms of cosines, and heat maps of blocks");
  cosineHistograms(box, cases);
  meanCosines(box, cases);
  batchMeanMaps(box, cases);
}
