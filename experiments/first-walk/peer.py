#!/usr/bin/env python3
"""peer.py EXAMPLE ROBOT [SEED]: trains mjbatch's examples/go1_joystick.py (your copy, as it is) in
slices, on this repository's robot without meshes. Each line of standard input is a command, and
gets one line of JSON:

  train SECONDS    goes on training until that much time has passed, and then to the iteration's end
  physics SECONDS  steps the example's 1,024 worlds with still feet, without its learner
  score EPISODES   its most likely actions on the commands of configs/quadruped_walk.toml

Only two things of the example are replaced: the robot of menagerie, which has meshes, and the
window, which training does not open. Needs mjbatch 0.1.4, mujoco 3.14.0 and torch."""

import importlib.util
import json
import resource
import sys
import time
import types

import mujoco
import numpy as np


def example(path, robot):
    menagerie = types.ModuleType("mujoco_menagerie")
    menagerie.get = lambda _name: types.SimpleNamespace(
        spec=lambda _variant: mujoco.MjSpec.from_file(robot)
    )
    sys.modules["mujoco_menagerie"] = menagerie
    window = types.ModuleType("window")
    window.ARROW = window.Window = window.clock = window.progress = None
    sys.modules["window"] = window
    found = importlib.util.spec_from_file_location("go1_joystick", path)
    module = importlib.util.module_from_spec(found)
    find = mujoco.MjSpec.light  # the theme's light "spotlight" comes with menagerie's scene
    mujoco.MjSpec.light = lambda spec, name: find(spec, name) or spec.worldbody.add_light(name=name)
    found.loader.exec_module(module)
    return module


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Training:
    """train() of the example, an iteration at a time."""

    def __init__(self, module):
        import torch

        self.m, self.torch = module, torch
        torch.manual_seed(module.SEED)
        self.env = module.Go1(module.NUM_ENVS, seed=module.SEED)
        self.actor, self.learner = module.ActorCritic(), module.ActorCritic()
        self.actor.load_state_dict(self.learner.state_dict())
        self.optimiser = torch.optim.Adam(self.learner.parameters(), module.LR, fused=True)
        self.iteration, self.wall, self.used, self.rolling = 0, 0.0, 0.0, 0.0

    def train(self, seconds):
        m, begin, used = self.m, time.perf_counter(), processor()
        while time.perf_counter() - begin < seconds and self.iteration < m.ITERS:
            rate = np.interp(self.iteration, (0, m.LR_TO), (m.LR, m.LR_END))
            self.optimiser.param_groups[0]["lr"] = float(rate)
            start = time.perf_counter()
            batch, stats = m.rollout(self.actor, self.env)
            self.rolling += time.perf_counter() - start
            m.update(self.learner, self.optimiser, batch, *m.gae(batch))
            self.actor.load_state_dict(self.learner.state_dict())
            self.iteration += 1
        self.wall += time.perf_counter() - begin
        self.used += processor() - used
        return {
            "iterations": self.iteration,
            "steps": self.iteration * m.HORIZON * m.NUM_ENVS,
            "wall_s": self.wall,
            "processor_s": self.used,
            "rollout_s": self.rolling,
            "track": float(stats["track"]),
            "turn": float(stats["turn"]),
        }

    def physics(self, seconds):
        m = self.m
        env = m.Go1(m.NUM_ENVS, seed=m.SEED)
        env.ctrl[:] = m.STAND
        begin, used, steps = time.perf_counter(), processor(), 0
        while time.perf_counter() - begin < seconds:
            env.batch.step(nstep=m.DECIMATION)
            steps += m.NUM_ENVS
        return {
            "steps": steps,
            "wall_s": time.perf_counter() - begin,
            "processor_s": processor() - used,
        }

    def score(self, episodes):
        m = self.m
        env = m.Go1(episodes, seed=12345)
        most = np.array([1.0, 0.5, 1.0])
        rng = np.random.default_rng(12345)
        env.command[:] = rng.uniform(-1, 1, (episodes, 3)) * most
        env.until[:] = 1e9
        alive = np.ones(episodes, bool)
        off, turn, lengths = np.zeros(episodes), np.zeros(episodes), np.zeros(episodes)
        for _ in range(m.EPISODE):
            with self.torch.no_grad():
                action = self.actor(self.torch.as_tensor(env.obs()))[0].numpy()
            fell = env.step(action)[2]
            speed = np.linalg.norm(env.vel[:, :2] - env.command[:, :2], axis=1)
            off += alive * speed
            turn += alive * np.abs(env.gyro[:, 2] - env.command[:, 2])
            lengths += alive
            alive &= ~fell
        return {
            "iterations": self.iteration,
            "episodes": episodes,
            "fell": int((~alive).sum()),
            "speed_error": float((off / lengths).mean()),
            "turn_error": float((turn / lengths).mean()),
        }


def main():
    module = example(sys.argv[1], sys.argv[2])
    module.SEED = int(sys.argv[3]) if len(sys.argv) > 3 else module.SEED
    training = Training(module)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        verb, amount = line.split()
        kind = int if verb == "score" else float
        done = getattr(training, verb)(kind(amount))
        print(json.dumps({"what": verb, **done}), flush=True)


if __name__ == "__main__":
    main()
