"""Environments of Python for the tests of training on them."""

import json
import os
import pathlib
import tempfile

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom

HERE = tempfile.TemporaryDirectory()
SMALL = {
    "total_timesteps": 1024,
    "num_envs": 4,
    "num_steps": 32,
    "hidden_sizes": [8, 8],
    "quiet": True,
}


def out(name):
    return pathlib.Path(HERE.name) / name


def train(env, name, **keys):
    return broadloom.train(env, name=f"{name}-v0", out=out(name), **{**SMALL, **keys})


def tensors(run):
    """The bytes of the newest checkpoint's tensors by name, read as its format is documented."""
    path = sorted((pathlib.Path(run) / "checkpoints").glob("*.safetensors"))[-1]
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + size])
    entries.pop("__metadata__")
    places = {name: entry["data_offsets"] for name, entry in entries.items()}
    return {name: data[8 + size + i : 8 + size + j] for name, (i, j) in places.items()}


def parameters(run):
    return tensors(run)["learner.params"]


box, Dict = gymnasium.spaces.Box, gymnasium.spaces.Dict
IMAGE = box(0, 255, (3, 36, 36), np.uint8)
# Observations as environments give them: (space, keywords of train(), as the policy reads it).
GIVEN = {
    "keys": (
        Dict(policy=box(-1, 1, (2,), np.float64), critic=box(-9, 9, (3,))),
        {},
        lambda o: o["policy"],
    ),
    "joined": (
        Dict(a=box(-1, 1, (2,)), b=box(-9, 9, (3,)), c=box(0, 1, (4,))),
        {"observation_keys": (("b", "a"),)},
        lambda o: np.concatenate([o["b"], o["a"]], axis=-1),
    ),
    "masked": (
        Dict(observation=box(-1, 1, (2,)), action_mask=gymnasium.spaces.MultiBinary(2)),
        {},
        lambda o: o["observation"],
    ),
    "scalar": (box(-1, 1, ()), {}, lambda o: np.reshape(o, (-1, 1))),
    "scalars": (
        Dict(a=box(-1, 1, ()), b=box(-1, 1, (2, 2)), c=box(-1, 1, (1,))),
        {},
        lambda o: {"a": o["a"], "b": o["b"], "c": o["c"]},
    ),
    "image": (IMAGE, {"encoder": "nature"}, lambda o: np.moveaxis(o, -3, -1)),
    "bits": (gymnasium.spaces.MultiBinary(3), {}, lambda o: o),
    "nested": (
        gymnasium.spaces.Tuple([Dict(cam=IMAGE, q=box(-1, 1, ())), gymnasium.spaces.Discrete(3)]),
        {"group_encoders": ["0.cam:nature"]},
        lambda o: {"0.cam": np.moveaxis(o[0]["cam"], -3, -1), "0.q": o[0]["q"], "1": o[1]},
    ),
}


def given(space):
    """A class of environments that draw such observations; the first valid choice is 1."""

    class Given(gymnasium.Env):
        observation_space, action_space = space, gymnasium.spaces.Discrete(2)

        def look(self):
            row = self.observation_space.sample()
            if isinstance(row, dict) and "action_mask" in row:
                row["action_mask"] = np.array([0, 1], np.int8)
            return row

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            self.steps = 0
            return self.look(), {}

        def step(self, action):
            self.steps += 1
            return self.look(), 1.0, self.steps >= 5, False, {}

    return Given


class Steps(gymnasium.Env):
    """Ends after ten steps; the observation counts them."""

    observation_space, action_space = Box(0, 20, (3,), np.float32), Discrete(2)

    def look(self):
        return np.full(3, self.t, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        self.t += 1
        return self.look(), 1.0, self.t >= 10, False, {}


def cart_pole(num_envs, mode):
    return SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * num_envs, autoreset_mode=mode)


def cart_pole_same_step(num_envs):
    return cart_pole(num_envs, AutoresetMode.SAME_STEP)


def cart_pole_next_step(num_envs):
    return cart_pole(num_envs, AutoresetMode.NEXT_STEP)


def cart_pole_disabled(num_envs):
    return cart_pole(num_envs, AutoresetMode.DISABLED)


class Corridor(gymnasium.Env):
    """Walk right. Observations are a Dict, and the critic has a key of its own."""

    observation_space = gymnasium.spaces.Dict(
        {
            "policy": gymnasium.spaces.Box(-1, 1, (2,), np.float64),
            "critic": gymnasium.spaces.Box(-9, 9, (3,), np.float32),
        }
    )
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.uniform(-0.2, 0.2), 0
        return self.look(), {}

    def look(self):
        return {
            "policy": np.array([self.x, 0.5]),
            "critic": np.array([self.x, self.steps / 10, 1], np.float32),
        }

    def step(self, action):
        assert action.dtype == np.float64 and action.shape == (1,)
        self.steps += 1
        self.x = float(np.clip(self.x + 0.2 * action[0], -1, 1))
        return self.look(), self.x, abs(self.x) >= 1, self.steps >= 20, {}


class Floats(Corridor):
    """The critic reads integers up to 200, as floats."""

    dtype = np.float32
    observation_space = gymnasium.spaces.Dict(
        {
            "policy": Corridor.observation_space["policy"],
            "critic": gymnasium.spaces.Box(0, 255, (3,), np.float32),
        }
    )

    def look(self):
        return {
            **super().look(),
            "critic": np.array([100 + 90 * self.x, self.steps, 1])
            .astype(np.uint8)
            .astype(self.dtype),
        }


class Bytes(Floats):
    dtype = np.uint8
    observation_space = gymnasium.spaces.Dict(
        {
            "policy": Corridor.observation_space["policy"],
            "critic": gymnasium.spaces.Box(0, 255, (3,), np.uint8),
        }
    )


class Dice(gymnasium.Env):
    """Random, whatever the seed."""

    observation_space, action_space = (
        gymnasium.spaces.Box(0, 1, (1,), np.float32),
        gymnasium.spaces.Discrete(2, start=1),
    )

    def reset(self, *, seed=None, options=None):
        return np.frombuffer(os.urandom(1), np.uint8).astype(np.float32) / 255, {}

    def step(self, action):
        assert action in (1, 2)
        return self.reset()[0], 1.0, os.urandom(1)[0] < 20, False, {}


class Forgetful(gymnasium.vector.VectorEnv):
    """Next-step autoreset without a mask, as in some vector environments of Gymnasium: a step may
    only reset."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs):
        self.inner = cart_pole(num_envs, AutoresetMode.NEXT_STEP)
        self.num_envs, self.single_observation_space, self.single_action_space = (
            num_envs,
            self.inner.single_observation_space,
            self.inner.single_action_space,
        )

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, actions):
        return self.inner.step(actions)


class Changeable(Forgetful):
    """Honours a mask until an episode has ended."""

    def reset(self, *, seed=None, options=None):
        ended = options is not None and self.ended.any()
        self.ended = np.zeros(self.num_envs, bool)
        return self.inner.reset(seed=seed, options=None if ended else options)

    def step(self, actions):
        transition = self.inner.step(actions)
        self.ended = transition[2] | transition[3]
        return transition


class Tensor:
    """An array of another library, such as PyTorch or JAX."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keys):
        return self.array.__dlpack__(**keys)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(Tensor):
    """An array on a device: it must be copied first."""

    def __dlpack__(self, **keys):
        raise BufferError("this is on a device")

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.array)


def with_tensors(kind):
    def tensors(num_envs):
        envs = cart_pole(num_envs, AutoresetMode.DISABLED)
        step, reset = envs.step, envs.reset
        envs.step = lambda actions: (
            tuple(kind(np.ascontiguousarray(part)) for part in step(actions)[:4]) + ({},)
        )
        envs.reset = lambda **keys: (kind(reset(**keys)[0]), {})
        return envs

    return tensors


def gymnasiums_arrays(num_envs):
    """Gymnasium's CartPoleVectorEnv, which ignores the mask."""
    return gymnasium.make_vec("CartPole-v1", num_envs, "vector_entry_point")


class StableBaselines:
    """A VecEnv of Stable-Baselines3's interface, over Gymnasium's environments."""

    def __init__(self, num_envs):
        self.num_envs, self.envs = (
            num_envs,
            [gymnasium.make("CartPole-v1") for _ in range(num_envs)],
        )
        self.observation_space, self.action_space = (
            self.envs[0].observation_space,
            self.envs[0].action_space,
        )
        self.seeds = [None] * num_envs

    def seed(self, seed=None):
        self.seeds = [seed + i for i in range(self.num_envs)]

    def reset(self):
        return np.stack([env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds)])

    def step_wait(self):
        raise NotImplementedError

    def env_is_wrapped(self, *_):
        return [False] * self.num_envs

    def step(self, actions):
        rows, rewards, dones, infos = [], [], [], []
        for env, action in zip(self.envs, actions):
            row, reward, terminated, truncated, info = env.step(action)
            info["TimeLimit.truncated"] = truncated and not terminated
            if terminated or truncated:
                info["terminal_observation"] = row
                row = env.reset()[0]
            (
                rows.append(row),
                rewards.append(reward),
                dones.append(terminated or truncated),
                infos.append(info),
            )
        return np.stack(rows), np.array(rewards, np.float32), np.array(dones), infos

    def close(self):
        pass


def stable_baselines(num_envs):
    return StableBaselines(num_envs)


class SuperSuits(StableBaselines):
    """As SuperSuit's vector environments: the spaces and infos of a VecEnv, and the reset() and
    step() of Gymnasium. There is no seed()."""

    seed = property()  # an AttributeError

    def reset(self, seed=None, options=None):
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        rows = [env.reset(seed=seed)[0] for env, seed in zip(self.envs, seeds)]
        return np.stack(rows), [{} for _ in self.envs]

    def step(self, actions):
        rows, rewards, dones, infos = super().step(actions)
        cut = np.array([info["TimeLimit.truncated"] for info in infos])
        return rows, rewards, (dones & ~cut).astype(np.uint8), cut.astype(np.uint8), infos


class WrappedSuperSuits(StableBaselines):
    """As SuperSuit's wrapper for Stable-Baselines3: it passes questions on to environments that do
    not know them."""

    def has_attr(self, name):
        return self.envs[0].has_attr(name)


class Fixed(gymnasium.vector.VectorEnv):
    """Environments of one number: others are an error, or come in that number nevertheless. The
    reward tells the number of the environment's seed."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
    single_observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    single_action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, num_envs):
        self.num_envs = num_envs

    def reset(self, *, seed=None, options=None):
        seeds = np.arange(self.num_envs) if seed is None else np.array(seed)
        self.kind, self.t = seeds % 101 / 101, np.zeros(self.num_envs, int)
        return self.look(), {}

    def look(self):
        return np.stack([self.kind, np.zeros(self.num_envs)], axis=1).astype(np.float32)

    def step(self, actions):
        assert len(actions) == self.num_envs
        self.t += 1
        ended = self.t >= 5 + np.arange(self.num_envs)
        self.t[ended] = 0
        infos = {"final_obs": self.look(), "_final_obs": ended} if ended.any() else {}
        return self.look(), self.kind, ended, np.zeros(self.num_envs, bool), infos


def only_six(num_envs):
    if num_envs != 6:
        raise ValueError(f"I only make 6, not {num_envs}")
    return Fixed(6)


def always_ten(num_envs):
    return Fixed(10)


def seeded_like_stable_baselines(num_envs):
    """The same environments through Gymnasium, seeded as Stable-Baselines3 does."""
    envs = cart_pole(num_envs, AutoresetMode.SAME_STEP)
    reset = envs.reset
    envs.reset = lambda *, seed=None, options=None: reset(
        seed=None if seed is None else seed[0], options=options
    )
    return envs


class EnvPoolMixin:
    """Like EnvPool: takes its seed when made. A reset with a mask returns only the masked rows."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs, seed):
        self.inner, self.seed = cart_pole(num_envs, AutoresetMode.NEXT_STEP), seed
        self.num_envs, self.single_observation_space, self.single_action_space = (
            num_envs,
            self.inner.single_observation_space,
            self.inner.single_action_space,
        )

    def reset(self, *, seed=None, options=None):
        assert seed is None
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return self.inner.reset(seed=self.seed)
        return self.inner.reset(options={"reset_mask": mask.copy()})[0][mask], {}

    def step(self, actions):
        return self.inner.step(actions)

    def close(self):
        self.inner.close()


def pool(num_envs, seed):
    return EnvPoolMixin(num_envs, seed)


class Pictures(gymnasium.Env):
    """Images with channels first. The brighter half shows the right action."""

    observation_space, action_space = (
        gymnasium.spaces.Box(0, 255, (3, 36, 40), np.uint8),
        gymnasium.spaces.Discrete(2),
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {}

    def look(self):
        self.side = int(self.np_random.integers(2))
        image = np.zeros((3, 36, 40), np.uint8)
        image[1, :, 20 * self.side : 20 * self.side + 20] = 200
        return image

    def step(self, action):
        reward, self.steps = float(action == self.side), self.steps + 1
        return self.look(), reward, False, self.steps >= 10, {}
