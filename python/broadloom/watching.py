"""Films of episodes, also of Python environments, by their render()."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._kind import MASKED_KEYS
from ._masks import KEY
from .commands import command
from .policy import Policy

if TYPE_CHECKING:
    from ._types import Answer, StrPath


def watch(
    run: StrPath,
    out: StrPath | None = None,
    *,
    env: Callable[[], Any] | None = None,
    episodes: int = 1,
    seed: int = 1,
    max_steps: int = 1000,
    quiet: bool = True,
    **options: Any,
) -> Answer:
    """Plays episodes of a run's policy, and writes them for a browser, or as a film.

    out: "x.html" (default: watch.html in the run's folder), "x.gif", or "x.mp4", which needs the
    program ffmpeg. Options: view="drawn", actions="sampled".

    Environments of Python are shown by their render(), as x.gif or x.mp4. env: makes one with
    render_mode="rgb_array"; not needed for gymnasium/<id>. Their actions are the most likely ones,
    and seed is that of the first reset().

    Returns a dict with "file" and the "episodes": return and steps of each."""
    if not env and not _is_rendered(run):
        kept = {"episodes": episodes, "seed": seed, "max_steps": max_steps, "quiet": quiet}
        return command("watch", run, out=None if out is None else os.fspath(out), **kept, **options)
    policy = Policy(run)
    path = os.fspath(out or os.path.join(policy.origin["run_dir"], "watch.gif"))
    if options or not path.endswith((".gif", ".mp4")):
        got = f"out={path!r}" if not options else f"{next(iter(options))}="
        raise ValueError(
            f"got {got} for {policy.spec['id']}, whose states its render() shows; expected a file "
            "that ends in .gif or .mp4, and no further options"
        )
    _core.check_movie(path)
    made = env() if env else _made(policy.spec["id"])
    try:
        pictures, last, played = _played(policy, made, episodes, seed, max_steps)
    finally:
        made.close()
    _core.write_movie(path, pictures, last)
    return {"run_dir": os.fspath(run), "seed": seed, "episodes": played, "file": path}


def _is_rendered(run):
    """Whether the run's environment is one of Python, whose states Broadloom cannot draw."""
    return Policy(run).spec["id"].startswith(("gymnasium/", "python/", "envpool/"))


def _made(env_id):
    if not env_id.startswith("gymnasium/") or env_id.startswith("gymnasium/ALE/"):
        raise ValueError(
            f"env: got none for {env_id}, expected a function that makes one such environment with "
            'render_mode="rgb_array"'
        )
    import gymnasium

    return gymnasium.make(env_id.split("/", 1)[1], render_mode="rgb_array")


def _played(policy, env, episodes, seed, max_steps):
    """(pictures, whether each is the last of an episode, results)."""
    pictures, last, played = [], [], []
    for episode in range(episodes):
        observation, infos = env.reset(seed=seed if episode == 0 else None)
        pictures.append(_picture(env))
        rewards, steps, state, has_ended = 0.0, 0, None, False
        while not has_ended and steps < max_steps:
            given = {"state": state} if policy.state_size else {}
            if policy.spec["action"].get("masked"):
                given["action_masks"] = _mask(env, observation, infos)
            action = policy.act(_seen(observation), **given)
            if policy.state_size:
                action, state = action
            observation, reward, terminated, truncated, infos = env.step(action)
            rewards, steps, has_ended = rewards + float(reward), steps + 1, terminated or truncated
            pictures.append(_picture(env))
        last += [False] * (len(pictures) - len(last) - 1) + [True]
        played.append({"return": rewards, "steps": steps})
    return pictures, last, played


def _seen(observation):
    """The policy's part of a Dict with one of the usual keys; others as they are."""
    known = observation if isinstance(observation, dict) else ()
    return next((observation[key] for key, _ in MASKED_KEYS if key in known), observation)


def _mask(env, observation, infos):
    """The valid choices, from where training reads them."""
    if isinstance(observation, dict) and KEY in observation:
        return observation[KEY]
    if env.has_wrapper_attr("action_masks"):
        return env.get_wrapper_attr("action_masks")()
    mask = infos[KEY]
    is_parted = isinstance(mask, (tuple, list)) and not np.isscalar(mask[0])
    return np.concatenate([np.ravel(part) for part in mask]) if is_parted else mask


def _picture(env):
    """The state as uint8 [height, width, 3] with even sides, as MP4 needs them."""
    rgb = env.render()
    if getattr(rgb, "ndim", 0) != 3 or rgb.shape[2] != 3 or min(rgb.shape[:2]) < 2:
        got = "None" if rgb is None else f"{type(rgb).__name__} of shape {np.shape(rgb)}"
        raise ValueError(
            f"render(): got {got}, expected an array of shape (height, width, 3); make the "
            'environment with render_mode="rgb_array"'
        )
    height, width = (side // 2 * 2 for side in rgb.shape[:2])
    return np.ascontiguousarray(rgb[:height, :width], np.uint8)
