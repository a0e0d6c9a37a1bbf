"""Small NumPy environments with the interfaces of robotics libraries.

Each fake names the package and version that it imitates. SOURCES has lines of that package's source
on which the fake depends: robots_test.py looks for them where the package is installed, or unpacked
below the folder BROADLOOM_ROBOT_SOURCES."""

import types

import gymnasium
import numpy as np

LIMIT = 12  # steps of an episode

SOURCES = {
    "mjlab": (
        "1.6.0",
        {
            "mjlab/envs/manager_based_rl_env.py": (
                "auto_reset: bool = True",
                "if self.cfg.auto_reset and len(reset_env_ids) > 0:",
                "env_ids: torch.Tensor | None = None,",
                'self.extras["log"] = dict()',
                'self.extras["log"].update(info)',
                "self.single_observation_space = DictSpace()",
            ),
            "mjlab/utils/spaces.py": (
                'dtype: Literal["float32", "int32", "int64", "uint8"] = "float32"',
                "low: float | tuple[float, ...] = -math.inf",
                "spaces: dict[str, Space] = field(default_factory=dict)",
            ),
            "mjlab/rl/vecenv_wrapper.py": ('extras["time_outs"] = truncated',),
        },
    ),
    "isaaclab": (
        "3.0.0",
        {
            "isaaclab/envs/manager_based_rl_env.py": (
                "if self.cfg.compute_final_obs:",
                'self.extras["final_obs"] = self.observation_manager.compute()',
                '"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP',
            ),
            "isaaclab/envs/direct_rl_env.py": (
                'self.extras["final_obs"] = self._compute_observations()',
            ),
        },
    ),
    "mani_skill": (
        "3.0.1",
        {
            "mani_skill/vector/wrappers/gymnasium.py": (
                'infos["final_observation"] = final_obs',
                "autoreset_mode=gym.vector.AutoresetMode.SAME_STEP",
            )
        },
    ),
    "rsl_rl": (
        "5.5.1",
        {
            "rsl_rl/env/vec_env.py": (
                "num_actions: int",
                "def get_observations(self) -> TensorDict:",
                '"time_outs" (torch.Tensor)',
            )
        },
    ),
    "brax": (
        "0.14.2",
        {
            "brax/envs/wrappers/training.py": (
                "class AutoResetWrapper(Wrapper):",
                "state.info['truncation'] = jp.where(",
                "state = self.env.step(state, action)",
            )
        },
    ),
    "mujoco_playground": (
        "0.2.0",
        {
            "mujoco_playground/_src/wrapper.py": (
                "class BraxAutoResetWrapper(Wrapper):",
                "state = self.env.step(state, action)",
            )
        },
    ),
}


class Walkers:
    """N points on a line that walk by their actions. An episode terminates beyond 1 and is
    truncated after LIMIT steps. Gives the true last observations to the tests."""

    def __init__(self, num_envs, num_actions=1):
        self.num_envs, self.num_actions = num_envs, num_actions
        self.random = np.random.default_rng(0)
        self.x, self.age = np.zeros(num_envs), np.zeros(num_envs, int)

    def seed(self, seed):
        self.random = np.random.default_rng(np.ravel(seed)[0])

    def begin(self, mask):
        self.x[mask] = self.random.uniform(-0.2, 0.2, int(mask.sum()))
        self.age[mask] = 0

    def move(self, actions):
        """(rewards, terminated, truncated)."""
        assert actions.shape == (self.num_envs, self.num_actions) and actions.dtype == np.float32
        self.x += 0.3 * np.clip(actions, -1, 1).mean(axis=1)
        self.age += 1
        return self.x.copy(), np.abs(self.x) >= 1, self.age >= LIMIT

    def groups(self, policy, critic):
        """New arrays, as mjlab's and Isaac Lab's observation managers give them."""
        return {
            policy: np.stack([self.x, np.ones(self.num_envs)], 1).astype(np.float32),
            critic: np.stack([self.x, self.age / LIMIT, self.x**2], 1).astype(np.float32),
        }


class MjlabSpace:
    """mjlab 1.6.0, utils/spaces.py: shape, the dtype's name, one bound for all numbers."""

    def __init__(self, shape):
        self.shape, self.dtype, self.low, self.high = shape, "float32", -np.inf, np.inf


class MjlabDict:
    def __init__(self, spaces):
        self.shape, self.dtype, self.spaces = (), "float32", spaces


class Mjlab:
    """mjlab 1.6.0, ManagerBasedRlEnv: spaces of its own, no autoreset_mode, auto_reset in the
    config, and reset(env_ids=...), which returns all rows. Steps and resets log in extras; a reset
    that the caller makes begins a new log."""

    metadata = {"render_modes": [None, "rgb_array"]}
    device = "cpu"
    max_episode_length = LIMIT

    def __init__(self, num_envs, auto_reset=True, num_actions=1):
        self.world, self.num_envs = Walkers(num_envs, num_actions), num_envs
        self.cfg = types.SimpleNamespace(auto_reset=auto_reset, is_finite_horizon=False)
        self.pending = np.zeros(num_envs, bool)
        self.extras = {"log": {}}
        self.episode_length_buf = np.zeros(num_envs, np.int64)
        self.single_observation_space = MjlabDict(
            {"actor": MjlabSpace((2,)), "critic": MjlabSpace((3,))}
        )
        self.single_action_space = MjlabSpace((num_actions,))
        self.closed_with = None

    @property
    def unwrapped(self):
        return self

    def get_observations(self):
        return self.world.groups("actor", "critic")

    def reset(self, *, seed=None, env_ids=None, options=None):
        if seed is not None:
            self.world.seed(seed)
        mask = np.zeros(self.num_envs, bool)
        mask[slice(None) if env_ids is None else env_ids] = True
        self.extras["log"] = {}
        self.begin(mask)
        self.pending[mask] = False
        return self.get_observations(), self.extras

    def begin(self, mask):
        count = int((self.world.age[mask] >= LIMIT).sum())
        self.extras["log"]["Episode_Termination/time_out"] = count
        self.world.begin(mask)

    def step(self, actions):
        if self.pending.any():
            raise RuntimeError("must be reset via reset(env_ids=...) before calling step() again")
        self.extras["log"] = {}
        rewards, terminated, truncated = self.world.move(actions)
        self.extras["log"]["Metrics/place"] = self.world.x.astype(np.float32)
        ended = terminated | truncated
        if not self.cfg.auto_reset:
            self.pending = ended
        elif ended.any():
            self.begin(ended)
        return self.get_observations(), rewards, terminated, truncated, self.extras

    def close(self):
        self.closed_with = self.cfg.auto_reset


class RslRl:
    """rsl-rl-lib 5.5.1, env/vec_env.py, as the wrappers of mjlab 1.6.0 and Isaac Lab 3.0.0 fill it:
    dones of integers, time_outs in extras, no reset() in the interface."""

    def __init__(self, env, clip_actions=None):
        self.num_actions = env.single_action_space.shape[0]
        self.env, self.clip_actions, self.num_envs = env, clip_actions, env.num_envs
        self.unwrapped, self.device, self.cfg = env.unwrapped, env.device, env.cfg
        self.max_episode_length = env.max_episode_length
        self.episode_length_buf = env.episode_length_buf
        env.reset()

    def get_observations(self):
        is_isaac = hasattr(self.env, "obs_buf")
        return self.env.obs_buf if is_isaac else self.env.get_observations()

    def seed(self, seed=-1):
        self.env.world.seed(seed)

    def reset(self):
        return self.env.reset()

    def step(self, actions):
        rows, rewards, terminated, truncated, extras = self.env.step(actions)
        extras["time_outs"] = truncated
        return rows, rewards, (terminated | truncated).astype(np.int64), extras

    def close(self):
        self.env.close()


class PlainRslRl:
    """rsl-rl-lib 5.5.1, env/vec_env.py, with its own members alone, as in examples of Genesis 1.4:
    no config, no reset() and no last observations."""

    num_actions, device, max_episode_length, cfg = 1, "cpu", LIMIT, {}

    def __init__(self, num_envs):
        self.world, self.num_envs = Walkers(num_envs), num_envs
        self.episode_length_buf = np.zeros(num_envs, np.int64)
        self.world.begin(np.ones(num_envs, bool))

    def get_observations(self):
        return self.world.groups("policy", "critic")

    def step(self, actions):
        rewards, terminated, truncated = self.world.move(actions)
        self.world.begin(terminated | truncated)
        extras = {"time_outs": truncated & ~terminated}
        return self.get_observations(), rewards, (terminated | truncated).astype(int), extras


class IsaacLab(gymnasium.Env):
    """Isaac Lab 3.0.0, ManagerBasedRLEnv: same-step autoreset. Last observations are a dict of
    groups with all rows, only if cfg.compute_final_obs is set, and stay in extras afterwards."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
    device = "cpu"
    max_episode_length = LIMIT

    def __init__(self, num_envs):
        self.world, self.num_envs, self.extras = Walkers(num_envs), num_envs, {}
        self.cfg = types.SimpleNamespace(compute_final_obs=False, is_finite_horizon=False)
        self.episode_length_buf = np.zeros(num_envs, np.int64)
        box = gymnasium.spaces.Box
        self.single_observation_space = gymnasium.spaces.Dict(
            {"policy": box(-np.inf, np.inf, (2,)), "critic": box(-np.inf, np.inf, (3,))}
        )
        self.single_action_space = box(-np.inf, np.inf, (1,))

    def reset(self, *, seed=None, env_ids=None, options=None):
        if seed is not None:
            self.world.seed(seed)
        self.world.begin(np.ones(self.num_envs, bool))
        self.obs_buf = self.world.groups("policy", "critic")
        return self.obs_buf, self.extras

    def step(self, actions):
        rewards, terminated, truncated = self.world.move(actions)
        ended = terminated | truncated
        if ended.any():
            if self.cfg.compute_final_obs:
                self.extras["final_obs"] = self.world.groups("policy", "critic")
            self.world.begin(ended)
        self.obs_buf = self.world.groups("policy", "critic")
        return self.obs_buf, rewards, terminated, truncated, self.extras


class ManiSkill(gymnasium.vector.VectorEnv):
    """ManiSkill 3.0.1, ManiSkillVectorEnv: last observations are all rows, as
    `final_observation`, in steps with resets alone."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(self, num_envs):
        self.world, self.num_envs = Walkers(num_envs), num_envs
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def look(self):
        return self.world.groups("state", "all")["state"]

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.world.seed(seed)
        self.world.begin(np.ones(self.num_envs, bool))
        return self.look(), {}

    def step(self, actions):
        rewards, terminated, truncated = self.world.move(actions)
        ended, infos = terminated | truncated, {}
        if ended.any():
            infos = {"final_observation": self.look(), "_final_observation": ended}
            self.world.begin(ended)
        return self.look(), rewards, terminated, truncated, infos


class NextStep(ManiSkill):
    """Gymnasium 1.x, next-step autoreset with a reset_mask: the same walkers."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed=None, options=None):
        if options is None:
            return super().reset(seed=seed)
        self.world.begin(options["reset_mask"])
        return self.look(), {}

    def step(self, actions):
        rewards, terminated, truncated = self.world.move(actions)
        return self.look(), rewards, terminated, truncated, {}


class NoReset(NextStep):
    """Gymnasium 1.x without autoreset."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED}
