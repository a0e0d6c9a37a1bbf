"""Steps a second of MuJoCo's tasks: Broadloom, a plain loop in C over the same library, and
EnvPool, taken in turn.

usage: compare.py BROADLOOM PACKAGES [--python PYTHON_WITH_ENVPOOL] [--rounds 5] [--threads 1]
[--seconds 2] [--num_envs 64 2048]
PACKAGES: the folder with the packages mujoco and gymnasium. Actions are random, resets are the
task's. Rates are per second of CPU time (user and system), so other load on the machine matters
little. Medians are over the rounds; ratios are taken within a round."""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
# Model, physics steps, range of heights within an episode, noise of resets, rough steps per second
# of one core.
TASKS = {
    "Hopper-v5": ("hopper.xml", 4, 0.7, 1e9, 5e-3, 7000),
    "HalfCheetah-v5": ("half_cheetah.xml", 5, -1e9, 1e9, 0.1, 15000),
    "Ant-v5": ("ant.xml", 5, 0.2, 1.0, 0.1, 2500),
    "Humanoid-v5": ("humanoid.xml", 5, 1.0, 2.0, 1e-2, 2000),
}
ENVPOOL = """
import sys, time, resource, numpy, envpool
env_id, n, steps, threads = sys.argv[1], *map(int, sys.argv[2:])
env = envpool.make_gymnasium(env_id, num_envs=n, num_threads=threads, seed=1)
low, high = env.action_space.low, env.action_space.high
rows = numpy.random.default_rng(1).uniform(low, high, (257, n, *low.shape)).astype(low.dtype)
env.reset()
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before = used()
for t in range(steps):
    env.step(rows[t % 257])
print(n * steps / (used() - before))
"""


def cpu_rate(words, steps, **more):
    """Steps over the processor time of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, capture_output=True, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return steps / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("broadloom")
    parser.add_argument("packages")
    parser.add_argument("--python", help="with envpool; left out: EnvPool is not measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--num_envs", type=int, nargs="+", default=[64, 2048])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    asked = parser.parse_args()
    packages = pathlib.Path(asked.packages).resolve()
    os.environ["BROADLOOM_MUJOCO"] = str(packages)
    with tempfile.TemporaryDirectory() as folder:
        loop = pathlib.Path(folder) / "plain_loop"
        library = packages / "mujoco" / "libmujoco.so.4.0.0"
        subprocess.run(
            [
                "cc",
                "-O3",
                "-std=gnu11",
                HERE / "plain_loop.c",
                f"-I{packages / 'mujoco' / 'include'}",
                library,
                f"-Wl,-rpath,{library.parent}",
                "-lpthread",
                "-lm",
                "-o",
                loop,
            ],
            check=True,
        )
        print(
            f"{'task':16} {'N':>5}  {'plain loop':>10} {'Broadloom':>10} {'EnvPool':>10}   of the "
            f"loop   of EnvPool   (steps a second of processor time, medians of {asked.rounds})"
        )
        for task in asked.tasks:
            model, skip, low, high, noise, rate = TASKS[task]
            for count in asked.num_envs:
                steps = max(16, int(rate * asked.seconds / count))
                rates = {"loop": [], "broadloom": [], "envpool": []}
                for _ in range(asked.rounds):
                    words = [
                        loop,
                        packages / "gymnasium/envs/mujoco/assets" / model,
                        skip,
                        low,
                        high,
                        noise,
                        count,
                        steps,
                        asked.threads,
                    ]
                    rates["loop"].append(cpu_rate([str(word) for word in words], count * steps))
                    rates["broadloom"].append(
                        cpu_rate(
                            [
                                asked.broadloom,
                                "env",
                                "bench",
                                task,
                                "--num_envs",
                                str(count),
                                "--num_steps",
                                str(steps),
                                "--threads",
                                str(asked.threads),
                            ],
                            count * steps,
                        )
                    )
                    if asked.python:
                        out = subprocess.run(
                            [
                                asked.python,
                                "-c",
                                ENVPOOL,
                                task,
                                str(count),
                                str(steps),
                                str(asked.threads),
                            ],
                            check=True,
                            capture_output=True,
                            text=True,
                        )
                        rates["envpool"].append(float(out.stdout.split()[-1]))
                ratio = lambda other: (
                    statistics.median(a / b for a, b in zip(rates["broadloom"], rates[other]))
                    if rates[other]
                    else float("nan")
                )  # noqa: E731
                middle = {
                    name: statistics.median(values) if values else float("nan")
                    for name, values in rates.items()
                }
                print(
                    f"{task:16} {count:5}  {middle['loop']:10.0f} {middle['broadloom']:10.0f} "
                    f"{middle['envpool']:10.0f}   {ratio('loop'):11.3f}   {ratio('envpool'):10.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
