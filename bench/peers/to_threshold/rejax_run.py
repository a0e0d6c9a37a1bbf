"""rejax's PPO with its own settings, evaluated in gymnax. Compilation is timed apart."""

from __future__ import annotations

import os
import time
from typing import Any

from to_threshold.course import Course, arguments, report_probe
from to_threshold.settings import REJAX
from to_threshold.tasks import EPISODES, interval


def most_likely(algorithm: Any, state: Any) -> Any:
    """rejax's `make_act` draws; this takes the action that is likeliest."""
    import jax.numpy as jnp

    def act(observation: Any, _key: Any) -> Any:
        if algorithm.normalize_observations:
            observation = algorithm.normalize_obs(state.obs_rms_state, observation)
        found = algorithm.actor.apply(
            state.actor_ts.params, jnp.expand_dims(observation, 0), method="_action_dist"
        ).mode()
        if not algorithm.discrete:
            low, high = algorithm.actor.action_range
            found = jnp.clip(found, low, high)
        return jnp.squeeze(found)

    return act


def compiled(algorithm: Any, state: Any, key: Any, every: int) -> tuple[Any, Any]:
    """Runs `every` iterations in one call, so Python's share is negligible, then an evaluation."""
    import jax
    from rejax.evaluate import evaluate

    def advance(before: Any) -> Any:
        return jax.lax.fori_loop(
            0, every, lambda _, inner: algorithm.train_iteration(inner), before
        )

    def mean_return(after: Any, starts: Any) -> Any:
        limit = algorithm.env_params.max_steps_in_episode
        act = most_likely(algorithm, after)
        _, returns = evaluate(act, starts, algorithm.env, algorithm.env_params, EPISODES, limit)
        return returns.mean()

    training = jax.jit(advance).lower(state).compile()
    return training, jax.jit(mean_return).lower(state, key).compile()


def train(options: Any, settings: dict[str, Any], course: Course) -> None:
    import jax
    from rejax import PPO

    block = settings["num_envs"] * settings["num_steps"]
    every = interval(block)
    budget = options.probe or options.budget or settings["total_timesteps"]
    begin = time.perf_counter()
    algorithm = PPO.create(env=options.task, **settings)
    state = jax.jit(algorithm.init_state)(jax.random.PRNGKey(options.seed))
    key = jax.random.PRNGKey(1_000_000 + options.seed)
    training, mean_return = compiled(algorithm, state, key, every)
    state = jax.block_until_ready(state)
    course.compile_seconds = time.perf_counter() - begin
    steps, seconds = 0, 0.0
    while steps < budget and not course.over:
        mark = time.perf_counter()
        state = jax.block_until_ready(training(state))
        now = time.perf_counter()
        seconds += now - mark
        steps += every * block
        if options.probe:
            continue
        course.add(steps, seconds, float(mean_return(state, key)))  # the same episodes each time
        course.evaluation_seconds += time.perf_counter() - now
    if options.probe:
        report_probe(steps, seconds)


def main() -> None:
    options = arguments(__doc__).parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"  # and JAX counts the cores when it is first imported
    settings = REJAX[options.task]
    course = Course(options.task)
    train(options, settings, course)
    if not options.probe:
        course.report(settings)


if __name__ == "__main__":
    main()
