"use strict";
// The page of advice.json: the answer, the curves behind it, the race, and what the laboratory
// found.

const SHOWN_CURVES = 4;  // the advised setting, two runners-up, and the default

const unitOf = (data) => (data.unit === "seconds" ? "seconds of training" : "environment steps");
const costOf = (data, candidate, steps) =>
    (data.unit === "seconds" ? steps / candidate.steps_per_second : steps);

// Mean, least and greatest return over the seeds at each evaluation. A seed that was at the
// threshold was trained no further: it stays where it was.
function meanCurve(data, candidate) {
  const trials = candidate.trials.filter((t) => !t.error && t.steps.length);
  const length = Math.max(0, ...trials.map((t) => t.steps.length));
  return Array.from({ length }, (_, k) => {
    const values = trials.map((t) => t.returns[Math.min(k, t.returns.length - 1)]);
    const steps = trials.filter((t) => k < t.steps.length).map((t) => t.steps[k]);
    return {
      x: costOf(data, candidate, steps.reduce((a, b) => a + b, 0) / steps.length),
      estimate: estimate({
        value: values.reduce((a, b) => a + b, 0) / values.length,
        low: Math.min(...values),
        high: Math.max(...values),
        count: values.length
      })
    };
  });
}

// Whom the first figure shows: the advised setting, the two after it, and the default.
function shownCandidates(data) {
  const order = data.advice.order || [];
  const shown = order.slice(0, 3);
  const usual = data.candidates.findIndex((c) => c.default);
  if (order.includes(usual) && !shown.includes(usual)) shown.push(usual);
  return shown.slice(0, SHOWN_CURVES)
      .map(
          (index, i) =>
              ({ index, candidate: data.candidates[index], color: (colors) => colors.series[i] }));
}
const roleOf = (data, index) =>
    (index === data.advice.candidate      ? "advised"
         : data.candidates[index].default ? "the task's defaults"
                                          : "");
const rateText = (rate) => String(Number(rate.toPrecision(3)));
// Short enough for a phone; the caption says what is what.
function shortName(data, index) {
  const c = data.candidates[index];
  const role = index === data.advice.candidate ? " (advised)" : c.default ? " (defaults)" : "";
  return `${c.num_envs} x ${c.num_steps} / ${c.minibatch_size} / ${rateText(c.learning_rate)}${
      role}`;
}

function curvesFigure(parent, data) {
  const shown = shownCandidates(data)
                    .map((s) => ({...s, points: meanCurve(data, s.candidate) }))
                    .filter((s) => s.points.length);
  if (!shown.length) return;
  const threshold = data.advice.threshold;
  const start = estimate(data.untrained);
  const most = Math.max(...shown.flatMap((s) => s.points.map((p) => p.x)));
  const rows =
      shown.flatMap((s) => s.points.map((p) => ({...p, name: data.candidates[s.index].name })));
  const body = figure(parent, {
    title: `Return against ${unitOf(data)}`,
    long: true,
    caption:
        "N x T / M / learning rate. The mean of the seeds' evaluations; bands go from the worst " +
        "seed to the best. A seed that was at the threshold three times in a row was trained no " +
        "further and stays where it was. " +
        `At 0 stands the untrained policy.${
            isNumber(threshold) ? ` Dashed: ${formatNumber(threshold, 3)}, which is asked for.`
                                : ""}`,
    tables: [{
      title: "curves",
      rows,
      caption: "Evaluations: mean over seeds; brackets: least and greatest seed.",
      columns: [
        { title: "setting", read: (r) => r.name, text: true, literal: true },
        { title: unitOf(data), read: (r) => r.x },
        { title: "return", read: (r) => r.estimate, interval: true }
      ]
    }],
  });
  liveLegend(
      body,
      (colors) => shown.map((s) => ({ label: shortName(data, s.index), color: s.color(colors) })));
  const box = element("div");
  body.append(box);
  addChart(
      "return", box,
      (colors) =>
          curveChart(
              box, {
                label: `Return against ${unitOf(data)}`,
                height: 340,
                series: [
                  ...shown.map((s) => ({
                                 label: shortName(data, s.index),
                                 color: s.color(colors),
                                 points: [{ x: 0, estimate: start }, ...s.points]
                               })),
                  ...(isNumber(threshold) ? [{
                    label: "asked for",
                    color: colors.muted,
                    flat: true,
                    points: [0, most].map((x) => ({ x, estimate: estimate(threshold) }))
                  }]
                                          : [])
                ],
                x: { title: unitOf(data) },
                y: { title: "return of an evaluation" },
              },
              colors));
}

// Every candidate that was tried, in the order that the race gave them.
function raceTable(parent, data) {
  const rows = (data.advice.order ||
                []).map((index, rank) => ({ rank: rank + 1, index, ...data.candidates[index] }));
  if (!rows.length) return;
  const number = (title, read, plain) => ({ title, read, plain });
  tableFigure(
      parent, {
        heading: "Every setting that was tried",
        title: "settings",
        rows,
        caption: "Settings in the order of the race.",
        columns: [
          number("", (r) => r.rank, true),
          { title: "", read: (r) => roleOf(data, r.index), text: true },
          number("N", (r) => r.num_envs, true), number("T", (r) => r.num_steps, true),
          number("M", (r) => r.minibatch_size, true), number("K", (r) => r.update_epochs, true),
          number("rate", (r) => rateText(r.learning_rate)),
          number("steps/s", (r) => r.steps_per_second), number("rungs", (r) => r.rungs),
          number(data.unit === "seconds" ? "seconds" : "steps", (r) => r.horizon),
          { title: "at threshold", read: (r) => `${r.reached} of ${r.trials.length}`, text: true },
          number("after", (r) => (r.reached === r.trials.length ? r.mean_cost : null)),
          number("last return", (r) => r.mean_last)
        ],
      },
      "Those that stayed longest first, and among those that left together the better ones. " +
      "Numbers are means over the seeds, up to the cost that the setting itself was " +
          "watched for (" + data.unit +
          "); compare those of the same number of rungs. After: mean of the seeds until the " +
          "threshold, where all were there.");
}

function rungsTable(parent, data) {
  if (!(data.rungs || []).length) return;
  tableFigure(
      parent, {
        heading: "The rungs of the race",
        title: "rungs",
        caption: "Rungs.",
        rows: data.rungs.map((r, i) => ({...r, rung: i + 1 })),
        columns: [
          { title: "rung", read: (r) => r.rung, plain: true },
          { title: "settings", read: (r) => r.candidates, plain: true },
          { title: `${data.unit} of training a seed had had by its end`, read: (r) => r.cost }
        ]
      },
      "At the end of a rung the worse half leaves, but three stay to the end.");
}

// The advised setting beside itself with another shape from half-way on; the first row does not
// change.
function changesSection(parent, data) {
  const rows = data.changes || [];
  const number = (title, read, plain) => ({ title, read, plain });
  tableFigure(
      parent, {
        heading: "Other shapes from half-way on",
        title: "changes",
        rows,
        caption: "Changes of the shape.",
        columns: [
          { title: "after", read: (r) => (r.then ? r.then.after : null) },
          number("N", (r) => (r.then || r).num_envs, true),
          number("T", (r) => (r.then || r).num_steps, true),
          number("M", (r) => (r.then || r).minibatch_size, true),
          number("steps/s", (r) => (r.then || r).steps_per_second), number("rungs", (r) => r.rungs),
          { title: "at threshold", read: (r) => `${r.reached} of ${r.trials.length}`, text: true },
          number("on average after", (r) => r.mean_cost), number("last return", (r) => r.mean_last)
        ],
      },
      `The setting that is advised, which does not change, and the same with another shape after ` +
      `so many environment steps. On average after: mean ${
          data.unit} to the threshold, where those that were not there count with all that they ` +
              `were trained for.`);
}

function laboratorySection(parent, data) {
  const gradient = data.gradient || {};
  const rows = gradient.rows || [];
  if (!rows.length) {
    parent.append(element(
        "p", {},
        `The laboratory measured nothing${gradient.why_not ? `: ${gradient.why_not}` : ""}.`));
    return;
  }
  const interval = (title, key) => ({ title, read: (r) => r[key], interval: true });
  tableFigure(
      parent, {
        heading: "Gradients by T",
        title: "gradients",
        caption: "Gradients by T.",
        rows,
        columns: [
          { title: "T", read: (r) => r.num_steps, plain: true },
          { title: "N", read: (r) => r.num_envs, plain: true },
          interval("cosine of E G_B and G_T", "cosine"),
          interval("agreement of one block", "agreement"),
          interval("agreement, critic refitted", "agreement_refitted"),
          interval("critical batch", "critical_batch"), interval("noise scale", "noise_scale")
        ],
      },
      `Of the policy of ${gradient.policy.num_envs} x ${gradient.policy.num_steps} after ${
          formatNumber(
              gradient
                  .global_step)} steps, held fixed: the direction of the mean gradient of blocks ` +
                      `of T steps, ` +
          "how far one block agrees with the true gradient, and how many samples it takes until " +
          "noise and signal are alike. Brackets: 95 % intervals.");
}

function adviceFacts(data) {
  const m = data.machine || {};
  return [
    ["environment", data.env_id],
    ["asked for", data.goal === "speed" ? "being at the threshold soon" : "a high return"],
    ["decided by", data.rule], ["candidates for", data.candidates_for],
    [
      "threshold",
      isNumber(data.advice.threshold)
          ? `${formatNumber(data.advice.threshold, 4)} (${data.threshold_source})`
          : null
    ],
    ["untrained policy", formatEstimate(data.untrained)],
    ["episodes of an evaluation", data.eval_episodes], ["seeds in the race", data.seeds],
    [
      "budget",
      data.budget_steps ? `${formatNumber(data.budget_steps)} environment steps`
                        : `${formatNumber(data.budget_seconds)} s`
    ],
    [
      "spent",
      `${formatNumber(m.spent_seconds, 3)} s, ${formatNumber(data.spent_steps)} environment steps`
    ],
    ["held as given", (data.held || []).join(", ")], ["settings left out", data.left_out],
    ["threads", m.threads], ["processor", m.cpu], ["seed", String(data.seed)]
  ];
}

function makePage() {
  const main = document.getElementById("page");
  const data = pageData();
  const advice = data.advice;
  document.title = `Advice for ${data.env_id}`;
  main.append(
      element("h1", {}, advice.answer), element("p", { class: "subtitle" }, advice.expected));
  addSection(main, "Curves", () => curvesFigure(main, data));
  const rivals = (advice.runners_up || []).map((r) => r.text);
  summaryBox(main, [
    { title: "Why", lines: advice.because }, { title: "Runners-up", lines: rivals },
    { title: "What was tried", lines: advice.tried || [] },
    { title: "What would change it", lines: advice.changes_mind },
    { title: "What it does not know", lines: advice.not_known }
  ].filter((b) => b.lines.length));
  for (const [id, title, fill] of [
           [
             "race", "The race",
             (box) => {
               raceTable(box, data);
               rungsTable(box, data);
             }
           ],
           ...((data.changes || []).length
                   ? [["changes", "Changing the shape", (box) => changesSection(box, data)]]
                   : []),
           ["laboratory", "The laboratory", (box) => laboratorySection(box, data)],
           ["settings", "What was asked", (box) => box.append(factList(adviceFacts(data)))]]) {
    const box = element("section", { id }, element("h2", {}, title));
    main.append(box);
    addSection(box, title, () => fill(box));
  }
  main.append(element(
      "footer", {},
      element("p", {}, `Made ${data.created} by Broadloom ${data.version} (${data.revision}).`),
      (data.command || []).length ? element("p", {}, element("code", {}, data.command.join(" ")))
                                  : null));
}

startPage(makePage);
