"use strict";
// One frame of an episode as SVG: shapes in the environment's units, as docs/watch.md describes
// them. Whatever the units are, the picture's longer side is 1,000 wide.

const SIDE = 1000;
const INKS = {
  ink: "--ink",
  muted: "--muted",
  faint: "--line",
  panel: "--panel",
  paper: "--page",
  accent: "--accent",
  good: "--good",
  bad: "--bad"
};
const inkVariable = (ink) => (typeof ink === "number" ? `--colour-${ink}` : INKS[ink]);

function svgElement(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// From the environment's units, y upwards, to those of the picture, y downwards.
function scaleOf([left, bottom, right, top]) {
  const factor = SIDE / Math.max(right - left, top - bottom);
  const number = (x) => Number(x.toFixed(2));
  return {
    width: number((right - left) * factor),
    height: number((top - bottom) * factor),
    size: (x) => number(x * factor),
    x: (x) => number((x - left) * factor),
    y: (y) => number((top - y) * factor)
  };
}

function pointsText(numbers, scale) {
  const points = [];
  for (let i = 0; i + 1 < numbers.length; i += 2)
    points.push(`${scale.x(numbers[i])},${scale.y(numbers[i + 1])}`);
  return points.join(" ");
}

// Draws each kind of shape from the file's numbers.
const SHAPES = {
  line: ([width, ...points], scale) => svgElement("polyline", {
    points: pointsText(points, scale),
    fill: "none",
    "stroke-width": scale.size(width),
    "stroke-linecap": "round",
    "stroke-linejoin": "round"
  }),
  polygon: (points, scale) => svgElement("polygon", { points: pointsText(points, scale) }),
  rectangle: ([x, y, width, height], scale) => svgElement("rect", {
    x: scale.x(x),
    y: scale.y(y + height),
    width: scale.size(width),
    height: scale.size(height)
  }),
  circle: ([x, y, radius], scale) =>
      svgElement("circle", { cx: scale.x(x), cy: scale.y(y), r: scale.size(radius) }),
  text: ([x, y, height, words], scale) => {
    const node = svgElement(
        "text",
        { x: scale.x(x), y: scale.y(y), "text-anchor": "middle", "dominant-baseline": "central" });
    node.style.fontSize = `${scale.size(height)}px`;
    node.textContent = words;
    return node;
  },
  image: ([x, y, width, height, file], scale) => svgElement("image", {
    x: scale.x(x),
    y: scale.y(y + height),
    width: scale.size(width),
    height: scale.size(height),
    href: file
  }),
};

function shapeNode([kind, ink, strength, ...numbers], scale) {
  const node = SHAPES[kind](numbers, scale);
  node.style[kind === "line" ? "stroke" : "fill"] = `var(${inkVariable(ink)})`;
  if (strength < 1) node.setAttribute("opacity", strength);
  return node;
}

const AHEAD = 4;  // frames whose shapes are made before they are shown, since pictures take a
                  // moment to be read

// The stage has every shape once, made a little before it is first seen.
function makeStage(data) {
  const scale = scaleOf(data.view);
  const svg = svgElement(
      "svg",
      { viewBox: `0 0 ${scale.width} ${scale.height}`, role: "img", "aria-label": "No frame yet" });
  const backdrop = svgElement("g", {}), front = svgElement("g", {});
  svg.append(backdrop, front);
  const made = new Map();
  const nodes = (indices) => indices.map((i) => {
    if (!made.has(i)) made.set(i, shapeNode(data.shapes[i], scale));
    return made.get(i);
  });
  return {
    svg,
    show(episode, frame, words) {
      backdrop.replaceChildren(...nodes(episode.backdrop));
      front.replaceChildren(...nodes(episode.frames[frame]));
      const every = Math.max(1, data.pictures_every || 0);
      for (let i = 1; i <= AHEAD; i++)
        nodes(episode.frames[Math.min(episode.frames.length - 1, frame + i * every)]);
      svg.setAttribute("aria-label", words);
    },
  };
}

// The frame as a file of its own, in the colours of the moment.
function frameText(svg) {
  const style = getComputedStyle(document.documentElement);
  const copy = svg.cloneNode(true);
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "sans-serif");
  copy.insertBefore(
      svgElement("rect", { width, height, style: "fill: var(--page)" }), copy.firstChild);
  return new XMLSerializer().serializeToString(copy).replace(
      /var\((--[a-z0-9-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}
