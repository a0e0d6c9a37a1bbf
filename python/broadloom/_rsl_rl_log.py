"""The files of RSL-RL's logger that do not hold the learner's numbers."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import numpy as np

from ._arrays import numpy_of


class StepLog:
    """Means, over an iteration's steps, of what the environments log beside their rewards, as
    RSL-RL's logger takes them. They go to environment.jsonl of the run's folder, for sinks, and
    to TensorBoard's events of log_dir, where RSL-RL has them."""

    FILE = "environment.jsonl"

    def __init__(self, num_envs, num_steps, events_dir):
        self.num_envs, self.num_steps, self.events_dir = num_envs, num_steps, events_dir
        self.run_dir = self.events = None

    def begin(self, run_dir, global_step, iteration):
        self.run_dir, self.global_step = pathlib.Path(run_dir), global_step
        self.iteration, self.steps = iteration, []

    def __call__(self, logged):
        self.steps.append(logged)
        if len(self.steps) < self.num_steps:
            return
        self.global_step += self.num_envs * self.num_steps
        keys = dict.fromkeys(key for step in self.steps for key in step)
        means = {name_of(key): mean_of(self.steps, key) for key in keys}
        means = {name: mean for name, mean in means.items() if mean is not None}
        self.steps = []
        if means:
            self.write(means)
        self.iteration += 1

    def write(self, means):
        line = json.dumps({"global_step": self.global_step, **means})
        with open(self.run_dir / self.FILE, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        if self.events_dir is not None and self.events is None:
            self.events = event_writer(self.events_dir)
        if self.events:
            for name, mean in means.items():
                self.events.add_scalar(name, mean, self.iteration)

    def end(self):
        if self.events:
            self.events.close()
        self.events = None


def name_of(key):
    """RSL-RL's name of a logged number, which is no name of Broadloom's own numbers."""
    return key if "/" in key else f"Episode/{key}"


def mean_of(steps, key):
    """The mean of all numbers of this name; None if it is none."""
    try:
        values = [np.ravel(numpy_of(step[key])) for step in steps if key in step]
        mean = float(np.concatenate(values).mean(dtype=np.float64))
    except (TypeError, ValueError):  # texts and objects
        return None
    return mean if np.isfinite(mean) else None


def event_writer(folder):
    """A writer of TensorBoard's events; False without the package tensorboard."""
    try:
        from tensorboard.summary import Writer
    except ImportError:
        return False
    return Writer(os.fspath(folder))


def write_states_of_code(repositories, log_dir):
    """Writes each repository's revision, and what is not committed, to log_dir/git."""
    if log_dir is None:
        return
    for path in repositories:
        folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        texts = []
        for words in (["rev-parse", "HEAD"], ["status", "--short"], ["diff", "HEAD"]):
            done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)
            texts.append(done.stdout or done.stderr)
        name = os.path.basename(os.path.normpath(folder))
        target = log_dir / "git" / f"{name}.diff"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(texts))
