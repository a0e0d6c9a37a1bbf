"use strict";
// Final returns: which arm has the highest, by how much, and whether that is certain.

const SCORES = [
  ["training", "training return"], ["evaluation", "evaluation of the final policy"],
  ["area", "area under the curve"]
];

// Gradient steps beside those of the arm with the highest IQM.
function gradientText(study, i, view) {
  const steps = (arm) => (view.cellOf(arm) || study.arms[arm]).gradient_steps;
  const own = steps(i);
  const best = study.best === null ? null : steps(study.best);
  if (!isNumber(own) || !isNumber(best) || own === best)
    return isNumber(own) ? formatNumber(own) : "–";
  return `${formatNumber(own)} ${isUnequal(study, i, study.best) ? "≠" : "≈"}`;
}
// Whether two arms' gradient steps differ, by the file's comparison of them where it has one.
function isUnequal(study, a, b) {
  const pair = compared(study, a, b, study.score);
  if (pair && typeof pair.equal.gradient_steps === "boolean") return !pair.equal.gradient_steps;
  return study.arms[a].gradient_steps !== study.arms[b].gradient_steps;
}

// By the comparison with the arm that leads, which is "best" only where every other arm can be told
// from it.
function verdict(study, i, rows) {
  const same = (a) => study.arms[a].same_runs ?? a;
  if (i === study.best) {
    const others = rows.filter((a) => same(a) !== same(i));
    return others.every((a) => compared(study, i, a, study.score)?.settled === "better") ? "best"
                                                                                         : "leads";
  }
  const pair = compared(study, study.best, i, study.score);
  if (same(i) === same(study.best)) return "the same runs";
  if (!pair || pair.probability.value === null) return "not compared";
  const text = pair.settled === "better" ? "lower"
      : pair.settled === "worse"         ? "higher"
      : pair.enough                      ? "no difference found"
                                         : "not called";
  return isUnequal(study, i, study.best) ? `${text} ≠` : text;
}

function ranked(study, view) {
  const value = (i) => iqmOf(view, i, study.score).value ?? -Infinity;
  const present = study.arms.map((_, i) => i).filter((i) => view.normalised || view.cellOf(i));
  const mean = (i) => estimate((view.scores(i, study.score) || {}).mean).value ?? -Infinity;
  return present.sort((a, b) => value(b) - value(a) || mean(b) - mean(a) || a - b);
}

const columnsIf = (wanted, ...columns) => (wanted ? columns : []);
const threeDigits = (x) => axisNumber(Number(x.toPrecision(3)));

function rankTable(study, view) {
  const rows = ranked(study, view);
  const other = study.score === "training" ? "evaluation" : study.leavesOut ? null : "training";
  const range = extent(rows.map((i) => iqmOf(view, i, study.score)));
  const against = (i) => (i === study.best ? null : compared(study, study.best, i, study.score));
  const varies = (key) => study.best !== null &&
      distinct(rows.map((i) => (view.cellOf(i) || study.arms[i])[key])).length > 1;
  const comparison = view.compared && study.best !== null && rows.length > 1;
  return {
    title: `final returns, ${view.title}`, heading: `Final returns, ${view.title}`, rows,
    caption: `Final returns on ${view.title}: interquartile means over runs, with 95 % intervals.`,
    columns: [
      nameColumn("arm", (i) => study.arms[i].name),
      {
        title: range ? range.map(threeDigits).join(" to ") : "",
        draw: (i) =>
            intervalMark(iqmOf(view, i, study.score), range, view.compared && i === study.best)
      },
      alikeColumn(`${study.score} IQM`, (i) => iqmOf(view, i, study.score)),
      ...columnsIf(
          comparison && rows.some((i) => hasValue(against(i)?.difference)),
          alikeColumn("below the leader", (i) => against(i)?.difference)),
      ...columnsIf(
          comparison, shareColumn("P(leader better)", (i) => against(i)?.probability),
          { title: "verdict", read: (i) => verdict(study, i, rows), text: true }),
      ...columnsIf(varies("gradient_steps"), {
        title: "gradient steps",
        read: (i) => gradientText(study, i, view),
        bad: (i) => i !== study.best && isUnequal(study, i, study.best)
      }),
      ...columnsIf(varies("minibatch_size"), {
        title: "minibatch",
        read: (i) => (view.cellOf(i) || study.arms[i]).minibatch_size
      }),
      ...columnsIf(
          other && rows.some((i) => hasValue(iqmOf(view, i, other))),
          alikeColumn(`${other} IQM`, (i) => iqmOf(view, i, other))),
      { title: "runs", read: (i) => iqmOf(view, i, study.score).count, plain: true },
    ],
  };
}

function statisticsTable(study) {
  const rows = study.views.flatMap(
      (view) => study.arms.flatMap(
          (arm, i) => SCORES.filter(([score]) => view.scores(i, score))
                          .map(([score, title]) => ({ view, arm, i, score, title }))));
  const read = (key) => (r) => (r.view.scores(r.i, r.score) || {})[key];
  return {
    title: "all statistics of final returns",
    rows,
    caption: "Interquartile mean, mean and median over runs, with 95 % intervals.",
    columns: [
      nameColumn("task", (r) => r.view.title), nameColumn("arm", (r) => r.arm.name),
      { title: "N", read: (r) => r.arm.num_envs, plain: true },
      { title: "T", read: (r) => r.arm.num_steps, plain: true },
      { title: "score", read: (r) => r.title, text: true }, estimateColumn("IQM", read("iqm")),
      estimateColumn("mean", read("mean")), estimateColumn("median", read("median")),
      ...(study.views.some((v) => v.normalised)
              ? [estimateColumn("optimality gap", read("optimality_gap"))]
              : [])
    ],
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
      return {
        arms,
        unequal,
        steps: t,
        name: [other, t === null ? "" : `T = ${t}`].filter(Boolean).join(", ") ||
            (study.groups.length > 1 ? "base settings" : "")
      };
    });
  });
}

const envsTitle = (arms) => {
  const [batches, steps] =
      ["batch_size", "num_steps"].map((key) => distinct(arms.map((a) => a[key])));
  if (steps.length === 1) return `N, environments (T = ${steps[0]})`;
  return batches.length === 1 ? `N, environments (T = ${formatNumber(batches[0])} / N)`
                              : "N, environments";
};

// Ticks at all N, or at some of them where they are many.
function envsPlaces(envs) {
  const kept = envs.length <= 16
      ? envs
      : envs.reduce(
            (some, n) => (some.length && n < 1.4 * some[some.length - 1] ? some : [...some, n]),
            []);
  return distinct([...kept, envs[envs.length - 1]])
      .map((n) => ({ value: Math.log2(n), label: String(n) }));
}

function shapeChart(box, label, study, view, score, lines, colors) {
  const envs = distinct(study.arms.map((a) => a.num_envs)).sort((a, b) => a - b);
  const gap = Math.min(...envs.slice(1).map((n, i) => Math.log2(n / envs[i])));
  const series = lines.map(
      (line, k) => ({
        small: envs.length > 16,
        label: (line.name || "IQM") + (line.unequal ? " ≠" : ""),
        ...lineLook(study, line.arms[0].index, line.steps, lines.map((l) => l.steps), colors),
        points:
            line.arms.map((arm) => ({
                            x: Math.log2(arm.num_envs) + 0.1 * gap * (k - (lines.length - 1) / 2),
                            estimate: iqmOf(view, arm.index, score),
                            name: arm.name
                          })),
      }));
  estimateChart(
      box, {
        label,
        series,
        x: { places: envsPlaces(envs), title: envsTitle(study.arms), thin: true },
        y: { title: view.unit },
        legend: lines.length > 1
      },
      colors);
}

function againstEnvs(parent, study) {
  if (distinct(study.arms.map((a) => a.num_envs)).length < 2) return;
  const lines = linesOf(study);
  const order = [...SCORES].sort(
      ([a], [b]) =>
          (a === study.score       ? -1
               : b === study.score ? 1
                                   : 0));
  const drawn =
      study.views
          .flatMap(
              (view) => order.filter(([score]) => score !== "area" || !study.several)
                            .map(([score, title]) => ({ view, score, title })))
          .filter(({ view, score }) => study.arms.some((_, i) => hasValue(iqmOf(view, i, score))))
          .filter(
              ({ view, score }) =>
                  score !== study.score || view.normalised || !study.isAnsweredAlongEnvs);
  const away = drawn.filter(({ score }) => score === "training" && study.leavesOut);
  envsFigure(
      parent, study, lines, drawn.filter((d) => !away.includes(d)), "Final return against N",
      [statisticsTable(study)]);
  if (away.length)
    envsFigure(
        folded(parent, "By training returns, which leave out the longest episodes"), study, lines,
        away, "Training return against N", []);
}

function envsFigure(parent, study, lines, drawn, title, tables) {
  if (!drawn.length) return;
  const unequal = lines.some((line) => line.unequal);
  const body = figure(parent, {
    title,
    tables: tables.length ? tables : [scoresTable(study, drawn)],
    caption:
        "Interquartile mean over runs, with 95 % intervals, against the number of environments " +
        "(doubling along the axis)." +
        (lines.length > 1
             ? " Lines differ in what their names say; their points stand a little aside of each " +
                 "other."
             : "") +
        (unequal
             ? " ≠: arms along this line differ in gradient steps too, so it shows what both do " +
                 "together, not the shape alone."
             : " Gradient steps are equal along each line."),
  });
  const grid = panels(body, 330);
  for (const { view, score, title: what } of drawn) {
    const name = study.several ? `${view.title}: ${what}` : what;
    const label = `Final ${what} against N, ${view.title}`;
    const { box } = namedPanel(grid, name, "canvas");
    addChart(label, box, (colors) => shapeChart(box, label, study, view, score, lines, colors));
  }
}

function scoresTable(study, drawn) {
  const rows = drawn.flatMap(
      ({ view, score, title }) => study.arms.map((arm, i) => ({ view, arm, i, score, title }))
                                      .filter((r) => hasValue(iqmOf(view, r.i, score))));
  return {
    title: "training returns against N",
    rows,
    caption: "Interquartile means over runs, with 95 % intervals.",
    columns: [
      nameColumn("task", (r) => r.view.title), nameColumn("arm", (r) => r.arm.name),
      { title: "score", read: (r) => r.title, text: true },
      estimateColumn("IQM", (r) => iqmOf(r.view, r.i, r.score))
    ]
  };
}

// ---- what each thing that varies does

const VARIED = {
  num_envs_of_batch: (l) => `N at B = ${formatNumber(l.fixed)}`,
  num_envs: (l) => `N at T = ${formatNumber(l.fixed)}`,
  num_steps: (l) => `T at N = ${formatNumber(l.fixed)}`,
  setting: (l) => l.key,
  settings: () => "settings"
};

// Names the settings that vary elsewhere but are equal in all arms of a line.
function heldText(study, line) {
  const arms = line.arms.map((a) => study.arms[a]);
  const first = arms[0] || { settings: {} };
  const shape =
      ["setting", "settings"].includes(line.kind) && distinct(study.arms.map(shapeName)).length > 1
      ? [shapeName(first)]
      : [];
  const same = Object.entries(first.settings || {})
                   .filter(([key, value]) => arms.every((a) => (a.settings || {})[key] === value));
  return [...shape, ...same.map(([key, value]) => `${key}=${value || "none"}`)].join(" ") || "–";
}

// The largest of what the leader is ahead by, of the arms told to be lower.
function fallOf(line) {
  const lower =
      line.standings.map((s, i) => (s === "lower" ? line.ahead[i] : null)).filter(hasValue);
  return lower.reduce((most, e) => (most === null || e.value > most.value ? e : most), null);
}

// The values of a line's arms that stand so.
const standingText = (line, ...standings) =>
    line.values.filter((_, i) => standings.includes(line.standings[i]))
        .map((v) => v || "none")
        .join(", ") ||
    "–";

const chanceText = (chance) => (chance < 0.001 ? "< 0.001" : fixed(chance, 3));

function linesTable(study) {
  const rows = study.data.lines;
  // If all arms together differ no more than by chance, the result of one pair does not count.
  const alike = (l) => (l.differ ? ["alike"] : ["alike", "lower", "leads"]);
  return {
    title: "what each thing that varies does",
    heading: "What each thing that varies does, all else equal",
    rows,
    caption:
        "Arms that differ in one key alone: first what is more than chance among so many, then " +
        "the rest, the largest effects first.",
    columns: [
      nameColumn("varies", (l) => (VARIED[l.kind] || (() => l.key))(l)),
      nameColumn("held", (l) => heldText(study, l)),
      ...(study.several ? [nameColumn("task", (l) => study.tasks[l.task]?.name)] : []),
      nameColumn("leads", (l) => (l.differ ? standingText(l, "leads") : "–")),
      nameColumn("no difference found", (l) => standingText(l, ...alike(l))),
      nameColumn("lower", (l) => (l.differ ? standingText(l, "lower") : "–")),
      ...(rows.some((l) => l.standings.includes("unknown"))
              ? [nameColumn("not called", (l) => standingText(l, "unknown"))]
              : []),
      {
        title: "leads by",
        read: (l) => (l.differ ? fallOf(l) : null),
        interval: true,
        alike: !study.several
      },
      ...(rows.some((l) => l.room > 0)
              ? [{ title: "may differ by up to", read: (l) => (l.room > 0 ? l.room : null) }]
              : []),
      ...(rows.some((l) => isNumber(l.chance)) ? [{
        title: "P(all alike)",
        read: (l) => (isNumber(l.chance) ? chanceText(l.chance) : null)
      }]
                                               : []),
      ...(rows.some((l) => (l.confounds || []).length)
              ? [nameColumn("differs too", (l) => (l.confounds || []).join(", ") || "–")]
              : [])
    ],
  };
}

// How often which of two neighbours is called better, over all lines of a key.
function callsTable(study) {
  const rows = (study.data.calls || []).filter((c) => c.lines > 1 && c.pairs > 1);
  return {
    title: "neighbours",
    heading: "Neighbours that differ in one key alone",
    rows,
    caption:
        "In how many pairs of neighbours which side is called better, over all sets of arms. By " +
        "chance each would be called better in one pair of forty at most.",
    columns: [
      nameColumn("side", (c) => c.later),
      { title: "side is better", read: (c) => c.later_better, plain: true },
      nameColumn("other side", (c) => c.earlier),
      { title: "other is better", read: (c) => c.earlier_better, plain: true },
      { title: "of pairs", read: (c) => c.pairs, plain: true },
      { title: "P(by chance)", read: (c) => c.chance }
    ],
  };
}

// Whether the effect of one thing depends on another.
function twoWayTable(study) {
  const rows = study.data.two_way || [];
  const level = (i) => (q) => `${q.other}=${q.levels[i] || "none"}`;
  return {
    title: "two-way questions",
    heading: "Does the effect of one thing depend on another?",
    rows,
    caption:
        "The change of the interquartile mean from the least to the greatest value of one key, " +
        "at " +
        "the least and at the greatest value of another. It depends on the other where the " +
        "difference of both changes leaves out zero, at 95 % over all rows together.",
    columns: [
      ...(study.several ? [nameColumn("task", (q) => study.tasks[q.task]?.name)] : []),
      ...(rows.some((q) => q.held) ? [nameColumn("where", (q) => q.held || "")] : []),
      nameColumn("effect of", (q) => `${q.key}, ${q.values.map((v) => v || "none").join(" to ")}`),
      nameColumn("at", level(0)), estimateColumn("changes by", (q) => q.effects[0]),
      nameColumn("and at", level(1)), estimateColumn("by", (q) => q.effects[1]),
      estimateColumn("difference", (q) => q.difference),
      { title: "depends", read: (q) => (q.depends ? "yes" : "not found"), text: true }
    ],
  };
}

function resultsSection(parent, study) {
  const shown = study.views.filter(
      (view) => study.arms.some((_, i) => hasValue(iqmOf(view, i, study.score))));
  if (!shown.length) {
    parent.append(element("p", {}, "No run has a return yet."));
    return;
  }
  for (const view of shown) {
    const table = rankTable(study, view);
    const best = view.compared && study.best !== null ? study.arms[study.best].name : null;
    const caption =
        `Interquartile means (IQM) of ${
            view.normalised ? "normalised scores over all tasks"
                : study.score === "training"
                ? "the last training returns"
                : "the last evaluations"} with 95 % intervals over runs, highest first.` +
        (best && table.rows.length > 1
             ? ` ${best} leads: no other arm is told to beat it; it is called best only where ` +
                 `every other one is lower. P is how likely one of its runs is better than a ` +
                 `run of that arm. A verdict needs the interval of P to leave out a half, a ` +
                 `permutation p of at most 5 %${
                     (study.data.tuned || []).length
                         ? ", and no choice of tuned keys, as good as theirs, that changes it"
                         : ""}; "not called": the runs are too few. How far the arm is below ` +
                 `may be less sure than that, or surer, where single runs fail. ≠: gradient ` +
                 `steps differ from those of the leader.`
             : "");
    if (table.rows.length > 16 && shown.indexOf(view) > 0)
      parent.append(dataDetails(table, fileName(table.title)));
    else
      tableFigure(parent, table, caption);
  }
  if ((study.data.lines || []).length) {
    const table = linesTable(study);
    if (table.rows.length > 24)
      parent.append(dataDetails(table, fileName(table.title)));
    else
      tableFigure(
          parent, table,
          `${table.caption} An arm is lower or not by its comparison with the one that leads, ` +
          `and ` +
          `only where all of them together differ more than arms that are alike would in 95 of ` +
          `100 cases (P(all alike), rank test).`);
    const questions = twoWayTable(study);
    if (questions.rows.length) tableFigure(parent, questions, questions.caption);
    const neighbours = callsTable(study);
    if (neighbours.rows.length) tableFigure(parent, neighbours, neighbours.caption);
  }
  againstEnvs(parent, study);
}
