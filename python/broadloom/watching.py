"""Films of episodes, also of Python environments, by their render()."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import cast
from ._checks import check_count
from ._errors import InvalidType, InvalidValue
from ._source_text import register_call
from .commands import command
from .policy import Policy
from .registering import (
    check_allowed,
    filmed,
    is_registered,
    made_by,
    maker_of,
    upstream_of,
)

if TYPE_CHECKING:
    from ._types import Answer, StrPath

MOST_EPISODES = 20
_lock = threading.Lock()  # one film at a time


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
    program ffmpeg. Options: view="drawn"; actions="sampled", by default the run's eval_actions.

    Environments of Python are shown by their render(), as x.gif or x.mp4. env: makes one with
    render_mode="rgb_array"; not needed for ids of Gymnasium, nor for a class that this process
    registered and that takes render_mode. A film shows the first episodes of an
    evaluation with this seed and number of episodes, with all settings of the run. Films of Atari
    by id have the frames of training, and draws of their own.

    Returns a dict with "file" and the "episodes": return and steps of each."""
    if not env and not is_rendered(Policy(run).spec["id"]):
        kept = {"episodes": episodes, "seed": seed, "max_steps": max_steps, "quiet": quiet}
        return command("watch", run, out=None if out is None else os.fspath(out), **kept, **options)
    check_count("episodes", episodes, 1, MOST_EPISODES)
    check_count("max_steps", max_steps, 1)
    policy = Policy(run)
    env_id, actions = policy.spec["id"], options.pop("actions", "")
    path = os.fspath(out or os.path.join(policy.origin["run_dir"], "watch.gif"))
    if options or not path.endswith((".gif", ".mp4")):
        got = f"out={path!r}" if not options else f"{next(iter(options))}="
        raise InvalidValue(
            f"got {got} for {env_id}, whose states its render() shows; expected a file "
            "that ends in .gif or .mp4, and no further options"
        )
    _core.check_movie(path)
    source, trained = upstream_of(env_id), policy.spec["upstream"]
    if env is None and source is not None and not _core.same_source_text(source, trained):
        now, then = _core.one_line(source), _core.one_line(trained)
        warnings.warn(
            f"{env_id} comes from '{now}' now, and came from '{then}' when the policy was "
            "trained; the film shows the one of now",
            stacklevel=2,
        )
    cameras = _Cameras(env or _maker(policy.spec))
    with _lock, filmed(policy, cameras):
        results = policy._core.play(episodes, seed, actions, max_steps)
        pictures, last = cameras.film(episodes)
    _core.write_movie(path, pictures, last)
    played = [{"return": total, "steps": steps} for total, steps in results]
    return {"run_dir": os.fspath(run), "seed": seed, "episodes": played, "file": path}


def is_rendered(env_id):
    """Whether this is an environment of Python, whose states Broadloom cannot draw."""
    return is_registered(env_id) or env_id.startswith(("gymnasium/", "python/", "envpool/"))


def _maker(spec):
    """A function that makes an environment of this spec with pictures."""
    import gymnasium

    from .sources import EnvMaker

    env_id = spec["id"]
    function = _with_pictures(maker_of(env_id))
    if function is not None:
        return function
    own = made_by(env_id) or (env_id.partition("/")[2], {}, ())
    named = own[0].rpartition(":")[2]
    is_known = made_by(env_id) is not None or (
        env_id.startswith("gymnasium/") and (":" in own[0] or named in gymnasium.registry)
    )
    if made_by(env_id) is None and env_id.startswith("gymnasium/"):
        check_allowed(env_id)
    example = 'MyEnv(render_mode="rgb_array")'
    if named.startswith("ALE/") and (is_known or env_id.startswith("gymnasium/")):
        from ._atari_film import atari_maker

        function = atari_maker(named, own[1])
        if function is not None:
            return function
        example = (
            f'gymnasium.wrappers.AtariPreprocessing(gymnasium.make("{named}", frameskip=1, '
            'render_mode="rgb_array")), without a stack, since Broadloom stacks'
        )
        is_known = False
    if not is_known:
        call = register_call(spec) if made_by(env_id) is None else ""
        raise InvalidValue(
            f"env: got none for {env_id}, expected a function that makes one such environment with "
            f"pictures, such as env=lambda: {example}"
            + (f"; or a call of {call} before" if call else "")
        )

    return EnvMaker(own[0], {**own[1], "render_mode": "rgb_array"}, own[2])


def _with_pictures(made):
    """The function or class with render_mode="rgb_array", which it must take; else None."""
    from .sources import EnvMaker, parameters_of

    given = made if isinstance(made, EnvMaker) else EnvMaker(made, {}, ())
    if not callable(given.source) or "render_mode" not in parameters_of(given.source):
        return None
    return EnvMaker(given.source, {**given.kwargs, "render_mode": "rgb_array"}, given.wrappers)


class _Cameras:
    """Makes environments whose evaluation is filmed."""

    def __init__(self, make):
        self.make, self.all, self.is_on = make, [], True

    def begin(self):
        """New environments with cameras follow."""
        self.all = []

    def end(self):
        """From now on environments have no cameras."""
        self.all, self.is_on = [], False

    def around(self, env):
        """The environment with a camera."""
        if not self.is_on:
            return env
        camera = _camera(env)
        self.all.append(camera)
        return camera

    def film(self, episodes):
        """(pictures, whether each is the last of an episode): episode i is the next one of
        environment i, counted in rounds."""
        pictures, last = [], []
        for i in range(episodes):
            taken = self.all[i % len(self.all)].episodes[i // len(self.all)]
            pictures += taken
            last += [False] * (len(taken) - 1) + [True]
        return pictures, last


def _camera(env):
    import gymnasium

    class Camera(gymnasium.Wrapper):
        """Takes a picture of each state, from a reset with a seed to the end of that episode:
        resets without one begin episodes that do not count."""

        def __init__(self, env):
            super().__init__(env)
            self.episodes, self.is_on = [], False

        def reset(self, *, seed=None, options=None):
            found = self.env.reset(seed=seed, options=options)
            self.is_on = seed is not None
            if self.is_on:
                self.episodes.append([_picture(self.env)])
            return found

        def step(self, action):
            found = self.env.step(action)
            if self.is_on:
                self.episodes[-1].append(_picture(self.env))
                self.is_on = not (found[2] or found[3])
            return found

    return Camera(env)


def _picture(env):
    """The state as uint8 [height, width, 3] with even sides, as MP4 needs them."""
    rgb = env.render()
    if getattr(rgb, "ndim", 0) != 3 or rgb.shape[2] != 3 or min(rgb.shape[:2]) < 2:
        got = "None" if rgb is None else f"{type(rgb).__name__} of shape {np.shape(rgb)}"
        raise InvalidValue(
            f"render(): got {got}, expected an array of shape (height, width, 3); make the "
            'environment with render_mode="rgb_array"'
        )
    if rgb.dtype.kind == "f" and 0 <= rgb.min() <= rgb.max() <= 1:  # shares, as of matplotlib
        rgb = np.round(255 * rgb)
    height, width = (side // 2 * 2 for side in rgb.shape[:2])
    try:
        return np.ascontiguousarray(cast(rgb[:height, :width], np.uint8, "render()"))
    except (InvalidType, InvalidValue):
        raise InvalidValue(
            f"render(): got {rgb.dtype} from {rgb.min()} to {rgb.max()}, expected uint8 from 0 to "
            "255, or floating point numbers from 0 to 1"
        ) from None
