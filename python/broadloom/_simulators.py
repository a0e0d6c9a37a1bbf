"""Environments of Gymnasium's kind, adapted to what the extension steps: one call for all N a step, arrays of the spec's
dtypes, every episode's last observation apart from the next one's first, and no row that is not a transition."""

import contextlib
import hashlib
import threading
import typing
import warnings
import weakref

import numpy as np

from . import spaces

NO_FAMILIES = ("seed_families: environments of a family draw the same random numbers, for which each must take a seed, and these take one for all of them; leave it out, "
               "or give Broadloom the single environment")
PROBED_STEPS = 64  # that tell whether the same seeds and actions give the same again


class Simulator:
    """N environments of a kind. The extension reads `observations`, `critic_observations`, and writes `actions`, which step() takes from there."""

    def __init__(self, kind, request, seeds, probe=None):
        """probe: environments to take instead of new ones, which tell about their kind."""
        self.kind, self.request, self.num_envs = kind, request, request.num_envs
        self.max_episode_steps = request.max_episode_steps or kind.spec["max_episode_steps"]
        self.deterministic, self.filler_rows = kind.deterministic, kind.filler_rows
        self.has_final_observations, self.mode = kind.has_final_observations, kind.mode
        self.mask_is_honoured = self.mode == "Disabled"  # a reset of some is all that there is
        self.seeds, self.spec = seeds, kind.spec
        self.is_probe = probe is not None
        self.env = self.made(seeds[0]) if probe is None else probe
        action = self.spec["action"]
        self.actions = np.zeros(self.num_envs, np.int64) if action["kind"] == "discrete" else np.zeros((self.num_envs, *action["shape"]), np.float32)
        try:
            self.begin(seeds[0])
        except BaseException:
            self.close()
            raise

    def made(self, seed):
        return self.kind.made(self.request._replace(seeds=self.seeds[1](seed)))

    def reset(self, seed):
        """New episodes everywhere, as those of environments made with this seed."""
        if self.kind.seeds_when_made:
            self.env.close()
            self.env = self.made(seed)
        self.begin(seed)

    def begin(self, seed):
        try:
            rows, _ = self.env.reset() if self.kind.seeds_when_made else seeded_reset(self.env, self.seeds[1](seed), self.request.in_families)
            self.observations, self.critic_observations = self.split(self.kind.read(rows))
        except Exception as error:
            self.explain(error, "reset()", "(observations, infos)")
            raise

    def close(self):
        abandon(self.env)

    def step(self):
        """(observations, rewards, terminated, truncated, final observations or None, critic observations or None, final critic observations or None)."""
        try:
            return self.stepped()
        except Exception as error:
            self.explain(error, "step()", "(observations, rewards, terminations, truncations, infos)")
            raise

    def explain(self, error, where, returned):
        """Adds to what environments raise where it was and what was expected. Processes that are gone raise nothing of their own."""
        where = f"{where} of {self.kind.id}"
        if isinstance(error, (EOFError, BrokenPipeError, ConnectionResetError)):
            abandon(self.env)
            raise RuntimeError(f"{where}: a process of its environments has died; what it printed, or the system's log, may say why") from error
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(f"In {where}, which gives {returned}: observations of {self.kind.observation_space}, actions of {self.kind.action_space}.")

    def stepped(self):
        rows, rewards, terminated, truncated, infos = self.env.step(
            self.kind.as_theirs(self.actions))
        rows = self.kind.read(rows)
        rewards = flat(rewards, np.float64, self.num_envs, "rewards")
        terminated = flat(terminated, np.bool_, self.num_envs, "terminations")
        truncated = flat(truncated, np.bool_, self.num_envs, "truncations")
        ended = terminated | truncated
        finals = critic_finals = None
        if ended.any():
            self.learn_mode(infos)
            if self.mode == "SameStep":
                last = self.final_rows(infos, ended)
            elif self.filler_rows:
                last = rows  # shown until the next step, which only resets
            else:
                rows, last = self.start_anew(rows, ended)
            if last is not None:
                finals, critic_finals = self.split(last)
        self.observations, self.critic_observations = self.split(rows)
        return self.observations, rewards, terminated, truncated, finals, self.critic_observations, critic_finals

    def learn_mode(self, infos):
        """Last observations in infos prove same-step autoreset, where no metadata names a mode."""
        if not self.kind.mode_is_assumed or final_observations(infos) is None:
            return
        if self.filler_rows and not self.is_probe:
            raise RuntimeError(
                f"{self.kind.id}: infos has last observations, so its episodes begin anew within a "
                "step, but its metadata does not say so and next-step was assumed; set "
                "metadata['autoreset_mode'] = gymnasium.vector.AutoresetMode.SAME_STEP")
        self.mode, self.filler_rows = "SameStep", False
        self.kind.mode = "SameStep"

    def final_rows(self, infos, ended):
        """Same-step autoreset: last observations, in the rows of episodes that ended, or None."""
        finals = final_observations(infos)
        if finals is None:
            if self.is_probe:
                self.kind.has_final_observations = False
            if self.is_probe or not self.has_final_observations:
                return None
            raise RuntimeError(
                f"{self.kind.id}: episodes ended, and infos has neither 'final_obs' nor "
                "'final_observation', which same-step autoreset promises; hand them out, or set "
                "metadata['final_obs'] = False and train with truncation_mode='as_termination'")
        if isinstance(finals, dict):
            return self.kind.read(finals)
        if not isinstance(finals, (list, tuple)) and numpy_of(finals).dtype != object:
            return finals
        rows = allocate(self.kind.read_space, self.num_envs)
        for i in np.flatnonzero(ended):
            if finals[i] is None:
                raise RuntimeError(
                    f"{self.kind.id}: the episode of environment {i} has ended, and its last "
                    "observation in infos is None; expected that observation")
            put(rows, i, finals[i])
        return rows

    def start_anew(self, rows, ended):
        """The other modes: what came is the last observation; a reset of these alone gives the next. Nothing is thrown away."""
        last = copy_of(rows)
        after = self.kind.read(self.env.reset(options={"reset_mask": ended.copy()})[0])
        if self.kind.resets_give_their_own_rows:
            after = scattered(after, ended, last)
        if not self.mask_is_honoured and not ended.all():
            if not same_rows(after, last, ~ended):
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
            return flat(rows, np.int64, self.num_envs, "observations") - space["start"]
        rows = numpy_of(rows)
        if space["channels_first"]:
            rows = np.moveaxis(rows, 1, -1)
        if rows.shape != (self.num_envs, *space["shape"]) and (rows.shape, space["shape"]) != ((self.num_envs,), [1]):
            raise ValueError(f"observations: got an array of shape {rows.shape}, expected {(self.num_envs, *space['shape'])}")
        return np.ascontiguousarray(rows, space["dtype"])


class Request(typing.NamedTuple):
    """What is asked of who makes environments."""

    num_envs: int
    max_episode_steps: int = 0  # 0: their own
    streams: str = "training"  # "evaluation", "panel"
    seeds: typing.Sequence[int] = ()  # one an environment
    in_families: bool = False  # some have the same seed


class Described:
    """A Simulator that is only looked at: what it says of itself, without environments."""

    def __init__(self, kind, request):
        self.num_envs = request.num_envs
        self.max_episode_steps = request.max_episode_steps or kind.spec["max_episode_steps"]
        self.deterministic, self.filler_rows = kind.deterministic, kind.filler_rows
        self.has_final_observations = kind.has_final_observations

    def close(self):
        pass


class Kind:
    """Facts about environments of one kind (their spec), and how to make them.

    make(Request) -> VectorEnv. A few environments, the probe, are made to look at and closed
    before any are made for a run.
    probe_envs: how many the probe asks for; it takes the number that comes.
    keys: (the key that the policy reads, the key that the critic reads) of Dict observations.
    frames: images that an observation is to show, of environments that show one.
    seeds_when_made: they take seeds when they are made, not at a reset. one_seed: one for all.
    resets_give_their_own_rows: a reset with a mask gives rows of those environments alone."""

    def __init__(self, env_id, make, *, upstream="", summary="", max_episode_steps=0,
                 reward_threshold=None, keys=("policy", "critic"), frames=1, seeds_when_made=False,
                 one_seed=False, resets_give_their_own_rows=False, probe_envs=2):
        self.id, self.make, self.keys, self.probe_envs = env_id, make, keys, probe_envs
        self.seeds_when_made, self.one_seed = seeds_when_made, one_seed
        self.resets_give_their_own_rows = resets_give_their_own_rows
        self.observation_space = self.action_space = self.last_made = None
        self.has_strangers, self.has_final_observations = False, True
        self.deterministic, self.filler_rows, self.has_looked = True, False, False
        self.lock = threading.RLock()
        self.probe = self.made(self.probe_request(), any_number=True)
        try:
            self.describe(max_episode_steps, frames, reward_threshold, upstream, summary)
        except BaseException:
            self.close_probe()
            raise

    def describe(self, max_episode_steps, frames, reward_threshold, upstream, summary):
        env = self.probe
        self.mode, self.mode_is_assumed = autoreset_mode(env)
        self.has_final_observations = metadata_of(env).get("final_obs", True) is not False
        warn_of_statistics(self.id, env)
        self.observation_space = self.read_space = env.single_observation_space
        self.action_space = env.single_action_space
        limit = max_episode_steps or time_limit(env)
        observation, critic, keys = self.observation_space, None, self.keys
        if type(observation).__name__ == "Dict":
            if keys[0] not in observation.spaces:
                raise TypeError(
                    f"{self.id}: observations are a Dict of {', '.join(observation.spaces)}; "
                    f"expected '{keys[0]}' among them, which the policy reads, and optionally "
                    f"'{keys[1]}', which the critic reads. To read others, give train() a function "
                    "that makes the environment, and observation_keys=(policy, critic); to read "
                    "all of them, wrap it in gymnasium.wrappers.FlattenObservation")
            critic = observation.spaces.get(keys[1])
            read = {key: observation.spaces[key] for key in keys if key in observation.spaces}
            self.read_space = type(observation)(read)
            observation = observation.spaces[keys[0]]
        self.spec = {"id": self.id,
                     "observation": spaces.from_gymnasium(observation, "observation"),
                     "critic_observation": None if critic is None else {
                         **spaces.from_gymnasium(critic, "critic observation"), "dtype": "float32"},
                     "action": spaces.from_gymnasium(self.action_space, "action"),
                     "max_episode_steps": int(limit or 0), "frames": frames,
                     "reward_threshold": reward_threshold, "upstream": upstream, "summary": summary}
        self.first_action = self.spec["action"].get("start", 0)
        self.action_dtype = (np.dtype(np.int64) if self.spec["action"]["kind"] == "discrete"
                             else self.action_space.dtype)

    def probe_request(self):
        return Request(self.probe_envs, seeds=tuple(range(1, self.probe_envs + 1)))

    def look(self):
        """Plays the probe once, to learn how such environments behave, and closes it."""
        with self.lock:
            if self.has_looked:
                return
            if self.probe is None:
                self.probe = self.made(self.probe_request(), any_number=True)
            try:
                self.filler_rows = self.mode == "NextStep" and self.ignores_mask()
                self.deterministic = self.repeats()
                self.filler_rows = self.filler_rows and self.mode == "NextStep"
                self.has_looked = True
            finally:
                self.close_probe()

    def close_probe(self):
        probe, self.probe = self.probe, None
        if probe is not None:
            abandon(probe)

    def read(self, rows):
        """Of rows of a Dict, those that anybody reads."""
        if not isinstance(rows, dict):
            return rows
        return {key: rows[key] for key in getattr(self.read_space, "spaces", rows)}

    def made(self, request, any_number=False):
        """New environments, which are what was asked for."""
        env = self.make(request)
        missing = [name for name in ("num_envs", "single_observation_space", "single_action_space", "reset", "step", "close") if not hasattr(env, name)]
        if missing:
            raise TypeError(f"{self.id}: got {type(env).__name__} of the function that makes environments, which has no {', '.join(missing)}; expected a gymnasium.vector.VectorEnv, "
                            "or Stable-Baselines3's VecEnv, from a function of num_envs")
        given_before = self.last_made is not None and self.last_made() is env
        if getattr(env, "closed", False) is True or given_before:
            raise ValueError(
                f"{self.id}: the function that makes environments gave some that it gave before, "
                "or that are closed; let it make new ones in each call")
        if env.num_envs != request.num_envs and not any_number:
            abandon(env)
            raise ValueError(
                f"{self.id}: asked for {request.num_envs} environments and got {env.num_envs}; let "
                f"the function that makes them honour num_envs, or ask for {env.num_envs}: "
                f"num_envs={env.num_envs} to train, episodes={env.num_envs} to evaluate")
        with contextlib.suppress(TypeError):  # no weak references to it
            self.last_made = weakref.ref(env)
        return env

    def as_theirs(self, actions):
        """Actions as the environments number and store them: a copy, which they may keep."""
        return actions + self.first_action if self.first_action else actions.astype(self.action_dtype)

    def repeats(self):
        """Whether the same seeds and actions give the same again: of the probe, or of new ones,
        since some carry more over a reset than they should."""
        first = played(self, self.probe)
        if not self.seeds_when_made and first == played(self, self.probe):
            return True
        hashes = []
        for _ in range(2):
            with closing(self.made(self.probe_request(), any_number=True)) as env:
                hashes.append(played(self, env))
        return hashes[0] == hashes[1]

    def ignores_mask(self):
        """Whether, of the probe's environments, the first one's reset touches the second one."""
        env = self.probe
        if self.resets_give_their_own_rows or env.num_envs < 2:
            return False
        random, order = np.random.default_rng(1), np.arange(env.num_envs)
        seeds = list(range(1, env.num_envs + 1))
        rows, _ = env.reset() if self.seeds_when_made else seeded_reset(env, seeds)
        first = rows = copy_of(self.read(rows))
        for _ in range(PROBED_STEPS):
            actions = drawn(self.spec["action"], random, env.num_envs)
            rows = copy_of(self.read(env.step(self.as_theirs(actions))[0]))
            if not same_rows(rows, first, order == 1):
                break
        try:
            after = self.read(env.reset(options={"reset_mask": order == 0})[0])
            return not same_rows(after, rows, order == 1)
        except TypeError:  # it takes no options
            return True
        except Exception:  # it cuts no episode short, and may do as it is told at an end
            return False

    def simulator(self, options):
        """What the extension calls for N environments."""
        for asked, key in (("stagger_starts", "stagger_starts"), ("joining", "shape_schedule with more environments later")):
            if options[asked]:
                raise ValueError(f"{self.id}: {key} has environments begin while others are in the middle of an episode, which those of Broadloom's can; leave it out")
        families, streams = options["families"], options["streams"]
        self.look()
        if options.get("only_described"):
            return Described(self, Request(options["num_envs"], options["max_episode_steps"]))
        in_families = families < options["num_envs"]
        if in_families and self.one_seed:
            raise ValueError(f"{self.id}: {NO_FAMILIES}")
        seeds = options["seed"], lambda seed: [family_seed(seed, streams, i % families) for i in range(options["num_envs"])]
        return Simulator(self, Request(options["num_envs"], options["max_episode_steps"], options["streams"], in_families=in_families), seeds)


def family_seed(seed, streams, family):
    """The seed of a family of environments: training, evaluation and panels have nothing in common."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{streams}/{family}".encode()).digest()[:4], "little") >> 1


def played(kind, env):
    """A hash of the first steps of environments, as a run sees them."""
    seeds = list(range(1, env.num_envs + 1))
    simulator = Simulator(kind, Request(env.num_envs), (1, lambda _: seeds), probe=env)
    random, hashed = np.random.default_rng(1), hashlib.sha256(simulator.observations.tobytes())
    for _ in range(PROBED_STEPS):
        simulator.actions[...] = drawn(kind.spec["action"], random, env.num_envs)
        for array in simulator.step():
            hashed.update(b"" if array is None else array.tobytes())
        look_for_strangers(kind, simulator.observations)
    return hashed.hexdigest()


@contextlib.contextmanager
def closing(env):
    """Closes environments in the end. Where there was an error, that one comes out, and none of close()."""
    try:
        yield env
    except BaseException:
        abandon(env)
        raise
    env.close()


def abandon(env):
    """Closes environments that may not be able to."""
    try:
        if not getattr(env, "closed", False):
            env.close()
    except Exception:
        for process in getattr(env, "processes", ()):
            process.terminate()
        with contextlib.suppress(AttributeError):
            env.closed = True  # or it tries again when it is forgotten, and prints what comes of it


def look_for_strangers(kind, rows):
    """Warns once of observations that are not in their space. Learning does not depend on the
    bounds of a space, but the space may be what is wrong."""
    space = kind.spec["observation"]
    if space["kind"] == "discrete" or kind.has_strangers:
        return
    rows = rows.reshape(len(rows), -1)
    low, high = (np.asarray(space[bound], np.float32) for bound in ("low", "high"))
    outside = ((rows < low) | (rows > high)).any(axis=0)
    if outside.any():
        kind.has_strangers = True
        i = int(np.flatnonzero(outside)[0])
        warnings.warn(
            f"{kind.id}: observations are outside of their space: component {i} got "
            f"{rows[:, i].min():g} to {rows[:, i].max():g}, declared {low[i]:g} to {high[i]:g}",
            stacklevel=2)


def final_observations(infos):
    """Under the name of Gymnasium 1 and later, or of libraries that keep the name before it."""
    for key in ("final_obs", "final_observation"):
        if infos.get(key) is not None:
            return infos[key]
    return None


RUNNING_STATISTICS = ("VecNormalize", "NormalizeObservation", "NormalizeReward")


def warn_of_statistics(env_id, env):
    """Evaluation makes environments of its own, where such wrappers begin without statistics."""
    found, waiting = set(), [env]
    while waiting:
        part = waiting.pop()
        found |= {type(part).__name__} & set(RUNNING_STATISTICS)
        inner = [getattr(part, name, None) for name in ("env", "venv")]
        waiting += [one for one in inner if one is not None]
        waiting += list(getattr(part, "envs", ()))[:1]
    if found:
        warnings.warn(
            f"{env_id}: {', '.join(sorted(found))} keeps running statistics, and evaluation plays "
            "other environments, where it begins without them, so that scores mean little; leave "
            "it out, and train with norm_obs=True and norm_reward=True instead", stacklevel=2)


def drawn(space, random, count):
    """Actions of `count` environments, as a Simulator has them."""
    if space["kind"] == "discrete":
        return random.integers(space["n"], size=count)
    low, high = (np.reshape(space[bound], space["shape"]) for bound in ("low", "high"))
    return random.uniform(low, high, (count, *space["shape"]))


def seeded_reset(env, seeds, in_families=False):
    if any(part.__name__ == "AtariVectorEnv" for part in type(env).__mro__):
        return env.reset(seed=np.asarray(seeds, np.int32))
    try:
        return env.reset(seed=seeds)
    except Exception as error:  # some take one seed for all of them; what else is wrong is wrong then, too
        if in_families:
            raise ValueError(NO_FAMILIES) from error
        return env.reset(seed=int(seeds[0]))


def metadata_of(env):
    return getattr(env, "metadata", None) or {}


def autoreset_mode(env):
    """("NextStep", "SameStep" or "Disabled", whether that is an assumption)."""
    mode = metadata_of(env).get("autoreset_mode")
    if mode is None:
        warnings.warn(
            f"{env} has no autoreset_mode in its metadata; next-step is assumed, as Gymnasium "
            "does, unless infos has last observations where episodes end", stacklevel=2)
        return "NextStep", True
    mode = getattr(mode, "value", mode)
    if mode not in ("NextStep", "SameStep", "Disabled"):
        raise ValueError(f"metadata['autoreset_mode'] of {env}: got {mode!r}, expected one of "
                         "gymnasium.vector.AutoresetMode")
    return mode, False


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


def same_rows(a, b, mask):
    return all(np.array_equal(x[mask], y[mask]) for x, y in zip(leaves(a), leaves(b), strict=True))


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
