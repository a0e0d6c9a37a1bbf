"""Reads RSL-RL's configuration into Broadloom's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._checks import is_one_of
from ._rsl_rl_keys import (
    ALGORITHM,
    DISTRIBUTION,
    IDLE,
    MODEL,
    MODELS,
    OF_SCRIPTS,
    RUNNER,
    STD_OFFSET,
    WIDEST,
    above_0,
    last_name,
    truth,
    turned,
    two,
    whole,
)
from ._rsl_rl_shapes import GATES, Memory


def check_dict(key, value):
    if not isinstance(value, Mapping):
        got = f"{key} = {value!r}" if key else repr(value)
        raise _core.Error(f"train_cfg: got {got}, expected a dict")


def dict_of(key, value):
    """The dict of this key, which may be None for an empty one."""
    found = {} if value is None else value
    check_dict(key, found)
    return found


class Reading:
    """Broadloom's settings of a configuration of RSL-RL.

    settings: keys of broadloom.train(). values: RSL-RL's values, defaults included, by table.
    near: keys that are honoured with a difference, with that difference. symmetry: RSL-RL's
    symmetry_cfg. names: what messages call actor and critic."""

    def __init__(self, config: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self.names = names
        check_dict("", config)
        if "policy" in config and "actor" not in config:
            raise _core.Error(
                "train_cfg: got the key 'policy' of RSL-RL before 4.0, expected 'actor' and "
                "'critic', as RSL-RL 5 reads them"
            )
        self.settings: dict[str, Any] = {}
        self.near: dict[str, str] = {}
        self.values: dict[str, dict[str, Any]] = {}
        self.read("", RUNNER, config, strict=False)
        given = self.values[""]
        parts = {name: dict_of(self.named(name), given[name]) for name in ("algorithm", *MODELS)}
        for name in MODELS:
            self.read(f"{name}.", MODEL, parts[name])
        key = "actor.distribution_cfg"
        distribution = dict_of(self.named(key), self.values["actor."]["distribution_cfg"])
        self.read(f"{key}.", DISTRIBUTION, distribution)
        self.read("algorithm.", ALGORITHM, parts["algorithm"])
        self.symmetry = dict_of("algorithm.symmetry_cfg", self.values["algorithm."]["symmetry_cfg"])
        self.memory = self.read_memory(parts)
        self.check_models()
        self.check_numbers()
        if self.settings["desired_kl"] is None:
            self.settings |= {"lr_schedule": "constant"}
        if self.settings["lr_schedule"] != "adaptive":
            del self.settings["desired_kl"]
        name, usual = "actor.distribution_cfg.std_range", DISTRIBUTION["std_range"].default
        given = self.values["actor.distribution_cfg."]["std_range"]
        least, most = turned(two, self.named(name), given, usual)
        # RSL-RL's minibatches of sequences are neighbouring environments.
        self.settings |= {
            "adam_eps": 1e-8,
            "norm_reward": False,
            "algorithm": "ppo",
            "clip_grads": "apart",
            "shuffle": "off" if self.memory else "block",
            "std_min": max(least, 1e-6),
            "std_max": most,
        }
        for key, is_idle in IDLE.items():
            if is_idle(self.settings):
                del self.settings[key]
        if self.settings["lr_schedule"] == "adaptive":
            self.settings["kl_estimate"] = "analytic"
        if self.settings["norm_obs"]:
            self.settings |= {"obs_eps": STD_OFFSET, "obs_eps_in": "deviation", "clip_obs": 0.0}
        if self.memory:
            self.settings |= {"recurrent": self.memory.kind, "recurrent_units": self.memory.units}

    def named(self, key):
        """A key such as actor.hidden_dims, as the user writes it."""
        first, point, rest = key.partition(".")
        return self.names.get(first, first) + point + rest

    def read(self, prefix, table, given, strict=True):
        check_dict(self.named(prefix).rstrip("."), given)
        values = self.values[prefix] = {key: row.default for key, row in table.items()}
        for key, value in given.items():
            if key in table:
                values[key] = value
            elif strict:
                raise _core.Error(
                    f"train_cfg: got the key '{self.named(prefix)}{key}', expected one of "
                    f"{', '.join(table)}"
                )
            elif key not in OF_SCRIPTS:
                self.near[key] = "is not known here"
        for key, row in table.items():
            value, name = values[key], self.named(prefix) + key
            known = last_name(value) if key == "class_name" else value
            if row.allowed is not None and not is_one_of(known, row.allowed):
                raise _core.Error(
                    f"train_cfg: got {name} = {value!r}, expected "
                    f"{' or '.join(map(repr, row.allowed))}, since Broadloom's runner has "
                    "nothing else; train with RSL-RL, or change the key"
                )
            if row.near and turned(truth, name, value) is row.near_at:
                self.near[name] = row.near
            if row.turn is not None:
                ours = turned(row.turn, name, value, row.default)
                if not prefix.startswith("critic"):
                    self.settings[row.ours] = ours

    def read_memory(self, parts):
        """The Memory of both models, or None."""
        found = [self.memory_of(name, parts[name]) for name in MODELS]
        if found[0] != found[1]:
            got = " and ".join(
                f"{self.named(name)} with {one or 'no memory'}"
                for name, one in zip(MODELS, found, strict=True)
            )
            raise _core.Error(
                f"train_cfg: got {got}, expected equal ones, since Broadloom's two networks have "
                "one shape"
            )
        if found[0] and self.symmetry:
            raise _core.Error(
                "train_cfg: got algorithm.symmetry_cfg with RNNModel, expected none, as in RSL-RL: "
                "a mirror image has no memory"
            )
        return found[0]

    def memory_of(self, name, given):
        """The Memory of one model, or None. given: its keys, without defaults."""
        values, name = self.values[f"{name}."], self.named(name)
        kind = values["rnn_type"]
        if last_name(values["class_name"]) == "MLPModel":
            if kind is None:
                return None
            raise _core.Error(
                f"train_cfg: got {name}.rnn_type = {kind!r} with class_name = "
                f"{values['class_name']!r}, expected class_name = 'RNNModel', or rnn_type = None"
            )
        kind = kind if "rnn_type" in given else "lstm"  # RSL-RL's default
        kind = kind.lower() if isinstance(kind, str) else kind
        if not isinstance(kind, str) or kind not in GATES:
            raise _core.Error(
                f"train_cfg: got {name}.rnn_type = {kind!r}, expected 'lstm' or 'gru'"
            )
        one = whole(1, 1, "1, since Broadloom's cells have one layer")
        turned(one, f"{name}.rnn_num_layers", values["rnn_num_layers"])
        key = "rnn_hidden_dim"
        return Memory(kind, turned(whole(1, WIDEST), f"{name}.{key}", values[key]))

    def check_numbers(self):
        turned(whole(1), "save_interval", self.values[""]["save_interval"])
        name = self.named("actor.distribution_cfg.init_std")
        std = self.values["actor.distribution_cfg."]["init_std"]
        self.init_std = turned(above_0, name, std, DISTRIBUTION["init_std"].default)
        check_dict("obs_groups", self.values[""]["obs_groups"])
        for name, groups in self.values[""]["obs_groups"].items():
            is_list = isinstance(groups, Sequence) and not isinstance(groups, str)
            if not is_list or not groups or not all(isinstance(one, str) for one in groups):
                raise _core.Error(
                    f"train_cfg: got obs_groups.{self.names.get(name, name)} = {groups!r}, "
                    "expected a list of groups"
                )

    def check_models(self):
        actor, critic = self.values["actor."], self.values["critic."]
        for key in ("hidden_dims", "activation", "obs_normalization"):
            got, other = actor[key], critic[key]
            if key == "hidden_dims":
                got, other = list(got), list(other)
            if got != other:
                raise _core.Error(
                    f"train_cfg: got actor.{key} = {got} and critic.{key} = {other}, expected "
                    "equal ones, since Broadloom's two networks have one shape"
                )
        if critic["distribution_cfg"] is not None:
            raise _core.Error("train_cfg: got critic.distribution_cfg, expected none")
        self.near.pop("critic.obs_normalization", None)

    def groups(self, known):
        """(the policy's groups, the critic's) among the environment's groups. A set that is not
        named takes the group of its name, or `policy`, as in RSL-RL."""
        given, out = dict(self.values[""]["obs_groups"]), []
        for name in MODELS:
            usual = name if name in known else "policy"
            out.append(tuple(given.pop(name, (usual,))))
            missing = [group for group in out[-1] if group not in known]
            if missing:
                raise _core.Error(
                    f"train_cfg: got the group {missing[0]!r} for {self.named(name)}, expected "
                    f"some of {', '.join(map(repr, known))}, as observations have them; name them "
                    "in obs_groups"
                )
        for name in given:
            self.near[f"obs_groups.{name}"] = "is not used"
        return tuple(out)
