#!/usr/bin/env python3
"""Draws the figures that the repository keeps: an SVG picture beside each description (TOML).

    figures.py [--check] [FIGURE.toml ...]     without names: all under experiments/ and bench/

FIGURES.md lists the keys of a description. The same description and data give the same bytes
wherever matplotlib has the version below; --check says which pictures are not what they would be.
"""

import argparse
import csv
import difflib
import io
import math
import pathlib
import re
import sys
import textwrap
import tomllib
from collections import ChainMap

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

MATPLOTLIB = "3.11.2"  # other versions draw the same with other bytes
ROOT = pathlib.Path(__file__).resolve().parent.parent
KEYS = set(
    """title note columns width panel_height kind x_scale y_scale x_title y_title x_include
    y_include x_order y_order x_labels y_labels lines intervals name data where x y low high
    series_by series_names value digits best best_by series panels""".split()
)
INK, GREY, RULE = "#24292f", "#57606a", "#c6ccd3"
# Okabe and Ito's colours for all kinds of colour vision, darkened for white paper, and marks.
STYLES = [
    ("#0068a8", "o"),
    ("#c74e00", "s"),
    ("#007a57", "^"),
    ("#a8478a", "D"),
    ("#7d6200", "v"),
    ("#2f86bd", "X"),
    ("#24292f", "P"),
    ("#77808a", "<"),
]
FONT = "text{font-family: 'DejaVu Sans', Verdana, sans-serif}"  # none is wider than the first
LOOK = {
    "svg.hashsalt": "broadloom",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": "#8c959f",
    "axes.labelcolor": GREY,
    "axes.titlecolor": INK,
    "axes.labelsize": 9,
    "axes.titlesize": 9.75,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "ytick.left": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
}


def cell(row, column):
    """A row's text; "other/key": the word after key= in a column that lists settings."""
    column, _, key = column.partition("/") if column not in row else (column, "", "")
    if column not in row:
        raise ValueError(f"no column '{column}'; the data has {', '.join(map(repr, row))}")
    if not key:
        return row[column]
    return dict(word.partition("=")[::2] for word in row[column].split()).get(key, "")


def same(text, wanted):
    try:
        return float(text) == float(wanted)
    except ValueError:
        return text == str(wanted)


def listed(value):
    return value if isinstance(value, list) else [value]


def rows_of(scope, folder):
    """Rows that pass 'where' of figure, panel and series together, with their estimates."""
    where = {}
    for table in reversed(scope.maps):
        where |= table.get("where", {})
    column, found = scope["value" if scope.get("kind") == "heat" else "y"], []
    for name in listed(scope["data"]):
        with open(folder / name, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                passes = (
                    any(same(cell(row, key), value) for value in listed(values))
                    for key, values in where.items()
                )
                if all(passes) and cell(row, column):
                    found.append((row, estimate(row, scope, column)))
    if not found:
        raise ValueError(f"no row of {scope['data']} with a '{column}' passes where = {where}")
    return found


def estimate(row, scope, column):
    """(value, low, high); the last two are the value where there is no interval."""
    value = cell(row, column)
    ends = (
        cell(row, scope[end]) if end in scope else row.get(f"{column} {end}")
        for end in ("low", "high")
    )
    return tuple(float(text or value) for text in (value, *ends))


class Categories:
    def __init__(self, scope, axis):
        self.order = list(scope.get(axis + "_order", []))
        self.labels = scope.get(axis + "_labels", {})
        self.fixed = bool(self.order)

    def index(self, text):
        if text not in self.order:
            if self.fixed:
                raise ValueError(f"a row has '{text}', which the order {self.order} lacks")
            self.order.append(text)
        return self.order.index(text)

    def texts(self):
        return [self.labels.get(text, text) for text in self.order]


def series_of(scope, folder, categories):
    """Points (x, value, low, high) by the name of their series."""
    found = {}
    for table in scope.get("series", [{}]):
        inner = ChainMap(table, *scope.maps)
        words = inner.get("series_names", {})

        def name(group, table=table, words=words):
            return ", ".join(filter(None, (table.get("name"), words.get(group, group))))

        for group in words:
            found.setdefault(name(group), [])
        for row, values in rows_of(inner, folder):
            x = cell(row, inner["x"])
            x = categories.index(x) if inner.get("x_scale") == "categories" else float(x)
            group = cell(row, inner["series_by"]) if "series_by" in inner else ""
            found.setdefault(name(group), []).append((x, *values))
    for name, points in found.items():
        if scope.get("kind") != "points":
            points.sort()
            if len({x for x, *_ in points}) < len(points):
                raise ValueError(f"series '{name}': two rows at one x; part them with 'series_by'")
    return {name: points for name, points in found.items() if points}


def number(value, largest):
    """largest: what decides the unit."""
    if value == 0 or value % 1000 and value == largest >= 1e4:  # a power of two
        return f"{value:,.0f}"
    if largest < 1e-3:
        digits, _, exponent = f"{value:.0e}".partition("e")
        return f"{digits}e{int(exponent)}"
    unit, letter = (1e6, "M") if largest >= 1e6 else (1e3, "k") if largest >= 1e4 else (1, "")
    return f"{value / unit:,g}{letter}"


def set_axis(axis, scope, name, values, pixels):
    """Limits and ticks of an axis of numbers: all that is drawn lies inside, with some room."""
    scale, count = scope.get(name + "_scale", "linear"), max(2, int(pixels / 34))
    low, high = min(values), max(values)
    if scale == "linear":
        step = MaxNLocator(max(2, int(pixels / 60)) if name == "x" else count, steps=[1, 2, 5, 10])
        ticks = [round(tick, 12) for tick in step.tick_values(low, high)]
        if name == "y":
            low, high = ticks[0], ticks[-1]
        room = 7 / pixels * ((high - low) or 1.0)
        low, high = low - room, high + room
        ticks = [tick for tick in ticks if low <= tick <= high]
        texts = [number(tick, max(map(abs, ticks))) for tick in ticks]
    else:
        base = float(scale.removeprefix("log"))
        axis._set_axes_scale("log", base=base)
        room = (high / low) ** (7 / pixels) if high > low else base**0.5
        low, high = low / room, high * room
        ticks = powers(base, low, high, (1,))
        if base == 10 and len(ticks) < 3:
            ticks = powers(base, low, high, (1, 2, 5))
        if name == "x" and high > 1e4:
            count = int(pixels / 60)
        ticks = ticks[:: -(-len(ticks) // count)]
        texts = [number(tick, tick) for tick in ticks]
    getattr(axis.axes, f"set_{name}lim")(low, high)
    axis.set_ticks(ticks, texts)
    axis.set_ticks([], minor=True)


def powers(base, low, high, factors):
    every = (base**exponent * factor for exponent in range(-40, 41) for factor in factors)
    return [value for value in every if low <= value <= high]


def set_categories(axis, texts, pixels):
    crowded = axis.axis_name == "x" and max(map(len, texts)) * 7 > pixels / len(texts)
    turn = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks(range(len(texts)), texts, **turn)


def draw_series(ax, scope, series, categories, styles, width, height):
    kind, intervals = scope.get("kind", "lines"), scope.get("intervals", "bars")
    lines, grouped = scope.get("lines", []), scope.get("x_scale") == "categories"
    points = [point for some in series.values() for point in some]
    xs = (
        [point[0] for point in points]
        + scope.get("x_include", [])
        + [line["x"] for line in lines if "x" in line]
    )
    ys = (
        [y for point in points for y in (point[1:2] if intervals == "none" else point[1:])]
        + scope.get("y_include", [])
        + [line["y"] for line in lines if "y" in line]
    )
    if grouped:
        set_categories(ax.xaxis, categories.texts(), width)
        ax.set_xlim(-0.5, len(categories.order) - 0.5)
    else:
        set_axis(ax.xaxis, scope, "x", xs, width)
    set_axis(ax.yaxis, scope, "y", ys, height)
    ax.grid(axis="y")
    for line in lines:
        draw_rule(ax, line)
    # Intervals of several series at one x stand beside each other, where x leaves room for it.
    apart = (
        0
        if intervals != "bars"
        else 11 * grouped
        if kind == "points"
        else 3 * (grouped or len(series) <= 4)
    )
    scale = ax.xaxis.get_transform()
    left, right = scale.transform(ax.get_xlim())
    for i, (name, some) in enumerate(series.items()):
        colour, mark = STYLES[styles[name]]
        off = apart * (i - (len(series) - 1) / 2) / width * (right - left)
        x, y, low, high = zip(*some)
        x = scale.inverted().transform(scale.transform(x) + off)
        if intervals == "band":
            ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, clip_on=False)
        elif intervals == "bars":
            bars = [(place, end) for place, *ends in zip(x, low, high) for end in (*ends, math.nan)]
            ax.plot(*zip(*bars), color=colour, linewidth=1.1, clip_on=False)
        ax.plot(
            x,
            y,
            color=colour,
            marker="" if intervals == "band" else mark,
            linestyle="none" if kind == "points" else "-",
            clip_on=False,
            markevery=len(some) // 12 if kind != "points" and len(some) > 40 else None,
        )


def draw_rule(ax, line):
    level = "y" in line
    (ax.axhline if level else ax.axvline)(
        line["y" if level else "x"], color=GREY, linewidth=0.9, linestyle=(0, (4, 3))
    )
    ax.annotate(
        line.get("label", ""),
        (0, line["y"]) if level else (line["x"], 1),
        xycoords=("axes fraction", "data") if level else ("data", "axes fraction"),
        xytext=(3, 3 if level else -9),
        textcoords="offset points",
        size=8.25,
        color=GREY,
    )


def best_cells(cells, scope):
    """{place: line style} of frames: the best of its group, and what its interval reaches."""
    groups, frames = {}, {}
    sign = {"largest": 1, "smallest": -1}.get(scope.get("best"))
    for place in cells if sign else ():
        grouping = {"x": place[0], "y": place[1]}.get(scope.get("best_by"))
        groups.setdefault(grouping, []).append(place)
    for places in groups.values():
        value, low, high = max((cells[place] for place in places), key=lambda c: sign * c[0])
        for place in places:
            if cells[place][0] == value:
                frames[place] = "-"
            elif cells[place][1] <= high and low <= cells[place][2]:
                frames[place] = (0, (3, 2))
    return frames


def draw_cells(ax, scope, folder, width, height):
    columns, lines = Categories(scope, "x"), Categories(scope, "y")
    cells, digits = {}, scope.get("digits", 0)
    for row, values in rows_of(scope, folder):
        place = columns.index(cell(row, scope["x"])), lines.index(cell(row, scope["y"]))
        if place in cells:
            raise ValueError(f"two rows for the cell at {cell(row, scope['x'])}")
        cells[place] = values
    frames = best_cells(cells, scope)
    low, high = (end(value for value, *_ in cells.values()) for end in (min, max))
    for (x, y), values in cells.items():
        share = (values[0] - low) / (high - low) if high > low else 0.5
        ink = "#111111" if share > 0.55 else "white"
        ax.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5),
                1,
                1,
                edgecolor="white",
                linewidth=1.5,
                facecolor=matplotlib.colormaps["cividis"](share),
                clip_on=False,
            )
        )
        texts = [f"{value:z.{digits}f}" for value in values]
        between = values[1] < values[2]
        ax.text(
            x,
            y,
            texts[0],
            color=ink,
            weight="bold",
            ha="center",
            va="bottom" if between else "center_baseline",
        )
        if between:
            ax.text(
                x, y + 0.06, f"[{texts[1]}, {texts[2]}]", color=ink, size=7.5, ha="center", va="top"
            )
        if (x, y) in frames:
            edge = 2.5 * len(columns.order) / width, 2.5 * len(lines.order) / height
            ax.add_patch(
                Rectangle(
                    (x - 0.5 + edge[0], y - 0.5 + edge[1]),
                    1 - 2 * edge[0],
                    1 - 2 * edge[1],
                    fill=False,
                    edgecolor=ink,
                    clip_on=False,
                    linestyle=frames[x, y],
                    linewidth=1.8 if frames[x, y] == "-" else 1,
                )
            )
    set_categories(ax.xaxis, columns.texts(), width)
    set_categories(ax.yaxis, lines.texts(), height)
    ax.set_xlim(-0.5, len(columns.order) - 0.5)
    ax.set_ylim(len(lines.order) - 0.5, -0.5)  # read from the top
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def check_keys(table):
    for key, value in table.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise ValueError(f"unknown key '{key}'" + (f"; '{near[0]}' is one" if near else ""))
        for inner in value if key in ("panels", "series") else ():
            check_keys(inner)


def draw(path):
    """The picture's text."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        return compact(drawn(path))


def drawn(path):
    spec = tomllib.loads(path.read_text(encoding="utf-8"))
    check_keys(spec)
    panels = [ChainMap(panel, spec) for panel in spec.get("panels", [{}])]
    width, high = spec.get("width", 900), spec.get("panel_height", 260)
    columns = min(spec.get("columns", 3), len(panels))
    orders = [Categories(panel, "x") for panel in panels]
    heat = [panel.get("kind") == "heat" for panel in panels]
    series = [
        {} if heat[i] else series_of(panel, path.parent, orders[i])
        for i, panel in enumerate(panels)
    ]
    names = list(dict.fromkeys(name for some in series for name in some))
    if len(names) > len(STYLES):
        raise ValueError(f"{len(names)} series, of which {len(STYLES)} can be told apart")
    styles = {name: i for i, name in enumerate(names)}

    # From the top, in pixels: title, names of series, panels, note.
    title = textwrap.wrap(spec["title"], int(width / 9.8))
    note = textwrap.wrap(spec.get("note", ""), int(width / 5.8))
    lengths = [7 * len(name) + 36 for name in names]
    across = len(names) if sum(lengths) < width else max(1, int(width / max(lengths, default=1)))
    keys = 20 * -(-len(names) // across) if len(names) > 1 else 0
    rows = -(-len(panels) // columns)
    top, body, bottom = 19 + 21 * len(title) + keys + 8, rows * high, 15 * len(note) + 14
    height = top + body + bottom
    figure = Figure((width / 96, height / 96), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(
        rect=(8 / width, bottom / height, 1 - 16 / width, body / height),
        w_pad=0.05,
        h_pad=0.06,
        wspace=0.02,
    )
    figure.text(
        14 / width,
        1 - 12 / height,
        "\n".join(title),
        size=12,
        weight="bold",
        va="top",
        linespacing=1.3,
    )
    figure.text(
        14 / width,
        10 / height,
        "\n".join(note),
        size=8.25,
        va="bottom",
        color=GREY,
        linespacing=1.35,
    )
    if keys:
        marks = [
            Line2D([], [], color=STYLES[i][0], marker=STYLES[i][1], linewidth=1.5)
            for i in range(len(names))
        ]
        figure.legend(
            marks,
            names,
            ncols=across,
            loc="upper left",
            frameon=False,
            borderpad=0,
            bbox_to_anchor=(14 / width, 1 - (19 + 21 * len(title)) / height),
            borderaxespad=0,
            handlelength=1.8,
            labelspacing=0.45,
        )
    axes = figure.subplots(rows, columns, squeeze=False).flat
    inside = width / columns * 0.78, high * 0.72
    for i, panel in enumerate(panels):
        ax = axes[i]
        ax.set_title(panel.maps[0].get("title", ""))
        ax.set(xlabel=panel.get("x_title", ""), ylabel=panel.get("y_title", ""))
        if heat[i]:
            draw_cells(ax, panel, path.parent, *inside)
        else:
            draw_series(ax, panel, series[i], orders[i], styles, *inside)
    for ax in list(axes)[len(panels) :]:
        ax.set_axis_off()
    # The places that the solver finds, rounded: no last bit of it is in the picture.
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    for ax in figure.axes:
        ax.set_position([round(share, 4) for share in ax.get_position().bounds])
    out = io.StringIO()
    # savefig() draws all of it once more beforehand, for a layout that is settled here.
    FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Title": spec["title"]})
    return out.getvalue()


def compact(svg):
    """Two decimals, few lines, no groups of one, the font named once: half the bytes."""

    def shorter(tag):
        return re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", " ".join(tag[0].split()))

    svg = re.sub(r' transform="rotate\(-0 [^"]*"| standalone="no"|<!DOCTYPE[^>]*>\s*', "", svg)
    svg = svg.replace("font-family: 'DejaVu Sans'; ", "").replace("*{", FONT + "*{", 1)
    svg = re.sub(r"\n\s+", "\n", re.sub(r"<[^>]*>", shorter, svg))
    svg = re.sub(r'<g id="\w+">\n(<(?:text|path)[^\n]*)\n</g>', r"\1", svg)
    return re.sub(r'\n(?!<g id="axes|$)', "", svg)  # a line for each panel


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", metavar="FIGURE.toml", nargs="*", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args(arguments)
    if matplotlib.__version__ != MATPLOTLIB:
        print(
            f"matplotlib is {matplotlib.__version__}; kept pictures are of {MATPLOTLIB}",
            file=sys.stderr,
        )
        if options.check:
            sys.exit(77)  # skipped
    folders = [ROOT / "experiments", ROOT / "bench"]
    specs = options.figures or sorted(path for f in folders for path in f.rglob("figure*.toml"))
    stale = []
    for spec in specs:
        picture = spec.with_suffix(".svg")
        try:
            text = draw(spec)
        except (KeyError, ValueError, OSError) as why:
            sys.exit(f"{spec}: {why}")
        if not options.check:
            picture.write_text(text, encoding="utf-8")
            print(picture)
        elif not picture.exists() or picture.read_text(encoding="utf-8") != text:
            stale.append(f"{picture} is not what {spec.name} draws")
    if options.check and not options.figures:
        stale += [
            f"{picture}: nothing says how it was drawn"
            for f in folders
            for picture in f.rglob("*.svg")
            if not picture.with_suffix(".toml").exists()
        ]
    sys.exit("\n".join(stale) or None)


if __name__ == "__main__":
    main()
