"use strict";
// The sections on bias, and on exact values.

const EXACT_QUANTITIES = [
  ["expected_norm", "|E G_B|", "norm of the mean"],
  ["reference_norm", "|G_T|", "norm of the reference"],
  ["bias_norm", "|E G_B − G_T|", "bias"],
  ["cosine", "cos(E G_B, G_T)", "cosine"],
  ["total", "Tr Cov(G_B)", "variance"],
];
// Every quantity of every case as {c, key, title, exact, sampled, agrees}.
function exactRows(exact) {
  return (exact.cases || [])
      .flatMap(
          (c) => EXACT_QUANTITIES.filter(([key]) => c[key])
                     .map(([key, title]) => ({
                            c,
                            key,
                            title,
                            exact: isNumber(c[key].exact) ? c[key].exact : null,
                            sampled: estimate(c[key].sampled),
                            agrees: c[key].agrees ?? null
                          })));
}

const BIAS_COLUMNS = [
  ["bias_norm", "|E G_B − G_T|"], ["bias_squared", "its square"],
  ["relative_bias", "relative to |G_T|"], ["expected_norm", "|E G_B|"], ["reference_norm", "|G_T|"],
  ["cosine", "cos(E G_B, G_T)"]
];

function biasTable(cases) {
  const rows = [...cases].sort(
      (a, b) => a.gamma - b.gamma || a.lambda - b.lambda || a.num_steps - b.num_steps);
  return {
    title: "bias",
    rows,
    caption: "Bias of the mean gradient of blocks that are T steps long. Brackets: interval.",
    columns: [
      { title: "T", read: (c) => c.num_steps, plain: true }, ...lambdaColumns(cases),
      { title: "samples", read: (c) => c.samples }, { title: "groups", read: (c) => c.groups },
      ...BIAS_COLUMNS.map(([key, title]) => keyColumn(key, title)),
      { title: "stopped by", read: (c) => c.stopped, text: true }
    ],
  };
}

function biasSection(parent, cases) {
  const body = figure(parent, {
    title: "Bias of the gradient against the length of the block",
    tables: [biasTable(cases)],
    caption:
        "How far the mean of the block's gradient is from the reference gradient G_T, against T; " +
        "the norms are on logarithmic axes. Shorter blocks and smaller λ lean more on the " +
        "critic. " +
        "Whiskers are intervals. " + TRIANGLES +
        " There, no bias was found. A cosine of 1 (dashed) means that the bias changes the " +
        "length " +
        "of the gradient, not its direction.",
  });
  const steps = [...new Set(cases.map((c) => c.num_steps))].sort((a, b) => a - b);
  const x = {
    places: steps.map((t) => ({ value: Math.log2(t), label: String(t) })),
    title: "T, steps of a block",
    about: "against T"
  };
  quantityCharts(
      body, cases,
      [
        ["bias_norm", "Bias |E G_B − G_T|", [], true],
        ["relative_bias", "Bias relative to |G_T|", [], true],
        ["cosine", "Cosine of E G_B with G_T", [{ value: 1 }], false],
      ],
      (c) => Math.log2(c.num_steps), (c) => `T = ${c.num_steps}`, x);
}

const exactName = (r) => `T = ${r.c.num_steps}, λ = ${r.c.lambda}, γ = ${r.c.gamma}`;

function exactTable(rows) {
  return {
    title: "exact and sampled",
    rows,
    caption: "Values solved from the environment's table, beside sampled ones. Brackets: interval.",
    columns: [
      { title: "T", read: (r) => r.c.num_steps, plain: true },
      { title: "λ", read: (r) => r.c.lambda, plain: true },
      { title: "γ", read: (r) => r.c.gamma, plain: true },
      { title: "quantity", read: (r) => r.title, text: true }, {
        title: "N",
        read: (r) => (r.key === "total" ? (r.c.total.num_envs ?? r.c.num_envs ?? null) : null),
        plain: true
      },
      { title: "exact", read: (r) => r.exact }, estimateColumn("sampled", (r) => r.sampled), {
        title: "agrees",
        read: (r) =>
            (r.agrees === null ? null
                 : r.agrees    ? "yes"
                               : "no"),
        text: true,
        bad: (r) => r.agrees === false
      }
    ],
  };
}

// Sampled against exact, on the same axis in both directions.
function exactScatter(box, label, rows, colors) {
  const log = wantsLog(rows.map((r) => estimate(r.exact))) &&
      rows.every((r) => r.exact > 0 && r.sampled.value > 0);
  const estimates = [...rows.map((r) => r.sampled), ...rows.map((r) => estimate(r.exact))];
  const scale = (title, most) => valueScale({ title, estimates, log, most }, colors);
  const series = (ok) => {
    const some = rows.filter((r) => r.agrees !== false === ok);
    return {
      label: ok ? "holds the exact value" : "does not",
      showLine: false,
      borderColor: ok ? colors.get("good") : colors.get("bad"),
      backgroundColor: ok ? colors.get("good") : colors.get("bad"),
      pointStyle: ok ? "circle" : "crossRot",
      pointRadius: ok ? 3.5 : 7,
      borderWidth: ok ? 1.5 : 2.5,
      estimates: some.map((r) => r.sampled),
      data: some.map((r) => ({ x: r.exact, y: r.sampled.value, name: exactName(r) }))
    };
  };
  const [x, y] = [scale("exact", 3), scale("sampled", 6)];
  const ends = log ? [x.min, x.max] : extent(estimates);
  const line = {
    ...referenceLine({ value: 0 }, 0, 0, colors),
    data: ends.map((v) => ({ x: v, y: v }))
  };
  return drawChart(box, label, 215, {
    type: "line",
    data: { datasets: [series(true), series(false), line] },
    plugins: [whiskers],
    options: {...baseOptions(colors, false), scales: { x, y } },
  });
}

// How far the exact value is from the estimate, in half widths of the interval on its side.
function deviation(r) {
  const side = r.exact > r.sampled.value ? r.sampled.high - r.sampled.value
                                         : r.sampled.value - r.sampled.low;
  return side > 0 ? (r.exact - r.sampled.value) / side : null;
}

function exactDeviations(box, label, rows, colors) {
  const keys = EXACT_QUANTITIES.filter(([key]) => rows.some((r) => r.key === key));
  const places = new Map(keys.map(([key], i) => [key, keys.length - 1 - i]));
  const point = (r) => {
    const mates = rows.filter((other) => other.key === r.key);
    const spread = mates.length > 1 ? mates.indexOf(r) / (mates.length - 1) - 0.5 : 0;
    return {
      x: deviation(r),
      y: places.get(r.key) - 0.6 * spread,
      name: `${r.title}, ${exactName(r)}`
    };
  };
  const series = (ok) => ({
    label: ok ? "interval holds the exact value" : "interval does not hold it",
    data: rows.filter((r) => r.agrees !== false === ok).map(point),
    tips: rows.filter((r) => r.agrees !== false === ok).map((r) => r.sampled),
    borderColor: ok ? colors.get("good") : colors.get("bad"),
    showLine: false,
    backgroundColor: ok ? colors.get("good") : colors.get("bad"),
    pointStyle: ok ? "circle" : "crossRot",
    pointRadius: ok ? 3.5 : 7,
    borderWidth: ok ? 1.5 : 2.5,
  });
  const reach = Math.max(1.6, 1.1 * Math.max(...rows.map((r) => Math.abs(deviation(r)))));
  const inside = {
    id: "inside",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const [left, right] = [-1, 1].map((v) => scales.x.getPixelForValue(v));
      ctx.fillStyle = withAlpha(colors.get("good"), 0.12);
      ctx.fillRect(left, chartArea.top, right - left, chartArea.height);
    }
  };
  const names = new Map(keys.map(([key, , plain]) => [places.get(key), plain]));
  return drawChart(box, label, 90 + 62 * keys.length, {
    type: "line",
    data: { datasets: [series(true), series(false)] },
    plugins: [inside],
    options: {
      ...baseOptions(colors, true),
      scales: {
        x: {
          type: "linear",
          min: -reach,
          max: reach,
          grid: { color: colors.line, drawBorder: false },
          afterBuildTicks: (axis) => {
            axis.ticks = roundTicks({ min: -reach, max: reach }, 8);
          },
          ticks: { color: colors.muted, autoSkip: false, maxRotation: 0, callback: axisNumber },
          title: {
            display: true,
            text: "exact minus sampled, in half widths of the interval",
            color: colors.muted
          }
        },
        y: {
          type: "linear",
          min: -0.6,
          max: keys.length - 0.4,
          grid: { display: false, drawBorder: false },
          afterBuildTicks: (axis) => {
            axis.ticks = [...names.keys()].map((value) => ({ value }));
          },
          ticks: { color: colors.ink, callback: (v) => names.get(v) ?? "" }
        }
      }
    },
  });
}

function exactSection(parent, exact) {
  const rows = exactRows(exact);
  parent.append(factList([
    ["states", exact.states],
    ["actions", exact.actions],
    [
      "longest episode",
      isNumber(exact.max_episode_steps) ? `${formatNumber(exact.max_episode_steps)} steps` : null
    ],
    ["mean length of an episode, solved", exact.mean_episode_length],
    ["mean return, solved", exact.mean_return],
  ]));
  if (!rows.length) return;
  const drawn = rows.filter((r) => r.exact !== null && r.sampled.value !== null);
  const body = figure(parent, {
    title: "Sampled estimates beside exact values",
    tables: [exactTable(rows)],
    long: true,
    caption:
        "Each point is one case: the exact value across, the sampled estimate with its interval " +
        "upwards. On the dashed line both are the same. A cross marks an interval " +
        "that does not hold the exact value. The chart below them shows how far off each " +
        "estimate " +
        "is, measured in its own interval: the shaded part is inside.",
  });
  if (!drawn.length) {
    body.append(
        element("p", {}, "Nothing was sampled beside the exact values; they are in the table."));
    return;
  }
  const grid = panels(body, 190, true);
  for (const [key, title] of EXACT_QUANTITIES) {
    const some = drawn.filter((r) => r.key === key);
    if (!some.length) continue;
    const label = `Sampled against exact: ${title}`;
    const { box } = namedPanel(grid, title, "canvas");
    addChart(label, box, (colors) => exactScatter(box, label, some, colors));
  }
  const placed = drawn.filter((r) => deviation(r) !== null);
  if (!placed.length) return;
  const label = "Distance between exact and sampled values in half widths of the interval";
  const whole = panels(body, 300);
  whole.classList.add("whole");
  const { box } = namedPanel(whole, "How far off", "canvas");
  addChart(label, box, (colors) => exactDeviations(box, label, placed, colors));
}
