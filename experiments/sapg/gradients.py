#!/usr/bin/env python3
"""Bias and variance of the leader's policy gradient, with a follower's relabelled samples and
without: gradients.py RUNS RESULTS

It plays checkpoints of SAPG runs in simulators of its own and computes gradients by hand, so it
also checks the program's formulas by other means. Needs numpy and safetensors.
"""

import csv
import json
import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait would only spin

import numpy as np  # noqa: E402
from safetensors import safe_open  # noqa: E402

TASKS = ("CartPole-v1", "Pendulum-v1")
SEEDS = (201, 202)
BLOCKS, ENVS, STEPS = 128, 4, 128
LAMBDA = 0.95


class CartPole:
    """Gymnasium's CartPole-v1."""

    limit, boxed = 500, False

    def reset(self, count, rng):
        return rng.uniform(-0.05, 0.05, (count, 4))

    def observe(self, state):
        return state

    def step(self, state, action):
        x, speed, angle, turn = state.T
        force = np.where(action > 0.5, 10.0, -10.0)
        sine, cosine = np.sin(angle), np.cos(angle)
        pushed = (force + 0.05 * turn**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pull = pushed - 0.05 * turning * cosine / 1.1
        state = np.stack(
            [x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turn, turn + 0.02 * turning], 1
        )
        over = (np.abs(state[:, 0]) > 2.4) | (np.abs(state[:, 2]) > 12 * 2 * np.pi / 360)
        return state, np.ones(len(state)), over


class Pendulum:
    """Gymnasium's Pendulum-v1."""

    limit, boxed = 200, True

    def reset(self, count, rng):
        return np.stack([rng.uniform(-np.pi, np.pi, count), rng.uniform(-1, 1, count)], 1)

    def observe(self, state):
        return np.stack([np.cos(state[:, 0]), np.sin(state[:, 0]), state[:, 1]], 1)

    def step(self, state, action):
        theta, speed = state.T
        torque = np.clip(action, -2, 2)
        angle = (theta + np.pi) % (2 * np.pi) - np.pi
        cost = angle**2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = np.clip(speed + (15 * np.sin(theta) + 3 * torque) * 0.05, -8, 8)
        return np.stack([theta + speed * 0.05, speed], 1), -cost, np.zeros(len(state), bool)


class Body:
    """Layers of one side: vectors of the policies, two hidden layers, a head."""

    def __init__(self, take, seen, policies, vector, widths, outputs):
        self.vectors = take(policies, vector) + take(vector)
        self.layers = []
        size = seen + vector
        for width in widths:
            self.layers.append((take(size, width), take(width)))
            size = width
        self.head = (take(outputs, size), take(outputs))

    def forward(self, x, policy):
        vector = self.vectors[policy]
        beside = np.broadcast_to(vector, (*x.shape[:-1], len(vector)))
        kept = [np.concatenate([x, beside], -1)]
        for weight, bias in self.layers:
            kept.append(np.tanh(kept[-1] @ weight + bias))
        return kept[-1] @ self.head[0].T + self.head[1], kept

    def gradient(self, kept, delta, policy):
        """The derivative for all that the policy uses, block by block: [blocks, rows, ...]."""
        parts = [np.einsum("bro,bri->boi", delta, kept[-1], optimize=True), delta.sum(1)]
        below = delta @ self.head[0]
        for (weight, _), x, y in zip(self.layers[::-1], kept[-2::-1], kept[:0:-1], strict=True):
            below = below * (1 - y * y)
            parts += [np.matmul(x.transpose(0, 2, 1), below), below.sum(1)]
            below = below @ weight.T
        parts.append(below[..., -self.vectors.shape[1] :].sum(1))
        return np.concatenate([part.reshape(len(delta), -1) for part in parts], 1)


class Agent:
    def __init__(self, file):
        with safe_open(file, "np") as data:
            meta = data.metadata()
            params = data.get_tensor("learner.params").astype(float)
            read = {key: data.get_tensor(key) for key in data.keys() if "normalizer" in key}
        self.config = {key[7:]: value for key, value in meta.items() if key.startswith("config.")}
        self.env = {"CartPole-v1": CartPole, "Pendulum-v1": Pendulum}[self.config["env_id"]]()
        self.policies = int(self.config["sapg_policies"])
        self.read = read
        place = 0

        def take(*shape):
            nonlocal place
            count = int(np.prod(shape))
            place += count
            return params[place - count : place].reshape(shape)

        widths = [int(width) for width in self.config["hidden_sizes"].split(",")]
        seen, vector = (3 if self.env.boxed else 4), int(self.config["sapg_vector_size"])
        self.actor = Body(take, seen, self.policies, vector, widths, 1 if self.env.boxed else 2)
        self.critic = Body(take, seen, self.policies, vector, widths, 1)
        self.log_std = take(self.policies, 1) if self.env.boxed else None
        assert place == len(params), (place, len(params))
        self.gamma = float(self.config["gamma"])
        self.clip = float(self.config["clip_coef"])

    def see(self, observations):
        if self.config["norm_obs"] != "true":
            return observations
        mean, var = (self.read[f"obs_normalizer.{name}"] for name in ("mean", "var"))
        limit = float(self.config["clip_obs"]) or np.inf
        eps = float(self.config["obs_eps"])
        return np.clip((observations - mean) / np.sqrt(var + eps), -limit, limit)

    def scaled(self, rewards):
        if self.config["norm_reward"] != "true":
            return rewards
        limit = float(self.config["clip_reward"]) or np.inf
        return np.clip(rewards / np.sqrt(self.read["reward_normalizer.var"][0]), -limit, limit)

    def value(self, x, policy):
        return self.critic.forward(x, policy)[0][..., 0]

    def log_prob(self, outputs, actions, policy):
        if self.env.boxed:
            std = np.exp(self.log_std[policy, 0])
            return -0.5 * ((actions - outputs[..., 0]) / std) ** 2 - np.log(std)
        shifted = outputs - outputs.max(-1, keepdims=True)
        norm = np.log(np.exp(shifted).sum(-1))
        return np.take_along_axis(shifted, actions[..., None].astype(int), -1)[..., 0] - norm

    def draw(self, outputs, policy, rng):
        if self.env.boxed:
            return outputs[:, 0] + np.exp(self.log_std[policy, 0]) * rng.normal(size=len(outputs))
        chance = 1 / (1 + np.exp(outputs[:, 0] - outputs[:, 1]))
        return (rng.random(len(outputs)) < chance).astype(float)

    def policy_gradient(self, x, actions, weights, policy):
        """The mean over a block's rows of weight * grad log pi(action)."""
        outputs, kept = self.actor.forward(x, policy)
        rows = x.shape[1]
        if self.env.boxed:
            std = np.exp(self.log_std[policy, 0])
            z = (actions - outputs[..., 0]) / std
            delta = (weights * z / std)[..., None]
            deviations = (weights * (z * z - 1)).sum(1)[:, None]
        else:
            chances = np.exp(outputs - outputs.max(-1, keepdims=True))
            chances /= chances.sum(-1, keepdims=True)
            chosen = np.arange(2) == actions[..., None]
            delta = weights[..., None] * (chosen - chances)
            deviations = np.zeros((len(x), 0))
        return np.concatenate([self.actor.gradient(kept, delta, policy), deviations], 1) / rows


def play(agent, policy, rng):
    """Blocks of a policy in its long run: arrays [steps, environments]."""
    env, count = agent.env, BLOCKS * ENVS
    state, age = env.reset(count, rng), rng.integers(0, env.limit, count)
    out = {key: [] for key in ("x", "action", "reward", "over", "cut", "next")}
    for t in range(env.limit + STEPS):
        x = agent.see(env.observe(state))
        action = agent.draw(agent.actor.forward(x, policy)[0], policy, rng)
        state, reward, over = env.step(state, action)
        age = age + 1
        cut = (age >= env.limit) & ~over
        if t >= env.limit:
            step = (x, action, agent.scaled(reward), over, cut, agent.see(env.observe(state)))
            for key, value in zip(out, step, strict=True):
                out[key].append(value)
        ended = over | cut
        state = np.where(ended[:, None], env.reset(count, rng), state)
        age = np.where(ended, 0, age)
    return {key: np.array(value) for key, value in out.items()}


def advantages(agent, block, policy, decay):
    """Advantages of lambda = decay by a policy's values. `next` holds final observations, too."""
    values, after = agent.value(block["x"], policy), agent.value(block["next"], policy)
    errors = block["reward"] + agent.gamma * after * ~block["over"] - values
    out, last = np.zeros_like(errors), 0.0
    for t in reversed(range(len(errors))):
        last = errors[t] + agent.gamma * decay * last * ~(block["over"][t] | block["cut"][t])
        out[t] = last
    return out


def by_block(numbers):
    """[steps, environments, ...] to [blocks, rows, ...]."""
    numbers = numbers.reshape(STEPS, BLOCKS, ENVS, *numbers.shape[2:])
    return np.moveaxis(numbers, 0, 2).reshape(BLOCKS, ENVS * STEPS, *numbers.shape[3:])


def gradients(agent, block, policy, decay, clip=None):
    """[blocks, parameters]. clip: None for the policy's own samples; else they are relabelled."""
    leader = agent.policies - 1
    weights = advantages(agent, block, leader, decay)
    if clip is not None:
        new = agent.log_prob(agent.actor.forward(block["x"], leader)[0], block["action"], leader)
        old = agent.log_prob(agent.actor.forward(block["x"], policy)[0], block["action"], policy)
        ratio = np.exp(new - old)
        high, low = ratio > 1 + agent.clip, ratio < 1 - agent.clip
        limited = (weights > 0) & high | (weights < 0) & low
        # At the first step the paper's range is around the ratio itself.
        weights = weights * ratio * (~limited if clip == "code" else 1.0)
    parts = (block["x"], block["action"], weights)
    return agent.policy_gradient(*map(by_block, parts), leader)


def moments(sample):
    """Mean, and the unbiased trace of the covariance."""
    return sample.mean(0), sample.var(0, ddof=1).sum()


def measure(file, rng):
    agent = Agent(file)
    leader = agent.policies - 1
    own = gradients(agent, play(agent, leader, rng), leader, LAMBDA)
    truth, spread = moments(own)
    size = truth @ truth - spread / BLOCKS  # of the true mean, without bias
    blocks = [play(agent, follower, rng) for follower in range(leader)]
    for clip in ("code", "paper"):
        others = [gradients(agent, block, k, 0.0, clip) for k, block in enumerate(blocks)]
        found = [moments(other) for other in others]
        mean = np.mean([one for one, _ in found], 0)
        # The follower is drawn anew: its gradient varies in a follower and between them.
        inner = np.mean([v for _, v in found])
        between = np.mean([(one - mean) @ (one - mean) for one, _ in found])
        between -= inner / BLOCKS * (1 - 1 / leader)
        noise = (spread + inner / leader) / BLOCKS
        bias = max(0.0, (mean - truth) @ (mean - truth) - noise)
        length = mean @ mean - inner / leader / BLOCKS
        yield {
            "clip": clip,
            "variance alone": spread,
            "variance relabelled": (spread + inner + max(0.0, between)) / 4,
            "bias squared": bias / 4,
            "variance plain": spread / 4,
            "gradient squared": size,
            "cosine": (truth @ mean) / np.sqrt(max(size, 1e-300) * max(length, 1e-300)),
        }


def checkpoint(files, percent):
    """The checkpoint nearest to a share of the run. The untrained one is in the folder, too."""
    by_iteration = {int(file.stem.rpartition("_")[2]): file for file in files}
    wanted = max(by_iteration) * percent / 100
    return by_iteration[min(by_iteration, key=lambda iteration: abs(iteration - wanted))]


def main():
    runs, results = map(pathlib.Path, sys.argv[1:])
    kept = []
    for task in TASKS:
        for seed in SEEDS:
            files = list((runs / f"{task}.{seed}" / "checkpoints").glob("*.safetensors"))
            for part in (25, 50, 100):
                rng = np.random.default_rng([seed, part])
                for found in measure(checkpoint(files, part), rng):
                    kept.append({"task": task, "seed": seed, "percent": part, **found})
                    print(json.dumps(kept[-1]))
    with (results / "gradients.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(kept[0]), lineterminator="\n")
        out.writeheader()
        for row in kept:
            out.writerow({key: f"{x:.5g}" if isinstance(x, float) else x for key, x in row.items()})


if __name__ == "__main__":
    main()
