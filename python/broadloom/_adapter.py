"""Adapts Gymnasium's vector environments to what the extension steps.

One call steps all N environments. Arrays have the spec's dtypes. The last observation of an episode
is kept apart from the first one of the next, and every row is a transition."""

import contextlib
import difflib
import typing
import warnings

import numpy as np

from . import spaces
from ._arrays import cast, copy_of, flat, joined, merged, numpy_of, put, same_rows, scattered
from ._device_steps import on_device
from ._errors import InvalidType, InvalidValue, error_of
from ._masks import KEY, best_choices, read_masks

SUCCESS_KEYS = ("is_success", "success")  # of Stable-Baselines3 and Gymnasium-Robotics; of others
FROM_RESET = "(observations, infos)"
FROM_STEP = "(observations, rewards, terminations, truncations, infos)"
MOST_REWARD = float(np.finfo(np.float32).max)
NO_FAMILIES = (
    "seed_families: environments of a family draw the same random numbers, so each must take its "
    "own seed, but these take one seed for all; leave seed_families out, or give Broadloom the "
    "single environment"
)


class Request(typing.NamedTuple):
    """The environments to make."""

    num_envs: int
    max_episode_steps: int = 0  # 0: the environment's own limit
    streams: str = "training"  # or "evaluation", "panel"
    seeds: typing.Sequence[int] = ()  # one per environment
    in_families: bool = False  # some environments have the same seed
    is_probe: bool = False


def metadata_of(env):
    return getattr(env, "metadata", None) or {}


def engine_of(env):
    """The library that steps these environments, with its model; "" if they do not say."""
    return str(metadata_of(env).get("engine", ""))


class Described:
    """Facts of a Simulator, without environments."""

    def __init__(self, kind, request):
        self.num_envs = request.num_envs
        self.max_episode_steps = request.max_episode_steps or kind.spec["max_episode_steps"]
        self.deterministic, self.filler_rows = kind.deterministic, kind.filler_rows
        self.has_final_observations = kind.has_final_observations
        self.common_bits, self.plays_blocks = kind.common_bits, False
        self.truncates_at_limit = kind.truncates_at_limit
        self.saves_state, self.engine = kind.saves_state, kind.engine()
        self.on_device = None

    def close(self):
        pass


class Simulator:
    """N environments of one Kind.

    The extension reads `observations` and `critic_observations`. It writes `actions`, and step()
    takes them from there. Compiled environments (_jax.py) can also play() a block."""

    def __init__(self, kind, request, seeds, probe=None):
        """seeds: (seed of the run, function from it to a list of one seed per environment).
        probe: environments to use instead of new ones, to learn about their kind."""
        self.kind, self.request, self.num_envs = kind, request, request.num_envs
        self.made = request.num_envs  # at least num_envs; the others are stepped, and not shown
        self.max_episode_steps = request.max_episode_steps or kind.spec["max_episode_steps"]
        self.deterministic, self.filler_rows = kind.deterministic, kind.filler_rows
        self.has_final_observations, self.mode = kind.has_final_observations, kind.mode
        self.mask_is_honoured = self.mode == "Disabled"  # resets of single environments must work
        self.seeds, self.spec, self.first = seeds, kind.spec, 0
        self.is_probe = probe is not None
        self.env = self.new_envs(seeds[0]) if probe is None else probe
        self.common_bits, self.saves_state = kind.common_bits, kind.saves_state
        self.truncates_at_limit = kind.truncates_at_limit
        self.engine = engine_of(self.env)
        self.plays_blocks = kind.is_traced and kind.paths is None and self.env.plays_blocks(kind)
        self.on_device = on_device(self, self.env)
        action = self.spec["action"]
        dtype = np.float32 if "low" in action else np.int64
        self.actions = np.zeros((self.num_envs, *action.get("shape", ())), dtype)
        try:
            self.start(seeds[0])
        except BaseException:
            self.close()
            raise

    def new_envs(self, seed):
        """As many as requested. If an evaluation's number cannot be made, such as with a simulator
        of fixed size, more: a number that was made before."""
        try:
            return self.asked_for(self.num_envs, seed)
        except Exception:
            more = [count for count in self.kind.counts if count > self.num_envs]
            if self.request.streams != "training" and more:
                with contextlib.suppress(Exception):
                    return self.asked_for(min(more), seed)
            raise

    def asked_for(self, count, seed):
        seeds = self.seeds[1](seed, self.first, count)
        env = self.kind.new_envs(self.request._replace(num_envs=count, seeds=seeds))
        self.made = count
        return env

    def reset(self, seed):
        """Starts new episodes, as environments made with this seed would."""
        if self.kind.seeds_when_made:
            self.env.close()
            self.env = self.new_envs(seed)
        self.start(seed)

    def begin_wave(self, first):
        """Starts new episodes. Environment i takes the seed of environment first + i."""
        self.first = first
        self.reset(self.seeds[0])

    def start(self, seed):
        try:
            seeds = self.seeds[1](seed, self.first, self.made)
            found = begun(self.kind, self.env, seeds, self.request.in_families)
            self.show_begun(found, "reset()")
        except Exception as error:
            self.explain(error, "reset()", FROM_RESET)
            raise

    def close(self):
        abandon(self.env)

    def step(self):
        """Returns (observations, rewards, terminated, truncated, final observations, critic
        observations, final critic observations, successes). The last four may be None."""
        try:
            return self.transitions()
        except Exception as error:
            self.explain(error, "step()", FROM_STEP)
            raise

    def play(self, callee, num_steps):
        """Plays a block with the actions of the callee, an address of the extension."""
        self.env.play(self.kind, callee, num_steps)

    @property
    def state_types(self):
        """(name of the dtype, shape) of each array of state()."""
        return self.env.state_types()

    def state(self):
        """All that the next step depends on besides the actions, as arrays [N, ...]."""
        return self.env.state()

    def restore(self, arrays):
        """arrays: the bytes of each array of state()."""
        self.env.restore(arrays)

    def explain(self, error, call, returned):
        """Adds to an environment's exception the call and the values it should return. A process
        that died raises nothing of its own."""
        place = f"{call} of {self.kind.id}"
        if isinstance(error, (EOFError, BrokenPipeError, ConnectionResetError)):
            abandon(self.env)
            raise RuntimeError(
                f"{place}: a process of its environments has died; look for the reason in its "
                "output or in the system's log"
            ) from error
        wrong = wrong_row(self.env, error)
        shown = InvalidValue(wrong) if wrong else error
        if hasattr(shown, "add_note"):  # Python 3.11 and later
            shown.add_note(
                f"In {place}, which should return {returned}: observations of "
                f"{self.kind.observation_space}, actions of {self.kind.action_space}."
                + wrong_number(error)
            )
        if wrong:
            raise shown from error

    def transitions(self):
        rows, rewards, terminated, truncated, infos = stepped(
            self.kind, self.env, self.kind.to_env_actions(self.all_actions())
        )
        rows = self.kind.read(rows)
        rewards = self.read_rewards(rewards)
        terminated = flat(terminated, np.bool_, self.made, "terminations")
        truncated = flat(truncated, np.bool_, self.made, "truncations")
        ended = terminated | truncated
        idle = finals = critic_finals = successes = None
        if ended.any():
            self.detect_same_step(infos, ended, rows)
            check_success(self.kind, infos, self.made)
            if self.kind.success_key is not None:
                successes = successes_of(infos, self.kind.success_key, ended)
            if self.mode == "SameStep":
                last = self.final_rows(infos, ended, rows)
            elif self.filler_rows:
                last, idle = rows, ended  # they stay until the next step, which only resets
            else:
                rows, last, infos = self.reset_ended(rows, ended, infos)
            if last is not None:
                finals, critic_finals = self.split(last)
        self.show(rows, infos, idle)
        return tuple(
            None if array is None else array[: self.num_envs]
            for array in (
                self.observations,
                rewards,
                terminated,
                truncated,
                finals,
                self.critic_observations,
                critic_finals,
                successes,
            )
        )

    def read_rewards(self, given):
        """The rewards. Others refuse infinite ones and nan later, with their step."""
        rewards = numpy_of(given)
        if rewards.dtype == object and None in rewards.tolist():
            place = rewards.tolist().index(None)
            raise InvalidValue(f"rewards: environment {place} gave None, expected one number")
        rewards = flat(rewards, np.float64, self.made, "rewards")
        largest = np.abs(rewards).max()
        if MOST_REWARD < largest < np.inf:
            place = int(np.abs(rewards).argmax())
            raise error_of(
                "numeric",
                f"rewards: environment {place} gave {rewards[place]:g}, expected at most "
                f"{MOST_REWARD:g}, the largest number of float32; scale the reward",
                InvalidValue,
            )
        is_told = self.kind.has_warned_of_nan or hasattr(self.env, "refuses_none")
        if np.isnan(largest) and not is_told:
            self.kind.has_warned_of_nan = True
            place = int(np.isnan(rewards).argmax())
            warnings.warn(
                f"{self.kind.id}: environment {place} gave nan or None as a reward, which "
                "Gymnasium stores alike; expected one number",
                stacklevel=2,
            )
        return rewards

    def show_begun(self, found, call):
        """found: (observations, infos), as reset() returns them."""
        rows, infos = values_of(self.kind, found, call, FROM_RESET)
        self.show(self.kind.read(rows), infos)

    def show(self, rows, infos, idle=None):
        """Keeps what the extension reads."""
        arrays = (*self.split(rows), read_masks(self.kind, self.env, rows, infos, idle))
        self.all_masks = arrays[2]
        self.observations, self.critic_observations, self.masks = (
            None if array is None else array[: self.num_envs] for array in arrays
        )

    def all_actions(self):
        """The actions, and valid ones of the environments that are not shown."""
        if self.made == self.num_envs:
            return self.actions
        actions = self.actions[np.arange(self.made) % self.num_envs]
        if self.all_masks is not None:
            hidden = slice(self.num_envs, None)
            actions[hidden] = best_choices(self.all_masks[hidden], self.spec["action"])
        return actions

    def detect_same_step(self, infos, ended, rows):
        """If no metadata names a mode, last observations in infos prove same-step autoreset. If
        metadata names another mode, they must equal the rows."""
        if final_observations(infos) is None or self.mode == "SameStep":
            return
        if not self.kind.mode_is_assumed:
            return self.check_declared(infos, ended, rows)
        if self.filler_rows and not self.is_probe:
            raise RuntimeError(
                f"{self.kind.id}: infos has last observations, so episodes begin within a step "
                "(same-step autoreset), but its metadata does not say so and next-step autoreset "
                "was assumed; set metadata['autoreset_mode'] = "
                "gymnasium.vector.AutoresetMode.SAME_STEP"
            )
        self.mode, self.filler_rows = "SameStep", False
        self.kind.mode = "SameStep"

    def check_declared(self, infos, ended, rows):
        finals = final_observations(infos)
        if isinstance(finals, (list, tuple, np.ndarray)):
            there = np.array([one is not None for one in finals])
            if there.shape != ended.shape or not there[ended].all():
                return
        if not same_rows(self.final_rows(infos, ended, rows), rows, ended):
            declared = {"NextStep": "NEXT_STEP", "Disabled": "DISABLED"}[self.mode]
            raise InvalidValue(
                f"{self.kind.id}: metadata['autoreset_mode'] declares {declared}, but step() gave "
                "other observations than the last ones in infos when episodes ended, so episodes "
                "begin within a step; set metadata['autoreset_mode'] = "
                "gymnasium.vector.AutoresetMode.SAME_STEP"
            )

    def final_rows(self, infos, ended, rows):
        """Same-step autoreset: last observations at the rows of ended episodes, or None. The other
        rows are the current ones, which are in the space."""
        finals = final_observations(infos)
        if finals is None:
            if self.is_probe:
                self.kind.has_final_observations = False
            if self.is_probe or not self.has_final_observations:
                return None
            raise RuntimeError(
                f"{self.kind.id}: episodes ended, but infos has neither 'final_obs' nor "
                "'final_observation', which same-step autoreset promises; add one, or set "
                "metadata['final_obs'] = False and train with truncation_mode='as_termination'"
            )
        if isinstance(finals, dict):
            return merged(self.kind.read(finals), ended, rows)
        if not isinstance(finals, (list, tuple)) and numpy_of(finals).dtype != object:
            return finals
        last = copy_of(rows)
        for i in np.flatnonzero(ended):
            if finals[i] is None:
                raise RuntimeError(
                    f"{self.kind.id}: the episode of environment {i} has ended, but its last "
                    "observation in infos is None; expected that observation"
                )
            put(last, i, self.kind.read(finals[i]))
        return last

    def reset_ended(self, rows, ended, infos):
        """Next-step and disabled autoreset: resets the ended episodes alone. `rows` are their last
        observations; the reset gives their next ones, so no step is lost."""
        last = copy_of(rows)
        after, new = values_of(
            self.kind, self.env.reset(options={"reset_mask": ended.copy()}), "reset()", FROM_RESET
        )
        after = self.kind.read(after)
        if self.kind.masked_reset_gives_subset:
            after = scattered(after, ended, last)
        if not self.mask_is_honoured and not ended.all():
            if not same_rows(after, last, ~ended):
                raise RuntimeError(
                    f"{self.kind.id}: its vector environment ignores the reset_mask of reset(), "
                    f"and resets all {self.made} environments when one episode has ended; make "
                    "it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP, or give "
                    "Broadloom the single environment"
                )
            self.mask_is_honoured = True
        if self.kind.mask_source == "infos" and KEY in new:
            others = infos.get(KEY, [None] * self.made)
            infos = {KEY: [(new[KEY] if e else others)[i] for i, e in enumerate(ended)]}
        return after, last, infos

    def split(self, rows):
        """(the policy's observations, the critic's own observations or None), as arrays."""
        if self.kind.paths is not None:
            return spaces.rows_of_groups(rows, self.spec["observation"], self.made), None
        if not isinstance(rows, dict):
            return self.to_array(rows, self.spec["observation"]), None
        policy, critic = (joined(rows, keys) for keys in self.kind.groups)
        policy = self.to_array(policy, self.spec["observation"])
        if critic is None:
            return policy, None
        return policy, self.to_array(critic, self.spec["critic_observation"])

    def to_array(self, rows, space):
        if space["kind"] == "discrete":
            return flat(rows, np.int64, self.made, "observations") - space["start"]
        rows = numpy_of(rows)
        if space["channels_first"]:
            rows = np.moveaxis(rows, 1, -1)
        expected = (self.made, *space["shape"])
        is_scalar = (rows.shape, space["shape"]) == ((self.made,), [1])
        if rows.shape != expected and not is_scalar:
            raise InvalidValue(
                f"observations: got an array of shape {rows.shape}, expected {expected}"
            )
        return cast(rows, space["dtype"], "observations")


def begun(kind, env, seeds, in_families=False):
    """(observations, infos) of new episodes."""
    found = env.reset() if kind.seeds_when_made else seeded_reset(env, seeds, in_families)
    return values_of(kind, found, "reset()", FROM_RESET)


def stepped(kind, env, actions):
    """The values of step()."""
    return values_of(kind, env.step(actions), "step()", FROM_STEP)


def values_of(kind, found, call, expected):
    """The values of a call, if they are as many as expected and infos is a dict."""
    is_many = isinstance(found, (tuple, list))
    if not is_many or len(found) != expected.count(",") + 1:
        got = f"{len(found)} values" if is_many else f"one value of {type(found).__name__}"
        raise InvalidValue(f"{call} of {kind.id}: got {got}, expected {expected}")
    if not hasattr(found[-1], "items"):
        raise InvalidValue(
            f"infos of {call} of {kind.id}: got a {type(found[-1]).__name__}, expected a dict with "
            "one entry a key for all environments, as Gymnasium's vector environments return; {} "
            "if there are none"
        )
    return found


def seeded_reset(env, seeds, in_families=False):
    if any(part.__name__ == "AtariVectorEnv" for part in type(env).__mro__):
        return env.reset(seed=np.asarray(seeds, np.int32))
    try:
        return env.reset(seed=seeds)
    except InvalidValue:  # of a single environment; its process has ended
        raise
    except Exception as error:  # some take one seed for all; any other fault comes again below
        if in_families:
            raise InvalidValue(NO_FAMILIES) from error
        return env.reset(seed=int(seeds[0]))


def wrong_number(error):
    """A hint if Gymnasium could not store a reward or an end, which it does not name."""
    words = ("setting an array element with a sequence", "could not convert string to float")
    if not any(text in str(error) for text in words):
        return ""
    return " Each reward must be one number, such as float(reward), and each end True or False."


def wrong_row(env, error):
    """The first observation of a SyncVectorEnv that does not fit its space, in words; "" if there
    is none. The error of SyncVectorEnv names neither shape nor environment."""
    if not isinstance(error, (ValueError, TypeError, KeyError)) or isinstance(error, InvalidValue):
        return ""
    space = getattr(env, "single_observation_space", None)
    has_groups = hasattr(space, "spaces")
    parts = list(spaces.parts_of(space)) if has_groups else [((), space)]
    is_none = "wrong dimensionality" in str(error)  # of numpy.stack() of None
    for i, row in enumerate(getattr(env, "_env_obs", None) or ()):
        if row is None and is_none:
            return f"observations: environment {i} gave None, expected an array of {space}"
        for path, part in parts:
            declared = getattr(part, "shape", None)
            if declared is None or row is None:
                continue
            got = np.shape(value_at(row, path))
            if got != declared:
                where = f"group '{spaces.group_name(path)}' of " if path else ""
                return (
                    f"observations: {where}environment {i} gave an array of shape {got}, expected "
                    f"{declared}, as its observation_space says"
                )
        wrong = wrong_type(space, row, parts, f"observation of environment {i}")
        if wrong:
            return wrong
    return ""


def wrong_type(space, row, parts, where):
    """Why Gymnasium cannot store an observation, in words; "" if it can. parts: (path, space)."""
    from ._checked import fitted_to

    try:
        fitted = row if row is None else fitted_to(space, row, where)
    except (InvalidValue, InvalidType) as error:
        return str(error)
    for path, part in parts:
        value = value_at(row, path)
        if value is not value_at(fitted, path):
            group = f", group '{spaces.group_name(path)}'" if path else ""
            return (
                f"{where}{group}: got {numpy_of(value).dtype}, expected {part.dtype}, as its "
                f"observation_space says; return np.asarray(row, np.{part.dtype})"
            )
    return ""


def value_at(row, path):
    """The part of an observation at a path of keys; None if it has none."""
    for key in path:
        try:
            row = row[key]
        except (KeyError, IndexError, TypeError):
            return None
    return row


def has_key(infos, key, count):
    """Whether a step's infos have this key, or those of the episodes that ended with it."""
    if not isinstance(infos, dict):
        return False
    final = infos.get("final_info")
    if final is not None and not isinstance(final, dict):
        return any(key in (info or {}) for info in final)
    return any(one_each((part or {}).get(key), count) is not None for part in (infos, final))


def check_success(kind, infos, count):
    """Refuses or tells of a key of success that the first episodes to end do not have, and tells of
    one that the probe did not see."""
    if kind.has_checked_success or kind.is_traced or not isinstance(infos, dict):
        return
    key = kind.success_key
    if key is None:
        found = next((one for one in SUCCESS_KEYS if has_key(infos, one, count)), None)
        if found:
            kind.has_checked_success = True
            warnings.warn(
                f"{kind.id}: infos[{found!r}] was not seen before training, so success stays "
                f"unknown; give the environment metadata = {{'success_key': {found!r}}}",
                stacklevel=2,
            )
        return
    kind.has_checked_success = True
    final = infos.get("final_info")
    parts = [infos, *(final if isinstance(final, (list, tuple, np.ndarray)) else [final])]
    names = {name for part in parts if isinstance(part, dict) for name in part}
    if key in names:
        return
    others = sorted(str(name) for name in names if not str(name).startswith(("_", "final_")))
    near = difflib.get_close_matches(key, others, 1, 0.85)
    words = f"metadata['success_key'] of {kind.id}: got {key!r}, expected a key of infos"
    if near:
        raise InvalidValue(f"{words}; did you mean {near[0]!r}?")
    warnings.warn(
        f"{words}; the first episode that ended has {', '.join(others) or 'none'}. Episodes "
        "without the key count as failures",
        stacklevel=2,
    )


def successes_of(infos, key, ended):
    """int8 [N]: 1 where the ended episode succeeded, -1 where the value is NaN. Same-step autoreset
    has the last infos apart, as a dict of arrays, or before Gymnasium 1 as a dict for each
    environment."""
    final = infos.get("final_info")
    values = final[key] if isinstance(final, dict) and key in final else infos.get(key)
    if final is not None and not isinstance(final, dict):
        values = [(info or {}).get(key) for info in final]
    out = np.zeros(len(ended), np.int8)
    values = one_each(values, len(ended))
    if values is not None:
        for i in np.flatnonzero(ended):
            is_unknown = isinstance(values[i], (float, np.floating)) and np.isnan(values[i])
            out[i] = -1 if is_unknown else bool(values[i])
    return out


def one_each(values, count):
    """Values of infos as an array [count]; None if they have another form, such as one number for
    all environments."""
    if values is None:
        return None
    array = np.array(values, object) if isinstance(values, list) else numpy_of(values)
    return array if array.shape == (count,) else None


def final_observations(infos):
    """`final_obs` since Gymnasium 1, `final_observation` before it and in some libraries."""
    for key in ("final_obs", "final_observation"):
        if infos.get(key) is not None:
            return infos[key]
    return None


def abandon(env):
    """Closes environments, even if their close() fails."""
    try:
        if not getattr(env, "closed", False):
            env.close()
    except Exception:
        for process in getattr(env, "processes", ()):
            process.terminate()
        with contextlib.suppress(AttributeError):
            env.closed = True  # else its destructor tries again and prints the error


@contextlib.contextmanager
def closing(env):
    """Closes environments at the end. An error of the block hides one of close()."""
    try:
        yield env
    except BaseException:
        abandon(env)
        raise
    env.close()
