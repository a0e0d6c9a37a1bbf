"use strict";
// Shared by report pages: elements, numbers as text, sections and figures, and the list of
// everything drawn. Charts are drawn from this list, again whenever the colours change.

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Text in which X_Y becomes X with a small Y below.
function words(text) {
  const parts = String(text).split(/\b([A-Z])_([A-Z])\b/);
  return parts.map((part, i) => (i % 3 === 2 ? element("sub", {}, part) : part));
}

// ---- numbers

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

// An estimate of the file as {value, low, high, count}, with null for whatever is not there.
function estimate(x) {
  const number = (y) => (isNumber(y) ? y : null);
  if (isNumber(x)) return { value: x, low: null, high: null, count: null };
  const e = x || {};
  return {
    value: number(e.value),
    low: number(e.low),
    high: number(e.high),
    count: number(e.count)
  };
}
const hasValue = (x) => estimate(x).value !== null;
const hasInterval = (e) => e.value !== null && e.low !== null && e.high !== null;

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const superscript = (n) => String(n).replace(/./g, (digit) => RAISED[digit] || "⁻");

// The power of ten that numbers of this size are written with; 0 where none is needed.
function exponentFor(size) {
  return size > 0 && (size >= 1e5 || size < 1e-3) ? Math.floor(Math.log10(size)) : 0;
}
// toFixed without "-0.00".
const fixed = (x, decimals) => x.toFixed(decimals).replace(/^-(?=[0.]*$)/, "");

function formatNumber(x, significant = 3) {
  if (!isNumber(x)) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return x.toLocaleString("en");
  const exponent = exponentFor(Math.abs(x));
  const scaled = x / 10 ** exponent;
  const leading = scaled === 0 ? 0 : Math.floor(Math.log10(Math.abs(scaled)));
  const text = fixed(scaled, Math.min(12, Math.max(0, significant - 1 - leading)));
  return exponent ? `${text} × 10${superscript(exponent)}` : text;
}

// Value and interval with as many decimals as give the interval's half width so many digits. An end
// that is not finite is a dash. most: decimals at most. least: decimals at least.
function formatEstimate(x, digits = 2, most = 10, least = 0) {
  const e = estimate(x);
  if (e.value === null) return "–";
  if (e.low === null && e.high === null) return formatNumber(e.value, 4);
  const [low, high] = [e.low ?? 2 * e.value - e.high, e.high ?? 2 * e.value - e.low];
  const exponent = exponentFor(Math.max(Math.abs(e.value), Math.abs(low), Math.abs(high)));
  const half = (high - low) / 2 / 10 ** exponent;
  // An interval without width gets at most the digits of the number itself.
  const exact = Math.min(
      4, (String(Number((e.value / 10 ** exponent).toPrecision(6))).split(".")[1] || "").length);
  const decimals = Math.min(
      most,
      Math.max(exponent ? 0 : least, half > 0 ? digits - 1 - Math.floor(Math.log10(half)) : exact));
  const text = (y) => (y === null ? "–" : fixed(y / 10 ** exponent, decimals));
  const power = exponent ? ` × 10${superscript(exponent)}` : "";
  return `${text(e.value)} [${text(e.low)}, ${text(e.high)}]${power}`;
}

const plural = (n, one, many) => `${formatNumber(n)} ${n === 1 ? one : many || one + "s"}`;
function listText(items, most = 5) {
  const shown = items.slice(0, most);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  return shown.length < 2 ? shown.join("")
                          : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

// ---- sections

const pageData = () => JSON.parse(document.getElementById("data").textContent);

function factList(facts) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element(
      "dl", { class: "facts" },
      ...shown.map(
          ([name, value]) =>
              element("div", {}, element("dt", {}, name), element("dd", {}, ...factWords(value)))));
}

// Long paths may break after their slashes.
function factWords(value) {
  if (typeof value === "number")
    return [Number.isInteger(value) ? formatNumber(value) : String(Number(value.toPrecision(5)))];
  return String(value).split(/(?<=\/)/).flatMap((part) => [part, element("wbr")]);
}

function notesBox(main, notes) {
  if (!notes || !notes.length) return;
  main.append(element(
      "div", { class: "notes" }, element("h3", {}, "To know when reading this"),
      element("ul", {}, ...notes.map((n) => element("li", {}, n)))));
}

// blocks: list of {title, lines}; text(line): a line's content.
function summaryBox(main, blocks, text = words) {
  if (!blocks || !blocks.length) return;
  const box =
      element("section", { class: "summary", id: "summary" }, element("h2", {}, "In short"));
  for (const { title, lines } of blocks)
    box.append(
        element("h3", {}, title),
        element("ul", {}, ...lines.map((line) => element("li", {}, ...text(line)))));
  main.append(box);
}

// A section that cannot be made says so, and leaves the others alone.
function addSection(box, title, fill) {
  try {
    fill();
  } catch (error) {
    page.broken.push(`${title}: ${error.message}`);
    box.append(
        element("p", { class: "failed" }, `This section could not be made: ${error.message}`));
  }
}

// ---- figures

const page = {
  charts: [],
  tables: 0,
  broken: []
};

// figure({title, caption, long, tables}) -> the <figure>, and where its panels go.
function figure(parent, { title, caption, tables, long }) {
  const body = element("div");
  const heading = element("h3", { class: "numbered", "data-title": title }, title);
  const node = element(
      "figure", { class: long ? "long" : null }, heading,
      element("figcaption", {}, ...words(caption), " ", saveButtons(body, title)));
  node.append(body);
  for (const table of tables || []) node.append(dataDetails(table, fileName(table.title)));
  parent.append(node);
  return body;
}

// Numbers the figures in their order on the page. Folded figures are counted by themselves, so that
// no number is missing among those that one sees.
function numberFigures() {
  const counts = { Figure: 0, "Folded figure": 0 };
  for (const heading of document.querySelectorAll("h3.numbered")) {
    const name = heading.closest("details") ? "Folded figure" : "Figure";
    counts[name] += 1;
    heading.textContent = `${name} ${counts[name]}. ${heading.dataset.title}`;
  }
}

// A table that is part of the text. -> its <figure>
function tableFigure(parent, table, caption) {
  page.tables += 1;
  const node = element(
      "figure", { class: "long told" }, element("h3", {}, `Table ${page.tables}. ${table.heading}`),
      element("figcaption", {}, caption), scrollingTable(table),
      tableButtons(table, fileName(table.title)));
  parent.append(node);
  return node;
}

const fileName = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");

// Panels beside each other, as many as fit at this width. Small ones grow no further than that, but
// are made larger where there are only few.
function panels(parent, least, small, count = 9) {
  const width = small ? Math.max(least, Math.min(300, Math.floor(1060 / count) - 20)) : least;
  const node = element("div", { class: small ? "panels small" : "panels large" });
  node.style.setProperty("--panel-width", `${width}px`);
  parent.append(node);
  return node;
}

// A drawing: draw(colors) makes it anew. Its failure is shown and counted; it does not stop the
// others. chosen: it depends on what the reader chose.
function addChart(label, box, draw, chosen = false) {
  page.charts.push({ label, box, draw, chosen });
}

function namedPanel(grid, name, className) {
  const box = element("div", { class: className });
  const panel =
      element("div", { class: "panel" }, element("p", { class: "name" }, ...words(name)), box);
  grid.append(panel);
  return { panel, box };
}

// Parts of a page that are folded away; what is drawn in them is drawn anew when they are opened.
function folded(parent, title, ...content) {
  const node = element("details", { class: "folded" }, element("summary", {}, title), ...content);
  node.addEventListener("toggle", () => {
    if (node.open) drawAll((chart) => node.contains(chart.box));
  });
  parent.append(node);
  return node;
}

// Shows a hint above what is wider than its box.
function markScrolls() {
  for (const box of document.querySelectorAll(".scroll")) {
    const hint = box.previousElementSibling;
    if (hint && hint.classList.contains("hint"))
      hint.hidden = box.scrollWidth <= box.clientWidth + 2;
  }
}

// A legend whose swatches follow the colours of the charts.
function liveLegend(body, items) {
  const box = element("div");
  body.append(box);
  addChart("legend", box, (colors) => box.replaceChildren(legendOf(items(colors))));
}

const hexParts = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    get,
    series: [1, 2, 3, 4, 5, 6].map((i) => get(`series-${i}`)),
    ink: get("ink"),
    muted: get("muted"),
    line: get("line"),
    page: get("page"),
    ramp: [1, 2, 3, 4, 5].map((i) => hexParts(get(`ramp-${i}`)))
  };
}

// Draws all charts, or those that pass. Charts that cannot be drawn stay on the list of failures.
function drawAll(wanted = () => true) {
  const colors = readColors();
  for (const chart of page.charts.filter(wanted)) {
    chart.failure = null;
    try {
      chart.draw(colors);
    } catch (error) {
      chart.failure = `${chart.label}: ${error.message}`;
      chart.box.replaceChildren(
          element("p", { class: "failed" }, `This chart could not be drawn: ${error.message}`));
    }
  }
  markScrolls();
  const failures = page.charts.map((chart) => chart.failure).filter(Boolean);
  const root =
      document.documentElement.dataset;  // for tests, and for whoever looks why a chart is missing
  root.charts = String(page.charts.length);
  root.drawn = String(page.charts.length - failures.length);
  root.failures = [...page.broken, ...failures].join("; ");
}

// Colours follow the system's light or dark; paper is always light. Charts that fit their box are
// drawn again when the page's width changes.
function followDisplay() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  window.addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    drawAll();
  });
  window.addEventListener("afterprint", () => {
    delete document.documentElement.dataset.theme;
    drawAll();
  });
  let width = window.innerWidth;
  let timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width)
      return;  // a phone's address bar changes the height all the time
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => drawAll(), 150);
  });
}

// Makes the page, and draws what it has.
function startPage(make) {
  make();
  numberFigures();
  if (typeof Chart !== "undefined") {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 12;
  }
  drawAll();
  followDisplay();
  document.addEventListener("toggle", markScrolls, true);
}
