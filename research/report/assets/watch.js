"use strict";
// watch.html: episodes that were played, one at a time, with what there is to know of the step that
// is shown.

const SPEEDS = [1, 2, 5, 10, 20, 50, 100];  // steps a second
const SECONDS = 10;                         // that an episode takes at first, about
const PICTURES = 25;                        // that are shown a second at first

const player = {
  data: null,
  stage: null,
  episode: 0,
  frame: 0,
  speed: 10,
  playing: false,
  began: null,
  due: 0,
  parts: {}
};

const episodeNow = () => player.data.episodes[player.episode];
const lastFrame = () => episodeNow().frames.length - 1;

function actionText(action) {
  if (Array.isArray(action)) return action.map((x) => formatNumber(x)).join(", ");
  return String(action);
}

function endText(episode) {
  if (episode.end === "cut") return `cut after ${plural(episode.steps, "step")}, not at its end`;
  const ended = episode.end === "time_limit" ? "until its time limit" : `ended by ${episode.end}`;
  return ended +
      (episode.success === true        ? ", a success"
           : episode.success === false ? ", no success"
                                       : "");
}
const episodeText = (episode) => `return ${formatNumber(episode.return, 5)} in ${
    plural(episode.steps, "step")}, ${endText(episode)}`;

// Returns so far: [steps + 1], 0 before the first step.
function returnsOf(episode) {
  let sum = 0;
  return [0, ...episode.rewards.map((reward) => (sum += reward))];
}

function fitSpeed(episode) {
  const every = player.data.pictures_every;
  const wanted = every ? every * PICTURES : Math.min(50, Math.max(2, episode.steps / SECONDS));
  return SPEEDS.reduce(
      (best, speed) =>
          (Math.abs(Math.log(speed / wanted)) < Math.abs(Math.log(best / wanted)) ? speed : best));
}

// ---- what is shown

function facts(frame) {
  const episode = episodeNow();
  const over = frame === lastFrame();
  return [
    ["step", `${formatNumber(frame)} of ${formatNumber(episode.steps)}`],
    [
      "action here",
      over ? (episode.end === "cut" ? "cut here" : "the episode is over")
           : actionText(episode.actions[frame])
    ],
    ["reward of the last step", frame ? formatNumber(episode.rewards[frame - 1], 4) : "–"],
    ["return so far", formatNumber(Number(player.returns[frame].toPrecision(6)), 5)],
  ];
}

function showFrame() {
  const { parts, frame, data, stage } = player;
  const shown = facts(frame);
  stage.show(
      episodeNow(), frame,
      `${data.env_id}, episode ${player.episode + 1}: ${
          shown.map(([name, value]) => `${name} ${value}`).join(", ")}`);
  shown.forEach(([, value], i) => {
    parts.facts[i].textContent = value;
  });
  parts.slider.value = String(frame);
  parts.slider.setAttribute("aria-valuetext", shown[0][1]);
  const x = lastFrame() ? (SIDE * frame) / lastFrame() : 0;
  parts.cursor.setAttribute("x1", x);
  parts.cursor.setAttribute("x2", x);
  parts.play.textContent = player.playing ? "Pause" : frame === lastFrame() ? "Again" : "Play";
  Object.assign(
      document.documentElement.dataset,
      { frame: String(frame), episode: String(player.episode), playing: String(player.playing) });
}

// The return so far over the episode's steps.
function showTrack() {
  const { parts, returns } = player;
  const low = Math.min(...returns), high = Math.max(...returns);
  const y = (value) => (high > low ? 96 - (92 * (value - low)) / (high - low) : 50);
  const points = returns.map(
      (value, i) =>
          `${((SIDE * i) / Math.max(1, returns.length - 1)).toFixed(1)},${y(value).toFixed(1)}`);
  parts.curve.setAttribute("points", points.join(" "));
  parts.track.setAttribute(
      "aria-label",
      `Return so far over the episode's steps, from ${formatNumber(low, 4)} to ${
          formatNumber(high, 4)} at most`);
  parts.slider.max = String(lastFrame());
}

function chooseEpisode(index) {
  player.episode = index;
  player.playing = false;
  player.returns = returnsOf(episodeNow());
  player.speed = fitSpeed(episodeNow());
  player.parts.speed.value = String(player.speed);
  player.parts.answer.textContent =
      `Episode ${index + 1} of ${player.data.episodes.length}: ${episodeText(episodeNow())}.`;
  if (player.parts.episode) player.parts.episode.value = String(index);
  showTrack();
  seek(0);
}

// ---- time

function seek(frame) {
  player.frame = Math.min(lastFrame(), Math.max(0, frame));
  player.began = null;
  if (player.frame === lastFrame()) player.playing = false;
  showFrame();
}

function step(states) {
  player.playing = false;
  seek(player.frame + states);
}

function toggle() {
  const again = !player.playing && player.frame === lastFrame();
  player.playing = !player.playing && lastFrame() > 0;
  player.began = null;
  if (again) player.frame = 0;
  showFrame();
  if (player.playing) nextTick();
}

function nextTick() {
  cancelAnimationFrame(player.due);  // one at a time, however often the button is pressed
  player.due = requestAnimationFrame(tick);
}

// A frame is due when its time has come since `began`, so that a slow display skips some instead of
// falling behind.
function tick(now) {
  if (!player.playing) return;
  player.began = player.began || { time: now, frame: player.frame };
  const due = Math.min(
      lastFrame(),
      player.began.frame + Math.floor(((now - player.began.time) / 1000) * player.speed));
  if (due !== player.frame) {
    player.frame = due;
    if (due === lastFrame()) player.playing = false;
    showFrame();
  }
  nextTick();
}

function setSpeed(speed) {
  player.speed = speed;
  player.began = null;
  player.parts.speed.value = String(speed);
}

const KEYS = {
  " ": toggle,
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => step(-Infinity),
  End: () => step(Infinity),
  ArrowUp: () => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, SPEEDS.indexOf(player.speed) + 1)]),
  ArrowDown: () => setSpeed(SPEEDS[Math.max(0, SPEEDS.indexOf(player.speed) - 1)]),
};
function pressed(event) {
  const own = event.target.closest && event.target.closest("select, textarea, summary, a, button");
  if (own || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
}

// ---- the page

function button(words, press, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, words);
  node.addEventListener("click", press);
  return node;
}

function picker(label, options, chosen) {
  const select = element(
      "select", {}, ...options.map(([value, words]) => element("option", { value }, words)));
  select.addEventListener("change", () => chosen(Number(select.value)));
  return { select, label: element("label", {}, label, select) };
}

function controls(data) {
  const { parts } = player;
  parts.play = button("Play", toggle, { class: "play" });
  const speed = picker("steps a second", SPEEDS.map((s) => [String(s), String(s)]), setSpeed);
  parts.speed = speed.select;
  const save = button(
      "Save frame (SVG)",
      () => download(
          `${data.env_id}_${player.episode + 1}_${player.frame}.svg`, frameText(player.stage.svg),
          "image/svg+xml"));
  const box = element(
      "div", { class: "controls" }, parts.play,
      button("◀", () => step(-1), { "aria-label": "One step back" }),
      button("▶", () => step(1), { "aria-label": "One step on" }), speed.label);
  if (data.episodes.length > 1) {
    const episode = picker(
        "episode",
        data.episodes.map((e, i) => [String(i), `${i + 1}: return ${formatNumber(e.return, 4)}`]),
        chooseEpisode);
    parts.episode = episode.select;
    box.append(episode.label);
  }
  box.append(element("span", { class: "grow" }), save);
  return box;
}

function track() {
  const { parts } = player;
  parts.curve = svgElement("polyline", {});
  parts.cursor = svgElement("line", { y1: 0, y2: 100 });
  parts.track =
      svgElement("svg", { viewBox: `0 0 ${SIDE} 100`, preserveAspectRatio: "none", role: "img" });
  parts.track.append(parts.cursor, parts.curve);
  parts.slider = element(
      "input",
      { type: "range", min: "0", max: "0", step: "1", "aria-label": "Step of the episode" });
  parts.slider.addEventListener("input", () => seek(Number(parts.slider.value)));
  return element("div", { class: "track" }, parts.track, parts.slider);
}

function readout() {
  const names = facts(0).map(([name]) => name);
  player.parts.facts = names.map(() => element("dd"));
  return element(
      "dl", { class: "facts" },
      ...names.map(
          (name, i) => element("div", {}, element("dt", {}, name), player.parts.facts[i])));
}

// Colours of planes, for who does not know which is which.
function planesLegend(data) {
  if (!(data.planes > 1)) return null;
  const swatch = (plane) => {
    const box = element("i", { class: "box" });
    box.style.background = `var(${inkVariable(plane % 12)})`;
    return element("span", {}, box, `plane ${plane}`);
  };
  return element(
      "div", { class: "legend" },
      ...Array.from({ length: data.planes }, (_, plane) => swatch(plane)));
}

function about(data) {
  const sampled = data.action_kinds === "sampled";
  const cut = data.episodes.filter((e) => e.end === "cut").length;
  return [
    element(
        "p", {},
        `Played as broadloom eval plays ${plural(data.episodes.length, "episode")} with seed ${
            data.seed}: ${
            sampled ? "actions drawn from the policy, as in training"
                    : "the policy's most likely actions"}, ` +
            "on streams that training never uses." +
            (cut ? ` ${cut} of ${data.episodes.length} ${cut === 1 ? "was" : "were"} cut after ${
                       plural(
                           data.max_steps, "step")} (--max_steps): their returns are of that part.`
                 : "")),
    element(
        "p", { class: "hint" },
        "A frame is a state, the action is what the policy does there. " +
            (data.pictures_every > 1
                 ? `There is a picture every ${
                       plural(
                           data.pictures_every,
                           "step")}, and of the last state; states between show the one before. `
                 : "") +
            "Space plays and pauses, ← and → step, ↑ and ↓ change the speed, " +
            "Home and End go to the ends."),
  ];
}

function makePage() {
  const main = document.getElementById("page");
  const data = pageData();
  Object.assign(player, { data, stage: makeStage(data) });
  player.returns = returnsOf(episodeNow());
  main.className = "watch";
  document.title = `${data.env_id}: ${plural(data.episodes.length, "episode")} of ${data.run}`;
  const stage = element("div", { class: "stage" }, player.stage.svg);
  player.parts.answer = element("p", { class: "answer" });
  main.append(
      element(
          "h1", {},
          `${data.env_id}, played by ${data.run} after ${
              plural(data.global_step, "step")} of training`),
      player.parts.answer, stage, track(), controls(data), readout());
  const legend = planesLegend(data);
  if (legend) main.append(legend);
  main.append(
      ...about(data),
      element(
          "footer", {},
          element(
              "p", {},
              `Made ${data.created} by Broadloom ${data.version} (${data.revision}), of ${
                  data.checkpoint}.`),
          (data.command || []).length
              ? element("p", {}, element("code", {}, data.command.join(" ")))
              : null));
  chooseEpisode(0);
  document.addEventListener("keydown", pressed);
  addChart("episode", stage, showFrame);
}

startPage(makePage);
