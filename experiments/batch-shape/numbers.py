#!/usr/bin/env python3
"""numbers.py [SECTION...]: numbers of README.md and DETAILS.md, from results/*.csv; all sections, or those named. doubled.py and
health.py print the tables of E2 and E5."""

import csv
import glob
import random
import sys
from collections import Counter

from arms import RESAMPLES, RESULTS, better, runs, text, verdict

TASKS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
SHAPES = [f"{2**k}x{1024 >> k}" for k in range(11)]
STARTS = ("synchronised", "staggered")
SCORES = ("evaluation", "area")
RANGES = {
    "CartPole-v1": (22.33, 500),
    "Acrobot-v1": (-498.9, -100),
    "Pendulum-v1": (-1228, -138.2),
}  # docs/statistics.md


def rows(study, kind="cells"):
    with open(RESULTS / f"{study}_{kind}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(study):
    return {(row["task"], row["arm"]): row for row in rows(study)}


def estimate(row, column):
    return "{:.5g} [{:.5g}, {:.5g}]".format(
        *(float(row[column + end]) for end in ("", " low", " high"))
    )


def say(head, pairs):
    print(f"{head}: " + "; ".join(f"{name} {value}" for name, value in pairs))


def ladder():
    """E1: every shape against 8 x 128 and against one environment, by both scores; seconds a run."""
    for start in STARTS:
        found = cells(f"ladder_{start}")
        for task in TASKS:
            for score in SCORES:
                scores = runs(f"ladder_{start}", score)
                say(
                    f"{task}, {start}, {score}, IQM",
                    ((s, estimate(found[task, s], score)) for s in SHAPES),
                )
                for base in ("8x128", "1x1024"):
                    say(
                        f"  P(better than {base})",
                        (
                            (s, text(better(scores[task, s], scores[task, base])))
                            for s in SHAPES
                            if s != base
                        ),
                    )
            if task == "CartPole-v1":
                last = runs(f"ladder_{start}", "evaluation")[task, "128x8"]
                print(
                    f"  128x8: {sum(x < 200 for x in last)} of {len(last)} runs below 200, {sum(x > 490 for x in last)} above 490"
                )
        seconds = runs(f"ladder_{start}", "seconds")
        say(
            f"{start}: mean seconds a run",
            (
                (f"{t} {s}", f"{sum(seconds[t, s]) / len(seconds[t, s]):.2f}")
                for t in TASKS
                for s in SHAPES
            ),
        )


def slope(values):
    """Least squares over 0, 1, 2, ...: what a doubling of N adds, if it were a straight line."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    return sum((i - middle) * (v - mean) for i, v in enumerate(values)) / sum(
        (i - middle) ** 2 for i in range(len(values))
    )


def slopes():
    """E1: the straight line of the reports, and what is left of it without the last shapes."""
    for start in STARTS:
        found = cells(f"ladder_{start}")
        for task in TASKS:
            values = [float(found[task, s]["evaluation"]) for s in SHAPES]
            print(
                f"{task}, {start}: {slope(values):.2f} per doubling, to 512x2 {slope(values[:-1]):.2f}, to 128x8 {slope(values[:8]):.2f}"
            )


def aggregate():
    """E1: the three tasks in one number, as the paper has it: IQM of all runs' normalised scores, runs resampled within tasks."""
    for start in STARTS:
        for score in SCORES:
            scores = runs(f"ladder_{start}", score)
            normal = {
                s: [
                    [(x - RANGES[t][0]) / (RANGES[t][1] - RANGES[t][0]) for x in scores[t, s]]
                    for t in TASKS
                ]
                for s in SHAPES
            }
            say(
                f"all tasks, {start}, {score}",
                ((s, pooled_iqm(values)) for s, values in normal.items()),
            )


def iqm(values):
    ordered, cut = sorted(values), len(values) // 4
    return sum(ordered[cut : len(ordered) - cut]) / (len(ordered) - 2 * cut)


def pooled_iqm(tasks):
    rng = random.Random(1)
    samples = sorted(
        iqm([x for values in tasks for x in rng.choices(values, k=len(values))])
        for _ in range(RESAMPLES)
    )
    return "{:.3f} [{:.3f}, {:.3f}]".format(
        iqm(sum(tasks, [])), samples[int(0.025 * RESAMPLES)], samples[int(0.975 * RESAMPLES) - 1]
    )


def clock():
    """E1: what the last block covers and what the critic explains."""
    for start in STARTS:
        found = cells(f"ladder_{start}")
        for task in TASKS:
            for column in ("explained variance", "coverage of 512 states %", "coverage %"):
                say(
                    f"{task}, {start}, {column}",
                    ((s, estimate(found[task, s], column)) for s in SHAPES),
                )


def short_rollouts():
    """E1: T = 16 with half the environment steps against the ladder's T = 1,024 / N, same N; twice, and 1 / 4 to 1 / 32 of its gradient steps."""
    for study in ("trend_gradient_steps", "trend_minibatch_count"):
        for task in TASKS:
            for score in SCORES:
                for start in STARTS:
                    first, second = runs(study, score), runs(f"ladder_{start}", score)
                    say(
                        f"{study} better than ladder_{start}, {task}, {score}",
                        (
                            (
                                f"N={n}",
                                text(
                                    better(first[task, f"{n}x16"], second[task, f"{n}x{1024 // n}"])
                                ),
                            )
                            for n in (128, 256, 512, 1024)
                        ),
                    )


def n_or_t():
    """E2: N doubled against T doubled, counts by score and base."""
    for score in SCORES:
        counts = Counter()
        for study in (
            "doubled_minibatch_count",
            "doubled_minibatch_size",
            "doubled_gradient_steps",
        ):
            scores = runs(study, score)
            for task in TASKS:
                for base, n, t in (("8x128", "16x128", "8x256"), ("128x8", "256x8", "128x16")):
                    for stagger in ("false", "true"):
                        p = better(
                            scores[task, f"{n} stagger_starts={stagger}"],
                            scores[task, f"{t} stagger_starts={stagger}"],
                        )
                        counts[base, task, verdict(p)] += 1
        for (base, task, result), count in sorted(counts.items()):
            print(f"{score}, from {base}, {task}: N over T {result} {count}")


def trend():
    """E4: N at T = 16 against 8 and 16 environments."""
    for study in ("trend_gradient_steps", "trend_minibatch_count"):
        found = cells(study)
        for task in TASKS:
            for score in SCORES:
                scores = runs(study, score)
                arms = [f"{2**k}x16" for k in range(11)]
                say(
                    f"{study}, {task}, {score}, IQM",
                    ((a, estimate(found[task, a], score)) for a in arms),
                )
                for base in ("8x16", "16x16"):
                    say(
                        f"  P(better than {base})",
                        (
                            (a, text(better(scores[task, a], scores[task, base])))
                            for a in arms
                            if a != base
                        ),
                    )
    for score in SCORES:
        equal, few = runs("trend_gradient_steps", score), runs("trend_minibatch_count", score)
        for task in TASKS:
            say(
                f"equal gradient steps better than four minibatches, {task}, {score}",
                (
                    (f"N={n}", text(better(equal[task, f"{n}x16"], few[task, f"{n}x16"])))
                    for n in (32, 64, 128, 256, 512, 1024)
                ),
            )


def health():
    """E5: ranges over all cells that have the instrument."""
    every = [
        (file.rsplit("/", 1)[-1].removesuffix("_cells.csv"), row)
        for file in sorted(glob.glob(str(RESULTS / "*_cells.csv")))
        for row in csv.DictReader(open(file, encoding="utf-8"))
        if row.get("weight norm")
    ]
    least = sorted(
        (float(row["least ess %"]), study, row["task"], row["arm"]) for study, row in every
    )
    print("least effective sample sizes:", least[:8])
    print("of the doubled studies:", [x for x in least if x[1].startswith("doubled")][:3])
    ranks = [float(row["feature rank"]) for _, row in every if row["task"] == "CartPole-v1"]
    print(f"feature rank on CartPole: {min(ranks)} to {max(ranks)} in {len(ranks)} cells")
    for start in STARTS:
        for task in TASKS:
            for column in ("Lyle's rank", "feature rank", "weight norm"):
                say(
                    f"{task}, {start}, {column}",
                    ((s, estimate(cells(f"ladder_{start}")[task, s], column)) for s in SHAPES),
                )
    for task in TASKS:
        for steps in ("1952", "3904", "7808"):
            norms = [
                float(row["weight norm"])
                for _, row in every
                if row["task"] == task and row["gradient steps"] == steps
            ]
            print(
                f"weight norm, {task}, {steps} gradient steps: {min(norms):.1f} to {max(norms):.1f} in {len(norms)} cells"
            )


def encoders():
    """E6: shared bodies, with rewards as they are and scaled."""
    for study in ("encoders_gradient_steps", "encoders_norm_reward"):
        found, scores = cells(study), {score: runs(study, score) for score in SCORES}
        for task in TASKS:
            for shared in ("true", "false"):
                arms = {s: f"{s} shared_encoder={shared}" for s in ("8x128", "16x128", "8x256")}
                if (task, arms["8x128"]) not in found:
                    continue
                say(
                    f"{study}, {task}, shared={shared}",
                    ((s, estimate(found[task, a], "evaluation")) for s, a in arms.items()),
                )
                for score in SCORES:
                    arm_scores = {s: scores[score][task, a] for s, a in arms.items()}
                    say(
                        f"  P, {score}",
                        (
                            (
                                "N doubled over base",
                                text(better(arm_scores["16x128"], arm_scores["8x128"])),
                            ),
                            (
                                "T doubled over base",
                                text(better(arm_scores["8x256"], arm_scores["8x128"])),
                            ),
                            ("N over T", text(better(arm_scores["16x128"], arm_scores["8x256"]))),
                        ),
                    )


def rate():
    """E7: N doubled against the base at each learning rate."""
    for score in SCORES:
        scores = runs("learning_rate", score)
        rates = ("0.000125", "0.00025", "5e-04", "0.001", "0.002")
        for task in TASKS:
            arm = lambda shape, r: scores[task, f"{shape} learning_rate={r}"]
            say(
                f"{task}, {score}, P(16x128 better)",
                ((r, text(better(arm("16x128", r), arm("8x128", r)))) for r in rates),
            )
            say(
                "  at twice the rate",
                (
                    (r, text(better(arm("16x128", s), arm("8x128", r))))
                    for r, s in zip(rates, rates[1:])
                ),
            )


def optimiser():
    """Shape beside details of the optimiser, on CartPole; KL and clip share along the way."""
    scores = {score: runs("optimiser", score) for score in SCORES}
    for row in rows("optimiser"):
        task, arm = row["task"], row["arm"]
        shape = arm.split(" ", 1)[0]
        say(
            arm,
            [("IQM", estimate(row, "evaluation")), ("speed", estimate(row, "area"))]
            + [
                (
                    f"P(better than {shape} defaults), {score}",
                    text(better(arm_scores[task, arm], arm_scores[task, f"{shape} defaults"])),
                )
                for score, arm_scores in scores.items()
            ]
            + [
                (
                    f"P(better than 8x128{arm[len(shape) :]}), {score}",
                    text(
                        better(arm_scores[task, arm], arm_scores[task, "8x128" + arm[len(shape) :]])
                    ),
                )
                for score, arm_scores in scores.items()
            ],
        )
    for row in rows("optimiser", "curves"):
        if row["KL"] and int(float(row["step"])) in (8000, 40000, 72000, 104000, 136000, 168000):
            print(
                f"{row['arm']}, {int(float(row['step'])):,} steps: KL {float(row['KL']):.1e}, clip share {float(row['clip share']):.3f}"
            )


def lambdas():
    """E8: runs of Acrobot that learned nothing."""
    arms = [f"{shape} gae_lambda={x}" for shape in ("8x128", "8x256") for x in ("0.99", "1")]
    last = [x for arm in arms for x in runs("lambda", "evaluation")["Acrobot-v1", arm]]
    print(
        f"Acrobot, lambda 0.99 and 1, 8x128 and 8x256: {sum(x <= -480 for x in last)} of {len(last)} runs at -480 or below"
    )


SECTIONS = {
    f.__name__: f
    for f in (
        ladder,
        aggregate,
        slopes,
        clock,
        short_rollouts,
        n_or_t,
        trend,
        health,
        encoders,
        rate,
        optimiser,
        lambdas,
    )
}
for name in sys.argv[1:] or SECTIONS:
    print(f"\n== {name}: {SECTIONS[name].__doc__.splitlines()[0]}")
    SECTIONS[name]()
