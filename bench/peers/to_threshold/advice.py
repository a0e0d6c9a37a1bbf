"""`broadloom advise`, for the threshold that everybody is measured against."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from to_threshold.contenders import Missing, call
from to_threshold.tasks import THRESHOLDS


def advise(task: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """(the advised config, the expected cost, the seconds of the advice, which are added)."""
    with tempfile.TemporaryDirectory() as folder:
        words = [options.broadloom, "advise", "--env_id", task, "--time", options.advice]
        words += ["--threshold", str(THRESHOLDS[task]), "--threads", str(options.cores)]
        words += ["--seed", str(seed)]
        start = time.perf_counter()
        try:
            call([*words, "--quiet", "--out", folder], options)
        except Missing as error:
            raise Missing(
                f"advise {error}; docs/reference/exit_codes.md says what that is"
            ) from error
        seconds = time.perf_counter() - start
        config = Path(folder) / "advice.toml"
        if not config.exists():
            raise Missing(f"advise had no setting for {task}")
        answer = json.loads((Path(folder) / "advice.json").read_text())["advice"]
        return {
            "config": config.read_text(),
            "seconds": round(seconds, 1),
            "verdict": answer["verdict"],
            "expected": answer["cost"],
        }
