"""The arguments and the printed line that all peer scripts share."""

from __future__ import annotations

import argparse
import json


def arguments(what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("case", help="a name of cases.py")
    parser.add_argument("--seconds", type=float, default=2.0, help="measured time (default 2)")
    return parser


def report(peer: str, case: str, steps_per_second: float) -> None:
    line = {"peer": peer, "case": case, "steps_per_second": round(steps_per_second, 1)}
    print(json.dumps(line), flush=True)
