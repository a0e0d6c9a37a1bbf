"""Opening sentences of the pages about updates: how a run's blocks, samples and gradients are used.

claims_test.py compares them with the pages.
"""

from kept_files import holds, row, rows


def changing_blocks():
    folder = "experiments/changing-blocks/results/"
    pairs = [one for one in rows(folder + "pairs.csv") if one["base"] == "best fixed"]
    holds(len(pairs) == 30 and not any(one["other is"] == "better" for one in pairs), pairs)
    for start in ("0.3", "0.6"):
        where = {"panel": "one", "schedule": f"16x256 to 4x64 at {start}", "score": "area"}
        for seeds in ("all", "new"):
            found = row(folder + "together.csv", seeds=seeds, **where)
            holds(float(found["p"]) < 0.001, found)
            holds(float(found["share ahead of best fixed"]) < 0.22, found)
    for found in rows(folder + "doubled_arms.csv"):
        holds(found["is"] != "better", found)
    return (
        "On five small tasks no changing block was found to learn faster than the best fixed one; "
        "from large to small learned more slowly."
    )


def symmetry():
    file = "experiments/symmetry/results/arms.csv"
    called = {
        task: row(file, task=f"{task}-v1", score="area")
        for task in ("CartPole", "Pendulum", "Acrobot")
    }
    for task in ("CartPole", "Pendulum"):
        holds(called[task]["on is"] == "better", called[task])
        holds(int(called[task]["seeds on is higher"]) == 20, called[task])
    holds(called["Acrobot"]["on is"] == "no difference found", called["Acrobot"])
    areas = [f"{float(called[task][arm]):.0f}" for task in ("CartPole", "Pendulum")
             for arm in ("off", "on")]  # fmt: skip
    return (
        "Mirror images make PPO learn sooner on CartPole (area {} to {}) and Pendulum ({} to {}); "
        "on Acrobot no difference was found.".format(*areas)
    )


def long_budgets():
    pairs = {
        (one["task"], one["other"], int(one["budget"])): one
        for one in rows(
            "experiments/long-budgets/results/pairs.csv", panel="constant", metric="half"
        )
    }
    holds({int(one["seeds"]) for one in pairs.values()} == {8}, pairs)

    def better(task, budget):
        return pairs[task, "64x32", budget]["other is"] == "better"

    late = (1_500_000, 2_000_000, 3_000_000)
    holds(all(better("Acrobot-v1", budget) for budget in late), pairs)
    holds(not better("Acrobot-v1", 1_000_000), pairs)
    holds(better("Pendulum-v1", 3_000_000) and not better("Pendulum-v1", 2_000_000), pairs)
    large = [one for (_, other, _), one in pairs.items() if other == "512x32"]
    holds(len(large) == 27 and all(one["other is"] != "better" for one in large), large)
    games = {
        int(one["budget"]): one["other is"]
        for one in rows(
            "experiments/long-budgets/results/games_pairs.csv",
            metric="half", game="MinAtar/Breakout-v1", other="512x32",
        )
    }  # fmt: skip
    holds(games.pop(500_000) == "no difference found" and len(games) == 6, games)
    holds(set(games.values()) == {"better"} and min(games) == 1_000_000, games)
    return (
        "At constant rates 2,048 samples beat 256 on Acrobot from 1.5 M steps on and on Pendulum "
        "at 3 M. On MinAtar's Breakout 16,384 do, from 1 M on."
    )


def gae_weights():
    pairs = rows("experiments/gae-weights/results/pairs.csv", score="area", **{"lambda": "chosen"})
    pairs = [one for one in pairs if one["task"] != "LunarLander-v3"]
    ways = [one for one in pairs if one["base"].split()[0] == one["other"].split()[0]]
    holds(len(ways) == 12, ways)
    holds(all(one["other is"] == "no difference found" for one in ways), ways)
    for task in ("CartPole-v1", "Pendulum-v1"):
        for way in ("geometric", "normalised"):
            (found,) = (
                one for one in pairs
                if (one["task"], one["base"], one["other"])
                == (task, f"16x64 {way}", f"256x4 {way}")
            )  # fmt: skip
            holds(found["other is"] == "lower", found)
    return (
        "No difference is found between normalised and geometric weights in any of twelve "
        "comparisons. With both, 256x4 learns more slowly than 16x64 on CartPole and Pendulum."
    )


def short(number):
    """Two decimals, without the zero before the point."""
    return f"{number:.2f}".removeprefix("0")


def windows():
    folder = "experiments/windows/results/"
    quarters, singles = [], []
    for task, quarter in (("TMaze-v0", 8), ("CartPole-v1 without velocities", 32)):
        for share in (5, 25):
            where = {"task": task, "share": share, "memory": "gru", "side": "policy"}
            lengths = {int(one["L"]): one for one in rows(folder + "cells.csv", **where)}
            holds(max(lengths) == 4 * quarter, lengths)
            holds(all(one["policies"] == "3" for one in lengths.values()), lengths)
            quarters.append(float(lengths[quarter]["bias"]))
            singles.append(float(lengths[1]["bias"]))
    lost = [one for one in rows(folder + "verdicts.csv", prediction=6) if one["refuted"] != "no"]
    holds(not lost, lost)
    return (
        f"Early in training, windows of T/4 bias a policy's gradient by {short(min(quarters))} to "
        f"{short(max(quarters))} of its norm, single steps by {short(min(singles))} to "
        f"{short(max(singles))}."
    )


def proximal_policy():
    folder = "experiments/proximal-policy/results/"
    lower_by = []
    for task in ("CartPole-v1", "Pendulum-v1"):
        pairs = {one["prediction"]: one for one in rows(folder + "pairs.csv", task=task)}
        calls = {number: one["other is"] for number, one in pairs.items()}
        lower = [calls[number] for number in "12456"]
        holds(lower == ["lower"] * 5 and calls["3"] == "no difference found", calls)
        for block in ("256x64", "4x64"):
            arm = row(folder + "arms.csv", way="proximal", block=block, task=task)
            holds(arm["seeds"] == "6", arm)
        lower_by.append(-float(pairs["2"]["difference"]))
        without = rows(folder + "without_seeds.csv", score="area", task=task, prediction=2)
        holds(len(without) == 7 and {one["other is"] for one in without} == {"lower"}, without)
    last = rows(folder + "without_seeds.csv", score="last", task="CartPole-v1", prediction=2)
    drawn = [one["without"] for one in last if one["other is"] == "hangs on the draws"]
    holds(drawn == ["202", "203", "204", "205"], last)
    return (
        "With a proximal policy 256x64 still learns more slowly than 4x64: its area is {:.0f} "
        "lower on CartPole and {:.0f} lower on Pendulum.".format(*lower_by)
    )


def distillation():
    arms = rows("experiments/distillation/results/arms.csv", score="area")
    calls = [one["student is"] for one in arms if one["arm"] == "ppo"]
    holds(calls == ["none", "none"] and {one["seeds"] for one in arms} == {"10"}, arms)
    return (
        "By area no difference is found between a student that copies a teacher and PPO with equal "
        "steps, on either of two tasks."
    )


def stagger_by_age():
    path = "experiments/stagger-by-age/results/"
    pairs = rows(path + "pairs.csv")
    holds({one["seeds"] for one in pairs} == {"8"})
    ages = {
        (one["robot"], one["block"]): one["other is"]
        for one in pairs
        if (one["base"], one["other"]) == ("by actions", "by age")
    }
    holds(ages["HalfCheetah-v5", "512x4"] == "better", ages)
    others = [ages["Swimmer-v5", block] for block in ("128x16", "512x4")]
    small = rows(path + "small_pairs.csv", score="area")
    holds({one["seeds"] for one in small} == {"8"} and len(small) == 8, small)
    others += [one["by age is"] for one in small]
    holds(others == ["no difference found"] * 10, others)
    return (
        "On HalfCheetah at 512x4 starts by age learn more than by actions, with eight seeds. On "
        "Swimmer and four small tasks no difference between them is found."
    )


def sapg():
    folder = "experiments/sapg/results/"
    areas = []
    for task in ("CartPole-v1", "Pendulum-v1"):
        where = {"task": task, "score": "area"}
        pairs = rows(folder + "pairs.csv", **where)
        calls = {(one["arm"], one["against"]): one["is"] for one in pairs}
        holds(calls.pop(("code", "ppo")) == "lower", calls)
        holds(list(calls.values()) == ["no difference found"] * 2, calls)
        arms = [row(folder + "areas.csv", arm=arm, **where) for arm in ("code", "ppo")]
        holds({arm["seeds"] for arm in arms} == {"10"}, arms)
        areas += [f"{float(arm['area']):.0f}" for arm in arms]
    last = {
        (one["task"], one["rate"]): one["is"]
        for one in rows(folder + "rates.csv", score="last", arm="code", against="ppo")
    }
    holds(last["CartPole-v1", "cross-fitted"] == "hangs on the draws", last)
    on_pendulum = [last["Pendulum-v1", rate] for rate in (".001", ".003", "cross-fitted")]
    holds(on_pendulum == ["lower", *["no difference found"] * 2], last)
    return (
        "SAPG's leader learns more slowly than PPO with equal environment steps: area {} beside {} "
        "on CartPole, {} beside {} on Pendulum.".format(*areas)
    )


ENDS = ("", " low", " high")


def pqn_gain():
    folder = "experiments/pqn-gain/results/"
    where = {"loss": "policy", "lambda": 0.95}
    cells = rows(folder + "signals.csv", **where)
    holds({one["policies"] for one in cells} == {"5"} and len(cells) == 8, cells)
    for task, agreements in (("CartPole-v1", "2"), ("MinAtar/Breakout-v1", "0")):
        found = {one["of agreement"] for one in cells if one["task"] == task}
        holds(found == {agreements}, cells)
    signals = [
        sum(int(one["of signal"]) for one in rows(folder + "signals.csv", shape="1x1024", **cell))
        for cell in (where, {**where, "lambda": 0.65})
    ]
    holds(signals == [4, 6], signals)
    judged = [(one["prediction"], one["refuted"]) for one in rows(folder + "early_verdicts.csv")]
    holds({number for number, refuted in judged if refuted == "yes"} == {"7", "8"}, judged)
    ratios = []
    for task in ("CartPole-v1", "MinAtar/Breakout-v1"):
        where = {"task": task, "lambda": 0.95}
        for number in ("gain in signal", "gain in agreement"):
            pair = row(folder + "early_pairs.csv", number=number, **where)
            if number == "gain in signal":
                ends = (short(float(pair[f"td beside policy{end}"])) for end in ENDS)
                ratios.append("{} [{}, {}]".format(*ends))
            else:
                holds(float(pair["td high"]) < 0 and float(pair["policy low"]) < 0.0, pair)
    return (
        "Not settled. On CartPole width gains PQN's signal to noise less than PPO's early in "
        f"training ({ratios[0]} times). On Breakout no difference is shown ({ratios[1]})."
    )


def trainer_details():
    folder = "experiments/trainer-details/results/"
    changes = [
        row(folder + "area_effects.csv", **{"task": "Hopper-v5", "from": end, "detail": "rewards"})
        for end in ("CleanRL", "RSL-RL")
    ]
    holds([one["call"] for one in changes] == ["worse", "better"], changes)
    base = row(folder + "area_arms.csv", task="Hopper-v5", arm="cleanrl")
    holds(base["seeds"] == "7", base)
    lost, gained = (abs(float(one["change"])) for one in changes)
    return (
        "On Hopper normalised rewards matter from either end: without them CleanRL's choices lose "
        f"{lost:.0f} of {float(base['mean']):.0f} of area, with them RSL-RL's gain {gained:.0f}."
    )


def atari():
    folder = "experiments/atari/results/"
    gains = []
    for game in ("Breakout", "Pong", "Boxing"):
        where = {"game": game, "number": "return"}
        long = row(folder + "table.csv", block="8x128", **where)
        wide = row(folder + "table.csv", block="128x8", **where)
        holds(float(long["least"]) > float(wide["most"]), (long, wide))
        holds(long["seeds"] == wide["seeds"] == "2", (long, wide))
        gain = f"{float(long['mean']) - float(wide['mean']):.1f}"
        gains.append(gain.removeprefix("0") if float(gain) < 1 else gain)
    judged = [(one["prediction"], one["refuted"]) for one in rows(folder + "verdicts.csv")]
    fell = [number for number, refuted in judged if refuted == "yes"]
    holds(fell == ["1", "2", "3", "5"], judged)
    return (
        "Not early: after 307,200 steps 8x128 returns more than 128x8 on Breakout, Pong and "
        "Boxing, by {}, {} and {} (two seeds).".format(*gains)
    )


CLAIMS = {
    "experiments/atari/README.md": [atari],
    "experiments/distillation/README.md": [distillation],
    "experiments/changing-blocks/README.md": [changing_blocks],
    "experiments/symmetry/README.md": [symmetry],
    "experiments/long-budgets/README.md": [long_budgets],
    "experiments/gae-weights/README.md": [gae_weights],
    "experiments/windows/README.md": [windows],
    "experiments/proximal-policy/README.md": [proximal_policy],
    "experiments/sapg/README.md": [sapg],
    "experiments/stagger-by-age/README.md": [stagger_by_age],
    "experiments/trainer-details/README.md": [trainer_details],
    "experiments/pqn-gain/README.md": [pqn_gain],
}
