"use strict";
// Tables of report pages: as HTML, as CSV with every digit, and as text that goes into a paper.

// columns: {title, of(row), text: true for words, literal: true for names (words() leaves them
// alone), bad(row), draw(row): an element instead of the text, left out of what is copied}. read()
// gives words, a number, or an estimate where `interval` is set (`decimals`: at most so many of
// them).
function cellText(column, row) {
  const value = column.read(row);
  if (column.interval) return formatEstimate(value, 2, column.decimals, column.least);
  if (typeof value === "number") return column.plain ? String(value) : formatNumber(value, 4);
  return value === null || value === undefined ? "–" : String(value);
}

// Columns whose rows are of one quantity: all of them with as many decimals as the widest interval
// needs.
function alikeColumns(columns, rows) {
  return columns.map((c) => {
    if (!c.alike) return c;
    const halves = rows.map((row) => estimate(c.read(row)))
                       .filter(hasInterval)
                       .map((e) => (e.high - e.low) / 2)
                       .filter((half) => half > 0);
    if (!halves.length) return c;
    const decimals =
        Math.min(c.decimals ?? 10, Math.max(0, 1 - Math.floor(Math.log10(Math.max(...halves)))));
    return {...c, decimals, least: decimals };
  });
}

const MOST_ROWS =
    400;  // of a table that is shown; more would make the page slow, and nobody reads them

function tableOf({ caption, columns: given, rows, id }) {
  const columns = alikeColumns(given, rows);
  const kind =
      (c, more = []) => [c.text ? "text" : "", c.draw ? "drawn" : "", ...more].filter(Boolean).join(
                            " ") ||
      null;
  const length = (c, row) => (c.text ? cellText(c, row).length : 20);
  const cellKind = (c, row) => kind(c, [
    c.bad && c.bad(row) ? "bad" : "",
    length(c, row) > 28       ? "long"
        : length(c, row) < 13 ? "brief"
                              : ""
  ]);
  const content = (c, row) =>
      (c.draw          ? [c.draw(row)]
           : c.literal ? [cellText(c, row)]
                       : words(cellText(c, row)));
  const head = element(
      "tr", {},
      ...columns.map((c) => element("th", { scope: "col", class: kind(c) }, ...words(c.title))));
  const body =
      rows.slice(0, MOST_ROWS)
          .map(
              (row) => element(
                  "tr", {},
                  ...columns.map(
                      (c) => element("td", { class: cellKind(c, row) }, ...content(c, row)))));
  const more = rows.length > MOST_ROWS
      ? ` Shown: the first ${MOST_ROWS} of ${
            plural(rows.length, "row")}; what is downloaded or copied has all.`
      : "";
  return element(
      "table", { id }, element("caption", {}, ...words(caption), more), element("thead", {}, head),
      element("tbody", {}, ...body));
}

const scrollClass = (rows, more = "") => `scroll${rows.length > 24 ? " tall" : ""}${more}`;
function scrollingTable(table) {
  return scrolling(scrollClass(table.rows), table.caption, tableOf(table));
}

// Something wide, with a hint above it where it is wider than the page (markScrolls in report.js
// finds out).
function scrolling(className, caption, content) {
  return element(
      "div", {},
      element("p", { class: "hint", hidden: "" }, "Wider than the screen: scroll it sideways →"),
      element(
          "div",
          { class: className, tabindex: "0", role: "region", "aria-label": `Table: ${caption}` },
          content));
}

// The table behind a figure, folded away.
function dataDetails(table, name) {
  return element(
      "details", {},
      element("summary", {}, `Data: ${table.title} (${plural(table.rows.length, "row")})`),
      scrollingTable(table), tableButtons(table, name));
}

// ---- downloads

// Spreadsheets read a text that begins with = + - @ as a formula. Numbers with their intervals are
// none.
function noFormula(text) {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[-+]?[\d.,eE%\s[\]()–−-]*$/.test(text);
  return isFormula ? `'${text}` : text;
}

function csvOf(columns, rows) {
  const quote = (x) => {
    const text = x === null || x === undefined ? "" : noFormula(String(x));
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const shown = columns.filter((c) => c.read);
  const heads = shown.flatMap(
      (c) => c.interval ? [c.title, `${c.title} low`, `${c.title} high`, `${c.title} count`]
                        : [c.title]);
  const lines = rows.map((row) => shown.flatMap((c) => {
    if (!c.interval) return [c.read(row)];
    const e = estimate(c.read(row));
    return [e.value, e.low, e.high, e.count];
  }));
  return [heads, ...lines].map((line) => line.map(quote).join(",")).join("\n") + "\n";
}

function download(name, text, type = "text/csv") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// ---- text for papers

// The visible table as rows of texts, without drawings.
function tableTexts({ columns, rows }) {
  const shown = alikeColumns(columns, rows).filter((c) => c.read);
  return {
    aligned: shown.map((c) => (c.text ? "l" : "r")),
    head: shown.map((c) => c.title),
    body: rows.map((row) => shown.map((c) => cellText(c, row)))
  };
}

function tabSeparated(table) {
  const { head, body } = tableTexts(table);
  return [
    head, ...body
  ].map((line) => line.map((text) => noFormula(text.replace(/[\t\r\n]+/g, " "))).join("\t"))
             .join("\n") +
      "\n";
}

function markdownOf(table) {
  const { aligned, head, body } = tableTexts(table);
  const line = (texts) => `| ${
      texts
          .map(
              (text) => text.replace(/[\r\n]+/g, " ")
                            .replace(/[\\`*_|<>~&]/g, "\\$&")
                            .replace(/\]\(/g, "]\\("))
          .join(" | ")} |`;
  return [
    line(head), `|${aligned.map((a) => (a === "l" ? " --- " : " ---: ")).join("|")}|`,
    ...body.map(line)
  ].join("\n") +
      "\n";
}

const LATEX = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "–": "--",
  "−": "$-$",
  "×": "$\\times$",
  "≠": "$\\neq$",
  "<": "$<$",
  ">": "$>$",
  "|": "$|$",
  "λ": "$\\lambda$",
  "γ": "$\\gamma$",
  "²": "$^2$"
};
// The text for LaTeX: what it reads as a command is escaped, signs and powers of ten become
// formulas. Brackets are grouped, since "\\ [1, 2]" would be read as the argument of a line's end.
function latexText(text) {
  const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  return text.replace(/[\r\n]+/g, " ")
      .replace(/[\\~^&%$#_{}]|[–−×≠<>|λγ²]/g, (c) => LATEX[c] || `\\${c}`)
      .replace(
          /\$\\times\$ 10(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g,
          (_, power) => `$\\times 10^{${
              power.replace(/./g, (c) => (c === "⁻" ? "-" : superscripts.indexOf(c)))}}$`)
      .replace(/(^|[[ ])-(?=\d)/g, "$1$-$")
      .replace(/^\[/, "{[}");
}

// A booktabs table.
function latexOf(table) {
  const { aligned, head, body } = tableTexts(table);
  const line = (texts) => `${texts.map(latexText).join(" & ")} \\\\`;
  return [
    `\\begin{tabular}{${aligned.join("")}}`, "\\toprule", line(head), "\\midrule",
    ...body.map(line), "\\bottomrule", "\\end{tabular}"
  ].join("\n") +
      "\n";
}

const PAPER_FORMATS = [
  ["Copy as tab-separated text", tabSeparated], ["Copy as LaTeX", latexOf],
  ["Copy as Markdown", markdownOf]
];

// To the clipboard, in one of two ways; true if it got there.
async function copyText(text, box) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    box.select();
    return document.execCommand("copy");
  }
}

// A button for each format. The text is put below them as well: where a browser lets no page copy,
// as it may be with files from disk, it stands there selected.
function tableButtons(table, name) {
  const csv = element("button", { type: "button" }, "Download CSV");
  csv.addEventListener("click", () => download(`${name}.csv`, csvOf(table.columns, table.rows)));
  const state = element("p", { class: "copied", role: "status" });
  const box = element("textarea", {
    readonly: "",
    rows: "6",
    "aria-label": `Text of the table: ${table.title}`,
    spellcheck: "false"
  });
  const out = element("div", { class: "copy", hidden: "" }, state, box);
  const buttons = PAPER_FORMATS.map(([title, format]) => {
    const button = element("button", { type: "button" }, title);
    button.addEventListener("click", async () => {
      box.value = format(table);
      out.hidden = false;
      const done = await copyText(box.value, box);
      if (!done) box.select();
      state.textContent = done
          ? "Copied."
          : "This browser does not let the page copy. The text is selected: press Ctrl+C.";
    });
    return button;
  });
  return element("div", { class: "buttons" }, csv, ...buttons, out);
}
