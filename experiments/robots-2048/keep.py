#!/usr/bin/env python3
"""keep.py WORK RESULTS: the contract, the ledger line as it is, the rerun's comparison, the audit,
the panel's rows and the curves of the run as CSV, and what the audit said of each planted fault."""

import json
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import write  # noqa: E402

work, results = Path(sys.argv[1]), Path(sys.argv[2])
FAULTS = "none commands column resets families panel_worlds panel_streams stale".split()
ROW = "stratum perturbation episodes success_rate success_low success_high failure_rate".split()
ROW += "failure_low failure_high mean_return ci_low ci_high mean_length".split()
ENDS = ("value", "low", "high")
MEASURES = [(name, end) for name in ("speed_error", "turn_error") for end in ENDS]
CURVES = "global_step episodic_return episodic_length success_rate success_rate/even".split()
CURVES += "success_rate/mild termination_rate measure/speed_error measure/turn_error".split()
CURVES += "approx_kl clipfrac explained_variance steps_per_second".split()
WARNED = "name severity value sentence".split()
EVALUATIONS = "global_step episodes success_rate mean_return ci_low ci_high mean_length".split()


def text(name):
    return (work / name).read_text(encoding="utf-8")


def keep(name, content):
    (results / name).write_text(content, encoding="utf-8")


def lines(name):
    return [json.loads(line) for line in text(f"run/{name}").splitlines()]


printed = text("train.txt")
begin = printed.index("Block (T, N, D)")
end = printed.index("\n", printed.index("\nSeed: ", begin) + 1) + 1
keep("contract.txt", printed[begin:end])
keep("rerun.txt", text("rerun.txt")[text("rerun.txt").index("Recorded |") :])
shutil.copyfile(work / "audit.txt", results / "audit.txt")
shutil.copyfile(work / "run/ledger_line.json", results / "ledger_line.json")
panel = json.loads(text("run/ledger_line.json"))["panel"]["rows"].values()
write(
    results / "panel.csv",
    [*ROW, "fell", *(f"{name} {end}".removesuffix(" value") for name, end in MEASURES)],
    [
        [
            *(row[key] for key in ROW),
            row["reasons"]["fell"] + row["reasons"]["unstable"],
            *(row["measures"][name][end] for name, end in MEASURES),
        ]
        for row in panel
    ],
)
for name, file, keys in (
    ("evaluations.csv", "eval.jsonl", EVALUATIONS),
    ("curves.csv", "metrics.jsonl", CURVES),
):
    write(results / name, keys, [[line.get(key) for key in keys] for line in lines(file)])
warned = []
for fault in FAULTS:
    checks = json.loads(text(f"audit_{fault}.json"))["checks"]
    loud = [check for check in checks if check["severity"] in ("warning", "error")]
    warned += [[fault, *(check[key] for key in WARNED)] for check in loud] or [
        [fault, *("" for key in WARNED)]
    ]
write(results / "faults.csv", ["fault", *WARNED], warned)
