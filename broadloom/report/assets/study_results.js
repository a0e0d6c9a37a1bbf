"use strict";
// Final returns: which arm has the highest, by how much, and whether that is certain.

const SCORES = [["training", "training return"], ["evaluation", "evaluation of the final policy"], ["area", "area under the curve"]];

// Gradient steps beside those of the arm with the highest IQM.
function gradientText(study, i, view) {
  const steps = (arm) => (view.cellOf(arm) || study.arms[arm]).gradient_steps;
  const own = steps(i);
  const best = study.best === null ? null : steps(study.best);
  if (!isNumber(own) || !isNumber(best) || own === best) return isNumber(own) ? formatNumber(own) : "–";
  return `${formatNumber(own)} ${isUnequal(study, i, study.best) ? "≠" : "≈"}`;
}
// Whether two arms' gradient steps differ, by the file's comparison of them where it has one.
function isUnequal(study, a, b) {
  const pair = compared(study, a, b, study.score);
  if (pair && typeof pair.equal.gradient_steps === "boolean") return !pair.equal.gradient_steps;
  return study.arms[a].gradient_steps !== study.arms[b].gradient_steps;
}

// "best" only where every other arm of the table can be told from it.
function verdict(study, i, rows) {
  const same = (a) => study.arms[a].same_runs ?? a;
  if (i === study.best) {
    const others = rows.filter((a) => same(a) !== same(i));
    return others.every((a) => compared(study, i, a, study.score)?.settled === "better") ? "best" : "highest";
  }
  const pair = compared(study, study.best, i, study.score);
  if (same(i) === same(study.best)) return "the same runs";
  if (!pair || pair.probability.value === null) return "not compared";
  const text = pair.settled === "better" ? "worse" : pair.settled === "worse" ? "better" : "not settled";
  return isUnequal(study, i, study.best) ? `${text} ≠` : text;
}

function ranked(study, view) {
  const value = (i) => iqmOf(view, i, study.score).value ?? -Infinity;
  const present = study.arms.map((_, i) => i).filter((i) => view.normalised || view.cellOf(i));
  return present.sort((a, b) => (value(a) === value(b) ? a - b : value(b) - value(a)));
}

function rankTable(study, view) {
  const rows = ranked(study, view);
  const other = study.score === "training" ? "evaluation" : null;
  const range = extent(rows.map((i) => iqmOf(view, i, study.score)));
  const against = (i) => (i === study.best ? null : compared(study, study.best, i, study.score));
  const varies = (key) => study.best !== null && distinct(rows.map((i) => (view.cellOf(i) || study.arms[i])[key])).length > 1;
  const comparison = view.compared && study.best !== null && rows.length > 1;
  return {
    title: `final returns, ${view.title}`, heading: `Final returns, ${view.title}`, rows,
    caption: `Final returns on ${view.title}: interquartile means over runs, with 95 % intervals.`,
    columns: [
      nameColumn("arm", (i) => study.arms[i].name),
      { title: "", draw: (i) => intervalMark(iqmOf(view, i, study.score), range, view.compared && i === study.best) },
      estimateColumn(`${study.score} IQM`, (i) => iqmOf(view, i, study.score)),
      ...(comparison && rows.some((i) => hasValue(against(i)?.difference)) ? [estimateColumn("below the highest", (i) => against(i)?.difference)] : []),
      ...(comparison ? [shareColumn("P(highest better)", (i) => against(i)?.probability), { title: "verdict", of: (i) => verdict(study, i, rows), text: true }] : []),
      ...(varies("gradient_steps") ? [{ title: "gradient steps", of: (i) => gradientText(study, i, view), bad: (i) => i !== study.best && isUnequal(study, i, study.best) }] : []),
      ...(varies("minibatch_size") ? [{ title: "minibatch", of: (i) => (view.cellOf(i) || study.arms[i]).minibatch_size }] : []),
      ...(other && rows.some((i) => hasValue(iqmOf(view, i, other))) ? [estimateColumn("evaluation IQM", (i) => iqmOf(view, i, other))] : []),
      { title: "runs", of: (i) => iqmOf(view, i, study.score).count, plain: true },
    ],
  };
}

function statisticsTable(study) {
  const rows = study.views.flatMap((view) => study.arms.flatMap((arm, i) => SCORES.filter(([score]) => view.scores(i, score)).map(([score, title]) => ({ view, arm, i, score, title }))));
  const of = (key) => (r) => (r.view.scores(r.i, r.score) || {})[key];
  return {
    title: "all statistics of final returns", rows, caption: "Interquartile mean, mean and median over runs, with 95 % intervals.",
    columns: [nameColumn("task", (r) => r.view.title), nameColumn("arm", (r) => r.arm.name), { title: "N", of: (r) => r.arm.num_envs, plain: true },
              { title: "T", of: (r) => r.arm.num_steps, plain: true }, { title: "score", of: (r) => r.title, text: true }, estimateColumn("IQM", of("iqm")),
              estimateColumn("mean", of("mean")), estimateColumn("median", of("median")),
              ...(study.views.some((v) => v.normalised) ? [estimateColumn("optimality gap", of("optimality_gap"))] : [])],
  };
}

// ---- against N

// Lines over N: one a group, or one for each T of it where it has an N twice.
function linesOf(study) {
  return study.groups.flatMap(({ other, members }) => {
    const twice = distinct(members.map((a) => a.num_envs)).length < members.length;
    const steps = twice ? distinct(members.map((a) => a.num_steps)) : [null];
    return steps.map((t) => {
      const arms = members.filter((a) => t === null || a.num_steps === t);
      const unequal = arms.some((a) => isUnequal(study, a.index, arms[0].index));
      return { arms, unequal, name: [other, t === null ? "" : `T = ${t}`].filter(Boolean).join(", ") };
    });
  });
}

const envsTitle = (arms) => {
  const [batches, steps] = ["batch_size", "num_steps"].map((key) => distinct(arms.map((a) => a[key])));
  if (steps.length === 1) return `N, environments (T = ${steps[0]})`;
  return batches.length === 1 ? `N, environments (T = ${formatNumber(batches[0])} / N)` : "N, environments";
};

// Ticks at all N, or at some of them where they are many.
function envsPlaces(envs) {
  const kept = envs.length <= 16 ? envs : envs.reduce((some, n) => (some.length && n < 1.4 * some[some.length - 1] ? some : [...some, n]), []);
  return distinct([...kept, envs[envs.length - 1]]).map((n) => ({ value: Math.log2(n), label: String(n) }));
}

function shapeChart(box, label, study, view, score, lines, colors) {
  const envs = distinct(study.arms.map((a) => a.num_envs)).sort((a, b) => a - b);
  const gap = Math.min(...envs.slice(1).map((n, i) => Math.log2(n / envs[i])));
  const series = lines.map((line, k) => ({
    small: envs.length > 16,
    label: (line.name || "IQM") + (line.unequal ? " ≠" : ""), color: seriesColor(colors, k, lines.length), marker: MARKERS[k % MARKERS.length],
    points: line.arms.map((arm) => ({ x: Math.log2(arm.num_envs) + 0.1 * gap * (k - (lines.length - 1) / 2), estimate: iqmOf(view, arm.index, score), name: arm.name })),
  }));
  estimateChart(box, { label, series, x: { places: envsPlaces(envs), title: envsTitle(study.arms), thin: true },
                       y: { title: view.unit }, legend: lines.length > 1 }, colors);
}

function againstEnvs(parent, study) {
  if (distinct(study.arms.map((a) => a.num_envs)).length < 2) return;
  const lines = linesOf(study);
  const drawn = study.views.flatMap((view) => SCORES.filter(([score]) => score !== "area" || !study.several).map(([score, title]) => ({ view, score, title })))
    .filter(({ view, score }) => study.arms.some((_, i) => hasValue(iqmOf(view, i, score))));
  if (!drawn.length) return;
  const unequal = lines.some((line) => line.unequal);
  const body = figure(parent, {
    title: "Final return against N", tables: [statisticsTable(study), ...((study.data.trends || []).length ? [trendTable(study)] : [])],
    caption: "Interquartile mean over runs, with 95 % intervals, against the number of environments (doubling along the axis)." +
      (lines.length > 1 ? " Lines differ in what their names say; their points stand a little aside of each other." : "") +
      (unequal ? " ≠: arms along this line differ in gradient steps too, so it shows what both do together, not the shape alone." : " Gradient steps are equal along each line."),
  });
  const grid = panels(body, 330);
  for (const { view, score, title } of drawn) {
    const name = study.several ? `${view.title}: ${title}` : title;
    const label = `Final ${title} against N, ${view.title}`;
    const { box } = namedPanel(grid, name, "canvas");
    addChart(label, box, (colors) => shapeChart(box, label, study, view, score, lines, colors));
  }
}

function trendTable(study) {
  const unequal = (t) => Object.entries(t.equal || {}).filter(([key, same]) => same === false && key !== "shape").map(([key]) => key.replace("_", " ")).join(", ");
  return {
    title: "trends over N", rows: study.data.trends, caption: "Change of the IQM for each doubling of N, by least squares, with 95 % intervals.",
    columns: [nameColumn("line", (t) => t.other || "–"), { title: "fixed", of: (t) => `${t.fixed === "batch_size" ? "B" : "T"} = ${formatNumber(t.value)}`, text: true },
              nameColumn("task", (t) => study.tasks[t.task]?.name), { title: "score", of: (t) => t.score, text: true },
              { title: "arms", of: (t) => (t.arms || []).length }, estimateColumn("change a doubling", (t) => t.slope),
              { title: "trend", of: (t) => ({ rises: "rises", falls: "falls" })[t.monotone] || "not settled", text: true },
              nameColumn("highest IQM", (t) => study.arms[t.best]?.name), { title: "not equal along it", of: (t) => unequal(t) || "–", text: true }],
  };
}

function resultsSection(parent, study) {
  const shown = study.views.filter((view) => study.arms.some((_, i) => hasValue(iqmOf(view, i, study.score))));
  if (!shown.length) {
    parent.append(element("p", {}, "No run has a return yet."));
    return;
  }
  for (const view of shown) {
    const table = rankTable(study, view);
    const best = view.compared && study.best !== null ? study.arms[study.best].name : null;
    const caption = `Interquartile means (IQM) of ${view.normalised ? "normalised scores over all tasks" : study.score === "training" ? "the last training returns" : "the last evaluations"} with 95 % intervals over runs, highest first.` +
      (best && table.rows.length > 1 ? ` "The highest" is ${best}, called best only where every other arm can be told from it. P: how likely one of its runs is better than a run of that arm; "not settled": the interval holds a half, or the runs are too few to say. ≠: gradient steps differ from those of the highest.` : "");
    if (table.rows.length > 16 && shown.indexOf(view) > 0) parent.append(dataDetails(table, fileName(table.title)));
    else tableFigure(parent, table, caption);
  }
  againstEnvs(parent, study);
}
