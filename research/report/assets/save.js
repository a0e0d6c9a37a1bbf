"use strict";
// Saves figures for papers. A figure becomes a list of marks, paths and texts in pixels, which is
// written as SVG or as PDF. Charts draw themselves once more, into the list.

// ---- paths, with the calls of a canvas

// A quarter of a circle is one curve; this share of the radius leads to its control points.
const CURVE_SHARE = (angle) => (4 / 3) * Math.tan(angle / 4);

class RecordedPath {
  constructor() {
    this.steps = [];  // [letter, x, y, ...]
  }
  place(x, y) { return [x, y]; }
  add(letter, ...numbers) {
    const points = [];
    for (let i = 0; i < numbers.length; i += 2)
      points.push(...this.place(numbers[i], numbers[i + 1]));
    this.steps.push([letter, ...points]);
  }
  moveTo(x, y) { this.add("M", x, y); }
  lineTo(x, y) { this.add(this.steps.length ? "L" : "M", x, y); }
  bezierCurveTo(...numbers) { this.add("C", ...numbers); }
  quadraticCurveTo(cx, cy, x, y) { this.add("C", cx, cy, cx, cy, x, y); }
  closePath() {
    if (this.steps.length) this.steps.push(["Z"]);
  }
  rect(x, y, width, height) {
    this.add("M", x, y);
    for (const corner of [[x + width, y], [x + width, y + height], [x, y + height]]) {
      this.add("L", ...corner);
    }
    this.closePath();
  }
  arc(x, y, radius, from, until, backwards = false) {
    const whole = 2 * Math.PI;
    let turn = until - from;
    if (!backwards && turn < 0) turn = (turn % whole) + whole;
    if (backwards && turn > 0) turn = (turn % whole) - whole;
    turn = Math.max(-whole, Math.min(whole, turn));
    const parts = Math.max(1, Math.ceil(Math.abs(turn) / (Math.PI / 2) - 1e-9));
    const pointAt = (angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    this.lineTo(...pointAt(from));
    const share = CURVE_SHARE(turn / parts) * radius;
    for (let i = 0; i < parts; ++i) {
      const [start, end] = [from + (i * turn) / parts, from + ((i + 1) * turn) / parts];
      const [[x0, y0], [x1, y1]] = [pointAt(start), pointAt(end)];
      this.add(
          "C", x0 - share * Math.sin(start), y0 + share * Math.cos(start),
          x1 + share * Math.sin(end), y1 - share * Math.cos(end), x1, y1);
    }
  }
}

// ---- a canvas that keeps marks

const BASELINES = {
  top: 0.8,
  hanging: 0.8,
  middle: 0.35,
  bottom: -0.2,
  ideographic: -0.2
};
const DRAWING_STATE = [
  "matrix", "fillStyle", "strokeStyle", "lineWidth", "dash", "font", "textAlign", "textBaseline",
  "globalAlpha", "clipped"
];

class MarkRecorder extends RecordedPath {
  constructor() {
    super();
    Object.assign(this, {
      marks: [],
      stack: [],
      matrix: [1, 0, 0, 1, 0, 0],
      origin: [0, 0],
      dash: [],
      fillStyle: "#000000",
      strokeStyle: "#000000",
      lineWidth: 1,
      font: "12px sans-serif",
      textAlign: "start",
      textBaseline: "alphabetic",
      globalAlpha: 1,
      clipped: null
    });
    this.ruler = document.createElement("canvas").getContext("2d");
  }
  place(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    return [a * x + c * y + e + this.origin[0], b * x + d * y + f + this.origin[1]];
  }
  save() { this.stack.push(DRAWING_STATE.map((name) => this[name])); }
  restore() {
    const kept = this.stack.pop();
    if (kept)
      DRAWING_STATE.forEach((name, i) => {
        this[name] = kept[i];
      });
  }
  transform(a, b, c, d, e, f) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [
      A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E,
      B * e + D * f + F
    ];
  }
  translate(x, y) { this.transform(1, 0, 0, 1, x, y); }
  scale(x, y) { this.transform(x, 0, 0, y, 0, 0); }
  rotate(angle) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.transform(cos, sin, -sin, cos, 0, 0);
  }
  setTransform(...matrix) { this.matrix = matrix.length === 6 ? matrix : [1, 0, 0, 1, 0, 0]; }
  resetTransform() { this.setTransform(); }
  beginPath() { this.steps = []; }
  setLineDash(dash) { this.dash = [...dash]; }
  getLineDash() { return this.dash; }
  clearRect() {}
  strokeText() {}

  // The steps of a path that was made apart (Path2D), or of the present one.
  stepsOf(path) {
    if (!(path instanceof RecordedPath)) return this.steps;
    const kept = this.steps;
    this.steps = [];
    for (const [letter, ...numbers] of path.steps) this.add(letter, ...numbers);
    const steps = this.steps;
    this.steps = kept;
    return steps;
  }
  clip(path) { this.clipped = this.stepsOf(path); }
  keep(steps, paint) {
    if (steps.length) {
      this.marks.push({ steps, clipped: this.clipped, alpha: this.globalAlpha, ...paint });
    }
  }
  fill(path) { this.keep(this.stepsOf(path), { fill: colorParts(this.fillStyle) }); }
  stroke(path) {
    this.keep(
        this.stepsOf(path),
        { stroke: colorParts(this.strokeStyle), width: this.lineWidth, dash: this.dash });
  }
  fillRect(...box) {
    const path = new RecordedPath();
    path.rect(...box);
    this.fill(path);
  }
  strokeRect(...box) {
    const path = new RecordedPath();
    path.rect(...box);
    this.stroke(path);
  }
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  fillText(text, x, y) {
    const width = this.measureText(text).width;
    const size = Number((this.font.match(/([\d.]+)px/) || [0, 12])[1]);
    const before = { center: 0.5, right: 1, end: 1 }[this.textAlign] || 0;
    const [left, base] =
        this.place(x - before * width, y + (BASELINES[this.textBaseline] || 0) * size);
    const [a, b] = this.matrix;
    this.marks.push({
      text: String(text),
      x: left,
      y: base,
      angle: Math.atan2(b, a),
      size,
      width,
      bold: /\b(bold|[6-9]00)\b/.test(this.font),
      fill: colorParts(this.fillStyle),
      alpha: this.globalAlpha,
      clipped: null
    });
  }
}

// {hex: "#rrggbb", alpha} of any CSS colour.
function colorParts(color) {
  const ctx =
      colorParts.canvas || (colorParts.canvas = document.createElement("canvas").getContext("2d"));
  ctx.fillStyle = "#000000";
  ctx.fillStyle = color;
  const parts = ctx.fillStyle.match(/^rgba\((\d+), (\d+), (\d+), ([\d.]+)\)$/);
  if (!parts) return { hex: ctx.fillStyle, alpha: 1 };
  const hex = parts.slice(1, 4).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  return { hex: `#${hex}`, alpha: Number(parts[4]) };
}

// ---- what a part of the page shows

// Draws a chart once more. Its lines are made as Path2D, which a recorder could not read.
function recordChart(recorder, canvas) {
  const shown = Chart.getChart(canvas);
  const stand = document.createElement("canvas");
  [stand.width, stand.height] = [shown.width, shown.height];
  stand.getContext = () => recorder;
  recorder.canvas = stand;
  const config = canvas.config;
  const kept = window.Path2D;
  window.Path2D = RecordedPath;
  try {
    new Chart(stand, {
      ...config,
      options:
          {...config.options, responsive: false, animation: false, devicePixelRatio: 1, events: [] }
    }).destroy();
  } finally {
    window.Path2D = kept;
  }
}

function recordSvg(recorder, svg) {
  const view = (svg.getAttribute("viewBox") || "0 0 1 1").split(" ").map(Number);
  const scale = svg.getBoundingClientRect().width / view[2];
  recorder.scale(scale, scale);
  for (const part of svg.querySelectorAll("line, path, circle, text")) {
    const style = getComputedStyle(part);
    const number = (name) => Number(part.getAttribute(name) || 0);
    recorder.beginPath();
    if (part.tagName === "text") {
      Object.assign(recorder, {
        font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`,
        fillStyle: style.fill,
        textAlign: { middle: "center", end: "right" }[style.textAnchor] || "left"
      });
      recorder.fillText(part.textContent, number("x"), number("y"));
      continue;
    }
    if (part.tagName === "line") {
      recorder.moveTo(number("x1"), number("y1"));
      recorder.lineTo(number("x2"), number("y2"));
    } else if (part.tagName === "circle") {
      recorder.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
    } else {
      for (const [step, letter] of part.getAttribute("d").matchAll(/([MLZ])[^MLZ]*/g)) {
        recorder.add(letter, ...(step.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number));
      }
    }
    if (style.fill !== "none" && part.tagName !== "line") {
      recorder.fillStyle = style.fill;
      recorder.fill();
    }
    if (style.stroke !== "none") {
      recorder.strokeStyle = style.stroke;
      recorder.lineWidth = parseFloat(style.strokeWidth);
      recorder.stroke();
    }
  }
}

// Each word by itself, since lines may be broken anywhere.
function recordWords(recorder, node) {
  const style = getComputedStyle(node.parentElement);
  Object.assign(recorder, {
    font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`,
    fillStyle: style.color,
    textAlign: "left",
    textBaseline: "middle"
  });
  const upright = style.writingMode === "vertical-rl";
  for (const word of node.textContent.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    recorder.save();
    recorder.translate(
        (upright ? box.left + box.right : 2 * box.left) / 2,
        upright ? box.bottom : (box.top + box.bottom) / 2);
    if (upright) recorder.rotate(-Math.PI / 2);
    recorder.fillText(word[0], 0, 0);
    recorder.restore();
  }
}

function recordBox(recorder, node) {
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  recorder.fillStyle = style.backgroundColor;
  if (colorParts(style.backgroundColor).alpha > 0 && box.width) {
    recorder.fillRect(box.left, box.top, box.width, box.height);
  }
  const thick = parseFloat(style.borderTopWidth);
  if (node.tagName !== "I" || !(thick > 0) || style.borderTopStyle === "none") return;
  recorder.save();
  Object.assign(recorder, { strokeStyle: style.borderTopColor, lineWidth: thick });
  recorder.setLineDash({ dashed: [7, 3], dotted: [2, 3] }[style.borderTopStyle] || []);
  recorder.beginPath();
  recorder.moveTo(box.left, box.top + thick / 2);
  recorder.lineTo(box.right, box.top + thick / 2);
  recorder.stroke();
  recorder.restore();
}

const NOT_SAVED = "details, button, input, select, textarea, legend, .hint, .off, .saves, caption";

function recordNode(recorder, node) {
  if (node.nodeType === Node.TEXT_NODE) return recordWords(recorder, node);
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(NOT_SAVED) || node.hidden) return;
  if (node.tagName !== "CANVAS" && node.tagName !== "svg") {
    recordBox(recorder, node);
    node.childNodes.forEach((child) => recordNode(recorder, child));
    return;
  }
  const box = node.getBoundingClientRect();
  recorder.save();
  recorder.origin = [recorder.origin[0] + box.left, recorder.origin[1] + box.top];
  if (node.tagName === "svg")
    recordSvg(recorder, node);
  else if (node.config)
    recordChart(recorder, node);
  else if (node.paint) {
    recorder.scale(box.width / node.width, box.height / node.height);
    node.paint(recorder);
  }
  recorder.origin = [recorder.origin[0] - box.left, recorder.origin[1] - box.top];
  recorder.stack.length = 1;  // a chart may leave saved states behind
  recorder.restore();
}

// {width, height, marks} of a part of the page, always in the colours of paper.
function drawingOf(node) {
  const root = document.documentElement.dataset;
  const theme = root.theme;
  const inside = (chart) => node.contains(chart.box);
  root.theme = "light";
  drawAll(inside);
  try {
    const box = node.getBoundingClientRect();
    const recorder = new MarkRecorder();
    recorder.origin = [-box.left, -box.top];
    recordNode(recorder, node);
    return { width: Math.ceil(box.width), height: Math.ceil(box.height), marks: recorder.marks };
  } finally {
    if (theme === undefined)
      delete root.theme;
    else
      root.theme = theme;
    drawAll(inside);
  }
}

// ---- SVG

const shortNumberText = (x) => String(Number(x.toFixed(2)));
const pathText = (steps) =>
    steps.map(([letter, ...numbers]) => letter + numbers.map(shortNumberText).join(" ")).join("");
const xmlText = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// Written apart, since a page may not contain the word with which styles load files.
const INSIDE = ["u", "rl"].join("");

function svgText({ width, height, marks }, title) {
  const clips = [];
  const clipOf = (steps) => {
    if (!steps) return "";
    const path = pathText(steps);
    if (!clips.includes(path)) clips.push(path);
    return ` clip-path="${INSIDE}(#clip${clips.indexOf(path)})"`;
  };
  const paint = (name, color, alpha) => `${name}="${color.hex}"` +
      (color.alpha * alpha < 1 ? ` ${name}-opacity="${shortNumberText(color.alpha * alpha)}"` : "");
  const lines = marks.map((mark) => {
    if (mark.text !== undefined) {
      const [x, y] = [mark.x, mark.y].map(shortNumberText);
      const turn = mark.angle
          ? ` transform="rotate(${shortNumberText((mark.angle * 180) / Math.PI)} ${x} ${y})"`
          : "";
      return `<text x="${x}" y="${y}" textLength="${shortNumberText(mark.width)}" font-size="${
                 mark.size}"${mark.bold ? ' font-weight="bold"' : ""} ` +
          `${paint("fill", mark.fill, mark.alpha)}${turn}>${xmlText(mark.text)}</text>`;
    }
    const ink = mark.fill
        ? paint("fill", mark.fill, mark.alpha)
        : `fill="none" ${paint("stroke", mark.stroke, mark.alpha)} stroke-width="${
              shortNumberText(mark.width)}"` +
            (mark.dash.length ? ` stroke-dasharray="${mark.dash.join(" ")}"` : "");
    return `<path d="${pathText(mark.steps)}" ${ink}${clipOf(mark.clipped)}/>`;
  });
  const defs = clips.map((path, i) => `<clipPath id="clip${i}"><path d="${path}"/></clipPath>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif">\n` +
      `<title>${xmlText(title)}</title>\n<defs>${defs.join("")}</defs>\n` +
      `<rect width="${width}" height="${height}" fill="#ffffff"/>\n${lines.join("\n")}\n</svg>\n`;
}

// ---- PDF, of one page

// Widths of Helvetica's letters from the blank to the tilde, in thousandths of its size.
const HELVETICA =
    ("278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 " +
     "556 556 556 556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 " +
     "500 " +
     "667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 " +
     "556 " +
     "556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 " +
     "500 " +
     "500 500 334 260 334 584")
        .split(" ")
        .map(Number);
const WINDOWS = {
  "–": 0x96,
  "—": 0x97,
  "‘": 0x91,
  "’": 0x92,
  "“": 0x93,
  "”": 0x94,
  "…": 0x85,
  "•": 0x95
};
const SYMBOL = {
  λ: 0x6c,
  γ: 0x67,
  τ: 0x74,
  α: 0x61,
  β: 0x62,
  ε: 0x65,
  μ: 0x6d,
  "−": 0x2d,
  "≠": 0xb9,
  "≤": 0xa3,
  "≥": 0xb3,
  "≈": 0xbb,
  "→": 0xae
};
const DINGBATS = {
  "●": 0x6c,
  "▲": 0x73,
  "■": 0x6e,
  "◆": 0x75,
  "✳": 0x53,
  "✕": 0x35
};

// One letter as {font, code, width, raised}; a question mark for one that the fonts do not have.
function pdfLetter(letter) {
  const code = letter.codePointAt(0);
  if (code >= 32 && code < 127) return { font: "F1", code, width: HELVETICA[code - 32] };
  if (letter === "⁻" || RAISED.includes(letter)) {
    const plain = letter === "⁻" ? "-" : String(RAISED.indexOf(letter));
    return {...pdfLetter(plain), raised: true };
  }
  if (SYMBOL[letter]) return { font: "F3", code: SYMBOL[letter], width: 549 };
  if (DINGBATS[letter]) return { font: "F4", code: DINGBATS[letter], width: 760 };
  if (WINDOWS[letter]) return { font: "F1", code: WINDOWS[letter], width: 556 };
  if (code >= 160 && code < 256) return { font: "F1", code, width: 556 };
  return { font: "F1", code: 63, width: 556 };
}

const hexByte = (code) => code.toString(16).padStart(2, "0");
const pdfNumber = (x) => String(Number(x.toFixed(3)));
const pdfColor = ({ hex }, operator) =>
    `${hex.match(/[^#]{2}/g).map((part) => pdfNumber(parseInt(part, 16) / 255)).join(" ")} ${
        operator}`;

// A text in its measured width, in runs of one font.
function pdfTextOf(mark) {
  const letters = [...mark.text].map(pdfLetter);
  const sizeOf = (letter) => (letter.raised ? 0.65 : 1) * mark.size;
  const own = letters.reduce((sum, letter) => sum + (letter.width / 1000) * sizeOf(letter), 0);
  const [cos, sin] = [Math.cos(mark.angle), Math.sin(mark.angle)].map(pdfNumber);
  const parts = [
    `BT ${cos} ${pdfNumber(Math.sin(mark.angle))} ${sin} ${pdfNumber(-cos)}`,
    `${pdfNumber(mark.x)} ${pdfNumber(mark.y)} Tm ${
        pdfNumber(own > 0 ? (100 * mark.width) / own : 100)} Tz`
  ];
  for (let i = 0; i < letters.length;) {
    let end = i;
    const alike = (letter) =>
        letter.font === letters[i].font && letter.raised === letters[i].raised;
    while (end < letters.length && alike(letters[end])) ++end;
    const font = letters[i].font === "F1" && mark.bold ? "F2" : letters[i].font;
    const codes = letters.slice(i, end).map((letter) => hexByte(letter.code)).join("");
    parts.push(
        `/${font} ${pdfNumber(sizeOf(letters[i]))} Tf ` +
        `${letters[i].raised ? pdfNumber(0.35 * mark.size) : 0} Ts <${codes}> Tj`);
    i = end;
  }
  return `${parts.join(" ")} ET`;
}

const PDF_STEPS = {
  M: "m",
  L: "l",
  C: "c",
  Z: "h"
};
const pdfPath = (steps) =>
    steps.map(([letter, ...numbers]) => `${numbers.map(pdfNumber).join(" ")} ${PDF_STEPS[letter]}`)
        .join(" ");

// Objects one after the other, and the table of where they begin.
function pdfFile(objects) {
  let text = "%PDF-1.4\n";
  const places = objects.map((object, i) => {
    const place = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  return `${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}` +
      `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
}

const POINTS = 0.75;  // of a pixel

function pdfText({ width, height, marks }) {
  const alphas = [];
  const alphaOf = (alpha) => {
    const text = pdfNumber(alpha);
    if (!alphas.includes(text)) alphas.push(text);
    return `/A${alphas.indexOf(text)} gs`;
  };
  const lines = marks.map((mark) => {
    const color = mark.fill || mark.stroke;
    const parts = ["q", alphaOf(color.alpha * mark.alpha)];
    if (mark.clipped) parts.push(pdfPath(mark.clipped), "W n");
    parts.push(pdfColor(color, mark.fill ? "rg" : "RG"));
    if (mark.text !== undefined)
      parts.push(pdfTextOf(mark));
    else if (mark.fill)
      parts.push(pdfPath(mark.steps), "f");
    else
      parts.push(
          `${pdfNumber(mark.width)} w [${mark.dash.join(" ")}] 0 d`, pdfPath(mark.steps), "S");
    return [...parts, "Q"].join(" ");
  });
  const [wide, high] = [width * POINTS, height * POINTS].map(pdfNumber);
  const content = `${POINTS} 0 0 -${POINTS} 0 ${high} cm\n${lines.join("\n")}\n`;
  const fonts = ["Helvetica", "Helvetica-Bold", "Symbol", "ZapfDingbats"].map(
      (name, i) => `/F${i + 1} << /Type /Font /Subtype /Type1 /BaseFont /${name}` +
          `${i < 2 ? " /Encoding /WinAnsiEncoding" : ""} >>`);
  const states = alphas.map((alpha, i) => `/A${i} << /ca ${alpha} /CA ${alpha} >>`);
  return pdfFile([
    "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${wide} ${high}] /Contents 4 0 R /Resources << ` +
        `/Font << ${fonts.join(" ")} >> /ExtGState << ${states.join(" ")} >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}endstream`
  ]);
}

// Two buttons that save what `body` shows.
function saveButtons(body, title) {
  const button = (label, ending, type, write) => {
    const node =
        element("button", { type: "button", class: "save", title: `Save as ${label}` }, label);
    node.addEventListener(
        "click",
        () => download(`${fileName(title)}.${ending}`, write(drawingOf(body), title), type));
    return node;
  };
  return element(
      "span", { class: "saves" }, button("SVG", "svg", "image/svg+xml", svgText),
      button("PDF", "pdf", "application/pdf", pdfText));
}
