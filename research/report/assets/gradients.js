"use strict";
// The page of gradients.json: header, summary, and a section for every study that is in it.

const yesNo = (x, yes, no) => (x === true ? yes : x === false ? no : null);

function policyWords(policy) {
  if (!policy) return null;
  const layers = (policy.hidden_sizes || []).join(", ");
  return [
    isNumber(policy.parameters) ? plural(policy.parameters, "parameter") : null,
    layers ? `hidden layers of ${layers}` : null, policy.activation,
    yesNo(policy.shared_encoder, "encoder shared with the critic", "encoder of its own"),
    policy.recurrent && policy.recurrent !== "none"
        ? `${policy.recurrent} ${policy.recurrent_units ? "before" : "after"} the hidden layers`
        : null
  ].filter(Boolean)
      .join("; ");
}

// Describes how the returns of the true gradient treat the time limit.
function limitWords(s) {
  if (!s.max_episode_steps) return null;
  const limit = plural(s.max_episode_steps, "step");
  return s.beyond_limit
      ? `${limit}; returns of the true gradient look ${
            formatNumber(s.beyond_limit)} steps past it, as training does that bootstraps there`
      : `${limit}; an end to the returns of the true gradient`;
}

function settingFacts(data) {
  const s = data.settings || {};
  const checkpoint = data.checkpoint || {};
  const starts = {
    stationary: `spread over episodes (${
        isNumber(s.start_envs) ? `those of ${plural(s.start_envs, "environment")} `
                               : ""}after ${formatNumber(s.burn_in)} steps)`,
    synchronised: "all at the start of an episode"
  };
  return [
    ["environment", checkpoint.env_id],
    ["checkpoint", checkpoint.file],
    [
      "trained for",
      isNumber(checkpoint.global_step)
          ? `${formatNumber(checkpoint.global_step)} steps (iteration ${
                formatNumber(checkpoint.iteration)})`
          : null
    ],
    ["policy", policyWords(data.policy)],
    ["transitions of a block, B", s.batch],
    ["independent blocks of each shape, R", s.blocks],
    ["groups of blocks, for the intervals", s.groups],
    ["intervals hold at", isNumber(s.confidence) ? `${formatNumber(100 * s.confidence)} %` : null],
    ["blocks start", starts[s.starts] || s.starts],
    ["truncated episodes", s.truncation_mode],
    ["time limit", limitWords(s)],
    ["discount γ", s.gamma],
    ["λ", (s.lambdas || []).join(", ")],
    ["advantages", yesNo(s.norm_adv, "normalised within the block", "as they are")],
    [
      "loss",
      [
        { value: "value loss", td: "TD loss" }[s.loss] ||
            yesNo(s.norm_adv !== undefined, "policy term", null),
        yesNo(s.value_term, "value term", null), yesNo(s.entropy_term, "entropy term", null)
      ].filter(Boolean)
          .join(", ")
    ],
    ["seed", isNumber(s.seed) ? String(s.seed) : s.seed],
    ["threads", s.threads],
  ];
}

const TERMS = [
  [
    "G_B",
    "The gradient of a block: the mean of its B = N × T per-sample gradients g, at the " +
    "parameters " +
    "that collected it."
  ],
  ["N × T", "The shape of a block: N environments side by side, T steps each."],
  [
    "Agreement",
    "The expected cosine of one block's gradient with the true one, E[G_B / |G_B|] · G_T / " +
    "|G_T|, " +
    "against a held-out G_T with its noise taken out."
  ],
  [
    "Tr Cov(G_B)",
    "The variance of G_B over independent blocks, summed over all parameters: the mean squared " +
    "distance from its mean E G_B."
  ],
  [
    "individual, within, across",
    "The parts of that variance: of samples by themselves, of pairs in the same trajectory, of " +
    "pairs in different ones."
  ],
  [
    "VIF and effective sample size",
    "VIF = B Tr Cov(G_B) / Tr Cov(g): 1 for independent samples. B / VIF is the number of " +
    "independent samples that would give the same variance."
  ],
  [
    "Signal to noise, noise scale, critical batch",
    "|E G_B|² / Tr Cov(G_B); Tr Cov(g) / |E G_B|²; B Tr Cov(G_B) / |E G_B|². The last two are in " +
    "samples."
  ],
  [
    "Bias",
    "E G_B − G_T. The reference G_T weighs the same transitions by what really followed them, " +
    "the " +
    "discounted return, past the time limit where training bootstraps there, minus V(s): nothing " +
    "is bootstrapped, and no critic stands in for rewards."
  ],
  [
    "Interval",
    "All intervals are for one number by itself; of many, some miss their true value. Apart: two " +
    "intervals share no number."
  ],
];

function header(main, data) {
  const checkpoint = data.checkpoint || {};
  const name = checkpoint.env_id || "an unnamed environment";
  document.title = `Gradients of ${name}` +
      (isNumber(checkpoint.global_step) ? ` at step ${formatNumber(checkpoint.global_step)}` : "");
  const batch = (data.settings || {}).batch;
  main.append(
      element("h1", {}, `Gradients of ${name}`),
      element(
          "p", { class: "subtitle" },
          `One policy of one run${
              isNumber(checkpoint.global_step)
                  ? `, after ${formatNumber(checkpoint.global_step)} steps`
                  : ""}, held fixed: ` +
              "another run, or another step of this one, may answer otherwise."),
      element(
          "p", {},
          `Which shape of a rollout block, N environments × T steps${
              isNumber(batch) ? `, always ${formatNumber(batch)} transitions`
                              : ""}, tells most of this policy's gradient? ` +
              (["value", "td"].includes(data.settings && data.settings.loss)
                   ? "The gradient is that of values, with errors as they are; "
                   : "PPO normalises advantages over each minibatch, and agreement is of " +
                      "gradients with advantages normalised over the block; ") +
              (data.settings && data.settings.norm_adv
                   ? "so is all else here."
                   : "variance, correlation and bias are of the gradient as it is.")));
}

// The sentences that come with the data, in the page's signs.
const inSigns = (line) => line.replace(/(\d) x (\d)/g, "$1 × $2")
                            .replace(/lambda (\d)/g, "λ = $1");
function summarySection(main, data) {
  if (!(data.summary || []).length) return;
  main.append(element(
      "section", { class: "summary", id: "summary" }, element("h2", {}, "In short"),
      element(
          "ul", {}, ...data.summary.map((line) => element("li", {}, ...words(inSigns(line)))))));
}

function settingsSection(main, data) {
  main.append(
      element("h2", { id: "settings" }, "What was measured"), factList(settingFacts(data)),
      element(
          "details", {}, element("summary", {}, "What the words mean"),
          element(
              "dl", { class: "terms" },
              ...TERMS.flatMap(
                  ([term, meaning]) =>
                      [element("dt", {}, ...words(term)), element("dd", {}, ...words(meaning))]))));
}

function footer(main, data) {
  const seconds = (data.seconds || {}).total;
  main.append(element(
      "footer", {},
      element(
          "p", {},
          `Made ${data.created || "at an unknown time"} by Broadloom ${data.version || ""} (${
              data.revision || "unknown revision"})` +
              (isNumber(seconds) ? ` in ${formatNumber(seconds, 3)} seconds.` : ".")),
      (data.command || []).length ? element("p", {}, element("code", {}, data.command.join(" ")))
                                  : null));
}

const SECTIONS = [
  [
    "agreement", "Agreement",
    "Which shape gives one block the direction that is nearest to the true one.",
    (box, data) => agreementSection(box, data.agreement, data.critics)
  ],
  [
    "variance", "Variance",
    "How much the gradient of a block varies from block to block. These are lengths, which " +
    "normalised advantages and Adam take away.",
    (box, data) => varianceSection(box, data.variance, (data.settings || {}).batch)
  ],
  [
    "correlation", "Correlation",
    "How gradients of samples, and of whole blocks, resemble each other.",
    (box, data) => correlationSection(box, data.correlation)
  ],
  [
    "bias", "Bias", "How far the gradient is off on average.",
    (box, data) => biasSection(box, data.bias)
  ],
  [
    "exact", "Exact values",
    "The environment is small enough to solve, so that estimates can be checked.",
    (box, data) => exactSection(box, data.exact)
  ],
];
const present = (study) => (Array.isArray(study) ? study.length > 0 : Boolean(study));

function makePage() {
  const main = document.getElementById("page");
  const data = pageData();
  const sections = SECTIONS.filter(([key]) => present(data[key]));
  header(main, data);
  main.append(element(
      "nav", { "aria-label": "Sections" },
      ...sections.map(([key, title]) => element("a", { href: `#${key}` }, title)),
      element("a", { href: "#settings" }, "What was measured")));
  summarySection(main, data);
  notesBox(main, data.notes);
  for (const [key, title, about, fill] of sections) {
    const box = element(
        "section", { id: key }, element("h2", {}, title),
        element("p", { class: "subtitle" }, about));
    main.append(box);
    addSection(box, title, () => fill(box, data));
  }
  settingsSection(main, data);
  footer(main, data);
}

startPage(makePage);
