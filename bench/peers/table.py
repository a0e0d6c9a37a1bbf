"""The measurements as markdown: one table of ratios."""

from __future__ import annotations

from typing import Any


def number(value: float) -> str:
    """Three digits, as 12.3 k or 1.23 M."""
    size, unit = (1e6, " M") if value >= 999_500 else (1e3, " k")
    scaled = value / size
    return f"{scaled:.{2 if scaled < 10 else 1 if scaled < 100 else 0}f}{unit}"


def spread(speed: dict[str, Any] | None) -> str:
    if speed is None:
        return "-"
    return f"{number(speed['median'])} ({number(speed['min'])} .. {number(speed['max'])})"


def ratio(ours: dict[str, Any] | None, theirs: dict[str, Any]) -> str:
    """The ratio of the medians; in brackets the smallest and largest ratio of paired repeats."""
    if ours is None:
        return "-"
    pairs = [a / b for a, b in zip(ours["repeats"], theirs["repeats"])]
    middle = ours["median"] / theirs["median"]
    return f"**{middle:.2f}** ({min(pairs):.2f} .. {max(pairs):.2f})"


def disturbance(*speeds: dict[str, Any] | None) -> str:
    """The most cores that others used in any of these measurements."""
    return f"{max(used for speed in speeds if speed for used in speed['others']):.1f}"


def rows(case: dict[str, Any]) -> list[str]:
    speeds = case["speeds"]
    both = speeds.get("Broadloom")
    one = speeds.get("Broadloom, one core")
    lines = []
    for name, theirs in speeds.items():
        if name.startswith("Broadloom"):
            continue
        if name in case["failed"]:
            name += f" (then: {case['failed'][name]})"
        cells = [case["name"], name, spread(theirs), spread(both), ratio(both, theirs)]
        cells += [spread(one), ratio(one, theirs), disturbance(both, one, theirs)]
        lines.append("| " + " | ".join(cells) + " |")
    for name, reason in case["failed"].items():
        if name not in speeds:
            lines.append(f"| {case['name']} | {name} | {reason} | | | | | |")
    return lines


def header(result: dict[str, Any]) -> list[str]:
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return [
        "# Broadloom and its peers",
        "",
        f"- {result['date']}, {result['processor']}, {result['cores']} cores, {result['system']}",
        f"- {result['broadloom']} at {result['revision']}; {result['compiler']}; "
        f"Python {result['python']}",
        f"- {packages or 'no packages'}",
        f"- {result['repeats']} repeats of {result['seconds']:g} s, in turn; load average "
        f"{result['load_at_start']} before and {result['load_at_end']} after",
        "",
    ]


def markdown(result: dict[str, Any]) -> str:
    lines = header(result)
    threads = result["threads"]
    lines += [
        "Steps per second: median (least .. greatest). The ratio is Broadloom's over the peer's. "
        "Others: the most cores that other processes used during a measurement of the row.",
        "",
        f"| case | peer | peer's | Broadloom, {threads} threads | ratio "
        "| Broadloom, one core | ratio | others |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in result["cases"]:
        lines += rows(case)
    lines.append("")
    lines += [f"- `{case['name']}`: {case['what']}" for case in result["cases"]]
    return "\n".join(lines) + "\n"
