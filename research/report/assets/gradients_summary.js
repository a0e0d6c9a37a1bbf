"use strict";
// What the numbers say, in sentences. Two quantities are called different only where their intervals are apart, and
// a quantity is called different from zero only where its interval leaves zero out.

const shapeName = (c) => `${c.num_envs} × ${c.num_steps}`;
const byShape = (a, b) => b.num_steps - a.num_steps || a.num_envs - b.num_envs;

// Cases of one lambda and gamma, from long blocks to wide ones; {name, key, lambda, gamma, cases}.
function groupsOf(cases) {
  const severalGammas = new Set(cases.map((c) => c.gamma)).size > 1;
  const groups = new Map();
  for (const c of cases) {
    const key = `${c.gamma} ${c.lambda}`;
    const name = `λ = ${c.lambda}` + (severalGammas ? `, γ = ${c.gamma}` : "");
    if (!groups.has(key)) groups.set(key, { key, name, lambda: c.lambda, gamma: c.gamma, cases: [] });
    groups.get(key).cases.push(c);
  }
  for (const group of groups.values()) group.cases.sort(byShape);
  return [...groups.values()].sort((a, b) => a.gamma - b.gamma || a.lambda - b.lambda);
}

const overlap = (a, b) => a.low <= b.high && b.low <= a.high;
const above = (e, x) => hasInterval(e) && e.low > x;
const below = (e, x) => hasInterval(e) && e.high < x;

// "2 of 7 shapes (1 × 64 and 4 × 16)"; the names are left out where they are all.
function countWithNames(found, all, what) {
  const names = found.length && found.length < all.length ? ` (${listText(found, 4)})` : "";
  return `${formatNumber(found.length)} of ${plural(all.length, what)}${names}`;
}
// Where a test holds, group by group: "2 of 7 shapes at λ = 0 and 7 of 7 at λ = 1"; null where nowhere.
function whereHolds(cases, test) {
  const found = groupsOf(cases).map((g) => ({ g, names: g.cases.filter(test).map(shapeName) })).filter((f) => f.names.length);
  if (!found.length) return null;
  return listText(found.map(({ g, names }, i) => `${names.length} of ${i ? g.cases.length : plural(g.cases.length, "shape")} at ${g.name}`), 9);
}

function lowestVariance(group) {
  const rows = group.cases.map((c) => ({ name: shapeName(c), e: estimate(c.total) })).filter((r) => hasInterval(r.e));
  if (rows.length === 0) return null;
  rows.sort((a, b) => a.e.value - b.e.value);
  const [best, ...others] = rows;
  const value = `${best.name}: ${formatEstimate(best.e)}`;
  if (others.length === 0) return `At ${group.name}, Tr Cov(G_B) of the one shape, ${value}.`;
  const level = others.filter((r) => overlap(r.e, best.e));
  const worst = rows[rows.length - 1];
  let text = `At ${group.name}, the lowest estimate of Tr Cov(G_B) is that of ${value}. `;
  if (level.length === others.length) return text + `Its interval overlaps with that of ${others.length === 1 ? "the other shape" : "every other shape"}, so it is not settled which shape has the lowest.`;
  text += level.length === 0 ? `Its interval is apart from ${others.length === 1 ? "that of the other shape" : "those of all other shapes"}. `
    : `Its interval overlaps with ${level.length === 1 ? "that" : "those"} of ${listText(level.map((r) => r.name))}, and is apart from the ` +
      `${others.length - level.length === 1 ? "remaining one" : `other ${others.length - level.length}`}. `;
  if (best.e.low > 0 && worst.e.low > best.e.high) {
    text += `The highest, ${worst.name}, is ${formatNumber(worst.e.low / best.e.high, 2)} to ` +
      `${formatNumber(worst.e.high / best.e.low, 2)} times that, from end to end of the intervals.`;
  }
  return text;
}

function varianceSentences(cases) {
  const lines = groupsOf(cases).map(lowestVariance);
  const inflation = cases.filter((c) => hasInterval(estimate(c.variance_inflation)));
  if (inflation.length) {
    const [more, less] = [above, below].map((test) => whereHolds(inflation, (c) => test(estimate(c.variance_inflation), 1)));
    lines.push(!more && !less ? "In no case can a block be told from B independent samples: every interval of the variance inflation holds 1."
      : `A block is worth fewer than B independent samples (variance inflation above 1) in ${more || "no case"}, ` +
      `and more than B (below 1) in ${less || "no case"}. Wherever else it was measured, the interval holds 1.`);
  }
  const across = cases.filter((c) => hasInterval(estimate(c.across)));
  const off = whereHolds(across, (c) => above(estimate(c.across), 0) || below(estimate(c.across), 0));
  if (across.length) lines.push(`The part of the variance from pairs of different environments ${off ? `differs from zero in ${off}. Environments of a policy held fixed are independent, so that this is chance, as one interval in twenty is, unless advantages were normalised over the block` : "cannot be told from zero in any case, as it must be for independent environments"}.`);
  const broken = whereHolds(cases, (c) => c.parts_agree === false);
  if (broken) lines.push(`Warning: the three parts do not add up to the total in ${broken}; do not trust the split there.`);
  return lines;
}

// The case's entry of the smallest lag, where it has any.
function firstLag(c) {
  const lags = (c.within || []).filter((w) => isNumber(w.lag));
  return lags.length ? lags.reduce((a, b) => (b.lag < a.lag ? b : a)) : null;
}

function autocovarianceSentence(group) {
  const rows = group.cases.map((c) => ({ name: shapeName(c), w: firstLag(c) }))
    .filter((r) => r.w && hasInterval(estimate(r.w.autocovariance)));
  if (!rows.length) return null;
  const lags = [...new Set(rows.map((r) => r.w.lag))];
  const side = (test) => rows.filter((r) => test(estimate(r.w.autocovariance), 0)).map((r) => r.name);
  const [up, down] = [side(above), side(below)];
  const where = `At ${group.name}, autocovariance along trajectories at ${lags.length === 1 ? `lag ${lags[0]}` : "the smallest lag"}`;
  if (!up.length && !down.length) return `${where} cannot be told from zero in ${rows.length === 1 ? "the one shape" : `any of ${plural(rows.length, "shape")}`}.`;
  const parts = [];
  if (up.length) parts.push(`is above zero in ${countWithNames(up, rows, "shape")}`);
  if (down.length) parts.push(`is below zero in ${countWithNames(down, rows, "shape")}`);
  const rest = rows.length - up.length - down.length;
  return `${where} ${parts.join(" and ")}${rest ? `; in the other ${rest === 1 ? "one" : rest} the interval holds zero` : ""}.`;
}

function correlationSentences(cases) {
  const lines = groupsOf(cases).map(autocovarianceSentence);
  const pairs = cases.map((c) => ({ c, near: firstLag(c) && estimate(firstLag(c).mean_abs), far: c.across && estimate(c.across.mean_abs) }))
    .filter((p) => p.near && p.far && hasInterval(p.near) && hasInterval(p.far));
  const stronger = whereHolds(pairs.map((p) => p.c), (c) => pairs.some((p) => p.c === c && p.near.low > p.far.high));
  if (pairs.length) {
    lines.push("Whatever the sign: that neighbours in a trajectory have a greater mean |cosine| than samples of different trajectories, with intervals apart, " +
      (stronger ? `is so in ${stronger}.` : "is so in no case."));
  }
  const means = cases.filter((c) => c.batch_means && hasInterval(estimate(c.batch_means.mean)));
  const aligned = whereHolds(means, (c) => above(estimate(c.batch_means.mean), 0));
  if (means.length) lines.push(`Gradients of independent blocks ${aligned ? `point the same way on average (mean cosine above zero) in ${aligned}` : "have a mean cosine that cannot be told from zero, or is below it, in every case"}.`);
  return lines;
}

function biasSentences(cases) {
  const rows = cases.filter((c) => hasValue(c.bias_norm));
  if (!rows.length) return [];
  const severalGammas = new Set(rows.map((c) => c.gamma)).size > 1;
  const top = rows.reduce((a, b) => (estimate(b.bias_norm).value > estimate(a.bias_norm).value ? b : a));
  const e = estimate(top.bias_norm);
  const relative = estimate(top.relative_bias);
  const close = rows.filter((c) => c !== top && hasInterval(estimate(c.bias_norm)) && hasInterval(e) && overlap(estimate(c.bias_norm), e));
  let text = `The largest estimate of the bias |E G_B − G_T| is at T = ${formatNumber(top.num_steps)}, λ = ${top.lambda}` +
    `${severalGammas ? `, γ = ${top.gamma}` : ""}: ${formatEstimate(e)}`;
  if (relative.value !== null) text += `, which is ${formatEstimate(relative)} times the norm of the reference gradient`;
  text += hasInterval(e) && e.low <= 0 ? "; its interval reaches zero." : ".";
  if (close.length) text += ` The intervals of ${plural(close.length, "other case")} overlap with it.`;
  const tested = rows.filter((c) => hasInterval(estimate(c.bias_squared)));
  const clear = tested.filter((c) => above(estimate(c.bias_squared), 0));
  const lines = [text];
  if (tested.length) lines.push(`The whole interval of the squared bias is above zero in ${clear.length} of ${plural(tested.length, "case")}${clear.length < tested.length ? "; in the others no bias was found" : ""}.`);
  const short = cases.filter((c) => c.stopped === "budget");
  if (short.length) lines.push(`In ${short.length} of ${plural(cases.length, "bias case")} the budget ended before the wanted precision was reached.`);
  return lines;
}

const EXACT_QUANTITIES = [
  ["expected_norm", "|E G_B|", "norm of the mean"], ["reference_norm", "|G_T|", "norm of the reference"], ["bias_norm", "|E G_B − G_T|", "bias"],
  ["cosine", "cos(E G_B, G_T)", "cosine"], ["total", "Tr Cov(G_B)", "variance"],
];
// Every quantity of every case as {c, key, title, exact, sampled, agrees}.
function exactRows(exact) {
  return (exact.cases || []).flatMap((c) => EXACT_QUANTITIES.filter(([key]) => c[key]).map(([key, title]) => ({
    c, key, title, exact: isNumber(c[key].exact) ? c[key].exact : null, sampled: estimate(c[key].sampled), agrees: c[key].agrees ?? null })));
}

function exactSentences(exact, confidence) {
  const rows = exactRows(exact);
  const tested = rows.filter((r) => r.agrees !== null);
  if (!tested.length) return rows.length ? ["Exact values were solved for; none was sampled beside them."] : [];
  const agree = tested.filter((r) => r.agrees);
  const expected = isNumber(confidence) ? ` With intervals at ${formatNumber(100 * confidence)} %, about ${formatNumber((1 - confidence) * tested.length, 2)} misses are to be expected when all is right; cases share their samples, so misses come together.` : "";
  return [`The sampled interval holds the exact value in ${agree.length} of ${plural(tested.length, "comparison")}.${expected}`];
}

// [{title, lines}] for the studies that are there: what stands behind the sentences that come with the data.
function summarise(data) {
  const blocks = [];
  const add = (title, lines) => { if (lines.some(Boolean)) blocks.push({ title, lines: lines.filter(Boolean) }); };
  if (data.variance) add("Variance", varianceSentences(data.variance));
  if (data.correlation) add("Correlation", correlationSentences(data.correlation));
  if (data.bias) add("Bias", biasSentences(data.bias));
  if (data.exact) add("Exact values", exactSentences(data.exact, (data.settings || {}).confidence));
  return blocks;
}
