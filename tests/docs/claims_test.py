"""Bold sentences of the experiments' pages: at most 30 words each, and true to the kept data.

Each page opens with a bold answer. CLAIMS has a function for each, which writes the answer anew
from the kept files; its numbers come from them, and it asserts the words that are no numbers.
Tables of the surface are compared with the files by its own script.
"""

import itertools
import re
import statistics
import subprocess
import sys
import tomllib
import unittest

import claims_of_peers
import claims_of_updates
from claims_of_peers import THRESHOLD
from kept_files import ROOT, holds, per_cent, row, rows, text_of, value

MOST_WORDS = 30
PAGES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob("experiments/**/*.md")
) + [THRESHOLD]  # fmt: skip


def bold_in(text):
    """Bold passages outside of tables, each on one line."""
    prose = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("|"))
    for paragraph in re.split(r"\n\s*\n", prose):
        for found in re.finditer(r"\*\*(.+?)\*\*", paragraph, flags=re.DOTALL):
            yield " ".join(found[1].split())


def sentences(passage):
    return re.split(r"(?<=[.:?!]) (?=[A-Z])", passage)


def answers(page):
    """Bold passages before the page's first section or figure."""
    return list(bold_in(re.split(r"^(?:##|!\[)", text_of(page), maxsplit=1, flags=re.MULTILINE)[0]))


def index():
    surface = "experiments/surface/results/"
    pairs = [pair for pair in rows(surface + "fair_pairs.csv", panel="one")]
    large = [pair["call"] for pair in pairs if pair["larger size"] == "16384"]
    holds(large == ["better"] * 5, large)
    like = [pair["call"] for pair in pairs if pair["larger size"] == "1024"]
    holds(sum(call == "better" for call in like) <= 2, like)
    lower = rows(surface + "fair.csv", panel="one", shape="4x64", call="lower")
    holds(len(lower) <= 1, lower)
    return (
        "Start with 256 to 1,024 samples, such as 4x64, and tune the learning rate for that block."
    )


def advice():
    path = "experiments/advice/results/regret.csv"
    race = {one["task"]: float(one["times"]) for one in rows(path, who="race", held_out="yes")}
    holds(len(race) == 5, race)
    gain = [value(path, "times", who="defaults", task=task) / times for task, times in race.items()]
    return (
        f"After a minute of advice, training reaches the threshold {min(gain):.1f} to "
        f"{max(gain):.0f} times as fast as with the defaults, on each of five held-out tasks. "
        "These are means of three answers."
    )


def advice_refit():
    path = "experiments/advice/results/refit.csv"
    ratio = row(path, part="ratio", task="all", who="all rows")
    holds(float(ratio["low"]) < 1 < float(ratio["high"]), ratio)
    time, low, high = (f"{float(ratio[key]):.2f}" for key in ("regret", "low", "high"))
    return (
        "Fitted again on six tasks, a table is not shown to beat today's on the seventh: it takes "
        f"{time} [{low}, {high}] of its time."
    )


def article():
    found = [
        float(one["cosine"])
        for task in ("pendulum", "frozenlake8x8")
        for one in rows(f"experiments/article/results/buffers_{task}.csv", source="difference")
    ]
    holds(max(map(abs, found)) < 0.03, found)
    low, high = (f"{end(found):.3f}".replace("0.", ".") for end in (min, max))
    return (
        "Batches of one buffer agree hardly more than batches of five buffers: mean cosines differ "
        f"by {low} to {high} in {len(found)} cases on two policies."
    )


def batch_shape():
    shapes = ["1x1024", "2x512", "4x256", "8x128", "16x64"]
    for starts in ("synchronised", "staggered"):
        folder = f"experiments/batch-shape/results/ladder_{starts}_"
        pairs = [
            pair
            for pair in rows(folder + "pairs.csv", score="evaluation")
            if pair["a"] in shapes and pair["b"] in shapes
        ]
        holds(len(pairs) == 30 and all(pair["result"] == "none" for pair in pairs), pairs)
        runs = {one["runs"] for one in rows(folder + "cells.csv") if one["arm"] in shapes}
        holds(runs == {"20"}, runs)
        study = tomllib.loads(
            (ROOT / f"experiments/batch-shape/ladder_{starts}.toml").read_text(encoding="utf-8")
        )
        rates = {one["name"]: one.get("learning_rate") for one in study["variants"]}
        given = {"CartPole-v1": None, "Acrobot-v1": None, "Pendulum-v1": 1e-3}
        holds(rates == given and "learning_rate" not in study["base"], rates)
    return (
        "With one learning rate a task, we found no difference between last policies from 1x1024 "
        "to 16x64 on any of three tasks."
    )


def critic():
    refitted = [
        one
        for one in rows("experiments/critic/results/verdicts.csv")
        if "refitted critic: agreement of 1024x1 less that of 1x1024" in one["what"]
    ]
    holds(len(refitted) == 9, refitted)
    holds(all(float(one["value high"]) >= 0 for one in refitted), refitted)
    return (
        "Not settled: with a critic refitted to the policy, gradients of 1024x1 are on average "
        "never shown to be worse than those of 1x1024."
    )


def gradient_ladder():
    best = {}
    for one in rows("experiments/gradient-ladder/results/agreement.csv"):
        side = {one["N"] == "1": "one", one["T"] == "1": "T = 1"}.get(True)
        exact = one["task"].startswith("FrozenLake")
        if side and one["critic"] == ("exact" if exact else "refitted"):
            key = one["task"], one["step"], side
            best[key] = max(best.get(key, -1.0), float(one["agreement"]))
    gain = {
        (task, step): best[task, step, "T = 1"] / best[task, step, "one"]
        for task, step, side in best
        if side == "one"
    }
    lake = [times for (task, _), times in gain.items() if task.startswith("FrozenLake")]
    other = [times for (task, _), times in gain.items() if not task.startswith("FrozenLake")]
    holds(len(lake) == 3 and len(other) == 4 and max(lake) < 1, gain)
    fitted = []
    for task in ("CartPole-v1", "Pendulum-v1"):
        at_best = {
            one["measured"]: float(one["best"])
            for one in rows(
                "experiments/independence/results/shapes.csv", task=task, critic="refitted"
            )
        }
        parts = "experiments/independence/results/parts.csv"
        policies = row(parts, task=task, critic="refitted")["policies"]
        fitted += [f"{at_best['1024x1'] / at_best['1x1024']:.2f}", policies]
        own = row(parts, task=task, critic="own")
        holds(float(own["independence low"]) <= 0, own)
    cartpole, of_cartpole, pendulum, of_pendulum = fitted
    return (
        "On FrozenLake, at each split's best lambda, gradients from T = 1 are no closer to the "
        "true gradient than gradients from one environment. Under fitted critics their mean cosine "
        f"with it is {cartpole} times as large on CartPole ({of_cartpole} policies), and "
        f"{pendulum} on Pendulum ({of_pendulum})."
    )


def independence():
    path = "experiments/independence/results/parts.csv"

    def share(task, critic):
        """Lambda's part of the gain."""
        part = row(path, task=task, critic=critic)
        holds(float(part["gain low"]) > 0 and float(part["lambda low"]) > 0, part)
        return float(part["lambda"]) / float(part["gain"])

    lake = row(path, task="FrozenLake8x8-v1", critic="exact")
    holds(share("FrozenLake8x8-v1", "exact") > 1 and float(lake["independence high"]) < 0, lake)
    others = [share(task, "refitted") for task in ("CartPole-v1", "Pendulum-v1")]
    holds(all(0 < part < 1 for part in others), others)
    for task in ("CartPole-v1", "Pendulum-v1"):
        holds(value(path, "independence low", task=task, critic="refitted") > 0, task)
    own = rows(path, critic="own")
    small = [one for one in own if not one["task"].endswith("-v5")]
    holds(len(small) == 3 and all(float(one["independence low"]) <= 0 for one in small), small)
    for task, critic in (
        ("FrozenLake8x8-v1", "exact"), ("CartPole-v1", "refitted"), ("Pendulum-v1", "refitted"),
    ):  # fmt: skip
        best = value(
            path.replace("parts", "shapes"), "lambda", task=task, critic=critic, measured="1x1024"
        )
        holds(best < 0.95, task, best)
    return (
        "Under a good critic, a lambda below .95 brings one environment to short blocks' agreement "
        "on FrozenLake, and part-way on CartPole and Pendulum."
    )


def minatar():
    path = "experiments/minatar/results/differences.csv"
    gains = {one["arm"]: one for one in rows(path, study="depth_ppo", game="all")}
    most = gains["16 epochs"]
    holds(max(gains.values(), key=lambda one: float(one["value"])) is most, gains)
    middle, low, high = (per_cent(float(most[key])) for key in ("value", "low", "high"))
    holds(most["seeds"] == "5", most)
    return (
        f"More gradient steps help most: PPO's mean return is {middle} % [{low}, {high}] higher "
        "with 16 epochs than with 4 (two games, five seeds)."
    )


def minatar_scores():
    found = [
        one
        for one in rows("experiments/minatar/results/scores.csv")
        if one["algorithm"] in ("PPO", "PQN")
    ]
    holds(len(found) == 8, found)
    holds(all(one["runs"] == "10" for one in found), found)
    holds(all(float(one["low"]) > float(one["gymnax-blines"]) for one in found), found)
    return (
        "Both [predictions](PREREGISTRATION.md#added-later-the-scores-after-ten-million-steps-ten-"
        "seeds) held: over ten seeds the lower ends of the intervals of PPO and PQN lie above "
        "gymnax-blines' scores on all four games."
    )


def minibatches():
    path = "experiments/minibatches/results/"
    pairs = rows(path + "pairs.csv", study="shuffle")
    apart = [pair for pair in pairs if pair["other is"] != "no difference found"]
    (lower,) = apart
    one = {"task": "CartPole-v1", "at": "1x1024", "other is": "lower"}
    holds(len(pairs) == 8 and one.items() <= lower.items(), pairs)
    areas = {}
    for run in rows(path + "runs.csv", study="shuffle", task=one["task"], N=1):
        areas.setdefault(run["rate"], {}).setdefault(run["variant"], []).append(float(run["area"]))
    holds(len(areas) == 3, list(areas))
    for variants in areas.values():
        pairs = list(itertools.product(variants["epoch"], variants["off"]))
        ahead = sum(shuffled > other for shuffled, other in pairs)
        holds(len(pairs) == 64 and ahead > 0.9 * len(pairs), ahead)
    off, epoch = (
        row(path + "arms.csv", study="shuffle", task=one["task"], shape=one["at"], variant=order)
        for order in ("off", "epoch")
    )
    return (
        "With one environment PPO learns CartPole more slowly without shuffling, at each of three "
        f"rates: its area is {float(off['area']):.0f} instead of {float(epoch['area']):.0f}."
    )


def mujoco():
    means = "experiments/mujoco/results/means.csv"

    def reached(task, about="", interval=False):
        found = row(means, task=task, block="1x2048")
        low, high = (f"{float(found[f'training_{end}']):,.0f}" for end in ("low", "high"))
        between = f" [{low}, {high}]" if interval else ""
        cleanrl = f"{float(found['cleanrl']):,.0f}{about}"
        return f"{float(found['training']):,.0f}{between} (CleanRL {cleanrl})"

    apart = [
        one
        for one in rows(
            "experiments/mujoco/results/differences.csv", what="8x256 less 1x2048", runs=5
        )
        if float(one["low"]) > 0 or float(one["high"]) < 0
    ]
    count = len(
        rows("experiments/mujoco/results/differences.csv", runs=5, what="8x256 less 1x2048")
    )
    holds(not apart and count == 8, apart, count)
    whole = row("experiments/mujoco/results/together.csv", score="training", tasks=8)
    holds(float(whole["1x2048 ahead"]) > 0.5, whole)
    p = f"{float(whole['p']):.3f}".removeprefix("0")
    return (
        f"InvertedPendulum reaches {reached('InvertedPendulum')}, HalfCheetah "
        f"{reached('HalfCheetah', interval=True)}, and Humanoid "
        f"{reached('Humanoid', ', on v4')}. On no task alone did we find a difference between "
        f"1x2048 and 8x256; over eight together 1x2048 is ahead in training (p = {p})."
    )


def pqn():
    found = row("experiments/pqn/results/verdicts.csv", task="CartPole-v1")
    table = text_of("experiments/pqn/README.md")
    spread = re.search(rf"\| CartPole-v1 \| {found['published']} ± ([0-9.]+) \|", table)
    return (
        f"Yes: with CleanRL's settings PQN reaches {float(found['training']):.0f} on CartPole, "
        f"where CleanRL publishes {float(found['published']):.0f} ± {float(spread[1]):.0f}."
    )


def quadruped():
    trained = row(
        "experiments/quadruped/results/flat_on_plane.csv", stratum="trained", perturbation="nominal"
    )
    holds(float(trained["success_rate"]) == 1, trained)
    ground = row(
        "experiments/quadruped/results/flat_on_ground.csv", stratum="all", perturbation="all"
    )
    rate, low, high = (
        per_cent(float(ground[key])) for key in ("success_rate", "success_low", "success_high")
    )
    return (
        "Yes. After ten million steps on the plane it follows training's commands in all "
        f"{trained['episodes']} undisturbed held-out episodes. On unseen ground it succeeds "
        f"in {rate} % [{low}, {high}] of {ground['episodes']} episodes."
    )


def first_walk():
    seeds = rows("experiments/first-walk/results/race_2/race_seeds.csv")
    wall = statistics.median(float(one["ours wall_s"]) for one in seeds)
    walked = [one["ours walked"] for one in seeds].count("1")
    holds({one["mjbatch walked"] for one in seeds} == {"0"})
    holds(min(float(one["mjbatch wall_s"]) for one in seeds) >= 160)
    most = max(float(one["ratio"]) for one in seeds)
    holds(walked == len(seeds), walked)
    later = [
        sum(int(one[key]) for one in seeds)
        for key in ("ours that walk of these", "ours from then on")
    ]
    text = " ".join(text_of("experiments/first-walk/README.md").split())
    holds("from there on {} of {} scored policies walk".format(*later) in text, later)
    return (
        f"All {walked} seeds walk after a median of {wall:.0f} s on two cores. None of mjbatch's "
        f"example does within 160 s: at most {f'{most:.2f}'.lstrip('0')} of its time."
    )


def biped():
    path = "experiments/biped/results/"
    early = [
        one["walks"]
        for one in rows(path + "checkpoints.csv", seed="303")
        if 1.5e6 < float(one["steps"]) < 3.5e6
    ]
    holds(early.count("1") == 6 and len(early) == 7, early)
    played = rows(path + "panel.csv", physics="nominal")
    walked = [one["walks"] for one in played].count("1")
    return (
        f"{walked} of {len(played)} seeds of a biped walk after commands, by the quadruped's "
        "recipe and without code of its own."
    )


def rare_rewards():
    path = "experiments/rare-rewards/results/"
    where = {"panel": "one", "algorithm": "ppo", "task": "12 moves"}
    holds(row(path + "arms.csv", N=1024, **where)["solved"] == "0")

    def solved(count):
        runs = rows(path + "runs.csv", N=count, **where)
        rates = {run["rate"] for run in runs}
        return [
            sum(run["rate"] == rate and float(run["last evaluation"]) >= 0.9 for run in runs)
            for rate in sorted(rates, key=float)
        ]

    one, most = solved(1), solved(1024)
    holds(len(one) == 3 and set(most) == {1}, one, most)
    pairs = rows(path + "pairs.csv", panel="one", task="12 moves", a="ppo 1x4096")
    calls = {pair["b"]: pair["b is"] for pair in pairs if "rnd" not in pair["b"]}
    holds(calls == {"ppo 8x512": "none", "ppo 64x64": "none", "ppo 1024x4": "lower"}, calls)
    return (
        "No: in blocks of 4,096 samples, PPO with one environment solves a 12-move corridor in "
        f"{min(one)} to {max(one)} of 10 runs. With 1,024 it does so in {most[0]}, at each of "
        "three rates."
    )


def rnd():
    path = "experiments/rnd/results/solved.csv"
    with_rnd = [row(path, moves=26, arm=f"ppo_rnd, ent_coef {bonus}") for bonus in ("0.01", "0.1")]
    without = [row(path, moves=26, arm=f"ppo, ent_coef {bonus}") for bonus in ("0.01", "0.1")]
    holds({one["solved"] for one in without} == {"0"}, without)
    ((solved, runs),) = {(one["solved"], one["runs"]) for one in with_rnd}
    return (
        "After 500,000 training steps at one rate, RND solves a corridor of 26 moves in "
        f"{solved} of {runs} runs, and PPO in none."
    )


def robot_shapes():
    means = "experiments/robot-shapes/results/means.csv"
    areas = {
        one["shape"]: float(one["value"]) for one in rows(means, task="Hopper", starts="staggered")
    }
    holds(len(areas) == 5 and min(areas, key=areas.get) == "512x4", areas)
    phases = "experiments/robot-shapes/results/phases_means.csv"
    by_actions, in_step, by_age = (
        value(phases, "value", shape="512x4, seeds 16 to 30", starts=starts)
        for starts in ("staggered", "in step", "by age")
    )
    return (
        "On Hopper 512x4 has the smallest area of five shapes. On HalfCheetah staggering by random "
        f"actions costs it {per_cent(1 - by_actions / in_step)} % of its area against starts in "
        f"step, and {per_cent(1 - by_actions / by_age)} % against staggering by age."
    )


def robots_2048():
    folder = "experiments/robots-2048/results"
    verdicts = rows(f"{folder}/verdicts.csv")
    holds(all(one["refuted"] == "no" for one in verdicts if one["prediction"] in "789"), verdicts)
    faults = {one["fault"] for one in rows(f"{folder}/faults.csv")}
    planted = {one.partition("_")[0] for one in faults - {"none"}}
    holds(planted == {"commands", "column", "resets", "families", "panel", "stale"}, planted)
    rerun = (ROOT / folder / "rerun.txt").read_text(encoding="utf-8")
    holds(re.search(r"agrees +result\.state_hash ", rerun), rerun)
    even, mild = (
        per_cent(float(row(f"{folder}/panel.csv", stratum=name, perturbation="as_trained")[key]))
        for name, key in (("even", "success_rate"), ("mild", "success_rate"))
    )
    return (
        f"After 7.9 million steps 2,048 robots walk in {even} % of 80 held-out episodes on even "
        f"ground and {mild} % on mild ground. Its record repeats the run to the bit."
    )


def robots_4096():
    panel = rows("experiments/robots-4096/results/panel.csv", robot="cheetah")
    cells = {(one["stratum"], one["perturbation"]): one for one in panel}
    late = cells["trained", "late"]
    holds(float(cells["trained", "later"]["kept high"]) < 0.01, cells["trained", "later"])
    worlds = [float(cells[world, "nominal"]["kept"]) for world in ("slippery", "heavy", "weak")]
    kept, low, high = (per_cent(float(late[key])) for key in ("kept", "kept low", "kept high"))
    return (
        f"In training's worlds actions 50 ms late leave one HalfCheetah policy {kept} % [{low}, "
        f"{high}] of its held-out return, and 100 ms nothing. Less friction, more mass or weaker "
        f"actuators leave it {per_cent(min(worlds))} to {per_cent(max(worlds))} %."
    )


def seed_families():
    path = "experiments/seed-families/results/cells.csv"

    def loss(strata, families):
        wide, few = (
            value(path, "usual return", task="Pendulum-v1", strata=strata, families=count)
            for count in (512, families)
        )
        return wide - few

    one, eight = (f"{loss('narrow', count):.0f} and {loss('wide', count):.0f}" for count in (1, 8))
    return (
        "Use as many families as environments, the default: one family costs Pendulum "
        f"{one} of return, eight {eight} (narrow and wide strata)."
    )


def surface():
    calls = [
        one["call"]
        for one in rows("experiments/surface/results/fair_pairs.csv", panel="one")
        if one["larger size"] == "16384"
    ]
    holds(calls == ["better"] * 5, calls)
    return (
        "On all five tasks the best shape of 16,384 samples learns more slowly than the best of "
        "256."
    )


def surface_last():
    path = "experiments/surface/results/fair_last.csv"
    calls = {
        chosen_by: {
            one["task"]: one["call"] for one in rows(path, **{"shapes chosen by": chosen_by})
        }
        for chosen_by in ("last", "area", "together")
    }
    holds(all(len(called) == 5 for called in calls.values()), calls)
    holds(all(calls[way]["Pendulum-v1"] == "better" for way in ("last", "area")), calls)
    together = calls["together"].pop("Pendulum-v1"), *calls["together"].values()
    holds(together == ("hangs on the rate", *["none"] * 4), together)
    return (
        "By last policies 16,384 samples are lower on Pendulum, whether area or last policies "
        "choose the shapes."
    )


def worked_run():
    path = "experiments/worked-run/results/"
    panel = row(path + "panel.csv", stratum="all", perturbation="nominal")
    holds(float(panel["success_rate"]) == 1, panel)
    holds(rows(path + "panel.csv", stratum="too_heavy", perturbation="nominal"))
    contract = (ROOT / path / "contract.txt").read_text(encoding="utf-8")
    environments, families = (
        int(re.search(pattern, contract)[1])
        for pattern in (r"\(\d+, (\d+), \d+\)", r"Seed families: (\d+)")
    )
    return (
        f"A policy trained on {environments:,} disturbed pendulums of {families} worlds succeeds "
        f"in all of {int(panel['episodes']):,} undisturbed held-out episodes. Some pendulums were "
        "heavier than in training."
    )


def zoo():
    reachable = (  # a threshold that the reference policy reaches
        "CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 FrozenLake-v1 "
        "FrozenLake8x8-v1"
    ).split()
    small = rows("experiments/zoo/results.csv", source="experiments/zoo")
    aims = [
        one
        for one in small
        if one["threshold"] and float(one["threshold"]) <= float(one["reference"])
    ]
    holds([aim["task"] for aim in aims] == reachable, aims)
    for aim in aims:
        holds(float(aim["seeds_return_low"]) >= float(aim["threshold"]), aim)
        holds(aim["seeds"] == "10", aim)
    most = max(float(aim["cpu_seconds"]) for aim in aims)
    return (
        "Over ten seeds the settings reach the threshold on all six small tasks whose reference "
        f"reaches it, after at most {most:.0f} seconds of one core."
    )


CLAIMS = (
    {
        "experiments/README.md": [index],
        "experiments/advice/README.md": [advice, advice_refit],
        "experiments/zoo/README.md": [zoo],
        "experiments/article/README.md": [article],
        "experiments/batch-shape/README.md": [batch_shape],
        "experiments/critic/README.md": [critic],
        "experiments/biped/README.md": [biped],
        "experiments/first-walk/README.md": [first_walk],
        "experiments/gradient-ladder/README.md": [gradient_ladder],
        "experiments/independence/README.md": [independence],
        "experiments/minatar/README.md": [minatar, minatar_scores],
        "experiments/minibatches/README.md": [minibatches],
        "experiments/mujoco/README.md": [mujoco],
        "experiments/pqn/README.md": [pqn],
        "experiments/quadruped/README.md": [quadruped],
        "experiments/rare-rewards/README.md": [rare_rewards],
        "experiments/rnd/README.md": [rnd],
        "experiments/robot-shapes/README.md": [robot_shapes],
        "experiments/robots-2048/README.md": [robots_2048],
        "experiments/robots-4096/README.md": [robots_4096],
        "experiments/seed-families/README.md": [seed_families],
        "experiments/surface/README.md": [surface, surface_last],
        "experiments/worked-run/README.md": [worked_run],
    }
    | claims_of_updates.CLAIMS
    | claims_of_peers.CLAIMS
)


# Scripts that print what their page says beside the opening sentence, line by line, rows of tables
# among it.
SCRIPTS = [
    "experiments/batch-shape/together.py",
    "experiments/critic/cells.py",
    "experiments/independence/other_orders.py",
    "experiments/minibatches/last.py",
    "experiments/rare-rewards/together.py",
    "experiments/robots-2048/page.py",
    "experiments/sapg/halved.py",
]


class Claims(unittest.TestCase):
    def test_pages_say_first_which_predictions_fell(self):
        for page in PAGES:
            text = text_of(page)
            plan = (ROOT / page).parent / "PREREGISTRATION.md"
            first = re.split(r"^(?:##|!\[)", text, maxsplit=1, flags=re.MULTILINE)[0]
            if page.endswith("README.md") and plan.exists() and re.search(
                r"^\|.*\b(?<!not )refuted\b", text, flags=re.MULTILINE
            ):  # fmt: skip
                with self.subTest(page=page):
                    self.assertRegex(first, r"[Pp]redictions?\b[^.]*\bfell\b|refuted")

    def test_numbers_of_scripts_stand_on_their_pages(self):
        for script in SCRIPTS:
            path = ROOT / script
            page = " ".join((path.parent / "README.md").read_text(encoding="utf-8").split())
            done = subprocess.run(
                [sys.executable, path], capture_output=True, text=True, check=False
            )
            with self.subTest(script=script):
                self.assertEqual(done.returncode, 0, done.stderr)
                for line in done.stdout.splitlines():
                    self.assertIn(line, page)

    def test_bold_sentences_are_short(self):
        for page in PAGES:
            for passage in bold_in(text_of(page)):
                for sentence in sentences(passage):
                    with self.subTest(page=page, sentence=sentence):
                        self.assertLessEqual(len(sentence.split()), MOST_WORDS)

    def test_every_page_opens_with_a_bold_answer_that_is_checked(self):
        for page in PAGES:
            if not page.endswith("README.md") and page != THRESHOLD:
                continue
            with self.subTest(page=page):
                self.assertTrue(answers(page), "the page has no bold answer before its figure")
                checked = [claim() for claim in CLAIMS.get(page, [])]
                for answer in answers(page):
                    self.assertIn(answer, checked)

    def test_claims_are_those_of_the_kept_files(self):
        for page, claims in CLAIMS.items():
            for claim in claims:
                with self.subTest(page=page, claim=claim.__name__):
                    self.assertIn(claim(), list(bold_in(text_of(page))))

    def test_the_table_of_seconds(self):
        lines = text_of(THRESHOLD).splitlines()
        for line in claims_of_peers.threshold_table():
            self.assertIn(line, lines)

    def test_tables_of_the_surface(self):
        folder = ROOT / "experiments/surface"
        pages = [str(folder / name) for name in ("README.md", "DETAILS.md")]
        done = subprocess.run(
            [sys.executable, folder / "quoted.py", folder / "results", *pages],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
