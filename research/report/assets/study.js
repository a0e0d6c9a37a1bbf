"use strict";
// The page of study.json: the first screen, notes, and a section for each question.

// Whose they are and how many, below the first screen.
function studyFacts(main, study) {
  const { data } = study;
  const runs = (data.studies || []).reduce((sum, s) => sum + ((s.runs || {}).finished || 0), 0);
  const seeds = distinct((data.studies || []).flatMap((s) => s.seeds || [])).length;
  main.append(element("p", { class: "subtitle" }, [
    data.title, study.tasks.map((t) => t.name).join(", "), plural(study.cells.length, "cell"),
    plural(seeds, "seed"), `${plural(runs, "run")} finished`
  ].filter(Boolean).join(" · ")));
}

function runsTable(study) {
  const rows = study.cells.flatMap((cell) => (cell.runs || []).map((run) => ({ cell, run })));
  const number = (title, key) => ({ title, read: (r) => r.run[key] });
  return {
    title: "all runs",
    rows,
    caption: "Every finished run.",
    columns: [
      ...((study.data.studies || []).length > 1
              ? [nameColumn("study", (r) => study.data.studies[r.cell.study]?.name)]
              : []),
      nameColumn("task", (r) => study.tasks[r.cell.task]?.name),
      nameColumn("cell", (r) => r.cell.name),
      { title: "N", read: (r) => r.cell.num_envs, plain: true },
      { title: "T", read: (r) => r.cell.num_steps, plain: true },
      {...number("seed", "seed"), plain: true }, number("training return", "training"),
      number("evaluation", "evaluation"), number("area", "area"), number("seconds", "seconds")
    ],
  };
}

// Lists of numbers in a row as ranges: 1–10, 15.
function seedText(seeds) {
  const parts = [];
  for (const s of [...(seeds || [])].sort((a, b) => a - b)) {
    const last = parts[parts.length - 1];
    if (last && s === last[1] + 1)
      last[1] = s;
    else
      parts.push([s, s]);
  }
  return parts.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ");
}

// Pages of before eval_actions have none.
function actionsText(kinds = ["most_likely"]) {
  return `${kinds.map((kind) => kind.replaceAll("_", " ")).join(" or ")} actions`;
}

// How many, of how many episodes, and how they were played.
function evaluationText(s) {
  const episodes = s.eval_episodes || [];
  if (!isNumber(s.evaluations) || s.evaluations === 0 || !episodes.length) return s.evaluations;
  const range = distinct([episodes[0], episodes[episodes.length - 1]])
                    .map((n) => formatNumber(n))
                    .join(" to ");
  return `${formatNumber(s.evaluations)}, of ${range} episode${
      range === "1" ? "" : "s"}, ${actionsText(s.eval_actions)}`;
}

function storeFacts(s) {
  const runs = s.runs || {};
  const count = (n, what) => (n > 0 ? `${formatNumber(n)} ${what}` : "");
  return [
    ["store", s.store], ["match", String(s.match || "").replace("_", " ")],
    ["adjust", s.match === "gradient_steps" ? s.adjust : null],
    ["settings chosen by", s.sampler], ["seeds", seedText(s.seeds)],
    [
      "runs",
      [
        `${formatNumber(runs.finished ?? 0)} of ${formatNumber(runs.all ?? 0)} finished`,
        count(runs.failed, "failed"), count(runs.pending, "pending")
      ].filter(Boolean)
          .join(", ")
    ],
    ["points of a curve", s.points], ["evaluations of a run", evaluationText(s)],
    ["hardware", (s.hardware || []).join("; ")], ["instruction set", (s.isa || []).join(", ")],
    ["began", s.created], ["made by", [s.version, s.revision].filter(Boolean).join(", revision ")],
    ["revisions of its runs", (s.run_revisions || []).join(", ")], ["hash", s.hash]
  ];
}

function madeSection(parent, study) {
  const { data } = study;
  const table = runsTable(study);
  if (table.rows.length) parent.append(dataDetails(table, "runs"));
  for (const s of data.studies || []) {
    parent.append(element("h3", { class: "store" }, s.name || "store"), factList(storeFacts(s)));
    if (s.definition)
      parent.append(element(
          "details", {},
          element("summary", {}, "Definition: everything that the results depend on"),
          element("pre", { tabindex: "0" }, s.definition)));
  }
  const odd = study.tasks.filter((t) => t.why_not);
  if (study.several && odd.length)
    parent.append(
        element("p", {}, `Without a normalised score: ${odd.map((t) => t.why_not).join(" ")}`));
  const b = data.bootstrap || {};
  parent.append(
      element("h3", { class: "store" }, "This report"), factList([
        ["made", data.created],
        ["by Broadloom", [data.version, data.revision].filter(Boolean).join(", revision ")],
        [
          "intervals",
          isNumber(b.replicates)
              ? `95 %, stratified bootstrap over runs, ${formatNumber(b.replicates)} replicates (${
                    formatNumber(b.band_replicates)} for bands), seed ${b.seed}`
              : null
        ]
      ]));
  if ((data.command || []).length)
    parent.append(element("pre", { class: "command", tabindex: "0" }, commandText(data.command)));
}
// With the program's name before its arguments, and each argument as a shell takes it.
const commandText = (command) =>
    (/(^|\/)broadloom$/.test(command[0]) ? command : ["broadloom", ...command])
        .map(shellWord)
        .join(" ");
const shellWord = (text) =>
    (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${String(text).replace(/'/g, "'\\''")}'`);

const SECTIONS = [
  [
    "results", "What the runs came to",
    "Scores of the final policies, and what each thing that varies does to them.", resultsSection,
    (study) => study.arms.length > 0
  ],
  [
    "curves", "How they learnt", "Returns along the steps and along the time.", curvesSection,
    (study) => study.arms.length > 0
  ],
  [
    "pairs", "Which beats which", "How often a run of one arm is better than a run of another.",
    pairsSection, (study) => (study.data.comparisons || []).length > 0
  ],
  [
    "profiles", "How much runs differ", "How returns are distributed over runs.", profilesSection,
    (study) => study.cells.some((c) => ((c.profile || {}).shares || []).length)
  ],
  ["plan", "What was run", "What was compared, and what was held equal.", planSection, () => true],
  [
    "instruments", "What went on inside", "Measurements of the updates and of the policies.",
    instrumentsSection,
    (study) => (study.data.instruments || []).length > 0 &&
        study.cells.some((c) => (c.curves || []).length > 1)
  ],
  ["made", "How to run it again", "All that is needed for that.", madeSection, () => true],
];

function makePage() {
  const main = document.getElementById("page");
  const study = readStudy(pageData());
  const sections = SECTIONS.filter(([, , , , wanted]) => wanted(study));
  firstScreen(main, study);
  studyFacts(main, study);
  main.append(element(
      "nav", { "aria-label": "Sections" },
      ...sections.map(([key, title]) => element("a", { href: `#${key}` }, title))));
  notesBox(main, study.data.notes);
  for (const [key, title, about, fill] of sections) {
    const box = element(
        "section", { id: key }, element("h2", {}, title),
        element("p", { class: "subtitle" }, about));
    main.append(box);
    addSection(box, title, () => fill(box, study));
  }
}

startPage(makePage);
