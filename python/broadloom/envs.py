"""Broadloom's environments for Gymnasium.

    gymnasium.make_vec("broadloom/CartPole-v1", num_envs=64)
    gymnasium.make("broadloom/CartPole-v1")

Two things differ from Gymnasium's own environments. A reset without a seed, after the first, draws
its seed from the object's generator. Box actions are clipped to their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from . import _core, _nested, spaces
from ._checks import MOST_ENVS, MOST_STEPS, check_count, is_one_of


def list_envs() -> list[dict[str, Any]]:
    """Specs of all environments that a config or make_vec() can name, as dicts."""
    return _core.list_envs()


def _text(value):
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _check_masked(core):
    """Fails as for a missing attribute, since callers ask whether environments have masks."""
    if core.action_masks() is None:
        raise AttributeError(f"action_masks: {core.spec['id']} has none; all its actions are valid")


def _picture(core, i):
    from .render import picture

    return picture(*core.drawing(i))


RENDERING = {"render_modes": ["rgb_array"], "render_fps": 30}


def _check_render_mode(render_mode, core, env_id):
    if render_mode is not None and not is_one_of(render_mode, ("rgb_array",)):
        raise _core.Error(
            f"render_mode: got {render_mode!r}, expected None or 'rgb_array'; to see episodes in a "
            "browser, use `python -m broadloom watch RUN`"
        )
    if render_mode and core.drawing(0) is None:
        raise _core.Error(
            f"render_mode: got {render_mode!r}, but {env_id} has no drawing, and its observations "
            "are no small image; leave render_mode out"
        )


def _in_dtype(actions, dtype, name):
    """Actions as the extension reads them. A fraction is no choice."""
    if dtype == np.int64 and not np.issubdtype(actions.dtype, np.integer):
        raise _core.Error(f"{name}: got {actions.dtype}, expected integers")
    return np.ascontiguousarray(actions, dtype)


class VectorEnv(gymnasium.vector.VectorEnv):
    """N environments, stepped in one call by several threads.

    env_id: an id of list_envs(). autoreset_mode: as in Gymnasium; the default SAME_STEP wastes no
    step. max_episode_steps: replaces the environment's own time limit. threads: the maximum; 0 for
    all cores; results do not depend on it. copy=False: returns views that the next step overwrites.
    options: options of the environment; `python -m broadloom env show ID` lists them."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        env_id: str,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        threads: int = 0,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        check_count("num_envs", num_envs, 1, MOST_ENVS)
        check_count("threads", threads, 0)
        max_episode_steps = 0 if max_episode_steps is None else max_episode_steps
        check_count("max_episode_steps", max_episode_steps, 0, MOST_STEPS)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            raise _core.Error(
                f"autoreset_mode: got {autoreset_mode!r}, expected one of "
                "gymnasium.vector.AutoresetMode"
            ) from None
        self.metadata = {"autoreset_mode": self._mode, **RENDERING}
        self.num_envs, self.render_mode, self.copy = int(num_envs), render_mode, copy
        self._core = _core.Environments(
            env_id,
            self.num_envs,
            0,
            {key: _text(value) for key, value in options.items() if value is not None},
            max_episode_steps,
            threads,
        )
        _check_render_mode(render_mode, self._core, env_id)
        spec = self._core.spec
        self.single_observation_space = spaces.to_gymnasium(spec["observation"])
        self.single_action_space = spaces.to_gymnasium(spec["action"])
        self.observation_space = gymnasium.vector.utils.batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space = gymnasium.vector.utils.batch_space(
            self.single_action_space, self.num_envs
        )
        self._shape, self._dtype = self.action_space.shape, self.action_space.dtype
        self._structure = _nested.structure_of(spec["action"])
        self._is_reset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        self._check_open()
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            return self._reset_some(mask)
        if seed is not None and (
            isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0
        ):
            raise _core.Error(
                f"seed: got {seed!r}, expected None or one integer of at least 0; each environment "
                "gets its own random stream from it"
            )
        seed = None if seed is None else int(seed)
        super().reset(seed=seed)
        self._core.reset(int(self.np_random.integers(2**62)) if seed is None else seed)
        self._is_reset = True
        return self._observations(), self._infos()

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        self._check_open()
        if not self._is_reset:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = self._rows(actions)
        held = self._held_before_step()
        ended = self._core.step(actions, self._mode != AutoresetMode.SAME_STEP)
        if held is not None:
            self._core.release(held)
        infos = self._final_infos() if ended and self._mode == AutoresetMode.SAME_STEP else {}
        infos = self._infos(**infos)
        return (
            self._observations(),
            self._out(self._core.rewards),
            self._out(self._core.terminated),
            self._out(self._core.truncated),
            infos,
        )

    def _rows(self, actions):
        """The actions as the extension reads them."""
        if self._structure is not None:
            return _nested.rows_of(self._structure, actions, self.num_envs)
        actions = np.asarray(actions)
        if actions.shape != self._shape:
            raise _core.Error(
                f"actions: got an array of shape {actions.shape}, expected {self._shape}"
            )
        return _in_dtype(actions, self._dtype, "actions")

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """With render_mode="rgb_array": a picture of each environment, uint8 [height, width, 3].
        After an episode's end it shows the start of the next one."""
        self._check_open()
        return (
            tuple(_picture(self._core, i) for i in range(self.num_envs))
            if self.render_mode
            else None
        )

    @property
    def action_masks(self) -> Callable[[], NDArray[np.bool_]]:
        """action_masks() returns the valid choices in the present states, [N, M]; of MultiDiscrete
        actions, number after number. Environments without masks have no such attribute."""
        self._check_open()
        _check_masked(self._core)
        return self._core.action_masks

    def _infos(self, **more):
        masks = self._core.action_masks()
        if masks is not None:
            more.update(action_mask=masks, _action_mask=np.ones(self.num_envs, np.bool_))
        return more

    def close_extras(self, **kwargs: Any) -> None:
        self._core = None

    def _check_open(self):
        if self._core is None:
            raise gymnasium.error.ClosedEnvironmentError("these environments have been closed")

    def _out(self, array):
        return array.copy() if self.copy else array

    def _observations(self):
        return spaces.split_rows(self._out(self._core.observations), self._core.spec["observation"])

    def _held_before_step(self):
        if self._mode == AutoresetMode.SAME_STEP:
            return None
        held = self._core.held
        if not held.any():
            return None
        if self._mode == AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(
                f"the episodes of environments {np.flatnonzero(held).tolist()} have ended; begin "
                "their next ones with reset(options={'reset_mask': ...})"
            )
        return held.copy()

    def _final_infos(self):
        mask = self._core.terminated | self._core.truncated
        finals, infos = np.full(self.num_envs, None, object), np.full(self.num_envs, None, object)
        rows, space = self._core.final_observations, self._core.spec["observation"]
        for i in np.flatnonzero(mask):
            finals[i], infos[i] = spaces.split_rows(rows[i].copy(), space), {}
        return {
            "final_obs": finals,
            "_final_obs": mask,
            "final_info": {},
            "_final_info": mask.copy(),
        }

    def _reset_some(self, mask):
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise _core.Error(
                f"reset_mask: got {mask.dtype} of shape {mask.shape}, {int(mask.sum())} of them "
                f"true; expected bool of shape ({self.num_envs},), at least one true"
            )
        running = mask & ~self._core.held
        if running.any():
            raise _core.Error(
                f"reset_mask: got true for environments {np.flatnonzero(running).tolist()}, whose "
                "episodes have not ended, expected ended ones; reset() without a mask starts all"
            )
        self._core.release(np.ascontiguousarray(mask))
        return self._observations(), self._infos()


class Env(gymnasium.Env):
    """A single environment, for code that takes no vector environment. VectorEnv is faster: a call
    from Python costs more than a step."""

    metadata = RENDERING

    def __init__(
        self,
        *,
        env_id: str,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        max_episode_steps = 0 if max_episode_steps is None else max_episode_steps
        check_count("max_episode_steps", max_episode_steps, 0, MOST_STEPS)
        self.render_mode = render_mode
        self._core = _core.Environments(
            env_id,
            1,
            0,
            {key: _text(value) for key, value in options.items() if value is not None},
            max_episode_steps,
            1,
        )
        _check_render_mode(render_mode, self._core, env_id)
        spec = self._core.spec
        self.observation_space, self.action_space = (
            spaces.to_gymnasium(spec["observation"]),
            spaces.to_gymnasium(spec["action"]),
        )
        self._structure = _nested.structure_of(spec["action"])
        self._is_reset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._check_open()
        super().reset(seed=seed)
        if seed is None and self._is_reset and self._core.held[0]:
            self._core.release(None)
        else:
            self._core.reset(int(self.np_random.integers(2**62)) if seed is None else int(seed))
        self._is_reset = True
        return self._observation(), self._infos()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._check_open()
        if not self._is_reset or self._core.held[0]:
            raise gymnasium.error.ResetNeeded(
                "call reset() before step(): "
                + ("the episode has ended" if self._is_reset else "there is no episode yet")
            )
        if self._structure is None:
            row = _in_dtype(np.asarray(action)[None], self.action_space.dtype, "action")
        else:
            actions = _nested.many_of(self._structure, action)
            row = _nested.rows_of(self._structure, actions, 1, "action")
        self._core.step(row, True)
        return (
            self._observation(),
            float(self._core.rewards[0]),
            bool(self._core.terminated[0]),
            bool(self._core.truncated[0]),
            self._infos(),
        )

    def render(self) -> NDArray[np.uint8] | None:
        """With render_mode="rgb_array": a picture, uint8 [height, width, 3]. After an episode's end
        it shows the start of the next one."""
        self._check_open()
        return _picture(self._core, 0) if self.render_mode else None

    @property
    def action_masks(self) -> Callable[[], NDArray[np.bool_]]:
        """action_masks() returns the valid choices in the present state, [M]; see
        VectorEnv.action_masks."""
        self._check_open()
        _check_masked(self._core)
        return lambda: self._core.action_masks()[0]

    def _infos(self):
        masks = self._core.action_masks()
        return {} if masks is None else {"action_mask": masks[0]}

    def close(self) -> None:
        self._core = None

    def _check_open(self):
        if self._core is None:
            raise gymnasium.error.ClosedEnvironmentError("this environment has been closed")

    def _observation(self):
        row = self._core.observations[0].copy()
        if isinstance(row, np.integer):
            row = row.astype(np.int64)  # the extension's is a longlong
        return spaces.split_rows(row, self._core.spec["observation"])
