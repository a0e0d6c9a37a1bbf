"use strict";
// What report pages share: elements, numbers as text, tables that copy and download, and the list of
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
  const parts = String(text).split(/([A-Z])_([A-Z])/);
  return parts.map((part, i) => (i % 3 === 2 ? element("sub", {}, part) : part));
}

// ---- numbers

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

// An estimate of the file as {value, low, high, count}, with null for whatever is not there.
function estimate(x) {
  const number = (y) => (isNumber(y) ? y : null);
  if (isNumber(x)) return { value: x, low: null, high: null, count: null };
  const e = x || {};
  return { value: number(e.value), low: number(e.low), high: number(e.high), count: number(e.count) };
}
const hasValue = (x) => estimate(x).value !== null;
const hasInterval = (e) => e.value !== null && e.low !== null && e.high !== null;

const superscript = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "⁻");

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

// Value and interval with as many decimals as give the interval's half width so many digits. An end that is not
// finite is a dash.
function formatEstimate(x, digits = 2) {
  const e = estimate(x);
  if (e.value === null) return "–";
  if (e.low === null && e.high === null) return formatNumber(e.value, 4);
  const [low, high] = [e.low ?? 2 * e.value - e.high, e.high ?? 2 * e.value - e.low];
  const exponent = exponentFor(Math.max(Math.abs(e.value), Math.abs(low), Math.abs(high)));
  const half = (high - low) / 2 / 10 ** exponent;
  const decimals = half > 0 ? Math.min(10, Math.max(0, digits - 1 - Math.floor(Math.log10(half)))) : 4;
  const text = (y) => (y === null ? "–" : fixed(y / 10 ** exponent, decimals));
  const power = exponent ? ` × 10${superscript(exponent)}` : "";
  return `${text(e.value)} [${text(e.low)}, ${text(e.high)}]${power}`;
}

const plural = (n, one, many) => `${formatNumber(n)} ${n === 1 ? one : many || one + "s"}`;
function listText(items, most = 5) {
  const shown = items.slice(0, most);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

// ---- tables

// columns: {title, of(row), text: true for words, bad(row)}. of() gives words, a number, or an estimate
// where `interval` is set.
function cellText(column, row) {
  const value = column.of(row);
  if (column.interval) return formatEstimate(value);
  if (typeof value === "number") return column.plain ? String(value) : formatNumber(value, 4);
  return value === null || value === undefined ? "–" : String(value);
}

function csvOf(columns, rows) {
  const quote = (x) => {
    const text = x === null || x === undefined ? "" : String(x);
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const heads = columns.flatMap((c) =>
    c.interval ? [c.title, `${c.title} low`, `${c.title} high`, `${c.title} count`] : [c.title]);
  const lines = rows.map((row) => columns.flatMap((c) => {
    if (!c.interval) return [c.of(row)];
    const e = estimate(c.of(row));
    return [e.value, e.low, e.high, e.count];
  }));
  return [heads, ...lines].map((line) => line.map(quote).join(",")).join("\n") + "\n";
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function tableOf({ caption, columns, rows }) {
  const kind = (c) => (c.text ? "text" : null);
  const head = element("tr", {}, ...columns.map((c) => element("th", { scope: "col", class: kind(c) }, ...words(c.title))));
  const body = rows.map((row) => element("tr", {}, ...columns.map((c) =>
    element("td", { class: c.bad && c.bad(row) ? "bad" : kind(c) }, ...words(cellText(c, row))))));
  return element("table", {}, element("caption", {}, ...words(caption)),
    element("thead", {}, head), element("tbody", {}, ...body));
}

// The table behind a figure, folded away, with a button that gives it as CSV.
function dataDetails(table, name) {
  const button = element("button", { type: "button" }, "Download CSV");
  button.addEventListener("click", () => download(`${name}.csv`, csvOf(table.columns, table.rows)));
  return element("details", {},
    element("summary", {}, `Data: ${table.title} (${plural(table.rows.length, "row")})`),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${table.caption}` },
      tableOf(table)),
    button);
}

// ---- figures

const page = { charts: [], figures: 0, broken: [] };

// figure({title, caption, long, tables}) -> the <figure>, and where its panels go.
function figure(parent, { title, caption, tables, long }) {
  page.figures += 1;
  const node = element("figure", { class: long ? "long" : null },
    element("h3", {}, `Figure ${page.figures}. ${title}`), element("figcaption", {}, ...words(caption)));
  const body = element("div");
  node.append(body);
  for (const table of tables || []) node.append(dataDetails(table, fileName(table.title)));
  parent.append(node);
  return body;
}
const fileName = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");

// Panels beside each other, as many as fit at this width. Small ones grow no further than that, but are made
// larger where there are only few.
function panels(parent, least, small, count = 9) {
  const width = small ? Math.max(least, Math.min(300, Math.floor(1060 / count) - 20)) : least;
  const node = element("div", { class: small ? "panels small" : "panels large" });
  node.style.setProperty("--panel-width", `${width}px`);
  parent.append(node);
  return node;
}

// A drawing: draw(colors) makes it anew. Its failure is shown and counted; it does not stop the others.
function addChart(label, box, draw) {
  page.charts.push({ label, box, draw });
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return { get, series: [1, 2, 3, 4, 5, 6].map((i) => get(`series-${i}`)), ink: get("ink"), muted: get("muted"),
           line: get("line"), page: get("page"), ramp: [Number(get("ramp-from")), Number(get("ramp-to"))] };
}

function drawAll() {
  const colors = readColors();
  const failures = [...page.broken];
  let drawn = 0;
  for (const chart of page.charts) {
    try {
      chart.draw(colors);
      drawn += 1;
    } catch (error) {
      failures.push(`${chart.label}: ${error.message}`);
      chart.box.replaceChildren(element("p", { class: "failed" }, `This chart could not be drawn: ${error.message}`));
    }
  }
  const root = document.documentElement.dataset;  // for tests, and for whoever looks why a chart is missing
  root.charts = String(page.charts.length);
  root.drawn = String(drawn);
  root.failures = failures.join("; ");
}

// Colours follow the system's light or dark; paper is always light. What is sized by its box is drawn
// again when the page's width changes.
function followDisplay() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
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
    if (window.innerWidth === width) return;  // a phone's address bar changes the height all the time
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(drawAll, 150);
  });
}
