"use strict";
// The section on agreement: how far one block's gradient points the true way. Its sentences come
// with the data.

const shapeName = (c) => `${c.num_envs} × ${c.num_steps}`;
const byShape = (a, b) => b.num_steps - a.num_steps || a.num_envs - b.num_envs;

// Cases of one lambda and gamma, from long blocks to wide ones; {name, key, lambda, gamma, cases}.
function groupsOf(cases) {
  const severalGammas = new Set(cases.map((c) => c.gamma)).size > 1;
  const groups = new Map();
  for (const c of cases) {
    const key = `${c.gamma} ${c.lambda}`;
    const name = `λ = ${c.lambda}` + (severalGammas ? `, γ = ${c.gamma}` : "");
    if (!groups.has(key))
      groups.set(key, { key, name, lambda: c.lambda, gamma: c.gamma, cases: [] });
    groups.get(key).cases.push(c);
  }
  for (const group of groups.values()) group.cases.sort(byShape);
  return [...groups.values()].sort((a, b) => a.gamma - b.gamma || a.lambda - b.lambda);
}

const CRITICS = [
  ["own", "the run's critic"], ["refitted", "a critic refitted to returns"],
  ["exact", "the exact values"]
];

// One row a shape and lambda, with the estimates of each critic, of normalised advantages and of
// plain ones.
function agreementRows(cases) {
  const rows = new Map();
  const hasBoth = cases.some((c) => c.norm_adv);  // losses of values have one kind
  for (const c of cases) {
    const key = `${c.num_envs} ${c.num_steps} ${c.lambda}`;
    if (!rows.has(key))
      rows.set(key, {
        num_envs: c.num_envs,
        num_steps: c.num_steps,
        lambda: c.lambda,
        gamma: c.gamma,
        blocks: c.blocks
      });
    const name = `${c.critic}${c.norm_adv || !hasBoth ? "" : "_plain"}`;
    rows.get(key)[name] = c.agreement;
    rows.get(key)[`${name}_away`] = c.away;
  }
  return [...rows.values()];
}

const criticsOf = (rows) => CRITICS.filter(([key]) => rows.some((r) => r[key]));

function agreementSection(parent, cases, explained) {
  const rows = agreementRows(cases);
  const critics = criticsOf(rows);
  const hasBoth = cases.some((c) => c.norm_adv);
  const columns = critics.flatMap(
      ([key, words]) =>
          [keyColumn(key, hasBoth ? `${words}, advantages normalised` : words),
           ...(hasBoth ? [keyColumn(`${key}_plain`, `${words}, as they are`)] : []),
           keyColumn(`${key}_away`, `${words}, share of blocks that point away`)]);
  const body = figure(parent, {
    title: "Agreement of one block's gradient with the true one",
    tables: [{
      title: "agreement",
      rows: [...rows].sort((a, b) => a.lambda - b.lambda || byShape(a, b)),
      caption:
          "Expected cosine of one block's gradient with the true gradient. Brackets: interval.",
      columns: [
        { title: "N × T", read: shapeName, text: true }, ...lambdaColumns(rows),
        { title: "blocks", read: (r) => r.blocks }, ...columns
      ]
    }],
    caption:
        `The expected cosine between the gradient of a single block${
            hasBoth ? ", advantages normalised over it," : ""} ` +
        "and the true gradient, against T: 1 where every block points the true way, " +
        "0 (dashed) where blocks say nothing of it. Noise and bias both lower it; the length of " +
        "the gradient, which Adam and normalised advantages take away, does not enter. Whiskers " +
        "are intervals." +
        criticWords(explained),
  });
  agreementCharts(body, rows, critics);
}

// One panel a critic, all on one axis.
function agreementCharts(body, rows, critics) {
  const steps = [...new Set(rows.map((r) => r.num_steps))].sort((a, b) => b - a);
  const places = steps.map((t) => ({ value: -Math.log2(t), label: String(t) }));
  const range = extent(critics.flatMap(([key]) => rows.map((r) => estimate(r[key]))), [0]);
  const groups = groupsOf(rows);
  const grid = panels(body, 330);
  for (const [key, words_] of critics) {
    const title = `Agreement under ${words_}`;
    const { box } = namedPanel(grid, title, "canvas");
    const label = `${title}, against T`;
    addChart(
        label, box,
        (colors) => estimateChart(
            box, {
              label,
              series: groupSeries(groups, (r) => -Math.log2(r.num_steps), shapeName, key, colors),
              x: {
                places,
                title: "T, steps of a block (many environments to the right)",
                thin: true
              },
              y: { range, references: [{ value: 0 }] },
            },
            colors));
  }
}

// Names the share of the returns' variance that the critics explain, if known.
function criticWords(critics) {
  const known = CRITICS.filter(([key]) => critics && isNumber(critics[key]));
  if (!known.length) return "";
  return ` Of the variance of returns, on episodes that nothing was fitted to, ${
      listText(known.map(
          ([key, words_]) => `${words_} explains ${formatNumber(100 * critics[key], 3)} %`))}.`;
}
