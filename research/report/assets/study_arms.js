"use strict";
// Shared by all parts of a study's page: arms, their groups and colours, and the choice of those
// that are drawn.

const shapeName = (arm) => `${arm.num_envs}x${arm.num_steps}`;
const byShape = (a, b) => a.num_envs - b.num_envs || a.num_steps - b.num_steps;
const distinct = (values) => [...new Set(values)];
const MOST_LINES = 12;  // in one chart; of more, some are drawn until the reader chooses others

// Arms that differ in shape only are a group. If no shape varies, all arms are one group.
function groupsOf(arms) {
  const groups = new Map();
  arms.forEach(
      (arm, i) => groups.set(arm.other, [...(groups.get(arm.other) || []), {...arm, index: i }]));
  const shaped = [...groups.values()].some((group) => distinct(group.map(shapeName)).length > 1);
  const list = shaped
      ? [...groups].map(([other, members]) => ({ other, members: members.sort(byShape) }))
      : [{ other: "", members: arms.map((arm, i) => ({...arm, index: i })) }];
  for (const group of list) {
    const unique = distinct(group.members.map(shapeName)).length === group.members.length;
    group.labelOf = (arm) => (shaped && unique ? shapeName(arm) : arm.name);
    group.title = group.other || (list.length > 1 ? "base settings" : "");
  }
  return list;
}

// A line's style: {place, count}: its colour on the ramp of N (or of the list, where shapes do not
// say it), and a dash for those of one N in one group.
function stylesOf(groups) {
  const styles = new Map();
  const envs =
      distinct(groups.flatMap((g) => g.members.map((a) => a.num_envs))).sort((a, b) => a - b);
  for (const { members } of groups) {
    const byEnvs = envs.length > 1 && (groups.length > 1 || members.length > 6);
    members.forEach((arm, i) => {
      const same = members.filter((a) => a.num_envs === arm.num_envs);
      const place = byEnvs ? envs.indexOf(arm.num_envs) : i;
      const count = byEnvs ? envs.length : members.length;
      // Neighbours on a ramp of many colours are told apart by their dashes.
      const dash = byEnvs && same.length > 1 ? same.findIndex((a) => a.index === arm.index)
          : count > 4                        ? place % 2
                                             : 0;
      styles.set(arm.index, { place, count, dash });
    });
  }
  return styles;
}
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
// Along the ramp of N, or a colour of its own where all arms have one shape.
function armColor(study, i, colors) {
  const { place, count } = study.styles.get(i);
  return study.shaped ? rampColor(colors, place, count) : seriesColor(colors, place, count);
}

// The colour and the sign of a line along N or T through `arm`: they tell its settings, or the T or
// B that it holds (one of `held`) where all have the same settings. So they are the same in every
// figure.
function lineLook(study, arm, fixed, held, colors) {
  const group = study.groups.findIndex(({ members }) => members.some(({ index }) => index === arm));
  const several = study.groups.length > 1;
  const values = distinct(held).sort((a, b) => a - b);
  const own = Math.max(0, values.indexOf(fixed));
  const [place, count] = several ? [Math.max(0, group), study.groups.length] : [own, values.length];
  const sign = several && values.length > 1 ? own : place;
  return { color: seriesColor(colors, place, count), marker: MARKERS[sign % MARKERS.length] };
}
const armDash = (study, i) => DASHES[study.styles.get(i).dash % DASHES.length];

// All of a group, or some of it evenly spread, the first, the last and the best among them.
function firstChosen(groups, best) {
  return new Set(groups.flatMap(({ members }) => {
    const last = members.length - 1;
    if (last < MOST_LINES) return members.map((a) => a.index);
    const spread = Array.from({ length: 7 }, (_, k) => members[Math.round((k * last) / 6)].index);
    return members.map((a) => a.index).filter((i) => spread.includes(i) || i === best);
  }));
}

// The score that arms are ranked by: the one that the file's sentences are about, unless there is
// none of it.
function readStudy(data) {
  const study = { data, arms: data.arms || [], cells: data.cells || [], tasks: data.tasks || [] };
  study.several = study.tasks.length > 1;
  study.leavesOut = data.training_leaves_out === true && data.main_score === "evaluation";
  const has = (score) =>
      study.cells.some((c) => c.scores && c.scores[score] && hasValue(c.scores[score].iqm));
  const wanted = study.data.main_score === "evaluation" ? ["evaluation", "training"]
                                                        : ["training", "evaluation"];
  study.score = wanted.find(has) || wanted[0];
  study.groups = groupsOf(study.arms);
  study.shaped = distinct(study.arms.map(shapeName)).length > 1;
  study.styles = stylesOf(study.groups);
  study.pairs = new Map((data.comparisons || []).map((c) => [`${c.a} ${c.b} ${c.score}`, c]));
  study.views = viewsOf(study);
  study.best = leaderOf(study);
  study.chosen = firstChosen(study.groups, study.best);
  return study;
}

// Lists the rankings of arms: {title, scores(arm, score) -> aggregates or null, compared}; several
// tasks together first, as normalised scores, then each by itself. Comparisons are over all tasks.
function viewsOf(study) {
  const cellOf = (i, task) =>
      (study.arms[i].cells || []).map((c) => study.cells[c]).find((c) => c && c.task === task);
  const tasks = study.tasks.map((task, t) => ({
                                  title: task.name,
                                  unit: "return",
                                  cellOf: (i) => cellOf(i, t),
                                  compared: !study.several,
                                  scores: (i, score) => {
                                    const c = cellOf(i, t);
                                    return (c && c.scores && c.scores[score]) || null;
                                  },
                                }));
  if (!study.several || !study.arms.some((a) => a.normalised)) return tasks;
  return [
    {
      title: "all tasks",
      unit: "normalised score",
      cellOf: () => null,
      compared: true,
      normalised: true,
      scores: (i, score) => {
        const n = study.arms[i].normalised;
        return (n && n[score]) || null;
      }
    },
    ...tasks
  ];
}
const iqmOf = (view, i, score) => estimate((view.scores(i, score) || {}).iqm);

// The arm with the highest IQM; null where there is none.
function bestOf(study, view) {
  return study.arms.reduce((best, _, i) => {
    const { value } = iqmOf(view, i, study.score);
    return value !== null && (best === null || value > iqmOf(view, best, study.score).value) ? i
                                                                                             : best;
  }, null);
}

// The arm that the file's ranking says leads, or else the one with the highest IQM.
function leaderOf(study) {
  const ranking = (study.data.rankings || [])[0];
  const named =
      ranking && (ranking.task === null || study.tasks.length === 1) ? ranking.leader : null;
  if (named !== null && study.arms[named]) return named;
  return study.views.length ? bestOf(study, study.views[0]) : null;
}

// A comparison of a with b, whichever way round the file has it: {probability and difference of a
// over b, settled: "better", "worse" or null, equal, enough}; null where they were not compared.
function compared(study, a, b, score) {
  const forward = study.pairs.get(`${a} ${b} ${score}`);
  const found = forward || study.pairs.get(`${b} ${a} ${score}`);
  if (!found) return null;
  const turned = (x, about) => {
    const e = estimate(x);
    const turn = (y) => (y === null ? null : about - y);
    return { value: turn(e.value), low: turn(e.high), high: turn(e.low), count: e.count };
  };
  const wins = forward ? "a" : "b";
  return {
    probability: forward ? estimate(found.probability) : turned(found.probability, 1),
    difference: forward ? estimate(found.difference) : turned(found.difference, 0),
    equal: found.equal || {},
    enough: Boolean(found.enough_runs),
    settled: found.result === wins          ? "better"
        : ["a", "b"].includes(found.result) ? "worse"
                                            : null
  };
}

// Check boxes for what is drawn, which are the legend as well. All of them on the page say the
// same.
function picker(body, study) {
  const box = element("fieldset", { class: "pick" }, element("legend", {}, "Drawn"));
  const choose = (test) => {
    study.chosen = new Set(study.arms.map((_, i) => i).filter(test));
    showChosen(study);
  };
  const button = (title, test) => {
    const node = element("button", { type: "button" }, title);
    node.addEventListener("click", () => choose(test));
    return node;
  };
  const first = firstChosen(study.groups, study.best);
  for (const group of study.groups) {
    const name = group.title ? element("strong", {}, group.title) : null;
    box.append(element(
        "div", { class: "choices" }, name,
        ...group.members.map((arm) => choice(study, arm, group))));
  }
  if (study.arms.length > 2) {
    box.append(element(
        "div", {}, button("All", () => true), button("None", () => false),
        first.size < study.arms.length
            ? button(`As at first (${first.size} of ${study.arms.length})`, (i) => first.has(i))
            : null));
  }
  addChart("what is drawn", box, (colors) => colourSwatches(study, box, colors));
  body.append(box);
}

function choice(study, arm, group) {
  const input = element("input", { type: "checkbox", "data-arm": arm.index });
  input.checked = study.chosen.has(arm.index);
  input.addEventListener("change", () => {
    if (input.checked)
      study.chosen.add(arm.index);
    else
      study.chosen.delete(arm.index);
    showChosen(study);
  });
  return element(
      "label", { class: input.checked ? null : "off" }, input, element("i"),
      element("span", {}, group.labelOf(arm)));
}

function showChosen(study) {
  for (const input of document.querySelectorAll("input[data-arm]")) {
    input.checked = study.chosen.has(Number(input.dataset.arm));
    input.parentElement.className = input.checked ? "" : "off";
  }
  drawAll((chart) => chart.chosen);
}

function colourSwatches(study, box, colors) {
  for (const input of box.querySelectorAll("input[data-arm]")) {
    const i = Number(input.dataset.arm);
    const swatch = input.nextElementSibling;
    swatch.style.borderTopColor = armColor(study, i, colors);
    swatch.style.borderTopStyle = ["solid", "dashed", "dotted"][study.styles.get(i).dash % 3];
  }
}
