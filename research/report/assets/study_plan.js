"use strict";
// The plan, and the differences between arms besides their shapes.

const nameColumn = (title, read) => ({ title, read, text: true, literal: true });
const estimateColumn = (title, read) => ({ title, read, interval: true });
// For one quantity in all rows, with equal decimals.
const alikeColumn = (title, read) => ({...estimateColumn(title, read), alike: true });
// Probabilities need only two decimals.
const shareColumn = (title, read) => ({...estimateColumn(title, read), decimals: 2, least: 2 });

const PLAN = [
  ["environment_steps", "environment steps"], ["gradient_steps", "gradient steps"],
  ["minibatch_size", "minibatch size"], ["minibatch_count", "minibatches"],
  ["update_epochs", "epochs"], ["batch_size", "batch B = N × T"], ["iterations", "iterations"],
  ["samples_per_gradient", "environment steps per gradient step"]
];

const COLUMNS = [
  ["batch_size", "B"], ["environment_steps", "environment steps"], ["iterations", "iterations"],
  ["minibatch_count", "minibatches"], ["minibatch_size", "minibatch size"],
  ["update_epochs", "epochs"], ["gradient_steps", "gradient steps"],
  ["samples_per_gradient", "env steps per gradient step"]
];

// How a number varies between the cells of a task: {least, most, factor}, the largest factor of any
// task.
function spreadOf(study, key) {
  const tasks =
      study.tasks
          .map(
              (_, t) => study.cells.filter((c) => c.task === t).map((c) => c[key]).filter(isNumber))
          .filter((v) => v.length);
  if (!tasks.length) return null;
  const all = tasks.flat();
  const factor = Math.max(...tasks.map(
      (v) => (Math.min(...v) === Math.max(...v) ? 1 : Math.max(...v) / Math.min(...v))));
  return { least: Math.min(...all), most: Math.max(...all), factor };
}

const WELL = 1.01;  // as near as whole blocks come
function spreadText({ least, most, factor }) {
  if (least === most) return formatNumber(least);
  const range = `${formatNumber(least, 4)} to ${formatNumber(most, 4)}`;
  if (factor === 1) return `${range}, by task`;
  if (factor <= WELL) return `${range} (within ${formatNumber(100 * (factor - 1), 2)} %)`;
  return Number.isFinite(factor) ? `${range} (× ${formatNumber(factor, 3)})` : range;
}

function fairness(parent, study) {
  const found = PLAN.map(([key, title]) => ({ key, title, spread: spreadOf(study, key) }))
                    .filter((f) => f.spread);
  const list = (title, facts, sign) =>
      (facts.length ? element(
                          "div", { class: `equal ${sign}` }, element("h3", {}, title),
                          factList(facts.map((f) => [f.title, spreadText(f.spread)])))
                    : null);
  if (study.arms.length < 2 || !found.length) return;
  const equal = (f) => f.spread.factor <= WELL;
  parent.append(element(
      "div", { class: "fairness" }, list("= Equal in all arms", found.filter(equal), "same"),
      list("≠ Different between arms", found.filter((f) => !equal(f)), "different")));
  const unfair =
      found.filter((f) => !equal(f) && ["gradient_steps", "minibatch_size"].includes(f.key));
  if (unfair.length) parent.append(element("p", {}, unfairWords(study, unfair)));
}

// Other differences between arms, and how much they say.
function unfairWords(study, unfair) {
  const grade = ({ title, spread }) => `${title} (${
      spread.factor < 1.95 ? `by ${formatNumber(100 * (spread.factor - 1), 2)} %`
                           : `by a factor of ${formatNumber(spread.factor, 2)}`})`;
  const small = unfair.every((f) => f.spread.factor <= SMALL);
  const steps = unfair.find((f) => f.key === "gradient_steps");
  const total = steps ? equalTotal(study) : null;
  return `Arms differ in ${
             unfair.map(grade).join(" and in ")} as well as in what the study varies. ` +
      (small ? "So little can hardly explain a large effect. "
             : "Where two such arms learn differently, the shape alone need not be why. ") +
      (total ? `With total_timesteps = ${formatNumber(total)} gradient steps would be equal. `
           : steps ? 'With match = "gradient_steps" they would be equal. '
                   : "") +
      "On this page, ≠ marks comparisons of arms with unequal gradient steps.";
}
const SMALL = 1.1;

// The total nearest to the present one that is whole blocks of every shape, where minibatches and
// epochs are equal: then gradient steps are, too.
function equalTotal(study) {
  const equal =
      ["minibatch_size", "update_epochs"].every((key) => (spreadOf(study, key) || {}).factor === 1);
  const batches = distinct(study.cells.map((c) => c.batch_size)).filter(isNumber);
  const steps = Math.max(...study.cells.map((c) => c.environment_steps || 0));
  if (!equal || study.several || !batches.length) return null;
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  const common = batches.reduce((a, b) => (a / divisor(a, b)) * b);
  return common <= 2 * steps ? Math.max(1, Math.round(steps / common)) * common : null;
}

function runsText(c) {
  const rest = [[c.failed, "failed"], [c.pending, "pending"]]
                   .filter(([n]) => n > 0)
                   .map(([n, what]) => `${formatNumber(n)} ${what}`);
  return formatNumber(c.finished) + (rest.length ? `, ${rest.join(", ")}` : "");
}

// all: also the columns that are the same for all cells, which stand above the table.
function planTable(study, all) {
  const differs = (key) => {
    const s = spreadOf(study, key);
    return s && s.factor > WELL ? " ≠" : "";
  };
  const number = (key, title) => ({ title: title + differs(key), read: (c) => c[key] });
  const several = (list) => (list || []).length > 1;
  const short = !all && study.arms.length > 1;
  const wanted = ([key]) =>
      !short || (key !== "iterations" && (spreadOf(study, key) || {}).factor > 1);
  return {
    title: all ? "plan, all columns" : "plan",
    heading: "Plan",
    rows: study.cells,
    caption: "What each cell was set to." +
        (short ? " What is the same in all of them stands above." : "") +
        (COLUMNS.some(([key]) => differs(key)) ? " ≠: not the same in all arms." : ""),
    columns: [
      nameColumn("cell", (c) => c.name),
      ...(study.several ? [nameColumn("task", (c) => study.tasks[c.task]?.name)] : []),
      ...(several(study.data.studies)
              ? [nameColumn("study", (c) => study.data.studies[c.study]?.name)]
              : []),
      { title: "N", read: (c) => c.num_envs, plain: true },
      { title: "T", read: (c) => c.num_steps, plain: true },
      ...COLUMNS.filter(wanted).map(([key, title]) => number(key, title)),
      {
        title: "runs finished",
        read: runsText,
        text: true,
        bad: (c) => c.failed > 0 || c.pending > 0
      },
      ...((study.data.tuned || []).length ? [{
        title: "seeds with every value",
        read: (c) => (c.runs || []).length,
        plain: true
      }]
                                          : []),
      alikeColumn("seconds a run", (c) => c.seconds),
      ...(study.cells.some((c) => c.note) ? [nameColumn("note", (c) => c.note || "")] : []),
    ],
  };
}

function planSection(parent, study) {
  if (!study.cells.length) {
    parent.append(element("p", {}, "This file has no cells."));
    return;
  }
  fairness(parent, study);
  const table = planTable(study, false);
  if (study.cells.length <= 16) tableFigure(parent, table, table.caption);
  parent.append(dataDetails(planTable(study, true), "plan_all_columns"));
}
