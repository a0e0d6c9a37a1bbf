"""Broadloom's environments as Gymnasium's: `gymnasium.make_vec("broadloom/CartPole-v1", num_envs=64)`, `gymnasium.make("broadloom/CartPole-v1")`.

Other than Gymnasium's own, a reset without a seed after the first draws the next one from the generator of the object, and Box actions are clipped to their bounds."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from . import _core, spaces


def list_envs() -> list[dict[str, Any]]:
    """Specs of all environments that a config or make_vec() can name, as dicts."""
    return _core.list_envs()


def _text(value):
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _picture(core, i):
    from .render import picture

    return picture(*core.drawing(i))


RENDERING = {"render_modes": ["rgb_array"], "render_fps": 30}


def _check_render_mode(render_mode, core, env_id):
    if render_mode not in (None, "rgb_array"):
        raise _core.Error(f"render_mode: got {render_mode!r}, expected None or 'rgb_array'; `python -m broadloom watch RUN` shows episodes in a browser")
    if render_mode and core.drawing(0) is None:
        raise _core.Error(f"render_mode: {env_id} does not draw itself, and its observations are no small image; leave render_mode out")


MOST_ENVS = 1 << 20  # as the program's num_envs


def _check_count(name, value, least, most=None):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least or (most is not None and value > most):
        raise _core.Error(f"{name}: got {value!r}, expected a whole number of at least {least}" + (f" and at most {most}" if most is not None else ""))


class VectorEnv(gymnasium.vector.VectorEnv):
    """N environments in one call, stepped by as many threads as they are worth.

    env_id: as list_envs() has it. autoreset_mode: Gymnasium's, SAME_STEP by default: no step is wasted. max_episode_steps: another time limit than the
    environment's own. threads: at most; 0 for all cores; rows do not depend on it. copy=False: arrays are views that the next step writes into. Whatever else is
    given is an option of the environment, as `python -m broadloom env show ID` lists them."""

    def __init__(self, num_envs: int = 1, *, env_id: str, autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP, max_episode_steps: int | None = None, threads: int = 0,
                 copy: bool = True, render_mode: str | None = None, **options: Any) -> None:
        _check_count("num_envs", num_envs, 1, MOST_ENVS)
        _check_count("threads", threads, 0)
        _check_count("max_episode_steps", max_episode_steps or 0, 0)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            raise _core.Error(f"autoreset_mode: got {autoreset_mode!r}, expected one of gymnasium.vector.AutoresetMode") from None
        self.metadata = {"autoreset_mode": self._mode, **RENDERING}
        self.num_envs, self.render_mode, self.copy = int(num_envs), render_mode, copy
        self._core = _core.Environments(env_id, self.num_envs, 0, {key: _text(value) for key, value in options.items()}, max_episode_steps or 0, threads)
        _check_render_mode(render_mode, self._core, env_id)
        spec = self._core.spec
        self.single_observation_space = spaces.to_gymnasium(spec["observation"])
        self.single_action_space = spaces.to_gymnasium(spec["action"])
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._shape, self._dtype = self.action_space.shape, self.action_space.dtype
        self._is_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
        self._check_open()
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            return self._reset_some(mask)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
            raise _core.Error(f"seed: got {seed!r}, expected None or one whole number of at least 0: every environment draws from a stream of its own under it")
        seed = None if seed is None else int(seed)
        super().reset(seed=seed)
        self._core.reset(int(self.np_random.integers(2**62)) if seed is None else seed)
        self._is_reset = True
        return self._observations(), {}

    def step(self, actions: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        self._check_open()
        if not self._is_reset:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != self._shape:
            raise _core.Error(f"actions: got an array of shape {actions.shape}, expected {self._shape}")
        if self._dtype == np.int64 and not np.issubdtype(actions.dtype, np.integer):
            raise _core.Error(f"actions: got {actions.dtype}, expected whole numbers")
        held = self._held_before_step()
        ended = self._core.step(np.ascontiguousarray(actions, self._dtype), self._mode != AutoresetMode.SAME_STEP)
        if held is not None:
            self._core.release(held)
        infos = self._final_infos() if ended and self._mode == AutoresetMode.SAME_STEP else {}
        return self._observations(), self._out(self._core.rewards), self._out(self._core.terminated), self._out(self._core.truncated), infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """With render_mode="rgb_array": a picture of each environment, uint8 [height, width, 3]. One whose episode has ended shows the next one's start."""
        self._check_open()
        return tuple(_picture(self._core, i) for i in range(self.num_envs)) if self.render_mode else None

    def close_extras(self, **kwargs: Any) -> None:
        self._core = None

    def _check_open(self):
        if self._core is None:
            raise gymnasium.error.ClosedEnvironmentError("these environments have been closed")

    def _out(self, array):
        return array.copy() if self.copy else array

    def _observations(self):
        return self._out(self._core.observations)

    def _held_before_step(self):
        if self._mode == AutoresetMode.SAME_STEP:
            return None
        held = self._core.held
        if not held.any():
            return None
        if self._mode == AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(f"the episodes of environments {np.flatnonzero(held).tolist()} have ended; reset(options={{'reset_mask': ...}}) begins their next ones")
        return held.copy()

    def _final_infos(self):
        mask = self._core.terminated | self._core.truncated
        finals, infos = np.full(self.num_envs, None, object), np.full(self.num_envs, None, object)
        rows = self._core.final_observations
        for i in np.flatnonzero(mask):
            finals[i], infos[i] = rows[i].copy(), {}
        return {"final_obs": finals, "_final_obs": mask, "final_info": {}, "_final_info": mask.copy()}

    def _reset_some(self, mask):
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise _core.Error(f"reset_mask: got {mask.dtype} of shape {mask.shape}, {int(mask.sum())} of them true; expected bool of shape ({self.num_envs},), some of it true")
        running = mask & ~self._core.held
        if running.any():
            raise _core.Error(f"reset_mask: the episodes of environments {np.flatnonzero(running).tolist()} have not ended, and a running episode cannot be cut short by itself; "
                              "reset() without a mask begins all anew")
        self._core.release(np.ascontiguousarray(mask))
        return self._observations(), {}


class Env(gymnasium.Env):
    """One of them, for what takes no vector environment. A call in Python costs more than the step: VectorEnv is what is fast."""

    metadata = RENDERING

    def __init__(self, *, env_id: str, max_episode_steps: int | None = None, render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = render_mode
        self._core = _core.Environments(env_id, 1, 0, {key: _text(value) for key, value in options.items()}, max_episode_steps or 0, 1)
        _check_render_mode(render_mode, self._core, env_id)
        spec = self._core.spec
        self.observation_space, self.action_space = spaces.to_gymnasium(spec["observation"]), spaces.to_gymnasium(spec["action"])
        self._is_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._check_open()
        super().reset(seed=seed)
        if seed is None and self._is_reset and self._core.held[0]:
            self._core.release(None)
        else:
            self._core.reset(int(self.np_random.integers(2**62)) if seed is None else int(seed))
        self._is_reset = True
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._check_open()
        if not self._is_reset or self._core.held[0]:
            raise gymnasium.error.ResetNeeded("call reset() before step(): " + ("the episode has ended" if self._is_reset else "there is no episode yet"))
        space = self.action_space
        self._core.step(np.ascontiguousarray(np.asarray(action)[None], space.dtype), True)
        return self._observation(), float(self._core.rewards[0]), bool(self._core.terminated[0]), bool(self._core.truncated[0]), {}

    def render(self) -> NDArray[np.uint8] | None:
        """With render_mode="rgb_array": uint8 [height, width, 3]. After the end of an episode: the next one's start."""
        self._check_open()
        return _picture(self._core, 0) if self.render_mode else None

    def close(self) -> None:
        self._core = None

    def _check_open(self):
        if self._core is None:
            raise gymnasium.error.ClosedEnvironmentError("this environment has been closed")

    def _observation(self):
        return self._core.observations[0].copy()
