#!/usr/bin/env python3
"""Rollouts of gymnax's CartPole with a policy of 64-64: Broadloom's compiled program, Broadloom
step by step, and JAX alone. Needs a Python with broadloom, jax and gymnax.

"rollout" is the program, which also values the block, beside JAX alone. "iteration" is a rollout
and one pass of the learner, by the program and step by step. All contenders of a case run in turn.
The best block and the median are steps a second; other programs may use the cores. JAX alone acts
with two towers and draws actions, as PureJaxRL does; it keeps observations, actions,
log-probabilities, values, rewards and ends. Broadloom also sets aside last observations."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings

import broadloom
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from broadloom import _jax

BLOCKS = 40


def summary(seconds, num_envs, num_steps):
    steps = num_envs * num_steps
    return {
        "best": round(steps / min(seconds)),
        "median": round(steps / statistics.median(seconds)),
    }


def broadloom_blocks(num_envs, num_steps, as_program, threads):
    """(seconds of each rollout, if it is a program; of each iteration), without the first two."""
    rollouts, ends = [], []
    keep = _jax.TracedEnvs.plays_blocks, _jax.TracedEnvs.play

    def play(self, *arguments):
        begin = time.perf_counter()
        keep[1](self, *arguments)
        rollouts.append(time.perf_counter() - begin)

    _jax.TracedEnvs.play = play
    if not as_program:
        _jax.TracedEnvs.plays_blocks = lambda *_: False
    try:
        with tempfile.TemporaryDirectory() as folder:
            broadloom.train(
                "gymnax/CartPole-v1",
                num_envs=num_envs,
                num_steps=num_steps,
                total_timesteps=(BLOCKS + 2) * num_envs * num_steps,
                update_epochs=1,
                num_minibatches=1,
                threads=threads,
                out=f"{folder}/run",
                on_iteration=lambda _: ends.append(time.perf_counter()),
                quiet=True,
            )
    finally:
        _jax.TracedEnvs.plays_blocks, _jax.TracedEnvs.play = keep
    return rollouts[2:], np.diff(ends)[1:].tolist()


def jax_blocks(num_envs, num_steps):
    env, params = gymnax.make("CartPole-v1")
    sizes = [(4, 64), (64, 64), (64, 2)], [(4, 64), (64, 64), (64, 1)]
    random = np.random.default_rng(1)
    weights = [
        [
            (jnp.array(random.normal(0, 0.3, size), jnp.float32), jnp.zeros(size[1]))
            for size in tower
        ]
        for tower in sizes
    ]

    def tower(layers, x):
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    def one(held, _):
        key, rows, state = held
        key, acting, stepping = jax.random.split(key, 3)
        logits, values = tower(weights[0], rows), tower(weights[1], rows)[:, 0]
        actions = jax.random.categorical(acting, logits)
        log_probs = jax.nn.log_softmax(logits)[jnp.arange(num_envs), actions]
        keys = jax.random.split(stepping, num_envs)
        step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
        after, state, rewards, terminated, truncated, _ = step(keys, state, actions, params)
        kept = rows, actions, log_probs, values, rewards, terminated, truncated
        return (key, after, state), kept

    program = jax.jit(lambda held: jax.lax.scan(one, held, None, num_steps))
    keys = jax.random.split(jax.random.PRNGKey(1), num_envs)
    held = jax.random.PRNGKey(2), *jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    seconds = []
    for _ in range(BLOCKS + 2):
        begin = time.perf_counter()
        held, kept = jax.block_until_ready(program(held))
        seconds.append(time.perf_counter() - begin)
    return seconds[2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="of Broadloom")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="*", default=["64x32", "1024x32", "4096x16"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for size in options.sizes:
        num_envs, num_steps = map(int, size.split("x"))
        rollouts, iterations = {"program": [], "jax": []}, {"program": [], "steps": []}
        for _ in range(options.rounds):
            played, whole = broadloom_blocks(num_envs, num_steps, True, options.threads)
            rollouts["program"] += played
            iterations["program"] += whole
            iterations["steps"] += broadloom_blocks(num_envs, num_steps, False, options.threads)[1]
            rollouts["jax"] += jax_blocks(num_envs, num_steps)
        found = {
            group: {name: summary(one, num_envs, num_steps) for name, one in seconds.items()}
            for group, seconds in (("rollout", rollouts), ("iteration", iterations))
        }
        print(json.dumps({"num_envs": num_envs, "num_steps": num_steps, **found}), flush=True)


if __name__ == "__main__":
    main()
