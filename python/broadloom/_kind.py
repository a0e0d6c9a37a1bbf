"""One kind of environments: its spec, and how to make them."""

import contextlib
import hashlib
import threading
import weakref

import numpy as np

from . import _masks, _nested, spaces
from ._adapter import (
    NO_FAMILIES,
    Described,
    Request,
    Simulator,
    abandon,
    closing,
    engine_of,
    metadata_of,
    seeded_reset,
)
from ._arguments import USUAL_KEYS
from ._checks import MOST_STEPS
from ._errors import InvalidType, InvalidValue
from ._probe import (
    autoreset_mode,
    ignores_mask,
    probe_request,
    repeats,
    restores,
    success_key,
    time_limit,
    warn_of_statistics,
)

# The policy's and the critic's: Broadloom and Isaac Lab, mjlab, MuJoCo Playground; beside action
# masks also PettingZoo.
KNOWN_KEYS = (USUAL_KEYS, ("actor", "critic"), ("state", "privileged_state"))
MASKED_KEYS = (*KNOWN_KEYS, ("observation", "critic"))
MEMBERS = ("num_envs", "single_observation_space", "single_action_space", "reset", "step", "close")


class Kind:
    """Facts about one kind of environments, and a function that makes them.

    make: function from a Request to a VectorEnv. A Kind makes a few environments, the probe, plays
    and closes them before a run makes its own.
    probe_envs: number to ask for the probe. It may get another number.
    keys: (the key that the policy reads, the key that the critic reads) of Dict observations. A
    sequence of keys in place of one: their numbers, one after the other.
    frames: frames of a stacked image; 1 for environments without stacks.
    seeds_when_made: environments take their seed when they are made, not at a reset.
    one_seed: environments take one seed for all.
    truncates_at_limit: they truncate episodes at their time limit, and nowhere else.
    masked_reset_gives_subset: a reset with a mask returns the rows of those environments alone."""

    def __init__(
        self,
        env_id,
        make,
        *,
        upstream="",
        summary="",
        max_episode_steps=0,
        reward_threshold=None,
        keys=USUAL_KEYS,
        frames=1,
        seeds_when_made=False,
        one_seed=False,
        truncates_at_limit=False,
        masked_reset_gives_subset=False,
        probe_envs=2,
    ):
        self.id, self.make, self.keys, self.probe_envs = env_id, make, tuple(keys), probe_envs
        self.notes = []  # on what the run reads, in words
        self.groups = ((), ())  # of Dict observations: the policy's keys, the critic's
        self.seeds_when_made, self.one_seed = seeds_when_made, one_seed
        self.masked_reset_gives_subset = masked_reset_gives_subset
        self.truncates_at_limit = truncates_at_limit
        self.observation_space = self.action_space = self.last_made = None
        self.has_checked_success = self.has_warned_of_nan = False
        self.has_warned_of_range, self.has_final_observations = False, True
        self.deterministic, self.filler_rows, self.is_probed = True, False, False
        self.is_traced = False  # by JAX: functions, which behave alike
        self.saves_state, self.common_bits = False, True
        self.counts = set()  # numbers of environments that make() made
        self.lock = threading.RLock()
        self.probe = self.new_envs(probe_request(self), any_number=True)
        try:
            self.describe(max_episode_steps, frames, reward_threshold, upstream, summary)
        except BaseException:
            self.close_probe()
            raise

    def describe(self, max_episode_steps, frames, reward_threshold, upstream, summary):
        env = self.probe
        self.is_traced = hasattr(env, "plays_blocks")
        self.saves_state = hasattr(env, "saves_state") and env.saves_state()
        self.deterministic = metadata_of(env).get("deterministic", True)
        self.common_bits = not self.is_traced and metadata_of(env).get("common_bits", True)
        self.mode, self.mode_is_assumed = autoreset_mode(env)
        self.has_final_observations = metadata_of(env).get("final_obs", True) is not False
        warn_of_statistics(self.id, env)
        self.observation_space = spaces.as_gymnasium(env.single_observation_space)
        self.read_space = self.observation_space
        self.action_space = spaces.as_gymnasium(env.single_action_space)
        limit = int(max_episode_steps or time_limit(env))
        observation, critic = self.observation_space, None
        self.paths = None
        if self.keys != USUAL_KEYS and spaces.kind_of(observation) != "Dict":
            raise InvalidValue(
                f"observation_keys: got {self.keys!r} with observations of {self.id} that have no "
                f"keys, {observation}; leave it out, or let the environment give a Dict"
            )
        form = self.groups_of(observation) if _nested.is_nested(observation) else None
        if form is None and spaces.kind_of(observation) == "Dict":
            observation, critic = self.spaces_of_keys(observation)
        form = form or spaces.from_gymnasium(observation, "observation")
        self.spec = {
            "id": self.id,
            "observation": form | spaces.how_given(observation, self.groups[0], form),
            "critic_observation": None if critic is None else self.critic_space(critic),
            "action": spaces.from_gymnasium(self.action_space, "action"),
            "max_episode_steps": limit if limit <= MOST_STEPS else 0,
            "frames": frames,
            "reward_threshold": reward_threshold,
            "upstream": upstream,
            "summary": summary,
            "engine": engine_of(env),
        }
        self.first_action = self.spec["action"].get("start", 0)
        self.structure = _nested.structure_of(self.spec["action"])
        is_discrete = self.spec["action"]["kind"] == "discrete"
        self.action_dtype = np.dtype(np.int64) if is_discrete else self.action_space.dtype
        self.find_masks(env)
        has_infos = not self.is_traced and getattr(env, "has_infos", True)
        self.success_key = success_key(self, env) if has_infos else None
        is_declared = metadata_of(env).get("success_key") is not None
        self.has_checked_success = self.success_key is not None and not is_declared
        self.spec["names_success"] = self.success_key is not None

    def find_masks(self, env):
        action = self.spec["action"]
        self.mask_size = sum(action["choices"]) if "choices" in action else action.get("n", 0)
        self.mask_source = None
        if action["kind"] == "box":
            return

        def reset():
            try:
                if self.seeds_when_made:
                    return env.reset()[1]
                return seeded_reset(env, list(range(1, env.num_envs + 1)))[1]
            except Exception:  # a run's own reset explains it
                return {}

        if _masks.KEY in getattr(self.read_space, "spaces", ()):
            self.mask_source = "observations"
        elif not self.is_traced:
            self.mask_source = _masks.find_source(env, reset)
        action["masked"] = self.mask_source is not None

    def groups_of(self, observation):
        """The form of a Dict or Tuple whose groups networks read as such: one that no keys
        describe, or several keys with an image or a choice among them. Else None. Sets `paths`,
        from names of groups to keys."""
        is_dict = spaces.kind_of(observation) == "Dict"
        known = observation.spaces if is_dict else {}
        is_chosen = self.keys != USUAL_KEYS
        pairs = MASKED_KEYS if _masks.KEY in known else KNOWN_KEYS
        parts = [(path, part) for path, part in spaces.parts_of(observation)]
        if is_chosen:
            policy, critic = (k if isinstance(k, (list, tuple)) else (k,) for k in self.keys)
            chosen = {key: known[key] for key in policy if key in known}
            rows = all(
                spaces.kind_of(part) == "Box" and len(part.shape) == 1 for part in chosen.values()
            )
            if (
                len(chosen) != len(policy)
                or (rows or len(chosen) < 2)
                and not any(hasattr(part, "spaces") for part in chosen.values())
            ):
                return None
            if tuple(critic) != tuple(policy):
                raise InvalidType(
                    f"{self.id}: observation_keys gives the critic {tuple(critic)!r}, but images "
                    "and choices are groups of their own; name all keys in the policy's place, and "
                    "set policy_groups and critic_groups"
                )
            parts = [(path, part) for path, part in parts if path[0] in policy]
        elif any(
            pair[0] in known
            and not hasattr(known[pair[0]], "spaces")
            and (pair[0] in ("policy", "actor") or {*known} <= {*pair, _masks.KEY})
            for pair in pairs
        ):
            return None
        parts = [(path, part) for path, part in parts if path != (_masks.KEY,)]
        spaces.check_groups(parts, self.id)
        self.paths = spaces.group_names([path for path, _ in parts])
        critics = [pair[1] for pair in pairs if pair[1] in known and not is_chosen]
        if critics:
            self.notes.append(
                f"the policy of {self.id} reads every key of the observations, '{critics[0]}', "
                "too, unless policy_groups names others"
            )
        kind = _dict_space()
        groups = {name: part for name, (_, part) in zip(self.paths, parts, strict=True)}
        mask = {_masks.KEY: known[_masks.KEY]} if _masks.KEY in known else {}
        self.read_space = kind({**groups, **mask})
        return spaces.grouped(groups.items())

    def spaces_of_keys(self, observation):
        """(the policy's space, the critic's own space or None) of a Dict space."""
        known = observation.spaces
        keys, is_chosen = self.keys, self.keys != USUAL_KEYS
        pairs = MASKED_KEYS if _masks.KEY in known else KNOWN_KEYS
        if not is_chosen:
            keys = next((pair for pair in pairs if pair[0] in known), keys)
        policy, critic = (key if isinstance(key, (list, tuple)) else (key,) for key in keys)
        is_absent = not is_chosen and critic[0] not in known
        if is_absent or tuple(critic) == tuple(policy):
            critic = ()
        missing = [key for key in (*policy, *critic) if key not in known]
        if missing:
            names = ", ".join(repr(key) for key in known if key != _masks.KEY)
            example = next((key for key in (*policy, *known) if key in known), "")
            reason = "as observation_keys says" if is_chosen else "which policies read by default"
            raise InvalidType(
                f"{self.id}: got a Dict with the keys {names} as observations, expected the key "
                f"'{missing[0]}', {reason}. In Python, train(..., "
                f"observation_keys={example!r}) lets policy and critic read one key, and "
                "observation_keys=(policy, critic) different ones; to read all of them: "
                "wrappers=[gymnasium.wrappers.FlattenObservation]"
            )
        self.groups = tuple(policy), tuple(critic)
        mask = (_masks.KEY,) if _masks.KEY in known else ()
        read = {key: known[key] for key in (*policy, *critic, *mask)}
        left = [key for key in known if key not in read]
        if left and not is_chosen:
            self.notes.append(
                f"of the keys of {self.id}'s observations, {', '.join(map(repr, left))} "
                f"{'is' if len(left) == 1 else 'are'} not read, only "
                f"{', '.join(map(repr, read))}; observation_keys names others"
            )
        self.read_space = spaces.class_of(observation)(read)
        return (
            spaces.joined([known[key] for key in policy], "observation"),
            spaces.joined([known[key] for key in critic], "critic observation") if critic else None,
        )

    def critic_space(self, space):
        form = spaces.from_gymnasium(space, "critic observation")
        if form["kind"] == "discrete":
            raise InvalidType(
                f"{self.id}: the critic's key {self.groups[1][0]!r} is {space}, expected a Box or "
                f"MultiBinary; let the environment give it one-hot, as {form['n']} numbers"
            )
        return {**form, "dtype": "float32"}

    def examine(self):
        """Plays the probe once, to learn how such environments behave, and closes it. Traced ones
        are functions, which behave alike and take long to compile."""
        with self.lock:
            if self.is_probed:
                return
            if self.is_traced:
                self.is_probed = True
                return self.close_probe()
            if self.probe is None:
                self.probe = self.new_envs(probe_request(self), any_number=True)
            try:
                self.filler_rows = self.mode == "NextStep" and ignores_mask(self, self.probe)
                self.deterministic = self.deterministic and repeats(self, self.probe)
                if self.saves_state and self.deterministic:
                    self.saves_state = restores(self, self.probe)
                self.filler_rows = self.filler_rows and self.mode == "NextStep"
                self.is_probed = True
            finally:
                self.close_probe()

    def engine(self):
        """The engine of environments made now: a model's file may have changed."""
        if self.spec["engine"]:
            with contextlib.suppress(Exception):  # some make one simulator a process
                with closing(self.new_envs(probe_request(self), any_number=True)) as env:
                    return engine_of(env)
        return self.spec["engine"]

    def close_probe(self):
        probe, self.probe = self.probe, None
        if probe is not None:
            abandon(probe)

    def read(self, rows):
        """Rows of a Dict, with only the keys that the policy or the critic reads."""
        if self.paths is not None:
            arrays = {name: spaces.rows_at(rows, path) for name, path in self.paths.items()}
            if _masks.KEY in self.read_space.spaces:
                arrays[_masks.KEY] = rows[_masks.KEY]
            return arrays
        if not isinstance(rows, dict):
            return rows
        return {key: rows[key] for key in getattr(self.read_space, "spaces", rows)}

    def new_envs(self, request, any_number=False):
        """Makes environments, and checks that they are new and as many as requested."""
        env = self.make(request)
        missing = [name for name in MEMBERS if not hasattr(env, name)]
        if missing:
            raise InvalidType(
                f"{self.id}: got a {type(env).__name__} from the function that makes environments, "
                f"which has no {', '.join(missing)}; expected a gymnasium.vector.VectorEnv, or "
                "Stable-Baselines3's VecEnv, from a function of num_envs"
            )
        made = getattr(env, "made", env)  # by the user's function, within an adapter
        is_old = self.last_made is not None and self.last_made() is made
        if getattr(env, "closed", False) is True or is_old:
            raise InvalidValue(
                f"{self.id}: the function that makes environments returned closed ones, or the "
                "environments of an earlier call; make new environments in each call"
            )
        if env.num_envs != request.num_envs and not any_number:
            abandon(env)
            raise InvalidValue(
                f"{self.id}: got {env.num_envs} environments, expected {request.num_envs}; let "
                f"the function that makes them use num_envs, or ask for {env.num_envs}: "
                f"num_envs={env.num_envs} to train, episodes={env.num_envs} to evaluate"
            )
        self.counts.add(env.num_envs)
        with contextlib.suppress(TypeError):  # it allows no weak reference
            self.last_made = weakref.ref(made)
        return env

    def to_env_actions(self, actions):
        """Actions with the environments' numbers and dtype, as a copy that they may keep."""
        if self.structure is not None:
            return _nested.nested(self.structure, actions)
        if self.first_action:
            return actions + self.first_action
        return actions.astype(self.action_dtype)

    def simulator(self, options):
        """The factory that the extension calls for N environments."""
        if options["joining"]:
            raise InvalidValue(
                f"{self.id}: shape_schedule with more environments later starts environments while "
                "others are in the middle of an episode, which only environments of Broadloom can "
                "do; leave it out"
            )
        families, streams = options["families"], options["streams"]
        self.examine()
        num_envs, max_episode_steps = options["num_envs"], options["max_episode_steps"]
        if options.get("only_described"):
            return Described(self, Request(num_envs, max_episode_steps))
        in_families = 0 < families < num_envs
        if in_families and self.one_seed:
            raise InvalidValue(f"{self.id}: {NO_FAMILIES}")

        def seeds_of(seed, first, count):
            places = range(first, first + count)
            return [family_seed(seed, streams, i % families if families else i) for i in places]

        request = Request(num_envs, max_episode_steps, streams, in_families=in_families)
        return Simulator(self, request, (options["seed"], seeds_of))


def _dict_space():
    from gymnasium import spaces as gymnasium_spaces

    return gymnasium_spaces.Dict


def family_seed(seed, streams, family):
    """The seed of a family. Training, evaluation and panels get different seeds."""
    digest = hashlib.sha256(f"{seed}/{streams}/{family}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1
