"""Shared by keep.py and race.py: plays a panel, and says whether a policy walks."""

import json
import subprocess
from pathlib import Path

SPEED, TURN = 0.20, 0.25  # PREREGISTRATION.md: errors below these in m/s and rad/s, and no fall


def score(broadloom, policy, panel, work="."):
    """The panel's rows by name. policy: a run or a checkpoint, seen from the folder work."""
    file = Path(__file__).resolve().parent / panel
    played = subprocess.run(
        [broadloom, "eval", policy, "--panel", file, "--json", "--quiet"],
        cwd=work,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(played.stdout)["panel"]["rows"]


def falls_of(row):
    return row["reasons"]["fell"] + row["reasons"]["unstable"]


def walks(falls, speed, turn):
    return int(falls == 0 and speed < SPEED and turn < TURN)
