"""Adapts the environments of robotics libraries to Gymnasium's vector interface.

Two interfaces: RSL-RL's VecEnv (mjlab, Isaac Lab, Genesis, MuJoCo Playground have wrappers of this
form), and the environments of mjlab and Isaac Lab themselves; _jax.py has those of Brax and MuJoCo
Playground. The comments name the versions that the code follows."""

import contextlib
import random
import sys

import numpy as np

from ._arrays import copy_of, numpy_of, scattered
from ._errors import InvalidType
from ._jax import FunctionalEnvs, GymnaxEnvs, is_functional, is_gymnax


def adapted(env, num_envs):
    """`env` with Gymnasium's vector interface, if it has one of the interfaces above; else `env`
    itself. num_envs: the number to ask of functional environments, which do not know it."""
    if is_gymnax(env):
        return GymnaxEnvs(env, num_envs)
    if is_functional(env):
        return FunctionalEnvs(env, num_envs)
    if hasattr(env, "single_observation_space"):
        inner = getattr(env, "unwrapped", env)
        return SimulatorEnvs(env) if hasattr(inner, "episode_length_buf") else env
    if is_rsl_rl(env):
        return RslRlEnvs(env)
    inner = getattr(env, "unwrapped", env)  # Gymnasium's wrappers hide Isaac Lab's attributes
    has_members = all(hasattr(inner, name) for name in ("episode_length_buf", "num_envs"))
    return SimulatorEnvs(env) if has_members else env


def is_rsl_rl(env):
    """Whether it has the form of rsl_rl.env.VecEnv (RSL-RL 3 to 5)."""
    return all(hasattr(env, name) for name in ("num_envs", "num_actions", "get_observations"))


def arrays_of(observations):
    """Observations as a dict of NumPy arrays. Takes a dict or a TensorDict."""
    if not hasattr(observations, "keys"):
        raise InvalidType(
            f"observations: got a {type(observations).__name__}, expected a dict or TensorDict of "
            "groups, as RSL-RL 3 and later need; let get_observations() and step() return one"
        )
    return {key: value_of(observations[key]) for key in observations.keys()}


def value_of(value):
    return arrays_of(value) if hasattr(value, "keys") else numpy_of(value)


def log_of(extras):
    """Numbers by name that RSL-RL's logger takes from a step's extras."""
    return extras["episode"] if "episode" in extras else extras.get("log", {})


def rows_at(rows, mask):
    """The rows of some environments; rows: an array, or dicts of them to any depth."""
    if isinstance(rows, dict):
        return {key: rows_at(row, mask) for key, row in rows.items()}
    return rows[mask]


class TensorEnvs:
    """Environments of RSL-RL's, mjlab's or Isaac Lab's interface, with same-step autoreset.

    If the simulator can give last observations, they are taken: mjlab's with `auto_reset` off, as
    Broadloom then resets ended environments itself, Isaac Lab's with `compute_final_obs` on. Both
    are switches of the environment's config, which close() sets back.

    held: the environments go on with their episodes and with the process's random numbers, and
    close() leaves them open. Otherwise they have random states of their own (Python's, NumPy's and
    PyTorch's), so that an evaluation changes no number of a training.
    listen: called after each step with what the environments log in it (log_of)."""

    has_infos = False  # beside last observations, so nothing need play them to find a success

    def __init__(self, env, held=False, listen=None):
        self.env, self.held, self.listen = env, held, listen
        self.made = self if held else env  # held ones may come back in each call
        self.inner = getattr(env, "unwrapped", env)
        self.num_envs = int(self.inner.num_envs)
        self.max_episode_length = getattr(self.inner, "max_episode_length", None)
        self.random, self.torch = None, None
        config = getattr(self.inner, "cfg", None)
        self.resets_by_hand = hasattr(config, "auto_reset")
        gives = getattr(env, "metadata", None) or {}
        self.switch = None
        if self.resets_by_hand:
            self.switch = config, "auto_reset", config.auto_reset
            config.auto_reset = False
        elif hasattr(config, "compute_final_obs"):
            self.switch = config, "compute_final_obs", config.compute_final_obs
            config.compute_final_obs = True
        self.metadata = {"autoreset_mode": "SameStep"}
        if self.switch is not None:
            self.metadata["final_obs"] = True
        elif "final_obs" in gives:
            self.metadata["final_obs"] = gives["final_obs"]

    @contextlib.contextmanager
    def calling(self):
        """Calls within the block use the environments' own random states, and no gradients."""
        torch = sys.modules.get("torch")
        with contextlib.nullcontext() if torch is None else torch.no_grad():
            if self.held:
                yield
                return
            outer = random_state(torch)
            if self.random is not None:
                set_random_state(torch, self.random)
            try:
                yield
            finally:
                self.random = random_state(torch)
                set_random_state(torch, outer)

    def take(self, observations):
        """Observations as arrays. Notes whether they were tensors, as actions then are, too."""
        if hasattr(observations, "keys"):
            for value in observations.values():
                if type(value).__module__.partition(".")[0] == "torch":
                    self.torch = sys.modules["torch"]
        return arrays_of(observations)

    def reset(self, *, seed=None, options=None):
        with self.calling():
            return self.take(self.begin(None if seed is None else int(seed))), {}

    def step(self, actions):
        with self.calling():
            if self.torch is not None:
                actions = self.torch.from_numpy(actions).to(self.inner.device)
            observations, rewards, terminated, truncated, extras = self.advance(actions)
            terminated = np.array(numpy_of(terminated), bool)
            truncated = np.array(numpy_of(truncated), bool) & ~terminated
            rows, infos, ended = self.take(observations), {}, terminated | truncated
            logged = {} if self.listen is None else dict(log_of(extras))
            if self.resets_by_hand and ended.any():
                infos["final_obs"] = rows = copy_of(rows)
                after, begun = self.inner.reset(env_ids=self.indices(ended))
                rows = scattered(rows_at(arrays_of(after), ended), ended, rows)
                logged |= log_of(begun)  # mjlab's reset begins a new log
            elif ended.any() and extras.get("final_obs") is not None:
                infos["final_obs"] = arrays_of(extras["final_obs"])  # in other steps it is stale
            if self.listen is not None:
                self.listen(logged)
            return rows, numpy_of(rewards), terminated, truncated, infos

    def indices(self, mask):
        places = np.flatnonzero(mask)
        if self.torch is None:
            return places
        return self.torch.from_numpy(places).to(self.inner.device)

    def close(self):
        if self.switch is not None:
            setattr(*self.switch)
        if not self.held and hasattr(self.env, "close"):
            self.env.close()


class SimulatorEnvs(TensorEnvs):
    """Environments of mjlab 1.6 (ManagerBasedRlEnv) or Isaac Lab 3 themselves."""

    def __init__(self, env, held=False):
        super().__init__(env, held)
        self.single_observation_space = self.inner.single_observation_space
        self.single_action_space = self.inner.single_action_space

    def begin(self, seed):
        return self.env.reset(seed=seed)[0]

    def advance(self, actions):
        return self.env.step(actions)


class RslRlEnvs(TensorEnvs):
    """Environments of the form of rsl_rl.env.VecEnv (RSL-RL 3 to 5).

    Their step() returns (observations, rewards, dones, extras), where `time_outs` of extras are
    the ends by a time limit. Without a limit on actions (`clip_actions`), the action space has no
    bounds."""

    def __init__(self, env, held=False, listen=None):
        super().__init__(env, held, listen)
        from gymnasium import spaces

        with self.calling():
            rows = self.take(env.get_observations())
        self.single_observation_space = spaces.Dict(
            {
                key: spaces.Box(-np.inf, np.inf, row.shape[1:], row.dtype.type)
                for key, row in rows.items()
                if not isinstance(row, dict)
            }
        )
        limit = getattr(env, "clip_actions", None)
        limit = np.inf if limit is None else float(limit)
        self.single_action_space = spaces.Box(-limit, limit, (int(env.num_actions),), np.float32)

    def begin(self, seed):
        if not self.held:
            if callable(getattr(self.env, "seed", None)):
                self.env.seed(seed)
            elif seed is not None:
                seed_all(seed)
            if hasattr(self.env, "reset"):
                self.env.reset()
        return self.env.get_observations()

    def advance(self, actions):
        observations, rewards, dones, extras = self.env.step(actions)
        dones = np.array(numpy_of(dones), bool)
        given = extras.get("time_outs")
        time_outs = np.zeros_like(dones) if given is None else np.array(numpy_of(given), bool)
        return observations, rewards, dones & ~time_outs, dones & time_outs, extras


def random_state(torch):
    """The states of the process's random generators."""
    state = random.getstate(), np.random.get_state()
    if torch is None:
        return state
    return *state, torch.get_rng_state(), torch.cuda.get_rng_state_all() if on_gpu(torch) else []


def set_random_state(torch, state):
    random.setstate(state[0])
    np.random.set_state(state[1])
    if torch is not None and len(state) > 2:
        torch.set_rng_state(state[2])
        if state[3]:
            torch.cuda.set_rng_state_all(state[3])


def on_gpu(torch):
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
