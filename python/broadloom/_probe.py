"""Plays a few environments, the probe, to learn how their kind behaves.

The probe tells whether seeds repeat, whether a reset of one environment leaves the others alone,
and which autoreset mode they have."""

import hashlib
import warnings

import numpy as np

from ._adapter import (
    SUCCESS_KEYS,
    Request,
    Simulator,
    closing,
    has_key,
    metadata_of,
    stepped,
)
from ._adapter import begun as episodes_begun
from ._arrays import copy_of, numpy_of, same_rows
from ._errors import InvalidType, InvalidValue
from ._masks import best_choices, read_masks

PROBED_STEPS = 64
STEPS_TO_AN_END = 200  # in which an episode may end and name its success
RUNNING_STATISTICS = ("VecNormalize", "NormalizeObservation", "NormalizeReward")


def probe_request(kind):
    return Request(kind.probe_envs, seeds=range(1, kind.probe_envs + 1), is_probe=True)


def success_key(kind, env):
    """The key of a step's infos that says whether the episode has succeeded: the one that metadata
    declares as success_key, or one of SUCCESS_KEYS in the first step or at the end of the first
    episode. None: there is none, or no episode ended soon enough."""
    declared = metadata_of(env).get("success_key")
    if isinstance(declared, str):
        return declared
    if declared is not None:
        raise InvalidType(
            f"metadata['success_key'] of {env}: got {declared!r}, expected the key of infos that "
            "says whether an episode has succeeded"
        )
    try:
        seeds = list(range(1, env.num_envs + 1))
        rows, infos = episodes_begun(kind, env, seeds)
        masks = read_masks(kind, env, kind.read(rows), infos)
        random = np.random.default_rng(1)
        actions = random_actions(kind.spec["action"], random, env.num_envs, masks)
        for _ in range(STEPS_TO_AN_END):
            step = env.step(kind.to_env_actions(actions))
            rows, _, terminated, truncated, infos = step
            found = next((key for key in SUCCESS_KEYS if has_key(infos, key, env.num_envs)), None)
            if found or np.logical_or(numpy_of(terminated), numpy_of(truncated)).any():
                return found
            masks = read_masks(kind, env, kind.read(rows), infos)
            actions = random_actions(kind.spec["action"], random, env.num_envs, masks)
        return None
    except Exception:  # the steps of a new probe explain it
        kind.close_probe()
        return None


def repeats(kind, probe):
    """Whether the same seeds and actions give the same steps, in the probe or in new environments:
    some carry more over a reset than they should."""
    first = hash_of_steps(kind, probe)
    if not kind.seeds_when_made and first == hash_of_steps(kind, probe):
        return True
    hashes = []
    for _ in range(2):
        with closing(kind.new_envs(probe_request(kind), any_number=True)) as env:
            hashes.append(hash_of_steps(kind, env))
    return hashes[0] == hashes[1]


def hash_of_steps(kind, env):
    """A hash of the environments' first steps, as a run sees them."""
    simulator = begun(kind, env)
    first = simulator.observations.tobytes()
    return hash_of_played(kind, simulator, first)


def restores(kind, env):
    """Whether restore() of a state() gives the steps after it again: functions may keep more."""
    simulator = begun(kind, env)
    hash_of_played(kind, simulator)
    state = [array.tobytes() for array in simulator.state()]
    after = hash_of_played(kind, simulator)
    simulator.restore(state)
    return after == hash_of_played(kind, simulator)


def begun(kind, env):
    seeds = list(range(1, env.num_envs + 1))
    return Simulator(kind, Request(env.num_envs), (1, lambda *_: seeds), probe=env)


def hash_of_played(kind, simulator, first=b""):
    random = np.random.default_rng(1)
    hashed, shared = hashlib.sha256(first), {}
    for _ in range(PROBED_STEPS):
        simulator.actions[...] = random_actions(
            kind.spec["action"], random, simulator.num_envs, simulator.masks
        )
        for array in simulator.step():
            hashed.update(b"" if array is None else array.tobytes())
        warn_of_range(kind, simulator.observations)
        check_shared(kind, simulator.env, shared)
    return hashed.hexdigest()


def check_shared(kind, env, known):
    """Refuses an array that two single environments of Gymnasium's SyncVectorEnv returned in one
    step, and that changes: each writes over the others' rows. known: {address: (array, copy)} of
    earlier steps. Constants may be shared."""
    from ._checked import SHARED, arrays_in

    owners = {}
    for i, row in enumerate(getattr(getattr(env, "unwrapped", env), "_env_obs", None) or ()):
        for array in arrays_in(row):
            address = array.__array_interface__["data"][0]
            if not array.size or owners.setdefault(address, i) == i:
                continue
            if address in known and not np.array_equal(known[address][1], array):
                raise InvalidValue(
                    f"{kind.id}: environments {owners[address]} and {i} returned the same array "
                    f"as observation; {SHARED}"
                )
            known[address] = array, array.copy()


def ignores_mask(kind, env):
    """Whether a reset of the first environment also resets the second one."""
    if kind.masked_reset_gives_subset or env.num_envs < 2:
        return False
    random, order = np.random.default_rng(1), np.arange(env.num_envs)
    seeds = list(range(1, env.num_envs + 1))
    rows, infos = episodes_begun(kind, env, seeds)
    first = rows = copy_of(kind.read(rows))
    ended = None
    for _ in range(PROBED_STEPS):
        masks = read_masks(kind, env, rows, infos, ended)
        actions = random_actions(kind.spec["action"], random, env.num_envs, masks)
        rows, _, terminated, truncated, infos = stepped(kind, env, kind.to_env_actions(actions))
        ended = np.logical_or(numpy_of(terminated), numpy_of(truncated))
        rows = copy_of(kind.read(rows))
        if not same_rows(rows, first, order == 1):
            break
    try:
        after = kind.read(env.reset(options={"reset_mask": order == 0})[0])
        return not same_rows(after, rows, order == 1)
    except TypeError:  # its reset() takes no options
        return True
    except Exception:
        return cuts_all_episodes(env)


def cuts_all_episodes(env):
    """Whether a mask may name all environments, so that it was refused for naming some, as by
    NormalizeObservation. Others refuse to cut an episode, and honour the mask at an end."""
    try:
        env.reset(options={"reset_mask": np.ones(env.num_envs, np.bool_)})
        return True
    except Exception:
        return False


def random_actions(space, random, count, masks=None):
    """Actions of `count` environments, in the form of Simulator.actions. masks: uint8 [count, M] of
    valid choices, or None. An infinite bound counts as -1 or 1."""
    if masks is not None:  # the valid choice with the largest of random scores
        return best_choices(random.random(masks.shape) + masks, space)
    if space["kind"] == "hybrid":
        choices = random.integers(space["choices"], size=(count, len(space["choices"])))
        numbers = {**space, "kind": "box", "shape": (len(space["low"]),)}
        return np.concatenate([choices, random_actions(numbers, random, count)], axis=1)
    if space["kind"] == "discrete":
        return random.integers(space["n"], size=count)
    if space["kind"] == "multi_discrete":
        choices = np.reshape(space["choices"], space["shape"])
        return random.integers(choices, size=(count, *choices.shape))
    low, high = (
        np.where(np.isfinite(space[bound]), space[bound], one).reshape(space["shape"])
        for bound, one in (("low", -1.0), ("high", 1.0))
    )
    return random.uniform(low, high, (count, *space["shape"]))


def warn_of_range(kind, rows):
    """Warns once of observations outside their space. Learning does not depend on the bounds, but
    the space may be wrong."""
    space = kind.spec["observation"]
    if space["kind"] == "discrete" or kind.has_warned_of_range:
        return
    rows = rows.reshape(len(rows), -1)
    low, high = (np.asarray(space[bound], np.float32) for bound in ("low", "high"))
    outside = ((rows < low) | (rows > high)).any(axis=0)
    if outside.any():
        kind.has_warned_of_range = True
        i = int(np.flatnonzero(outside)[0])
        warnings.warn(
            f"{kind.id}: observations are outside of their space: component {i} got "
            f"{rows[:, i].min():g} to {rows[:, i].max():g}, expected {low[i]:g} to {high[i]:g}",
            stacklevel=2,
        )


def warn_of_statistics(env_id, env):
    """Warns of wrappers with running statistics: an evaluation's own environments start without
    them."""
    found, waiting = set(), [env]
    while waiting:
        part = waiting.pop()
        found |= {type(part).__name__} & set(RUNNING_STATISTICS)
        inner = [getattr(part, name, None) for name in ("env", "venv")]
        waiting += [one for one in inner if one is not None]
        waiting += list(getattr(part, "envs", ()))[:1]
    if found:
        verb = "keeps" if len(found) == 1 else "keep"
        warnings.warn(
            f"{env_id}: {', '.join(sorted(found))} {verb} running statistics. Evaluation makes new "
            "environments, which start without them, so scores mean little; leave the wrapper out, "
            "and train with norm_obs=True and norm_reward=True instead",
            stacklevel=2,
        )


def autoreset_mode(env):
    """("NextStep", "SameStep" or "Disabled", whether that is an assumption)."""
    mode = metadata_of(env).get("autoreset_mode")
    if mode is None:
        warnings.warn(
            f"{env} has no autoreset_mode in its metadata; next-step autoreset is assumed, as in "
            "Gymnasium, unless infos has last observations when episodes end",
            stacklevel=2,
        )
        return "NextStep", True
    mode = getattr(mode, "value", mode)
    if mode not in ("NextStep", "SameStep", "Disabled"):
        raise InvalidValue(
            f"metadata['autoreset_mode'] of {env}: got {mode!r}, expected one of "
            "gymnasium.vector.AutoresetMode"
        )
    return mode, False


def time_limit(env):
    spec = getattr(env, "spec", None)
    steps = getattr(spec, "max_episode_steps", None)
    return int(steps or getattr(env, "max_episode_length", None) or 0)
