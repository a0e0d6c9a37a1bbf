"use strict";
// The first screen: what was varied on what task, what came out in one sentence, and one large
// figure of it.

const MOST_ANSWER_PANELS = 4;
const MOST_ANSWER_LINES = 6;
const CAPTION_ROOM = 106;  // pixels below the chart for its caption and its table, folded away:
                           // they belong to the first screen

// Height that is left of the screen for a figure that begins at this box, divided among rows of
// panels.
function heightOnScreen(box, rows) {
  const top = box.getBoundingClientRect().top + window.scrollY;
  const room = window.innerHeight - top - CAPTION_ROOM;
  return Math.round(Math.min(440, Math.max(150, room / rows - (rows > 1 ? 34 : 0))));
}

// The lines of the file that vary the same thing as the first one does, on one task: the first
// one's own, and others beside it, which differ in the rest.
function linesBeside(study, task) {
  const first = study.data.lines[0];
  const lines = study.data.lines.filter(
      (l) => l.task === task && l.kind === first.kind && l.key === first.key);
  const own = lines.find((l) => String(l.arms) === String(first.arms));
  return (own ? [own] : []).concat(lines.filter((l) => l !== own));
}

// Names what the arms of one line share and those of others do not: "T = 16, learning_rate=0.001".
function lineName(study, line, others) {
  const same = (key) =>
      others.every((l) => settingOf(study, l, key) === settingOf(study, line, key));
  const keys = distinct(others.flatMap((l) => Object.keys(study.arms[l.arms[0]].settings || {})))
                   .filter((key) => key !== line.key && !same(key));
  const shape = { num_envs_of_batch: "B", num_envs: "T", num_steps: "N" }[line.kind];
  const held =
      shape ? [`${shape} = ${formatNumber(line.fixed)}`] : [shapeName(study.arms[line.arms[0]])];
  const fixed =
      distinct(others.map((l) => (shape ? l.fixed : shapeName(study.arms[l.arms[0]])))).length > 1
      ? held
      : [];
  return [...fixed, ...keys.map((key) => `${key}=${settingOf(study, line, key) || "none"}`)].join(
      ", ");
}
const settingOf = (study, line, key) => (study.arms[line.arms[0]].settings || {})[key] ?? "";

// Numbers by their logarithm where they go over a factor of 8, by their place where they are no
// numbers.
function placesOf(values, ordered) {
  const numbers = values.map(Number);
  const log =
      ordered && Math.min(...numbers) > 0 && Math.max(...numbers) >= 8 * Math.min(...numbers);
  const label = (v) =>
      (ordered && Number.isInteger(Number(v)) ? formatNumber(Number(v)) : v || "none");
  return values.map(
      (value, i) => ({ value: log ? Math.log2(numbers[i]) : i, label: label(value) }));
}

function axisOfLine(line) {
  if (line.kind === "num_envs_of_batch")
    return `N, environments (T = ${formatNumber(line.fixed)} / N)`;
  return { num_envs: "N, environments", num_steps: "T, steps of a rollout" }[line.key] || line.key;
}

// The lines of all panels in one order, so that a colour means the same in each: those of most
// panels first, else in the order of the first panel.
function alike(panels) {
  const all = distinct(panels.flatMap((lines) => lines.map((l) => String(l.arms))));
  const count = (arms) =>
      panels.filter((lines) => lines.some((l) => String(l.arms) === arms)).length;
  // Tasks without a common line take turns.
  const rank = (arms) =>
      Math.min(...panels.map((lines) => lines.findIndex((l) => String(l.arms) === arms))
                   .filter((i) => i >= 0));
  const order =
      all.sort((a, b) => count(b) - count(a) || rank(a) - rank(b)).slice(0, MOST_ANSWER_LINES);
  return panels.map((lines) => order.map((arms) => lines.find((l) => String(l.arms) === arms)));
}

// Places in the order of all panels stay free where a panel has no such line.
function alongChart(box, label, study, view, ordered, height, colors) {
  const lines = ordered.filter(Boolean);
  const values = distinct(lines.flatMap((l) => l.values));
  values.sort((a, b) => a - b);
  const places = placesOf(values, true);
  const placeOf = new Map(values.map((value, i) => [value, places[i].value]));
  const series = ordered.flatMap(
      (line, k) => (!line ? [] : [{
        label: lineName(study, line, lines) || "IQM",
        ...lookOf(study, line, k, ordered, colors),
        width: k === 0 ? 2.6 : 1.6,
        points: line.arms.map((a, i) => ({
                                x: placeOf.get(line.values[i]) +
                                    0.08 * (k - (ordered.length - 1) / 2),
                                estimate: iqmOf(view, a, study.score),
                                name: study.arms[a].name
                              })),
      }]));
  const one = {
    ...lines[0],
    kind: distinct(lines.map((l) => l.fixed)).length > 1 && lines[0].kind === "num_envs_of_batch"
        ? "num_envs"
        : lines[0].kind
  };
  estimateChart(
      box, {
        label,
        series,
        height,
        x: { places, title: axisOfLine(one), thin: true },
        y: { title: SCORE_AXIS[study.score] },
        legend: false
      },
      colors);
}
// The look of the k-th line: by its settings along N or T, by its N along a setting.
function lookOf(study, line, k, lines, colors) {
  if (line.kind !== "setting" && line.kind !== "settings") {
    return lineLook(
        study, line.arms[0], line.fixed, lines.filter(Boolean).map((l) => l.fixed), colors);
  }
  const color = study.shaped && study.styles.get(line.arms[0]).count > 1
      ? armColor(study, line.arms[0], colors)
      : seriesColor(colors, k, lines.length);
  return { color, marker: MARKERS[k % MARKERS.length] };
}
const SCORE_AXIS = {
  evaluation: "evaluation return",
  training: "training return"
};

// Arms whose curves are drawn: all of few, else those of the line that the sentence is about.
function curvedArms(study) {
  if (study.arms.length <= MOST_ANSWER_LINES) return study.arms.map((_, i) => i);
  const line = (study.data.lines || [])[0];
  return line ? line.arms : [];
}

function curvesOf(study) {
  const key = study.score === "evaluation" ? "evaluation_return" : "episodic_return";
  const arms = curvedArms(study);
  const read = (t) =>
      arms.map((a) => ({
                 arm: a,
                 cell: (study.arms[a].cells || [])
                           .map((c) => study.cells[c])
                           .find((c) => c && c.task === t)
               }))
          .map((line) => ({...line, points: line.cell ? curveOf(line.cell, key) : [] }))
          .filter((line) => line.points.filter((p) => p.estimate.value !== null).length >= 5);
  return study.tasks.map((task, t) => ({ task: t, title: task.name, lines: read(t) }))
      .filter((panel) => panel.lines.length && panel.lines.length <= 12);
}

// Without the beginning that all have up to an "=": learning_rate=0.001 and learning_rate=0.01 are
// 0.001 and 0.01.
function shortNames(names) {
  const key = names[0].slice(0, names[0].indexOf("=") + 1);
  return key && !names.some((name) => name.slice(key.length).includes("=")) &&
          names.every((name) => name.startsWith(key))
      ? names.map((name) => name.slice(key.length))
      : names;
}

// Names that distinguish the arms of one chart: by their settings, else their shapes, else both.
function namesApart(study, arms) {
  const ways = [(arm) => arm.other || shapeName(arm), shapeName];
  const way =
      ways.find((one) => distinct(arms.map((a) => one(study.arms[a]))).length === arms.length) ||
      ((arm) => arm.name);
  return shortNames(arms.map((a) => way(study.arms[a])));
}

function curvesChart(box, label, study, panel, height, colors) {
  const values = panel.lines.flatMap((line) => line.points.map((p) => p.x));
  const names = namesApart(study, panel.lines.map((line) => line.arm));
  const series = panel.lines.map(
      (line, i) => ({
        label: names[i],
        color: armColor(study, line.arm, colors),
        dash: armDash(study, line.arm),
        width: 2,
        points: line.points.map((p) => ({...p, name: `environment steps: ${shortNumber(p.x)}` }))
      }));
  curveChart(
      box, {
        label,
        series,
        x: { title: "environment steps" },
        y: { title: SCORE_AXIS[study.score] },
        height,
        values
      },
      colors);
}

// Arms one below the other, the highest first: for what is no number and has no curve.
function rowsOf(study, view) {
  const line = (study.data.lines || [])[0];
  const wanted = study.arms.length <= 8 || !line ? null : new Set(line.arms);
  const arms = ranked(study, view).filter((a) => !wanted || wanted.has(a)).slice(0, 8);
  const range = extent(arms.map((a) => iqmOf(view, a, study.score)));
  const nameOf = (arm) =>
      (distinct(study.arms.map(shapeName)).length > 1 ? arm.name : arm.other || arm.name);
  return element(
      "div", { class: "rows" },
      ...arms.flatMap(
          (a) =>
              [element("span", { class: "arm" }, nameOf(study.arms[a])),
               intervalMark(iqmOf(view, a, study.score), range, a === study.best),
               element("span", { class: "number" }, formatEstimate(iqmOf(view, a, study.score)))]));
}

// The numbers of the figure. rows: {task, arm, x, estimate}; x: the title of what the points lie
// along, or "".
function answerTable(study, rows, x) {
  return {
    title: "the figure of the answer",
    rows,
    caption: "What the first figure shows, with 95 % intervals.",
    columns: [
      nameColumn("task", (r) => study.tasks[r.task]?.name),
      nameColumn("arm", (r) => study.arms[r.arm].name),
      ...(x ? [{ title: x, read: (r) => r.x }] : []),
      estimateColumn(SCORE_AXIS[study.score], (r) => r.estimate)
    ]
  };
}

// Returns the figure: {panels: [{title, draw(box, label, height, colors)}], caption, about, table},
// or null without data.
function answerFigure(study) {
  const line = (study.data.lines || [])[0];
  const views = study.views.filter(
      (view) =>
          !view.normalised && study.arms.some((_, i) => hasValue(iqmOf(view, i, study.score))));
  const runs = Math.max(0, ...study.cells.map((c) => (c.runs || []).length));
  const read = `of the ${
      study.score === "evaluation" ? "evaluations of the final policies"
                                   : "last training returns"}, over ${plural(runs, "run")} an arm`;
  if (line && line.ordered && line.arms.length > 2) {
    const single = study.views.filter((view) => !view.normalised);  // one a task
    const tasks = views
                      .map((view) => ({
                             view,
                             task: single.indexOf(view),
                             beside: linesBeside(study, single.indexOf(view))
                           }))
                      .filter((s) => s.beside.length);
    const orders = alike(tasks.map((s) => s.beside));
    const all = distinct(tasks.flatMap((s) => s.beside.map((l) => String(l.arms)))).length;
    const cut = all > MOST_ANSWER_LINES ? ` Drawn: ${MOST_ANSWER_LINES} of ${all} lines.` : "";
    const shown =
        tasks.map((s, i) => ({...s, lines: orders[i] })).filter((s) => s.lines.some(Boolean));
    // Then the figure of all scores against N need not show this one again.
    const seen = new Set(shown.flatMap((s) => s.lines.filter(Boolean).flatMap((l) => l.arms)));
    study.isAnsweredAlongEnvs = line.key === "num_envs" && seen.size === study.arms.length &&
        shown.length === views.length && shown.length <= MOST_ANSWER_PANELS;
    const named = (orders[0] || []).map((_, k) => orders.map((lines) => lines[k]).find(Boolean));
    const legend =
        named.length < 2 ? null : (colors) => named.map((line, k) => ({
                                                          label: lineName(study, line, named),
                                                          ...lookOf(study, line, k, named, colors)
                                                        }));
    const rows = shown.flatMap(
        ({ view, task, lines }) =>
            distinct(lines.filter(Boolean).flatMap((l) => l.arms))
                .map((arm) => ({ task, arm, estimate: iqmOf(view, arm, study.score) })));
    return {
      legend,
      table: answerTable(study, rows, ""),
      about: "The answer, along what varies",
      caption: `Interquartile means ${read}, with 95 % intervals.` +
          (legend && line.differ ? " Thick: what the sentence is about." : "") + cut,
      panels: shown.map(({ view, lines }) => ({
                          title: view.title,
                          draw: (box, label, height, colors) =>
                              alongChart(box, label, study, view, lines, height, colors)
                        }))
    };
  }
  const curves = curvesOf(study);
  if (curves.length) {
    const rows = curves.flatMap(
        (panel) => panel.lines.flatMap(
            (l) => l.points.map(
                (p) => ({ task: panel.task, arm: l.arm, x: p.x, estimate: p.estimate }))));
    return {
      table: answerTable(study, rows, "environment steps"),
      about: "The answer, along the steps",
      caption: `${
          line && line.kind === "setting" ? `Lines: ${line.key}. ` : ""}Interquartile means over ${
          plural(runs, "run")} an arm, with 95 % intervals at each point by itself.`,
      panels: curves.map((panel) => ({
                           title: panel.title,
                           draw: (box, label, height, colors) =>
                               curvesChart(box, label, study, panel, height, colors)
                         }))
    };
  }
  if (!views.length) return null;
  const rows = views.flatMap(
      (view) =>
          ranked(study, view).map((arm) => ({
                                    task: study.views.filter((v) => !v.normalised).indexOf(view),
                                    arm,
                                    estimate: iqmOf(view, arm, study.score)
                                  })));
  return {
    table: answerTable(study, rows, ""),
    about: "The answer, arm by arm",
    caption: `Interquartile means ${read}, with 95 % intervals.`,
    panels: views.map((view) => ({ title: view.title, node: rowsOf(study, view) }))
  };
}

// No line ends inside of an interval or of "N = 8".
const unbroken = (text) =>
    text.replace(/\[[^\]]+\]|\b[NT] = [\d,]+/g, (part) => part.replace(/ /g, "\u00a0"));

function firstScreen(main, study) {
  const { data } = study;
  const heading = data.heading || data.title || "A study without a name";
  document.title = `Study: ${heading}`;
  const box = element(
      "section", { class: "first", id: "answer" }, element("h1", {}, heading),
      data.answer ? element("p", { class: "answer" }, unbroken(data.answer)) : null,
      ...(data.two_way || [])
          .slice(0, 1)
          .map((question) => element("p", { class: "second" }, unbroken(question.words))));
  main.append(box);
  addSection(box, "The answer", () => drawAnswer(box, study));
}

function drawAnswer(box, study) {
  const figure = answerFigure(study);
  if (!figure || !figure.panels.length) return;
  const shown = figure.panels.slice(0, MOST_ANSWER_PANELS);
  const rest = figure.panels.length - shown.length;
  const node = element("figure", {});
  if (figure.legend) liveLegend(node, figure.legend);
  const grid = panels(node, shown.length > 1 ? 330 : 600);
  grid.classList.add("whole");
  for (const panel of shown) {
    const { panel: outer, box: canvas } =
        namedPanel(grid, panel.title, panel.node ? "plot" : "canvas");
    if (shown.length === 1) outer.firstChild.remove();  // the heading names the task
    if (panel.node)
      canvas.append(panel.node);
    else
      addChart(
          `${figure.about}, ${panel.title}`, canvas,
          (colors) => panel.draw(
              canvas, `${figure.about}, ${panel.title}`,
              heightOnScreen(grid, rowsIn(grid, shown.length)), colors));
  }
  const body = element("div", {}, ...node.childNodes);
  node.append(
      body,
      element(
          "figcaption", {},
          figure.caption + (rest > 0 ? ` ${plural(rest, "more task")} below. ` : " "),
          saveButtons(body, document.title)),
      dataDetails(figure.table, "answer"));
  box.append(node);
}
const rowsIn = (grid, count) => Math.ceil(
    count /
    Math.max(
        1,
        getComputedStyle(grid).gridTemplateColumns.split(" ").filter((w) => w !== "0px").length));
