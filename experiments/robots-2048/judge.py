#!/usr/bin/env python3
"""judge.py: the plan's predictions by the kept files, into results/verdicts.csv. page.py prints the
page's tables."""

import json
import math
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import read, write_verdicts  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results"
SHARED = True  # whether other work shared the cores of the kept run
BEYOND = {  # strata of the panel, and what is beyond training in each
    "slippery": "friction times 0.2 to 0.4, not 0.7 to 1.7",
    "pushed": "pushes by 2 to 3, not up to 1 (`push_speed`)",
    "fast": "commands up to 2, 1 and 2, not 1, 0.5 and 1",
    "steep": "slopes and rough ground of levels 6 to 8, not 1 to 3",
    "stairs": "stairs of levels 3 to 5",
}
LOUD = {  # the check that must speak of each fault
    "commands": "same_tasks",
    "column": "same_tasks",
    "resets": "synchronised_resets",
    "families": "seed_families",
    "panel_worlds": "panel_worlds",
    "panel_streams": "evaluation_seeds",
    "stale": "normaliser_origin",
}
cells = {(row["stratum"], row["perturbation"]): row for row in read(RESULTS / "panel.csv")}
faults = read(RESULTS / "faults.csv")
record = json.loads((RESULTS / "ledger_line.json").read_text(encoding="utf-8"))
rerun = (RESULTS / "rerun.txt").read_text(encoding="utf-8")
audit = (RESULTS / "audit.txt").read_text(encoding="utf-8")


def share(stratum, perturbation="as_trained"):
    row = cells[stratum, perturbation]
    return [float(row[f"success_{key}"]) for key in ("rate", "low", "high")]


def change(stratum, perturbation="as_trained"):
    """Success less that of even as trained, with Newcombe's 95 % interval (1998, method 10)."""
    (one, low, high), (other, other_low, other_high) = share(stratum, perturbation), share("even")
    return (
        one - other,
        one - other - math.hypot(one - low, other_high - other),
        one - other + math.hypot(high - one, other - other_low),
    )


def per_cent(numbers):
    middle, low, high = (f"{100 * number:.0f}" for number in numbers)
    return f"{middle} % [{low}, {high}]"


def points(numbers):
    middle, low, high = (f"{100 * number:+.0f}" for number in numbers)
    return f"{middle} [{low}, {high}]"


def costs(stratum, perturbation="as_trained"):
    return change(stratum, perturbation)[2] < 0


def error(name):
    return float(cells["even", "as_trained"][name])


def verdicts():
    """(prediction, what, value, refuted)"""
    judged = [
        ("1", f"success of {name}, as trained", per_cent(share(name)), share(name)[0] <= 0.8)
        for name in ("even", "mild")
    ]
    speed, turn = error("speed_error"), error("turn_error")
    judged += [
        ("2", "off its speed on even, m/s", f"{speed:.2f}", speed >= 0.25),
        ("2", "off its turning on even, rad/s", f"{turn:.2f}", turn >= 0.35),
    ]
    for name in ("slippery", "pushed", "stairs"):
        judged.append(("3", f"{name} against even", points(change(name)), not costs(name)))
    hardest = min(BEYOND, key=lambda name: share(name)[0])
    judged.append(("3", "the hardest of the five", hardest, hardest != "stairs"))
    for name in ("late", "noisy"):
        found = change("even", name)
        lost = round(-found[0], 6)  # .85 - 1 is a bit below -.15
        judged.append(("4", f"even, {name}, against even", points(found), lost > 0.15))
    both = change("pushed", "late")
    least = min(change("pushed"), change("even", "late"))
    judged.append(("5", "pushed and late against even", points(both), both[0] >= least[0]))
    rate = record["speed"]["steps_per_second"]
    slow = "not judged: other work shared the cores" if SHARED else not 9000 <= rate <= 20000
    judged.append(("6", "steps a second", f"{rate:,.0f}", slow))
    agree = re.search(r"All ([\d,]+) fields that must agree do", rerun)
    fields = agree[1] if agree else ""
    judged.append(("7", "fields of the rerun that must agree", fields, not agree))
    summary = re.search(r"(\d+) errors?, (\d+) warnings?, .*", audit)
    quiet = summary[1] == summary[2] == "0" and all(
        not row["name"] for row in faults if row["fault"] == "none"
    )
    judged.append(("8", "audit of the honest run", summary[0], not quiet))
    for fault, check in LOUD.items():
        names = [row["name"] for row in faults if row["fault"] == fault]
        judged.append(("9", f"audit of {fault}", " ".join(names) or "silent", check not in names))
    return judged


if __name__ == "__main__":
    write_verdicts(RESULTS / "verdicts.csv", verdicts())
