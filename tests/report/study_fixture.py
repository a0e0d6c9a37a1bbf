"""Makes study.json texts as docs/formats/study_report.md describes them. Curves look like real ones; the scores of cells are
those of their runs, and intervals are normal ones from the runs' spread: near enough for a page that computes none of them."""

import math
import random

INSTRUMENTS = [
    ("gradient.noise_scale", "Gradient noise scale", "samples"),
    ("gradient.cosine", "Cosine of minibatch and block gradients", ""),
    ("plasticity.effective_rank", "Effective rank of the features", ""),
    ("plasticity.idle_share", "Idle units", "%"),
    ("policy.entropy", "Entropy of the policy", "nats"),
    ("coverage.share", "States visited", "%"),
]
LADDER = tuple((1 << i, 1024 >> i) for i in range(11))
CART = ("CartPole-v1", 22.33, 500)


def rounded(x, digits=6):
    return None if x is None else float(f"{x:.{digits}g}")


def mean(values):
    return sum(values) / len(values)


def iqm(values):
    cut = len(values) // 4
    return mean(sorted(values)[cut : len(values) - cut])


def median(values):
    ordered = sorted(values)
    return mean([ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]])


def estimate(values, statistic=mean):
    """The statistic with an interval; none where there is a single value."""
    if not values:
        return {"value": None, "low": None, "high": None, "count": 0}
    centre = statistic(values)
    if len(values) == 1:
        return {"value": rounded(centre), "low": None, "high": None, "count": 1}
    m = mean(values)
    half = 1.96 * math.sqrt(sum((x - m) ** 2 for x in values) / (len(values) - 1) / len(values))
    return {
        "value": rounded(centre),
        "low": rounded(centre - half),
        "high": rounded(centre + half),
        "count": len(values),
    }


def aggregates(values):
    return (
        {"iqm": estimate(values, iqm), "mean": estimate(values), "median": estimate(values, median)}
        if values
        else None
    )


class Maker:
    """One study: shapes x others, tasks, seeds. task: (name, random, reference); other: (text, match factor)."""

    def __init__(self, seed, shapes, tasks, others, seeds, points, total, scale):
        self.rng = random.Random(seed)
        self.shapes, self.tasks, self.others = shapes, tasks, others
        self.seeds, self.points, self.total, self.scale = seeds, points, total, scale
        self.runs = {}  # cell -> list of curves

    def top(self, envs, steps, task):
        """The return that a shape comes to: best somewhat to the right of the middle, worse with very short blocks."""
        name, low, high = task
        low, high = (0.0, 100.0) if low is None else (low, high)
        wide = math.log2(envs) / max(1.0, math.log2(envs * steps))
        return low + (high - low) * max(
            0.05, 0.98 - 0.9 * (wide - 0.55) ** 2 - (0.25 if steps < 4 else 0.0)
        )

    def curve(self, envs, steps, task, lift):
        """Points of one run."""
        low = 0.0 if task[1] is None else task[1]
        top = self.top(envs, steps, task) + self.rng.gauss(0, 0.04) * abs(
            self.top(envs, steps, task) - low
        )
        if self.rng.random() < 0.06:
            top = low + 0.5 * (top - low)
        middle = (0.28 + 0.12 * self.rng.random() + 0.02 * math.log2(envs)) / lift
        values = []
        for p in range(1, self.points + 1):
            rise = 1 / (1 + math.exp(-11 * (p / self.points - middle)))
            values.append(self.scale * (low + (top - low) * rise * (1 + self.rng.gauss(0, 0.025))))
        return values

    def steps(self):
        return [self.total * p // self.points for p in range(1, self.points + 1)]

    def instrument_curve(self, key, i, envs, runs):
        values = []
        for p in range(self.points):
            share = (p + 1) / self.points
            centre = {
                0: 2e4 * 6**share * envs**0.3,
                1: 0.9 - 0.4 * share,
                2: 60 - 25 * share + 2 * math.log2(envs),
                3: 4 + 9 * share * math.log2(2 + envs) / 10,
                4: 0.69 - 0.45 * share,
                5: 30 * share**0.5,
            }[i % 6]
            values.append(
                estimate([centre * (1 + self.rng.gauss(0, 0.05)) for _ in range(runs)], iqm)
            )
        return {"key": key, "steps": self.steps(), "iqm": values}

    def cell(self, name, study, task_index, arm, shape, other, minibatches):
        envs, steps = shape
        task = self.tasks[task_index]
        batch = envs * steps
        curves = [self.curve(envs, steps, task, other[1]) for _ in self.seeds]
        finals = [mean(c[-3:]) for c in curves]
        evaluations = [
            x
            + abs(self.scale) * self.rng.gauss(0.02, 0.03) * abs((task[2] or 100) - (task[1] or 0))
            for x in finals
        ]
        areas = [mean(c) for c in curves]
        seconds = [
            (3.0 + 40.0 / math.sqrt(envs)) * (1 + 0.05 * self.rng.random()) for _ in self.seeds
        ]
        self.runs[(arm, task_index)] = finals
        iterations = self.total // batch
        mean_seconds = mean(seconds) if seconds else 1.0
        grid = [mean_seconds * p / self.points for p in range(1, self.points + 1)]
        by_point = [estimate([c[p] for c in curves], iqm) for p in range(self.points)]
        thresholds = self.thresholds(task)
        instruments = [
            self.instrument_curve(key, i, envs, len(self.seeds))
            for i, (key, _, _) in enumerate(INSTRUMENTS)
        ]
        return {
            "name": name,
            "study": study,
            "task": task_index,
            "arm": arm,
            "num_envs": envs,
            "num_steps": steps,
            "batch_size": batch,
            "minibatch_count": minibatches,
            "minibatch_size": max(1, batch // minibatches),
            "update_epochs": 4,
            "iterations": iterations,
            "environment_steps": iterations * batch,
            "gradient_steps": iterations * 4 * minibatches,
            "samples_per_gradient": batch / (4 * minibatches),
            "note": "",
            "changes": {"num_envs": str(envs), "num_steps": str(steps)},
            "finished": len(self.seeds),
            "failed": 0,
            "pending": 0,
            "seconds": estimate(seconds),
            "scores": {
                "training": aggregates(finals),
                "evaluation": aggregates(evaluations),
                "area": aggregates(areas),
            },
            "runs": [
                {
                    "seed": s,
                    "training": rounded(t),
                    "evaluation": rounded(e),
                    "area": rounded(a),
                    "seconds": rounded(w),
                }
                for s, t, e, a, w in zip(self.seeds, finals, evaluations, areas, seconds)
            ],
            "curves": [{"key": "episodic_return", "steps": self.steps(), "iqm": by_point}]
            + instruments
            if self.seeds
            else [],
            "time_curve": {
                "seconds": [rounded(x) for x in grid] if self.seeds else [],
                "iqm": by_point if self.seeds else [],
            },
            "profile": {
                "thresholds": thresholds,
                "shares": [self.share(finals, t) for t in thresholds],
            }
            if self.seeds
            else {"thresholds": [], "shares": []},
        }

    def thresholds(self, task):
        low, high = (0.0, 100.0) if task[1] is None else (task[1], task[2])
        return [rounded(self.scale * (low + (high - low) * 1.05 * i / 40)) for i in range(41)]

    def share(self, values, threshold):
        e = estimate([1.0 if x > threshold else 0.0 for x in values])
        for end in ("low", "high"):
            e[end] = None if e[end] is None else min(1.0, max(0.0, e[end]))
        return e


def minibatch_counts(match, batch):
    return {
        "minibatch_count": 4,
        "minibatch_size": max(1, batch // 256),
        "gradient_steps": max(1, batch // 128),
    }[match]


def normalised(maker, cells, arm):
    """Aggregates of an arm in normalised scores; None unless it has all tasks and all have a range."""
    if len(cells) < len(maker.tasks) or any(t[1] is None for t in maker.tasks):
        return None
    scores = [
        (x / maker.scale - low) / (high - low)
        for i, (_, low, high) in enumerate(maker.tasks)
        for x in maker.runs[(arm, i)]
    ]
    if not scores:
        return None
    gap = estimate([1 - min(x, 1.0) for x in scores])
    thresholds = [rounded(0.025 * i) for i in range(45)]
    return {
        "training": {**aggregates(scores), "optimality_gap": gap},
        "evaluation": None,
        "profile": {
            "thresholds": thresholds,
            "shares": [maker.share(scores, t) for t in thresholds],
        },
    }


def comparison(maker, cells, arms, a, b, several):
    first, second = (cells[arms[i]["cells"][0]] for i in (a, b))
    wins, runs = [], 0
    for task in range(len(maker.tasks)):
        xs, ys = maker.runs.get((a, task), []), maker.runs.get((b, task), [])
        wins += [1.0 if x > y else 0.5 if x == y else 0.0 for x in xs for y in ys]
        runs += min(len(xs), len(ys))
    p = mean(wins) if wins else None
    half = None if p is None or runs < 2 else 1.96 * max(0.02, math.sqrt(p * (1 - p) / runs))
    probability = {
        "value": rounded(p),
        "low": rounded(max(0.0, p - half)) if half else None,
        "high": rounded(min(1.0, p + half)) if half else None,
        "count": 2 * runs,
    }
    difference = None
    if not several and wins:
        (x, y) = (c["scores"]["training"]["iqm"] for c in (first, second))
        d = x["value"] - y["value"]
        w = None if x["low"] is None else math.hypot(x["high"] - x["value"], y["high"] - y["value"])
        difference = {
            "value": rounded(d),
            "low": None if w is None else rounded(d - w),
            "high": None if w is None else rounded(d + w),
            "count": 2 * runs,
        }
    low, high = probability["low"], probability["high"]
    by_task = []
    for task in range(len(maker.tasks)) if several else []:
        xs, ys = maker.runs.get((a, task), []), maker.runs.get((b, task), [])
        if xs and ys:
            p = mean([1.0 if x > y else 0.5 if x == y else 0.0 for x in xs for y in ys])
            by_task.append(
                {
                    "task": task,
                    "probability": {
                        "value": rounded(p),
                        "low": rounded(p),
                        "high": rounded(p),
                        "count": len(xs) * len(ys),
                    },
                    "result": "a" if p == 1 else "b" if p == 0 else "none",
                }
            )
    return {
        "a": a,
        "b": b,
        "score": "training",
        "probability": probability,
        "difference": difference,
        "equal": {
            **{
                k: abs(first[k] - second[k]) <= 0.01 * abs(first[k])
                for k in ("environment_steps", "gradient_steps", "minibatch_size", "batch_size")
            },
            "shape": (first["num_envs"], first["num_steps"])
            == (second["num_envs"], second["num_steps"]),
        },
        "enough_runs": low is not None,
        "result": "none" if low is None or low <= 0.5 <= high else "a" if low > 0.5 else "b",
        "by_task": by_task,
    }


def all_comparisons(maker, cells, arms):
    several = len(maker.tasks) > 1
    pairs = [
        (a, b)
        for a in range(len(arms))
        for b in range(a + 1, len(arms))
        if arms[a]["cells"] and arms[b]["cells"]
    ]
    if len(pairs) > 400:
        best = max(
            range(len(arms)),
            key=lambda a: mean([iqm(maker.runs[(a, t)]) for t in range(len(maker.tasks))]),
        )
        pairs = [(a, b) for a, b in pairs if a in (0, best) or b == best]
    return [comparison(maker, cells, arms, a, b, several) for a, b in pairs]


def line(maker, cells, arms, comparisons, group, fixed, task):
    """Arms of one batch or one T, by N, as they stand beside the one with the highest IQM."""
    scores = [cells[arms[a]["cells"][task]]["scores"]["training"] for a in group]
    if any(s is None for s in scores):
        return None
    leader = max(range(len(group)), key=lambda i: scores[i]["iqm"]["value"])
    standings, ahead = [], []
    for i, a in enumerate(group):
        pair = next(
            (
                c
                for c in comparisons
                if c["score"] == "training" and {c["a"], c["b"]} == {a, group[leader]}
            ),
            None,
        )
        won = pair and pair["result"] == ("a" if pair["a"] == group[leader] else "b")
        standings.append(
            "leads" if i == leader else "unknown" if not pair else "lower" if won else "alike"
        )
        d = scores[leader]["iqm"]["value"] - scores[i]["iqm"]["value"]
        ahead.append(
            None
            if i == leader
            else {
                "value": rounded(d),
                "low": rounded(d - 5),
                "high": rounded(d + 5),
                "count": 2 * len(maker.seeds),
            }
        )
    differ = "lower" in standings
    return {
        "kind": "num_envs_of_batch" if fixed == "batch_size" else "num_envs",
        "key": "num_envs",
        "ordered": True,
        "fixed": arms[group[0]][fixed],
        "arms": group,
        "values": [str(arms[a]["num_envs"]) for a in group],
        "score": "training",
        "task": task,
        "leader": group[leader],
        "standings": standings,
        "ahead": ahead,
        "chance": 0.01 if len(group) > 2 else None,
        "differ": differ,
        "effect": 0.5 if differ else 0.0,
        "room": 5.0 if "alike" in standings else 0.0,
        "confounds": [
            f"{key.replace('_', ' ')} ({min(counts):,} to {max(counts):,})"
            for key in ("gradient_steps", "minibatch_size")
            if min(counts := [arms[a][key] for a in group]) < max(counts)
        ],
        "equal": {
            key: len({arms[a][key] for a in group}) == 1
            for key in ("gradient_steps", "minibatch_size", "batch_size")
        }
        | {"environment_steps": True, "shape": False},
    }


def all_lines(maker, cells, arms, comparisons):
    found = []
    for other in dict.fromkeys(a["other"] for a in arms):
        for fixed in ("batch_size", "num_steps"):
            values = dict.fromkeys(a[fixed] for a in arms if a["other"] == other)
            for value in values:
                group = sorted(
                    (i for i, a in enumerate(arms) if a["other"] == other and a[fixed] == value),
                    key=lambda i: arms[i]["num_envs"],
                )
                group = [i for i in group if len(arms[i]["cells"]) == len(maker.tasks)]
                found += (
                    [
                        line(maker, cells, arms, comparisons, group, fixed, t)
                        for t in range(len(maker.tasks))
                    ]
                    if len(group) > 1
                    else []
                )
    return sorted((l for l in found if l), key=lambda l: -l["effect"])


def all_rankings(maker, cells, arms, tasks):
    """One task: its arms by IQM, then mean; several: none, so that the page ranks them itself."""
    scored = [a for a in range(len(arms)) if cells[arms[a]["cells"][0]]["scores"]["training"]]
    if len(tasks) > 1 or not scored:
        return []
    score = lambda a: cells[arms[a]["cells"][0]]["scores"]["training"]
    order = sorted(scored, key=lambda a: (-score(a)["iqm"]["value"], -score(a)["mean"]["value"], a))
    return [
        {
            "task": 0,
            "arms": order,
            "leader": order[0],
            "best": False,
            "without": len(arms) - len(order),
        }
    ]


def study(
    seed=1,
    shapes=LADDER,
    tasks=(CART,),
    others=(("", 1.0, "minibatch_count"),),
    seeds=range(1, 11),
    points=50,
    total=500_000,
    scale=1.0,
    notes=(),
    title="cartpole_ladder",
):
    maker = Maker(seed, shapes, tasks, others, list(seeds), points, total, scale)
    cells, arms = [], []
    for other in others:
        for envs, steps in shapes:
            name = " ".join(x for x in (f"{envs}x{steps}", other[0]) if x)
            arm = {
                "name": name,
                "study": 0,
                "num_envs": envs,
                "num_steps": steps,
                "other": other[0],
                "settings": {"match": other[0]} if len(others) > 1 else {},
                "cells": [],
            }
            for t in range(len(tasks)):
                arm["cells"].append(len(cells))
                where = f"{tasks[t][0]} " if len(tasks) > 1 else ""
                cells.append(
                    maker.cell(
                        where + name,
                        0,
                        t,
                        len(arms),
                        (envs, steps),
                        other,
                        minibatch_counts(other[2], envs * steps),
                    )
                )
            first = cells[arm["cells"][0]]
            arm |= {
                key: first[key]
                for key in (
                    "gradient_steps",
                    "batch_size",
                    "minibatch_size",
                    "samples_per_gradient",
                )
            }
            arm["normalised"] = normalised(maker, arm["cells"], len(arms))
            arms.append(arm)
    comparisons = all_comparisons(maker, cells, arms)
    runs = len(cells) * len(maker.seeds)
    return {
        "format": 3,
        "kind": "study",
        "title": title,
        "heading": f"Shape on {' and '.join(n for n, _, _ in tasks)}",
        "answer": f"On {tasks[0][0]} the training return is highest somewhere in the middle and lower at both ends: 480 [470, 490] against 90 [80, 100].",
        "main_score": "training",
        "training_leaves_out": False,
        "created": "2026-11-03T12:00:00Z",
        "version": "0.1.0",
        "revision": "0123abcd",
        "command": ["broadloom", "report", f"{title}.sqlite", "--out", "report"],
        "bootstrap": {"replicates": 50_000, "band_replicates": 2_000, "seed": 1},
        "studies": [
            {
                "name": title,
                "store": f"{title}.sqlite",
                "hash": "4f2d0c9a11b7e35d8a60f1e2c3b4a596",
                "match": others[0][2] if others else "none",
                "adjust": "minibatches",
                "points": points,
                "evaluations": 1,
                "eval_episodes": [10],
                "eval_actions": ["most_likely"],
                "seeds": maker.seeds,
                "created": "2026-11-03T08:00:00Z",
                "version": "0.1.0",
                "revision": "0123abcd",
                "run_revisions": ["0123abcd"],
                "hardware": ["a processor with 2 cores"],
                "isa": ["avx512"],
                "runs": {"all": runs, "finished": runs, "failed": 0, "pending": 0},
                "definition": "match = minibatch_count\nclip_coef = 0.2\nlearning_rate = 0.00025\n"
                + "\n".join(f"cell {c['name']}" for c in cells),
            }
        ],
        "tasks": [
            {
                "name": n,
                "env_id": n.split()[0],
                "random_score": low,
                "reference_score": high,
                "why_not": "" if low is not None else f"{n} has no reference score.",
            }
            for n, low, high in tasks
        ],
        "cells": cells,
        "arms": arms,
        "comparisons": comparisons,
        "lines": all_lines(maker, cells, arms, comparisons),
        "rankings": all_rankings(maker, cells, arms, tasks),
        "troubles": [],
        "instruments": [
            {"key": k, "title": t, "unit": u, "constant": None} for k, t, u in INSTRUMENTS
        ],
        "calls": [],
        "notes": list(notes),
    }


def ladder():
    """11 shapes x 10 seeds of one task, minibatch count held: gradient steps differ."""
    data = study(notes=["2 of 112 runs failed; they are left out of every number."])
    data["comparisons"] += [{**c, "score": "evaluation"} for c in data["comparisons"]]
    return data


def one_seed():
    return study(
        seed=2,
        shapes=LADDER[2:5],
        seeds=[7],
        notes=["Only one seed: there are no intervals, and nothing here is certain."],
    )


def one_cell():
    return study(seed=3, shapes=[(8, 128)], seeds=range(5))


def matches():
    """Three matches, five shapes."""
    return study(
        seed=4,
        shapes=[(4 << i, 128) for i in range(5)],
        title="cartpole_matches",
        others=(
            ("minibatch_count", 1.0, "minibatch_count"),
            ("minibatch_size", 1.15, "minibatch_size"),
            ("gradient_steps", 1.2, "gradient_steps"),
        ),
    )


def doubled():
    """N doubled, T doubled: two arms have the same N."""
    return study(seed=5, shapes=[(8, 128), (16, 128), (8, 256)], title="doubled", points=30)


def several_tasks():
    return study(
        seed=6,
        shapes=LADDER[3:9],
        title="three_tasks",
        tasks=(CART, ("Acrobot-v1", -498.9, -100), ("Pendulum-v1 g=9.81", -1228, -138.2)),
        seeds=range(1, 9),
        points=25,
    )


def no_range():
    """Two tasks, one of which cannot be normalised, and one cell that is missing."""
    data = study(
        seed=7,
        shapes=LADDER[3:6],
        title="no_range",
        tasks=(CART, ("OwnEnv-v0", None, None)),
        seeds=range(1, 6),
        points=12,
    )
    return data


def fifty():
    """50 cells of one line: more than can be told apart in one chart, and more pairs than are compared."""
    return study(
        seed=8,
        shapes=[(4 * i, 64) for i in range(1, 51)],
        title="fifty",
        seeds=range(1, 6),
        points=40,
    )


def variants():
    """20 settings of one shape."""
    return study(
        seed=9,
        shapes=[(8, 128)],
        title="rates",
        seeds=range(1, 5),
        points=20,
        others=[
            (f"learning_rate={1e-4 * 1.3**i:.5f}", 1.0 + i / 40, "minibatch_count")
            for i in range(20)
        ],
    )


def odd_names():
    """Names that would break a page, or LaTeX, or Markdown, or CSV, that took them as they are; huge numbers."""
    odd = (
        'variant="a<b>" & 50%_ü | `x` \\frac{1}{2} $y$, </script><img src=x onerror=alert(1)>',
        1.0,
        "minibatch_count",
    )
    long = (
        "hidden_sizes=[256, 256, 256, 256] learning_rate=0.00025 anneal_lr=false a_very_long_name_without_any_space_in_it_that_goes_on",
        1.1,
        "minibatch_size",
    )
    return study(
        seed=10,
        shapes=[(8, 128), (16, 64), (32, 32)],
        title='Ein "Titel" <b>&amp; ünï</b>',
        others=(odd, long),
        seeds=range(1, 5),
        points=10,
        scale=3.7e12,
    )


def tiny_numbers():
    return study(
        seed=11, shapes=LADDER[4:8], title="tiny", scale=2e-9, seeds=range(1, 5), points=10
    )


def with_gaps():
    """Cells without finished runs, without curves, with nulls in the middle of a curve, without an evaluation."""
    data = study(
        seed=12,
        shapes=LADDER[3:8],
        title="gaps",
        seeds=range(1, 6),
        points=20,
        notes=["5 runs of 128x8 are pending."],
    )
    nothing = {"value": None, "low": None, "high": None, "count": 0}
    last = data["cells"][4]
    last |= {
        "finished": 0,
        "failed": 2,
        "pending": 3,
        "seconds": nothing,
        "scores": {"training": None, "evaluation": None, "area": None},
        "runs": [],
        "curves": [],
        "time_curve": {"seconds": [], "iqm": []},
        "profile": {"thresholds": [], "shares": []},
    }
    data["cells"][0]["scores"]["evaluation"] = None
    data["cells"][1]["curves"] = data["cells"][1]["curves"][:1]
    for i in (3, 4, 19):
        data["cells"][2]["curves"][0]["iqm"][i] = dict(nothing)
    data["cells"][2]["runs"][0] |= {"training": None, "seconds": None}
    data["comparisons"] = [c for c in data["comparisons"] if c["b"] != 4] + [
        {
            "a": 0,
            "b": 4,
            "score": "training",
            "probability": nothing,
            "difference": None,
            "result": "none",
            "equal": {
                "environment_steps": True,
                "gradient_steps": False,
                "minibatch_size": False,
                "batch_size": True,
                "shape": False,
            },
        }
    ]
    data["lines"] = []
    return data


def planned():
    """A study of which nothing has run yet."""
    data = study(
        seed=13,
        shapes=LADDER[3:6],
        title="planned",
        seeds=(),
        points=10,
        notes=["None of 30 runs is finished."],
    )
    return data


def empty():
    """The least that a file can hold."""
    return {
        "format": 3,
        "kind": "study",
        "title": "",
        "created": "",
        "version": "",
        "revision": "",
        "command": [],
        "bootstrap": {},
        "studies": [],
        "tasks": [],
        "cells": [],
        "arms": [],
        "comparisons": [],
        "lines": [],
        "instruments": [],
        "calls": [],
        "notes": [],
    }


ALL = {
    f.__name__: f
    for f in (
        ladder,
        one_seed,
        one_cell,
        matches,
        doubled,
        several_tasks,
        no_range,
        fifty,
        variants,
        odd_names,
        tiny_numbers,
        with_gaps,
        planned,
        empty,
    )
}
