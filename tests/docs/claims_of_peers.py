"""Opening sentences of the pages that compare Broadloom with other libraries.

claims_test.py compares them with the pages.
"""

import math
import re
import statistics

from kept_files import ROOT, holds, row, rows

THRESHOLD = "bench/peers/THRESHOLD.md"


def significant(number):
    """Two digits; "never" where at least half of the runs were not there."""
    if not math.isfinite(number):
        return "never"
    return f"{number:,.{max(0, 1 - math.floor(math.log10(number)))}f}"


FIRST_SEED = 101  # trainings take a task's advices in turn (to_threshold/contenders.py)


def threshold_cells():
    """{task: {who: (reached, seconds, low, high, steps, seconds with advice or compilation)}}"""
    folder = "bench/peers/threshold/"
    text = (ROOT / folder / "threshold.md").read_text(encoding="utf-8")
    advice = {}
    for task, seconds in re.findall(r"- advice for (\S+) took (\d+) s", text):
        advice.setdefault(task, []).append(float(seconds))
    found = {}
    for one in rows(folder + "threshold_cells.csv"):
        task, who = one["task"], one["contender"]
        steps, ready = [], []
        for run in rows(folder + "threshold_runs.csv", task=task, contender=who):
            before = float(one["compile seconds"])
            if who.endswith("advised"):
                before = advice[task][(int(run["seed"]) - FIRST_SEED) % len(advice[task])]
            reached = run["reached"] == "1"
            steps.append(float(run["steps"]) if reached else math.inf)
            ready.append(float(run["seconds"]) + before if reached else math.inf)
        seconds, low, high = (
            float(one[key] or "inf") for key in ("seconds", "seconds low", "seconds high")
        )
        found.setdefault(task, {})[who] = (
            f"{one['reached']} of {one['runs']}",
            *(seconds, low, high, statistics.median(steps), statistics.median(ready)),
        )
    return found


def threshold_table():
    """Lines of the page's table; the least of each task is bold."""
    for task, contenders in threshold_cells().items():
        least = [min(cell[place] for cell in contenders.values()) for place in (1, 4, 5)]
        for who, (reached, seconds, low, high, steps, ready) in contenders.items():
            words = []
            for number, best, written in (
                (seconds, least[0], significant(seconds)),
                (steps, least[1], f"{steps:,.0f}"),
                (ready, least[2], significant(ready)),
            ):
                words.append(f"**{written}**" if number == best else written)
            if math.isfinite(seconds):
                words[0] += f" [{significant(low)}, {significant(high)}]"
            else:
                words = ["not reached", "", ""]
            yield "| " + " | ".join([task, who, reached, *words]) + " |"


def threshold_defaults():
    first, behind = 0, []
    for task, contenders in threshold_cells().items():
        peers = {who: cell for who, cell in contenders.items() if not who.startswith("Broadloom")}
        ours = contenders["Broadloom, defaults"]
        sooner = [who for who, cell in peers.items() if cell[5] < ours[5]]
        first += not sooner
        behind += [(task, who) for who in sooner]
    holds(first == 3 and behind == [("Pendulum-v1", "RLtools, zoo of 2025")], behind)
    return (
        "In the median, Broadloom's defaults are at the threshold before every peer on three of "
        "four tasks; on Pendulum RLtools' settings of 2025 are sooner."
    )


def threshold_advised():
    advice = []
    for contenders in threshold_cells().values():
        advised, sb3 = contenders["Broadloom, advised"], contenders["SB3, RL Zoo's settings"]
        holds(all(advised[1] <= cell[1] for cell in contenders.values()), contenders)
        holds(sb3[5] < advised[5], contenders)
        advice.append(advised[5] - advised[1])
    return (
        f"Advice shortens the median training on all four tasks, but takes {min(advice):.0f} "
        f"to {max(advice):.0f} seconds once. With these counted, SB3 is sooner on all four."
    )


def threshold_same_settings():
    times = {
        one["task"]: one
        for one in rows("bench/peers/threshold/threshold_cells.csv", contender="SB3, advised")
    }
    holds(len(times) == 4, times)
    tasks = times.pop("CartPole-v1"), times.pop("Acrobot-v1")
    (both,) = {f"{float(one['over advised']):.0f}" for one in tasks}
    holds(all(float(one["over advised low"]) > 20 for one in tasks), tasks)
    holds(all(float(one["over advised low"]) < 20 for one in times.values()), times)
    return (
        f"With the same advised settings SB3 takes {both} times as long as Broadloom in the median "
        "on CartPole and on Acrobot."
    )


def policies():
    """The two tasks without memory have equal networks."""
    measured = "bench/peers/policy_results/policies_cells.csv"
    ratios = []
    for task in ("tic_tac_toe", "dials"):
        cells = rows(measured, task=task)
        ours = [cell for cell in cells if cell["contender"].startswith("Broadloom")]
        (peer,) = [cell for cell in cells if cell not in ours]
        ratios += [float(peer["seconds"]) / float(cell["seconds"]) for cell in ours]
    holds(len(ratios) == 4, ratios)
    kept = rows("bench/peers/policy_results/memory_keys.csv", task="t_maze")
    ours = [line["steps to threshold"] != "" for line in kept if line["keys"] == "lstm"]
    first = [line["steps to threshold"] != "" for line in kept if line["keys"] == "lstm first"]
    peer = row(measured, task="t_maze", contender="RecurrentPPO")
    holds(len(ours) == len(first) == 40 and all(first), first)
    holds(peer["reached"] == peer["seeds"] == "10", peer)
    return (
        f"MaskablePPO and SB3's PPO need {min(ratios):.0f} to {max(ratios):.0f} times Broadloom's "
        f"seconds; on the T-maze our LSTM arrives in {sum(ours)} of {len(ours)} trainings, "
        "RecurrentPPO in all."
    )


def runner():
    """Each row of the file is the mean of the updates since the row before."""
    folder = "bench/peers/runner_results/go1"
    seconds = {}
    for run in ("ours", "rsl_rl"):
        last, sums = 0, [0.0, 0.0]
        for block in rows(folder + ".csv", run=run):
            count, last = int(block["last update"]) - last, int(block["last update"])
            for i, key in enumerate(("seconds", "simulator_seconds")):
                sums[i] += count * float(block[key])
        holds(last == 200, last)
        seconds[run] = [one / last for one in sums]
    hashes = [
        {one["file"]: one["hash"] for one in rows(folder + "_hashes.csv", run=run)}
        for run in ("ours", "ours_again")
    ]
    holds(len(hashes[1]) == 4 and hashes[1].items() <= hashes[0].items(), hashes)
    rates = [f"{1 / all_of_it:.3f}".lstrip("0") for all_of_it, _ in seconds.values()]
    shares = [f"{simulator / all_of_it:.0%}"[:-1] for all_of_it, simulator in seconds.values()]
    return (
        f"On mjlab's CPU device our runner makes {rates[0]} updates per second of one core, "
        f"RSL-RL's {rates[1]}; the simulator takes {shares[0]} and {shares[1]} % of the seconds. "
        "The same seed gave the same bits."
    )


CLAIMS = {
    "bench/peers/POLICIES.md": [policies],
    "bench/peers/RUNNER.md": [runner],
    THRESHOLD: [threshold_defaults, threshold_advised, threshold_same_settings],
}
