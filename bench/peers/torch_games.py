#!/usr/bin/env python3
"""A plain PyTorch loop of PPO or PQN on MinAtar's own package, once.

Built as the field's single-file scripts are: Gymnasium's SyncVectorEnv steps the games one after
the other, tensors hold the block, minibatches are taken by shuffled indices. Times whole
iterations."""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import torch
from torch import nn

from cases import Game, game
from result import arguments, report

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE = 0.99, 0.95, 0.2, 0.01, 0.5


def games(case: Game) -> gymnasium.vector.VectorEnv:
    import minatar.gym  # registers the games

    if case.env_id not in gymnasium.registry:
        minatar.gym.register_envs()
    return gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make(case.env_id)] * case.num_envs,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )


def body(channels: int, hidden: int, normalises: bool) -> nn.Sequential:
    convolution, dense = nn.Conv2d(channels, 16, 3), nn.Linear(16 * 8 * 8, hidden)
    if normalises:
        first, second = [nn.LayerNorm([16, 8, 8])], [nn.LayerNorm(hidden)]
    else:
        first, second = [], []
    return nn.Sequential(convolution, *first, nn.ReLU(), nn.Flatten(), dense, *second, nn.ReLU())


def as_tensor(observations: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(observations.astype(np.float32)).permute(0, 3, 1, 2)


class Block:
    """T steps of N games, time-major."""

    def __init__(self, case: Game, envs: gymnasium.vector.VectorEnv) -> None:
        height, width, channels = envs.single_observation_space.shape
        shape = (case.num_steps, case.num_envs)
        self.seen = torch.zeros((*shape, channels, height, width))
        self.actions = torch.zeros(shape, dtype=torch.long)
        self.log_probs, self.rewards = torch.zeros(shape), torch.zeros(shape)
        self.ends, self.values = torch.zeros(shape), torch.zeros(shape)


class Ppo:
    def __init__(self, case: Game, channels: int, actions: int) -> None:
        self.case = case
        self.body = body(channels, case.hidden, False)
        self.policy, self.value = nn.Linear(case.hidden, actions), nn.Linear(case.hidden, 1)
        modules = (self.body, self.policy, self.value)
        self.parameters = [weights for module in modules for weights in module.parameters()]
        self.optimiser = torch.optim.Adam(self.parameters, lr=2.5e-4, eps=1e-5)

    def act(self, seen: torch.Tensor, block: Block, t: int) -> torch.Tensor:
        features = self.body(seen)
        chances = torch.distributions.Categorical(logits=self.policy(features))
        action = chances.sample()
        block.log_probs[t] = chances.log_prob(action)
        block.values[t] = self.value(features).flatten()
        return action

    def targets(self, block: Block, last: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        following = self.value(self.body(last)).flatten()
        advantage = torch.zeros_like(following)
        advantages = torch.zeros_like(block.rewards)
        for t in reversed(range(self.case.num_steps)):
            goes_on = 1.0 - block.ends[t]
            delta = block.rewards[t] + GAMMA * following * goes_on - block.values[t]
            advantage = delta + GAMMA * LAMBDA * goes_on * advantage
            advantages[t], following = advantage, block.values[t]
        return advantages, advantages + block.values

    def loss(self, rows: torch.Tensor, flat: dict[str, torch.Tensor]) -> torch.Tensor:
        features = self.body(flat["seen"][rows])
        chances = torch.distributions.Categorical(logits=self.policy(features))
        ratio = (chances.log_prob(flat["actions"][rows]) - flat["log_probs"][rows]).exp()
        advantages = flat["advantages"][rows]
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
        policy = torch.max(-advantages * ratio, -advantages * clipped).mean()
        value, old, target = (
            self.value(features).flatten(),
            flat["values"][rows],
            flat["returns"][rows],
        )
        near = old + (value - old).clamp(-CLIP, CLIP)
        squares = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
        return policy - ENTROPY * chances.entropy().mean() + VALUE * squares

    max_norm = 0.5


class Pqn:
    def __init__(self, case: Game, channels: int, actions: int) -> None:
        self.case, self.actions, self.epsilon = case, actions, 0.1
        self.values = nn.Sequential(
            body(channels, case.hidden, True), nn.Linear(case.hidden, actions)
        )
        self.parameters = list(self.values.parameters())
        self.optimiser = torch.optim.RAdam(self.parameters, lr=5e-4)

    def act(self, seen: torch.Tensor, block: Block, t: int) -> torch.Tensor:
        best, action = self.values(seen).max(dim=1)
        block.values[t] = best
        explores = torch.rand(len(action)) < self.epsilon
        return torch.where(explores, torch.randint(self.actions, action.shape), action)

    def targets(self, block: Block, last: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        following = self.values(last).max(dim=1).values
        returns = torch.zeros_like(block.rewards)
        target = following
        for t in reversed(range(self.case.num_steps)):
            mixed = 0.65 * target + 0.35 * following
            target = block.rewards[t] + GAMMA * (1.0 - block.ends[t]) * mixed
            returns[t], following = target, block.values[t]
        return returns, returns

    def loss(self, rows: torch.Tensor, flat: dict[str, torch.Tensor]) -> torch.Tensor:
        values = self.values(flat["seen"][rows])
        taken = values.gather(1, flat["actions"][rows].unsqueeze(1)).squeeze(1)
        return 0.5 * ((taken - flat["returns"][rows]) ** 2).mean()

    max_norm = 10.0


def iterate(case: Game, envs, learner, block: Block, seen: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        for t in range(case.num_steps):
            block.seen[t] = seen
            block.actions[t] = learner.act(seen, block, t)
            step = envs.step(block.actions[t].numpy())
            seen = as_tensor(step[0])
            block.rewards[t] = torch.from_numpy(step[1].astype(np.float32))
            block.ends[t] = torch.from_numpy(np.logical_or(step[2], step[3]).astype(np.float32))
        advantages, returns = learner.targets(block, seen)
    flat = {
        "seen": block.seen.flatten(0, 1),
        "actions": block.actions.flatten(),
        "log_probs": block.log_probs.flatten(),
        "values": block.values.flatten(),
        "advantages": advantages.flatten(),
        "returns": returns.flatten(),
    }
    for _ in range(case.epochs):
        order = torch.randperm(case.block)
        for rows in order.split(case.minibatch):
            learner.optimiser.zero_grad()
            learner.loss(rows, flat).backward()
            nn.utils.clip_grad_norm_(learner.parameters, learner.max_norm)
            learner.optimiser.step()
    return seen


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=1, help="of torch (default 1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    case = game(options.case)
    envs = games(case)
    channels = envs.single_observation_space.shape[2]
    actions = int(envs.single_action_space.n)
    learner = (Pqn if case.algorithm == "pqn" else Ppo)(case, channels, actions)
    block = Block(case, envs)
    seen = as_tensor(envs.reset(seed=1)[0])
    seen = iterate(case, envs, learner, block, seen)
    iterations = 0
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        seen = iterate(case, envs, learner, block, seen)
        iterations += 1
    report("torch", options.case, iterations * case.block / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
