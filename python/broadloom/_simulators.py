"""Environments of Gymnasium's kind, adapted to what the extension steps: one call for all N a step, arrays of the spec's
dtypes, every episode's last observation apart from the next one's first, and no row that is not a transition."""

import functools
import hashlib
import math
import typing
import warnings

import numpy as np

from . import spaces

PROBED_STEPS = 64  # that tell whether the same seeds and actions give the same again


class Simulator:
    """N environments of a kind. The extension reads `observations`, `critic_observations`, and writes `actions`, which step() takes from there."""

    def __init__(self, kind, request, seeds):
        self.kind, self.request, self.num_envs = kind, request, request.num_envs
        self.max_episode_steps = request.max_episode_steps or kind.spec["max_episode_steps"]
        self.deterministic, self.has_final_observations = kind.deterministic, True
        self.seeds, self.spec = seeds, kind.spec
        self.env = self.made(seeds[0])
        self.mode = autoreset_mode(self.env)
        self.mask_is_honoured = self.mode == "Disabled"  # a reset of some is all that there is
        action = self.spec["action"]
        self.actions = np.zeros(self.num_envs, np.int64) if action["kind"] == "discrete" else np.zeros((self.num_envs, *action["shape"]), np.float32)
        self.first_action = int(getattr(kind.action_space, "start", 0))
        self.first_observation = int(getattr(kind.observation_space, "start", 0))
        self.begin(seeds[0])

    def made(self, seed):
        env = self.kind.make(self.request._replace(seeds=self.seeds[1](seed)))
        if env.num_envs != self.num_envs:
            raise ValueError(f"{self.kind.id}: asked for {self.num_envs} environments and got {env.num_envs}; let the function that makes them honour num_envs")
        return env

    def reset(self, seed):
        """New episodes everywhere, as those of environments made with this seed."""
        if self.kind.seeds_when_made:
            self.env.close()
            self.env = self.made(seed)
        self.begin(seed)

    def begin(self, seed):
        rows, _ = self.env.reset() if self.kind.seeds_when_made else seeded_reset(self.env, self.seeds[1](seed))
        self.observations, self.critic_observations = self.split(rows)

    def step(self):
        rows, rewards, terminated, truncated, infos = self.env.step(self.chosen())
        rewards = flat(rewards, np.float64, self.num_envs, "rewards")
        terminated = flat(terminated, np.bool_, self.num_envs, "terminations")
        truncated = flat(truncated, np.bool_, self.num_envs, "truncations")
        ended = terminated | truncated
        finals = critic_finals = None
        if ended.any():
            rows, last = (rows, self.final_rows(infos, ended)) if self.mode == "SameStep" else self.start_anew(rows, ended)
            finals, critic_finals = self.split(last)
        self.observations, self.critic_observations = self.split(rows)
        return self.observations, rewards, terminated, truncated, finals, self.critic_observations, critic_finals

    def chosen(self):
        actions = self.actions + self.first_action if self.first_action else self.actions.copy()  # an environment may keep them
        dtype = self.kind.action_space.dtype
        return actions if self.spec["action"]["kind"] == "discrete" or dtype == np.float32 else actions.astype(dtype)

    def final_rows(self, infos, ended):
        """Same-step autoreset: last observations, in the rows of those that ended."""
        finals = infos.get("final_obs")
        if finals is None:
            raise RuntimeError(f"{self.kind.id}: episodes ended and infos has no 'final_obs', which same-step autoreset says that there is")
        if isinstance(finals, np.ndarray) and finals.dtype != object:
            return finals
        rows = allocate(self.kind.observation_space, self.num_envs)
        for i in np.flatnonzero(ended):
            put(rows, i, finals[i])
        return rows

    def start_anew(self, rows, ended):
        """The other modes: what came is the last observation; a reset of these alone gives the next. Nothing is thrown away."""
        last = copy_of(rows)
        after, _ = self.env.reset(options={"reset_mask": ended.copy()})
        if self.kind.resets_give_their_own_rows:
            after = scattered(after, ended, last)
        if not self.mask_is_honoured and not ended.all():
            if not all(np.array_equal(a[~ended], b[~ended]) for a, b in zip(leaves(after), leaves(last), strict=True)):
                raise RuntimeError(f"{self.kind.id}: its vector environment ignores the reset_mask of reset(), and resets all {self.num_envs} environments where one "
                                   "has ended; make it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP, or give Broadloom the single environment")
            self.mask_is_honoured = True
        return after, last

    def split(self, rows):
        """What the policy reads and what only the critic does, as arrays that the extension takes."""
        if not isinstance(rows, dict):
            return self.array(rows, self.spec["observation"]), None
        critic = self.spec["critic_observation"]
        return self.array(rows[self.kind.keys[0]], self.spec["observation"]), None if critic is None else self.array(rows[self.kind.keys[1]], critic)

    def array(self, rows, space):
        if space["kind"] == "discrete":
            return flat(rows, np.int64, self.num_envs, "observations") - self.first_observation
        rows = numpy_of(rows)
        if space["channels_first"]:
            rows = np.moveaxis(rows, 1, -1)
        if rows.size != self.num_envs * math.prod(space["shape"]):
            raise ValueError(f"{self.kind.id}: observations of shape {rows.shape}, expected {(self.num_envs, *space['shape'])}")
        return np.ascontiguousarray(rows, space["dtype"])


class Request(typing.NamedTuple):
    """What is asked of who makes environments."""

    num_envs: int
    max_episode_steps: int = 0  # 0: their own
    streams: str = "training"  # "evaluation", "panel"
    seeds: typing.Sequence[int] = ()  # one an environment


class Kind:
    """What there is to know of environments before any are made for a run: their spec, and how to make more.

    make(Request) -> VectorEnv. seeds_when_made: they take seeds when they are made alone. resets_give_their_own_rows: a reset with a mask gives rows of those alone.
    frames: images that an observation is to show, of environments that show one."""

    def __init__(self, env_id, make, *, upstream="", summary="", max_episode_steps=0, reward_threshold=None, keys=("policy", "critic"), frames=1,
                 seeds_when_made=False, resets_give_their_own_rows=False):
        self.id, self.make, self.keys = env_id, make, keys
        self.seeds_when_made, self.resets_give_their_own_rows = seeds_when_made, resets_give_their_own_rows
        env = make(Request(2, seeds=(1, 2)))
        try:
            self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
            limit = max_episode_steps or time_limit(env)
        finally:
            env.close()
        observation, critic = self.observation_space, None
        if type(observation).__name__ == "Dict":
            if keys[0] not in observation.spaces:
                raise TypeError(f"{env_id}: observations are a Dict of {', '.join(observation.spaces)}; expected '{keys[0]}' among them, which the policy reads, "
                                f"and if there is one '{keys[1]}', which the critic does; say which with observation_keys=(policy, critic)")
            critic = observation.spaces.get(keys[1])
            observation = observation.spaces[keys[0]]
        self.spec = {"id": env_id, "observation": spaces.from_gymnasium(observation, "observation"),
                     "critic_observation": None if critic is None else spaces.from_gymnasium(critic, "critic observation"),
                     "action": spaces.from_gymnasium(self.action_space, "action"), "max_episode_steps": int(limit or 0), "frames": frames,
                     "reward_threshold": reward_threshold, "upstream": upstream, "summary": summary}

    @functools.cached_property
    def deterministic(self):
        """Whether two that are made alike and do alike are alike. Looked at once."""
        self.__dict__["deterministic"] = True  # of those that are looked at
        return played(self) == played(self)

    def simulator(self, options):
        """What the extension calls for N environments."""
        for asked, key in (("stagger_starts", "stagger_starts"), ("joining", "shape_schedule with more environments later")):
            if options[asked]:
                raise ValueError(f"{self.id}: {key} has environments begin while others are in the middle of an episode, which those of Broadloom's can; leave it out")
        families, streams = options["families"], options["streams"]
        seeds = options["seed"], lambda seed: [family_seed(seed, streams, i % families) for i in range(options["num_envs"])]
        return Simulator(self, Request(options["num_envs"], options["max_episode_steps"], options["streams"]), seeds)


def family_seed(seed, streams, family):
    """The seed of a family of environments: training, evaluation and panels have nothing in common."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{streams}/{family}".encode()).digest()[:4], "little") >> 1


def played(kind):
    options = {"num_envs": 2, "seed": 1, "streams": "training", "max_episode_steps": 0, "families": 2, "stagger_starts": False, "joining": False}
    simulator = kind.simulator(options)
    random, hashed = np.random.default_rng(1), hashlib.sha256(simulator.observations.tobytes())
    space = kind.spec["action"]
    try:
        for _ in range(PROBED_STEPS):
            if space["kind"] == "discrete":
                simulator.actions[...] = random.integers(space["n"], size=2)
            else:
                low, high = (np.reshape(space[bound], space["shape"]) for bound in ("low", "high"))
                simulator.actions[...] = random.uniform(low, high, simulator.actions.shape)
            for array in simulator.step():
                hashed.update(b"" if array is None else array.tobytes())
    finally:
        simulator.env.close()
    return hashed.hexdigest()


def seeded_reset(env, seeds):
    try:
        return env.reset(seed=seeds)
    except TypeError:  # Atari's takes arrays alone
        return env.reset(seed=np.asarray(seeds, np.int32))


def autoreset_mode(env):
    """The mode's value: "NextStep", "SameStep" or "Disabled"."""
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is None:
        warnings.warn(f"{env} does not say its autoreset_mode in its metadata; next-step is assumed, as Gymnasium does", stacklevel=2)
        return "NextStep"
    return getattr(mode, "value", mode)


def time_limit(env):
    spec = getattr(env, "spec", None)
    return getattr(spec, "max_episode_steps", None) or 0


def numpy_of(rows):
    """Arrays of NumPy's, PyTorch's or JAX's; from a device by a copy."""
    if isinstance(rows, np.ndarray):
        return rows
    if hasattr(rows, "detach"):
        rows = rows.detach().cpu()
    return np.from_dlpack(rows) if hasattr(rows, "__dlpack__") else np.asarray(rows)


def flat(values, dtype, count, what):
    array = np.ascontiguousarray(numpy_of(values), dtype)
    if array.shape != (count,):
        raise ValueError(f"{what}: got an array of shape {array.shape}, expected ({count},)")
    return array


def leaves(rows):
    return [numpy_of(row) for row in (rows.values() if isinstance(rows, dict) else [rows])]


def copy_of(rows):
    return {key: np.array(numpy_of(row)) for key, row in rows.items()} if isinstance(rows, dict) else np.array(numpy_of(rows))


def scattered(rows, mask, into):
    """Rows of some in their places among all."""
    if isinstance(rows, dict):
        return {key: scattered(rows[key], mask, into[key]) for key in rows}
    out = np.array(into)
    out[mask] = numpy_of(rows)
    return out


def allocate(space, count):
    if hasattr(space, "spaces"):
        return {key: allocate(inner, count) for key, inner in space.spaces.items()}
    return np.zeros((count, *space.shape), space.dtype)


def put(rows, i, row):
    if isinstance(rows, dict):
        for key in rows:
            rows[key][i] = row[key]
    else:
        rows[i] = row
