#!/usr/bin/env python3
"""speeds.py PROGRAM OUT.csv TASK KINDS.json...: times every kind of setting that OUT.csv does not have yet, with all threads: `bench`, best of five repeats
in turns. KINDS.json: a list of [N, T, M, K]."""

import os
import subprocess
import sys
import tempfile

from common import Kind, read_json, read_speeds, write


def bench(program, task, kinds):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for kind in kinds:
            files.append(os.path.join(folder, "_".join(map(str, kind)) + ".toml"))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(
                    "".join(f"{key} = {value}\n" for key, value in kind._asdict().items())
                    + "total_timesteps = 1_000_000_000\n"
                )
        out = os.path.join(folder, "bench.json")
        subprocess.run(
            [
                program,
                "bench",
                *files,
                "--env_id",
                task,
                "--repeats",
                "5",
                "--seconds",
                "0.1",
                "--json",
                out,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return [case["steps_per_second"]["max"] for case in read_json(out)["cases"]]


def main():
    program, out, task = sys.argv[1:4]
    known = read_speeds(out) if os.path.exists(out) else {}
    asked = {Kind(*kind) for path in sys.argv[4:] for kind in read_json(path)}
    new = sorted(kind for kind in asked if (task, kind) not in known)
    if new:
        known |= {(task, kind): speed for kind, speed in zip(new, bench(program, task, new))}
    write(
        out,
        (
            {"task": known_task} | kind._asdict() | {"steps_per_second": speed}
            for (known_task, kind), speed in known.items()
        ),
    )


main()
