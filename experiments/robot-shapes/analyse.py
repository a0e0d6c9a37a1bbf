#!/usr/bin/env python3
"""analyse.py keep STORES RESULTS: what run.sh's runs came to, as RESULTS/screen.csv, runs.csv, phases.csv, screen_quadruped.csv, quadruped.csv and families.csv
(rows of the same run are replaced). analyse.py judge RESULTS: means, differences, agreement.csv of the laboratory's files, and the verdicts on PREREGISTRATION.md."""

import json
import sqlite3
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import interval, read, write  # noqa: E402

SHAPES = {
    "HalfCheetah": ["1x2048", "8x256", "32x64", "128x16", "512x4"],
    "Hopper": ["1x2048", "8x256", "32x64", "128x16", "512x4"],
    "Quadruped": ["16x512", "128x64", "1024x8"],
}
STARTS = {"true": "staggered", "false": "in step"}  # staggered: by actions
ALL_STARTS = ["staggered", "in step", "by age"]
PAIRS = [("staggered", "in step"), ("by age", "in step"), ("by age", "staggered")]
SHORT = "512x4 of 250 steps"  # an episode
FRESH = "512x4, seeds 16 to 30"
RUNS = [
    "task",
    "shape",
    "starts",
    "learning_rate",
    "seed",
    "area",
    "end",
    "training",
    "parameters_hash",
]
PHASES = ["task", "shape", "starts", "learning_rate", "seed", "limit", *RUNS[5:]]
WALKS = [
    "task",
    "shape",
    "starts",
    "learning_rate",
    "seed",
    "speed_error",
    "success_rate",
    "training",
    "evaluation",
    "evaluation_length",
    "parameters_hash",
]
FAMILIES = ["families", "seed", "episodes", "success_rate", "training_success", "state_hash"]
ROBOTS = """SELECT scores.env_id, cells.num_envs, cells.num_steps, json_extract(config, '$.stagger_starts'), json_extract(config, '$.learning_rate'), runs.seed,
  (SELECT avg(mean_return) FROM evaluations e WHERE e.run_id = runs.id), evaluation_return, training_return, parameters_hash
  FROM runs JOIN scores ON scores.run_id = runs.id JOIN cells ON cells.id = runs.cell_id WHERE status = 'finished'"""
AGES = ROBOTS.replace(
    "runs.seed,",
    "runs.seed, json_extract(config, '$.stagger_by'), json_extract(config, '$.max_episode_steps'),",
)
WALKERS = """SELECT scores.env_id, cells.num_envs, cells.num_steps, json_extract(config, '$.stagger_starts'), json_extract(config, '$.learning_rate'), runs.seed,
  (SELECT avg(value) FROM metrics m WHERE m.run_id = runs.id AND key = 'measure/speed_error' AND point > 0.95 * study.points),
  (SELECT avg(value) FROM metrics m WHERE m.run_id = runs.id AND key = 'success_rate' AND point > 0.95 * study.points), training_return,
  (SELECT mean_return FROM evaluations e WHERE e.run_id = runs.id), (SELECT mean_length FROM evaluations e WHERE e.run_id = runs.id), parameters_hash
  FROM runs JOIN scores ON scores.run_id = runs.id JOIN cells ON cells.id = runs.cell_id JOIN study WHERE status = 'finished'"""


def merge(path, columns, found, key):
    """Rows of the file and those that were found, which replace theirs."""
    rows = {tuple(row[name] for name in columns[:key]): row for row in read(path)}
    rows.update({tuple(row[:key]): dict(zip(columns, row)) for row in found})
    write(path, columns, [[row[name] for name in columns] for row in rows.values()])
    print(f"{len(rows)} rows in {path}")


def runs(file, query):
    if not file.exists():
        return
    with sqlite3.connect(file) as store:
        for env_id, n, t, stagger, rate, seed, *numbers, parameters in store.execute(query):
            yield [
                env_id.partition("-")[0],
                f"{n}x{t}",
                STARTS[stagger],
                f"{float(rate):g}",
                str(seed),
                *(
                    "" if x is None else f"{x:.6g}" if isinstance(x, float) else str(x)
                    for x in numbers
                ),
                parameters,
            ]


def phases(file):
    """As runs(), with starts by age, and the limit of episodes."""
    for task, shape, starts, rate, seed, group_by, limit, *rest in runs(file, AGES):
        yield [
            task,
            shape,
            "by age" if starts == "staggered" and group_by == "age" else starts,
            rate,
            seed,
            limit if int(limit) else "1000",
            *rest,
        ]


def families(folder):
    for file in sorted(folder.glob("*/ledger_line.json")):
        subject, seed = file.parent.name.split("_")
        line = json.loads(file.read_text())
        held_out = line["panel"]["rows"]["all/all"]
        yield [
            subject,
            seed,
            str(held_out["episodes"]),
            f"{held_out['success_rate']:.5g}",
            f"{line['result']['success_rate']:.5g}",
            line["result"]["state_hash"],
        ]


def keep(stores, results):
    results.mkdir(exist_ok=True)
    merge(results / "screen.csv", RUNS, runs(stores / "screen.sqlite", ROBOTS), 5)
    merge(results / "runs.csv", RUNS, runs(stores / "final.sqlite", ROBOTS), 5)
    for name in ("phases", "phases_more"):
        merge(results / "phases.csv", PHASES, phases(stores / f"{name}.sqlite"), 6)
    merge(
        results / "screen_quadruped.csv",
        WALKS,
        runs(stores / "screen_quadruped.sqlite", WALKERS),
        5,
    )
    merge(results / "quadruped.csv", WALKS, runs(stores / "final_quadruped.sqlite", WALKERS), 5)
    merge(results / "families.csv", FAMILIES, families(stores / "families"), 2)


def group_by(rows, *keys):
    out = {}
    for row in rows:
        out.setdefault(tuple(row[key] for key in keys), {})[row["seed"]] = row
    return out


def difference(a, b, column):
    """(runs, mean, low, high) of a less b, by seed."""
    seeds = sorted(a.keys() & b.keys(), key=int)
    return (
        len(seeds),
        *interval([float(a[seed][column]) - float(b[seed][column]) for seed in seeds]),
    )


def judged(found):
    """A difference of at least two runs; of one nothing can be told."""
    return found is not None and found[0] >= 2


def sentence_of(found):
    return found[2] > 0 or found[3] < 0


def verdict(held):
    return "held" if held else "refuted"


def agreement(results):
    rows = []
    for file in sorted(
        results.glob("gradients_*.json"),
        key=lambda f: (f.stem.split("_")[1], int(f.stem.split("_")[2])),
    ):
        report = json.loads(file.read_text())
        for case in report["agreement"]:
            if case["norm_adv"]:
                value = case["agreement"] or {"value": "", "low": "", "high": ""}
                rows.append(
                    [
                        report["checkpoint"]["env_id"].partition("-")[0],
                        report["checkpoint"]["global_step"],
                        case["critic"],
                        f"{case['num_envs']}x{case['num_steps']}",
                        case["num_envs"],
                        value["value"],
                        value["low"],
                        value["high"],
                    ]
                )
    write(
        results / "agreement.csv",
        ["task", "step", "critic", "shape", "N", "agreement", "low", "high"],
        [["" if x is None else x for x in row] for row in rows],
    )
    return rows


def all_robots(results):
    """Runs of Hopper and HalfCheetah, those by age among them; one environment has nobody to be out of step with."""
    robots = group_by(read(results / "runs.csv"), "task", "shape", "starts")
    for row in read(results / "phases.csv"):
        shape = SHORT if row["limit"] == "250" else FRESH if int(row["seed"]) > 15 else row["shape"]
        robots.setdefault((row["task"], shape, row["starts"]), {})[row["seed"]] = row
    alone = robots.get(("HalfCheetah", "1x2048", "in step"))
    if alone and ("HalfCheetah", "512x4", "by age") in robots:
        robots["HalfCheetah", "1x2048", "by age"] = alone
    return robots


def why_in_step(subject, mean):
    """Verdicts on predictions 8 to 11."""
    for prediction, shape in ((8, "512x4"), (11, FRESH)):
        age_less_actions, age_less_step = (
            subject.get(("HalfCheetah", f"by age less {other}, {shape}"))
            for other in ("staggered", "in step")
        )
        if judged(age_less_actions):
            yield (
                prediction,
                f"HalfCheetah, {shape}: by age less by actions",
                age_less_actions[1],
                verdict(sentence_of(age_less_actions) and age_less_actions[1] > 0),
            )
            yield (
                prediction,
                f"HalfCheetah, {shape}: by age less in step",
                age_less_step[1],
                verdict(not sentence_of(age_less_step)),
            )
    short = subject.get(("HalfCheetah", f"staggered less in step, {SHORT}"))
    if judged(short):
        share = mean["HalfCheetah", SHORT, "staggered"] / mean["HalfCheetah", SHORT, "in step"]
        yield (
            9,
            "HalfCheetah, 250 steps: by actions less in step",
            short[1],
            verdict(not sentence_of(short)),
        )
        yield (
            9,
            "HalfCheetah, 250 steps: by actions as a share of in step",
            share,
            verdict(share >= 0.75),
        )
    aged = {
        shape: mean["HalfCheetah", shape, "by age"]
        for shape in SHAPES["HalfCheetah"]
        if ("HalfCheetah", shape, "by age") in mean
    }
    if len(aged) == 5:
        best = max(aged, key=aged.get)
        yield (
            10,
            f"HalfCheetah by age: largest area, at {best}",
            aged[best],
            verdict(best == "512x4"),
        )


def judge(results):
    robots, walks = (
        all_robots(results),
        group_by(read(results / "quadruped.csv"), "task", "shape", "starts"),
    )
    found = {**robots, **walks}
    columns = {"Quadruped": "speed_error"}
    means, differences, verdicts = [], [], []
    for task, shapes in SHAPES.items():
        column = columns.get(task, "area")
        for starts in ALL_STARTS:
            for shape in [*shapes, SHORT, FRESH]:
                subject = found.get((task, shape, starts), {})
                if not subject:
                    continue
                second = "success_rate" if task == "Quadruped" else "end"
                rate = next(iter(subject.values()))["learning_rate"]
                seconds = [float(row[second]) for row in subject.values() if row[second] != ""]
                means.append(
                    (
                        task,
                        shape,
                        int(shape.split("x")[0]),
                        starts,
                        rate,
                        len(subject),
                        *interval([float(row[column]) for row in subject.values()]),
                        *(interval(seconds) if seconds else ("", "", "")),
                    )
                )
            for i, a in enumerate(shapes):
                for b in shapes[i + 1 :]:
                    one, two = found.get((task, a, starts), {}), found.get((task, b, starts), {})
                    if one.keys() & two.keys():
                        differences.append(
                            (task, f"{b} less {a}, {starts}", *difference(two, one, column))
                        )
        for shape in [*shapes, SHORT, FRESH]:
            for a, b in PAIRS:
                one, two = found.get((task, shape, a), {}), found.get((task, shape, b), {})
                if not shape.startswith("1x") and one.keys() & two.keys():
                    differences.append(
                        (task, f"{a} less {b}, {shape}", *difference(one, two, column))
                    )
    subject = {(task, what): rest for task, what, *rest in differences}
    mean = {(row[0], row[1], row[3]): row[6] for row in means}
    for task in ("HalfCheetah", "Hopper"):
        for a, b in (("1x2048", "8x256"), ("1x2048", "32x64"), ("8x256", "32x64")):
            pair = subject.get((task, f"{b} less {a}, staggered"))
            if judged(pair):
                verdicts.append(
                    (1, f"{task}: area of {b} less {a}", pair[1], verdict(not sentence_of(pair)))
                )
        shown = {
            shape: mean[task, shape, "staggered"]
            for shape in SHAPES[task]
            if (task, shape, "staggered") in mean
        }
        if len(shown) == 5:
            verdicts.append(
                (
                    2,
                    f"{task}: smallest area, at {min(shown, key=shown.get)}",
                    min(shown.values()),
                    verdict(min(shown, key=shown.get) == "512x4"),
                )
            )
    pair = subject.get(("HalfCheetah", "staggered less in step, 512x4"))
    if judged(pair):
        verdicts.append(
            (
                3,
                "HalfCheetah: staggered less in step, 512x4",
                pair[1],
                verdict(sentence_of(pair) and pair[1] > 0),
            )
        )
    for shape in SHAPES["Hopper"][1:]:  # one environment has nobody to be out of step with
        pair = subject.get(("Hopper", f"staggered less in step, {shape}"))
        if judged(pair):
            verdicts.append(
                (
                    3,
                    f"Hopper: staggered less in step, {shape}",
                    pair[1],
                    verdict(not sentence_of(pair)),
                )
            )
    rates = {
        (row[0], row[1]): float(row[4])
        for row in means
        if row[0] != "Quadruped" and row[1] not in (SHORT, FRESH)
    }
    if len(rates) == 10:
        grid = [1e-4, 3e-4, 1e-3]
        jumps = max(
            abs(grid.index(rates[task, a]) - grid.index(rates[task, b]))
            for task in ("HalfCheetah", "Hopper")
            for a, b in zip(SHAPES[task], SHAPES[task][1:])
        )
        verdicts.append(
            (4, "largest step of the rate between neighbours", float(jumps), verdict(jumps <= 1))
        )
        middle = sum(rate == 3e-4 for rate in rates.values())
        verdicts.append((4, "shapes with 3e-4, of 10", float(middle), verdict(middle >= 6)))
    walk = {shape: mean.get(("Quadruped", shape, "staggered")) for shape in SHAPES["Quadruped"]}
    if all(walk.values()):
        verdicts.append(
            (
                5,
                "Quadruped: speed error of 1024x8 less 128x64",
                walk["1024x8"] - walk["128x64"],
                verdict(walk["1024x8"] - walk["128x64"] >= 0.03),
            )
        )
        verdicts.append(
            (
                5,
                "Quadruped: speed error of 128x64 less 16x512",
                walk["128x64"] - walk["16x512"],
                verdict(walk["128x64"] - walk["16x512"] <= 0.03),
            )
        )
    worlds = group_by(read(results / "families.csv"), "families")
    held_out = [
        (
            int(key[0]),
            len(rows),
            *interval([float(row["success_rate"]) for row in rows.values()]),
            *interval([float(row["training_success"]) for row in rows.values()]),
        )
        for key, rows in sorted(worlds.items(), key=lambda item: int(item[0][0]))
    ]
    success = {row[0]: row[2] for row in held_out}
    if {1, 8, 128} <= success.keys():
        verdicts.append(
            (
                6,
                "success of 128 families less 1",
                success[128] - success[1],
                verdict(success[128] - success[1] >= 0.1),
            )
        )
        verdicts.append(
            (
                6,
                "success of 128 families less 8",
                success[128] - success[8],
                verdict(success[128] - success[8] < 0.05),
            )
        )
    ladders = {}
    for task, step, critic, shape, _, value, *_ in agreement(results):
        if value != "" and value is not None:
            ladders.setdefault((task, step, critic), {})[shape] = value
    for (task, step, critic), ladder in ladders.items():
        shapes = list(ladder)
        if len(shapes) < (3 if task == "Quadruped" else 5):
            continue  # not all could be told
        if critic == "refitted":
            verdicts.append(
                (
                    7,
                    f"{task} at {step}, refitted: agreement of {shapes[-1]} less {shapes[0]}",
                    ladder[shapes[-1]] - ladder[shapes[0]],
                    verdict(ladder[shapes[-1]] > ladder[shapes[0]]),
                )
            )
        else:
            best = max(ladder, key=ladder.get)
            verdicts.append(
                (
                    7,
                    f"{task} at {step}, own: best at {best}",
                    ladder[best],
                    verdict(int(best.split("x")[1]) >= 16),
                )
            )
    verdicts += why_in_step(subject, mean)
    of_means = [
        "task",
        "shape",
        "N",
        "starts",
        "learning_rate",
        "runs",
        "value",
        "low",
        "high",
        "second",
        "second_low",
        "second_high",
    ]
    write(results / "means.csv", of_means, [row for row in means if row[1] not in (SHORT, FRESH)])
    write(
        results / "phases_means.csv", of_means, [row for row in means if row[1] in (SHORT, FRESH)]
    )
    write(
        results / "differences.csv", ["task", "what", "runs", "value", "low", "high"], differences
    )
    write(
        results / "held_out.csv",
        ["families", "runs", "success", "low", "high", "training", "training_low", "training_high"],
        held_out,
    )
    write(results / "verdicts.csv", ["prediction", "what", "value", "verdict"], verdicts)
    for row in [*means, *differences, *held_out, *verdicts]:
        print(*[f"{x:.5g}" if isinstance(x, float) else x for x in row], sep="  ")


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        judge(Path(sys.argv[2]))
