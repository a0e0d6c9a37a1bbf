"use strict";
// Curves of the arms that the reader chose: returns by steps and by time, instruments, performance
// profiles.

// A panel for each task and group: {title, task, lines: [{arm, label, cell}]}.
function curvePanels(study) {
  return study.tasks
      .flatMap(
          (task, t) => study.groups.map(
              (group) => ({
                task: t,
                title: [study.several ? task.name : "", group.title].filter(Boolean).join(", ") ||
                    task.name,
                lines: group.members
                           .map((arm) => ({
                                  arm: arm.index,
                                  label: group.labelOf(arm),
                                  cell: (arm.cells || [])
                                            .map((c) => study.cells[c])
                                            .find((c) => c && c.task === t)
                                }))
                           .filter((line) => line.cell),
              })))
      .filter((panel) => panel.lines.length);
}

// A cell's curve as points, from its lists of places and estimates; those without a place are left
// out.
function pointsOf(places, values) {
  return (values || [])
      .map((e, i) => ({ x: (places || [])[i], estimate: estimate(e) }))
      .filter((p) => isNumber(p.x));
}
const curveOf = (cell, key) => {
  const curve = (cell.curves || []).find((c) => c.key === key);
  return curve ? pointsOf(curve.steps, curve.iqm) : [];
};
const anyValue = (points) => points.some((p) => p.estimate.value !== null);

// The chart of one panel, with what is chosen now. All lines of `shared` decide the ends of the x
// axis.
function drawPanel(box, label, study, lines, shared, { x, y, height, bands, endNames }, colors) {
  const drawn = lines.filter((line) => study.chosen.has(line.arm) && anyValue(line.points));
  if (!drawn.length) {
    const canvas = box.querySelector("canvas");
    if (canvas && Chart.getChart(canvas)) Chart.getChart(canvas).destroy();
    box.style.height = "auto";
    box.replaceChildren(
        element("p", { class: "nothing" }, "Nothing that is chosen has values here."));
    return;
  }
  const series =
      drawn.map((line) => ({
                  label: line.label,
                  color: armColor(study, line.arm, colors),
                  dash: armDash(study, line.arm),
                  points: line.points.map((p) => ({...p, name: `${x.title}: ${shortNumber(p.x)}` }))
                }));
  const start = x.fromLeast ? profileStart(shared) : -Infinity;
  curveChart(
      box, {
        label,
        series,
        x,
        y,
        height,
        bands,
        endNames,
        values: shared.flatMap((line) => line.points.map((p) => p.x)).filter((x) => x >= start)
      },
      colors);
}

function curveTable(title, caption, rows, study, x, value) {
  return {
    title,
    caption,
    rows,
    columns: [
      nameColumn("task", (r) => r.task), nameColumn("arm", (r) => r.name),
      { title: "N", read: (r) => study.arms[r.arm]?.num_envs, plain: true },
      { title: "T", read: (r) => study.arms[r.arm]?.num_steps, plain: true },
      ...(rows.some((r) => r.quantity) ? [nameColumn("quantity", (r) => r.quantity)] : []),
      { title: x, read: (r) => r.x }, estimateColumn(value, (r) => r.estimate)
    ]
  };
}
const curveRows = (study, panelList, quantity) => panelList.flatMap(
    (panel) => panel.lines.flatMap(
        (line) => line.points.map((p) => ({
                                    ...p,
                                    arm: line.arm,
                                    name: study.arms[line.arm].name,
                                    task: panel.read || study.tasks[panel.task].name,
                                    quantity
                                  }))));

const withPoints = (panelList, points) => panelList.map(
    (panel) =>
        ({...panel, lines: panel.lines.map((line) => ({...line, points: points(line.cell) })) }));

// One figure: a panel for each of the list that has values. words: {title, caption, table, x,
// value, about}.
function curveFigure(parent, study, list, text, axes) {
  const shown = list.filter((panel) => panel.lines.some((line) => anyValue(line.points)));
  if (!shown.length) return;
  const body = figure(parent, {
    title: text.title,
    caption: text.caption,
    long: true,
    tables:
        [curveTable(text.table, text.caption, curveRows(study, shown), study, text.x, text.value)]
  });
  picker(body, study);
  const grid = panels(body, shown.length > 6 ? 260 : 330);
  if (shown.length === 1) grid.classList.add("whole");
  for (const panel of shown) {
    const mates = shown.filter((p) => p.task === panel.task);
    const label = `${text.about}, ${panel.title}`;
    const { box } = namedPanel(grid, panel.title, "canvas");
    addChart(label, box, (colors) => {
      const visible = mates.flatMap((p) => p.lines)
                          .filter((line) => study.chosen.has(line.arm))
                          .flatMap((line) => line.points.map((p) => p.estimate));
      drawPanel(
          box, label, study, panel.lines, mates.flatMap((p) => p.lines), {
            ...axes,
            y: {...axes.y, range: axes.y.range || extent(visible) },
            height: shown.length === 1 ? 380 : 280
          },
          colors);
    }, true);
  }
}

const bandsText = (study) =>
    "Lines: interquartile mean over runs; bands: 95 % intervals, at each point by itself." +
    (distinct(study.arms.map((a) => a.num_envs)).length > 1
         ? " Colours go from few environments to many."
         : "");

function curvesSection(parent, study) {
  const list = curvePanels(study);
  const seen = list.filter(
      (panel) => panel.lines.some((line) => anyValue(curveOf(line.cell, "episodic_return"))));
  if (!seen.length) parent.append(element("p", {}, "There are no curves in this file."));
  curveFigure(
      parent, study, withPoints(list, (cell) => curveOf(cell, "evaluation_return")), {
        title: "Return of evaluations against environment steps",
        about: "Return of evaluations against environment steps",
        table: "evaluations against environment steps",
        x: "environment steps",
        value: "return",
        caption: `${bandsText(study)} Whole episodes, on seeds that are never trained on. ` +
            `Panels of one task share their axes.`,
      },
      { x: { title: "environment steps" }, y: { title: "return" } });
  const training = study.leavesOut && seen.length
      ? folded(parent, "Training returns, which leave out the longest episodes: see the note")
      : parent;
  curveFigure(
      training, study, withPoints(list, (cell) => curveOf(cell, "episodic_return")), {
        title: "Training return against environment steps",
        about: "Training return against environment steps",
        table: "return against environment steps",
        x: "environment steps",
        value: "return",
        caption: `${bandsText(study)} Panels of one task share their axes.` +
            (study.leavesOut ? " Episodes that have not ended are left out, the longest above all."
                             : ""),
      },
      { x: { title: "environment steps" }, y: { title: "return" } });
  const timed = withPoints(
      list,
      (cell) => (cell.time_curve ? pointsOf(cell.time_curve.seconds, cell.time_curve.iqm) : []));
  const ends = timed.flatMap((panel) => panel.lines)
                   .map((line) => Math.max(0, ...line.points.map((p) => p.x)))
                   .filter((x) => x > 0);
  const log = ends.length > 1 && Math.max(...ends) > 30 * Math.min(...ends);
  const positive =
      timed.map((panel) => ({
                  ...panel,
                  lines: panel.lines.map(
                      (line) => ({...line, points: line.points.filter((p) => !log || p.x > 0) }))
                }));
  const evaluated = study.cells.some((c) => (c.time_curve || {}).key === "evaluation_return");
  const what = evaluated ? "Return of evaluations" : "Training return";
  curveFigure(
      evaluated ? parent : training, study, positive, {
        title: `${what} against wall time`,
        about: `${what} against wall time`,
        table: "return against wall time",
        x: "seconds",
        value: "return",
        caption: `${
            bandsText(
                study)} Times are of training alone, on the hardware below, with as many runs ` +
                    `side by side as there were. A cell whose runs are over keeps its last value.`,
      },
      { x: { title: "seconds of training", log }, y: { title: "return" } });
  if (training !== parent) parent.append(training);
}

// ---- profiles

// A chart of profiles begins at the last threshold that all runs of all arms exceed.
function profileStart(lines) {
  const below =
      lines.flatMap((line) => line.points.filter((p) => p.estimate.value < 1).map((p) => p.x));
  const before =
      lines.flatMap((line) => line.points.map((p) => p.x)).filter((x) => x < Math.min(...below));
  return before.length ? Math.max(...before) : -Infinity;
}

function profilesSection(parent, study) {
  const both = study.several && study.arms.some((a) => a.normalised && a.normalised.profile);
  const points = (profile) => (profile ? pointsOf(profile.thresholds, profile.shares) : []);
  const pooled = both
      ? study.groups.map(
            (group) => ({
              task: "all",
              read: "all tasks",
              title: ["all tasks", group.title].filter(Boolean).join(", "),
              lines: group.members.map((arm) => ({
                                         arm: arm.index,
                                         label: group.labelOf(arm),
                                         points: points(arm.normalised && arm.normalised.profile)
                                       })),
            }))
      : [];
  // All lines end at zero, where their names would pile up: the boxes above are the legend.
  const axes = { bands: 6, endNames: false, y: { title: "share of runs above τ", range: [0, 1] } };
  const caption = `The share of runs whose ${
      study.score === "training"
          ? "final training return"
          : "last evaluation"} is above a threshold τ. A line that lies above another everywhere ` +
              `has more runs above every threshold; lines that cross say that one arm is better ` +
              `in the middle, the other at the ends. Bands: 95 % intervals, where no more than ` +
              `six lines are drawn.`;
  curveFigure(
      parent, study, pooled, {
        title: "Performance profiles over all tasks",
        about: "Performance profile, normalised scores",
        table: "profiles over all tasks",
        x: "τ",
        value: "share",
        caption: `${caption} Normalised scores.`
      },
      {...axes, x: { title: "normalised score τ", fromLeast: true } });
  curveFigure(
      parent, study, withPoints(curvePanels(study), (cell) => points(cell.profile)), {
        title: study.several ? "Performance profiles by task" : "Performance profiles",
        about: "Performance profile",
        table: "profiles",
        x: "τ",
        value: "share",
        caption,
      },
      {...axes, x: { title: "return τ", fromLeast: true } });
}

// ---- instruments

// One panel an instrument, of one task and group at a time: the reader chooses which.
function instrumentsSection(parent, study) {
  const constant = (study.data.instruments || []).filter((k) => isNumber(k.constant));
  const keys = (study.data.instruments || []).filter((k) => !isNumber(k.constant));
  if (constant.length)
    parent.append(element(
        "p", {},
        `Equal in all arms at all steps, and not drawn: ${
            constant.map((k) => `${k.title || k.key} (${formatNumber(k.constant)})`)
                .join(", ")}.`));
  const list = curvePanels(study).filter(
      (panel) =>
          keys.some(({ key }) => panel.lines.some((line) => anyValue(curveOf(line.cell, key)))));
  if (!list.length) return;
  const rows = keys.flatMap(
      ({ key, title }) =>
          curveRows(study, withPoints(list, (cell) => curveOf(cell, key)), title || key));
  const body = figure(parent, {
    title: "Instruments against environment steps",
    long: true,
    caption: `${bandsText(study)} What they measure: docs/instruments.md.`,
    tables: [curveTable(
        "instruments", "Curves of the instruments, by arm.", rows, study, "environment steps",
        "value")]
  });
  const state = { panel: list[0] };
  if (list.length > 1) body.append(panelChoice(list, state));
  picker(body, study);
  const grid = panels(body, 290);
  for (const { key, title, unit } of keys.filter(
           (k) => list.some(
               (panel) => panel.lines.some((line) => anyValue(curveOf(line.cell, k.key)))))) {
    const { box } = namedPanel(grid, title || key, "canvas");
    addChart(`${title || key} against environment steps`, box, (colors) => {
      const lines = state.panel.lines.map((line) => ({...line, points: curveOf(line.cell, key) }));
      const visible = lines.filter((line) => study.chosen.has(line.arm))
                          .flatMap((line) => line.points.map((p) => p.estimate));
      const label = `${title || key} against environment steps, ${state.panel.title}`;
      drawPanel(
          box, label, study, lines, lines, {
            x: { title: "environment steps" },
            y: {
              title: unit,
              log: wantsLog(visible) && visible.every((e) => e.value === null || e.value > 0),
              most: 5
            },
            height: 220
          },
          colors);
    }, true);
  }
}

function panelChoice(list, state) {
  const select = element(
      "select", {}, ...list.map((panel, i) => element("option", { value: i }, panel.title)));
  select.addEventListener("change", () => {
    state.panel = list[Number(select.value)];
    drawAll((chart) => chart.chosen);
  });
  return element("p", {}, element("label", {}, "Shown: ", select));
}
