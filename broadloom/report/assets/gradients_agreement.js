"use strict";
// How far one block's gradient agrees with the true one: sentences, and the section.

const CRITICS = [["own", "the run's critic"], ["refitted", "a critic refitted to returns"]];

// One row a shape and lambda, with the estimates of each critic, of normalised advantages and of plain ones.
function agreementRows(cases) {
  const rows = new Map();
  for (const c of cases) {
    const key = `${c.num_envs} ${c.num_steps} ${c.lambda}`;
    if (!rows.has(key)) rows.set(key, { num_envs: c.num_envs, num_steps: c.num_steps, lambda: c.lambda, gamma: c.gamma, blocks: c.blocks });
    const name = `${c.critic}${c.norm_adv ? "" : "_plain"}`;
    rows.get(key)[name] = c.agreement;
    rows.get(key)[`${name}_away`] = c.away;
  }
  return [...rows.values()];
}

const criticsOf = (rows) => CRITICS.filter(([key]) => rows.some((r) => r[key]));

// Which shape is best for one block under one critic, and where blocks point away.
function bestShape(group, key, words) {
  const rows = group.cases.map((c) => ({ name: shapeName(c), e: estimate(c[key]) })).filter((r) => hasInterval(r.e));
  if (!rows.length) return `At ${group.name}, the true gradient cannot be told from zero, so nothing can be said of directions under ${words}.`;
  rows.sort((a, b) => b.e.value - a.e.value);
  const [best, ...others] = rows;
  const level = others.filter((r) => overlap(r.e, best.e));
  const worst = rows[rows.length - 1];
  let text = `Under ${words} (${group.name}), one block of ${best.name} agrees best with the true gradient, ${formatEstimate(best.e)}`;
  if (others.length && level.length === others.length) text += "; no other shape is apart from it";
  else if (level.length) text += `, level with ${listText(level.map((r) => r.name))}`;
  if (others.length && !overlap(worst.e, best.e)) text += `; least agrees ${worst.name}, ${formatEstimate(worst.e)}`;
  const away = rows.filter((r) => below(r.e, 0)).map((r) => r.name);
  return text + "." + (away.length ? ` On average, blocks of ${listText(away, 6)} point away from it.` : "");
}

function agreementSentences(cases, critics) {
  const rows = agreementRows(cases);
  const lines = groupsOf(rows).flatMap((group) => criticsOf(rows).map(([key, words]) => bestShape(group, key, words)));
  if (critics && isNumber(critics.own) && isNumber(critics.refitted)) {
    lines.push(`The run's critic explains ${formatNumber(100 * critics.own, 2)} % of the variance of returns, the refitted one ${formatNumber(100 * critics.refitted, 2)} %, each on episodes that it was not fitted to.`);
  }
  return lines;
}

function agreementSection(parent, cases) {
  const rows = agreementRows(cases);
  const critics = criticsOf(rows);
  const columns = critics.flatMap(([key, words]) => [keyColumn(key, `${words}, advantages normalised`), keyColumn(`${key}_plain`, `${words}, as they are`),
                                                     keyColumn(`${key}_away`, `${words}, share of blocks that point away`)]);
  const body = figure(parent, {
    title: "Agreement of one block's gradient with the true one",
    tables: [{ title: "agreement", rows: [...rows].sort((a, b) => a.lambda - b.lambda || byShape(a, b)), caption: "Expected cosine of one block's gradient with the true gradient. Brackets: interval.",
               columns: [{ title: "N × T", of: shapeName, text: true }, ...lambdaColumns(rows), { title: "blocks", of: (r) => r.blocks }, ...columns] }],
    caption: "The expected cosine between the gradient of a single block, advantages normalised over it, and the true gradient, against T: 1 where every block points the true way, " +
      "0 (dashed) where blocks say nothing of it. Noise and bias both lower it; the length of the gradient, which Adam and normalised advantages take away, does not enter. Whiskers are intervals.",
  });
  const steps = [...new Set(rows.map((r) => r.num_steps))].sort((a, b) => a - b);
  const x = { places: steps.map((t) => ({ value: Math.log2(t), label: String(t) })), title: "T, steps of a block", about: "against T" };
  quantityCharts(body, rows, critics.map(([key, words]) => [key, `Agreement under ${words}`, [{ value: 0 }], false]),
    (r) => Math.log2(r.num_steps), (r) => shapeName(r), x);
}
