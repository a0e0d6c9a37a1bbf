"use strict";
// Arms against each other: how likely a run of one is better than a run of the other.

const EQUAL_WORDS = [
  ["gradient_steps", "gradient steps"], ["minibatch_size", "minibatch size"],
  ["batch_size", "batch"], ["environment_steps", "environment steps"]
];
const unequalWords = (equal) =>
    EQUAL_WORDS.filter(([key]) => (equal || {})[key] === false).map(([, words]) => words);

// Arms in the order of groups; as columns only those that were compared with all others.
function matrixArms(study, score) {
  const known =
      study.groups.flatMap((g) => g.members.map((a) => a.index))
          .filter((i) => study.arms.some((_, j) => i !== j && compared(study, i, j, score)));
  const full = known.filter((i) => known.every((j) => i === j || compared(study, i, j, score)));
  return { rows: known, columns: full.length > 1 || known.length < 3 ? full : known };
}

function pairCell(study, i, j, score) {
  const pair = i === j ? null : compared(study, i, j, score);
  if (!pair || pair.probability.value === null) return null;
  const unequal = unequalWords(pair.equal);
  const marks = [
    pair.equal.gradient_steps === false ? "gradients" : "",
    pair.equal.minibatch_size === false ? "minibatch" : ""
  ].filter(Boolean);
  return {
    share: pair.probability.value,
    text: formatShare(pair.probability.value),
    strong: pair.settled !== null,
    marks,
    hint: `${study.arms[i].name} better than ${study.arms[j].name}: ${
              formatEstimate(pair.probability, 2, 2)}` +
        (unequal.length ? `; not equal: ${unequal.join(", ")}` : "")
  };
}
const formatShare = (p) => fixed(p, 2).replace(/^0\./, ".");

// Names the results of single tasks, because opposite effects cancel in the mean over tasks.
const taskWords = (study, c) =>
    (c.by_task || [])
        .filter((t) => t.result !== "none")
        .map((t) => `${study.tasks[t.task].name}: ${study.arms[t.result === "a" ? c.a : c.b].name}`)
        .join("; ");

function pairTable(study, score) {
  const rows =
      study.data.comparisons.filter((c) => c.score === score && study.arms[c.a] && study.arms[c.b]);
  const winner = (c) =>
      (c.result === "a"       ? study.arms[c.a].name
           : c.result === "b" ? study.arms[c.b].name
                              : c.enough_runs     ? "no difference found"
                              : "not called");
  return {
    title: `pairs of arms, ${score}`,
    rows,
    caption: `How likely a run of the first arm is better than a run of the second (${
        score} returns), with 95 % intervals.`,
    columns: [
      nameColumn("first", (c) => study.arms[c.a].name),
      nameColumn("second", (c) => study.arms[c.b].name),
      shareColumn("P(first is better)", (c) => c.probability),
      ...(rows.some((c) => hasValue(c.difference))
              ? [estimateColumn("difference of IQMs", (c) => c.difference)]
              : []),
      nameColumn("better", winner),
      ...(study.several ? [{
        title: "better on a task by itself",
        read: (c) => taskWords(study, c) || "–",
        text: true
      }]
                        : []),
      {
        title: "not equal",
        read: (c) => (c.confounds || unequalWords(c.equal)).join(", ") || "–",
        text: true
      }
    ],
  };
}

function pairLegend(marks) {
  const entry = (name, text) => element("span", {}, element("i", { class: `key ${name}` }), text);
  const scale = element("i");
  scale.style.background = `linear-gradient(to right, ${
          [0, 0.25, 0.5, 0.75, 1].map((s) => shareColors(s).background).join(",")})`;
  return element(
      "div", { class: "legend" },
      element("span", { class: "scale" }, "0, row is worse", scale, "1, row is better"),
      marks.gradients ? entry("gradients", "≠ gradient steps differ") : null,
      marks.minibatch ? entry("minibatch", "≠ minibatch size differs") : null);
}

function pairFigure(parent, study, score) {
  const { rows, columns } = matrixArms(study, score);
  if (!rows.length || !columns.length) return;
  const cells =
      rows.flatMap((i) => columns.map((j) => pairCell(study, i, j, score))).filter(Boolean);
  const marks = Object.fromEntries(
      ["gradients", "minibatch"].map((mark) => [mark, cells.some((c) => c.marks.includes(mark))]));
  const unfair = cells.filter((c) => c.marks.includes("gradients")).length;
  const body = figure(parent, {
    title: `Probability that the row's run is better than the column's, ${
        SCORES.find(([key]) => key === score)[1]}`,
    long: true,
    tables: [pairTable(study, score)],
    caption:
        "One half: no difference. Bold: the 95 % interval leaves a half out; not bold: no " +
        "difference found, or too few runs to say. The number says how often one is better, not " +
        "by how much." +
        (study.several
             ? " The mean over tasks, in which opposite effects cancel: the table has what each " +
                 "task says by itself."
             : "") +
        (unfair === 0 ? " Gradient steps are equal in every pair."
             : unfair === cells.length
             ? " In no pair are gradient steps equal (corner): what shape does alone, this study " +
                 "cannot say."
             : " A corner marks pairs whose gradient steps differ: there it is not the shape " +
                 "alone.") +
        (columns.length < rows.length ? ` Of so many arms, each is compared with ${
                                            listText(columns.map((i) => study.arms[i].name))} only.`
                                      : ""),
  });
  const names = (list) => list.map((i) => study.arms[i].name);
  const caption =
      `Probability that a run of the row's arm is better than one of the column's, ${score}.`;
  body.append(
      pairLegend(marks), scrolling(scrollClass(rows, " fit"), caption, heatTable({
                                     caption,
                                     rows: names(rows),
                                     columns: names(columns),
                                     cell: (i, j) => pairCell(study, rows[i], columns[j], score)
                                   })));
}

function pairsSection(parent, study) {
  const scores = distinct(study.data.comparisons.map((c) => c.score))
                     .sort(
                         (a, b) =>
                             (a === study.score       ? -1
                                  : b === study.score ? 1
                                                      : 0));
  for (const score of scores) {
    const away = score === "training" && study.leavesOut && scores.length > 1;
    pairFigure(
        away ? folded(parent, "By training returns, which leave out the longest episodes") : parent,
        study, score);
  }
}
