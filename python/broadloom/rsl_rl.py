"""A runner in the form of RSL-RL's OnPolicyRunner (rsl-rl-lib 5.4 and 5.5) that learns with
Broadloom.

    from broadloom.rsl_rl import OnPolicyRunner
    runner = OnPolicyRunner(env, train_cfg, log_dir="logs/go1", device="cpu")
    runner.learn(num_learning_iterations=300, init_at_random_ep_len=True)

It reads RSL-RL's configuration, and reads and writes its checkpoints (model_<iteration>.pt). Only
checkpoints, policies and exports need torch."""

from __future__ import annotations

import json
import operator
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core, training
from ._arrays import check_finite, numpy_of
from ._kind import Kind
from ._memory import free_memory
from ._robots import RslRlEnvs, is_rsl_rl
from ._rsl_rl_shapes import GATES, Memory, Shapes

STD_OFFSET = 1e-2  # RSL-RL divides by the deviation plus this


class Row(NamedTuple):
    """A key of RSL-RL's configuration."""

    ours: str  # Broadloom's key, or the part that reads it
    default: Any = None
    turn: Callable[[Any], Any] | None = None  # their value to ours; None: another part reads it
    allowed: tuple[Any, ...] | None = None  # other values are refused
    near: str = ""  # the difference that remains, for the warning
    near_if: Callable[[Any], bool] = lambda value: True


class Unfit(ValueError):
    """Its text is what is expected of a value."""


def turned(turn, name, value, usual=None):
    """turn(value), for the key of this name. usual: a value that fits, for the error."""
    try:
        return turn(value)
    except Unfit as error:
        expected = str(error)
    except (TypeError, ValueError, OverflowError):
        expected = f"a value such as {usual!r}"
    raise _core.Error(
        f"train_cfg: got {name} = {value!r} ({type(value).__name__}), expected {expected}"
    )


def whole(least, most=None, words=""):
    """Turns any type of whole numbers within these limits to an int, but no bool."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def turn(value):
        try:
            number = least - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise Unfit(words or f"a whole number {limits}")
        return number

    return turn


WIDEST = 1 << 16  # of the engine's hidden_sizes and recurrent_units


def _widths(value):
    if isinstance(value, str):
        raise TypeError
    width = whole(1, WIDEST, f"a list of whole numbers from 1 to {WIDEST}")
    return [width(one) for one in value]


def _above_0(value):
    if isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise Unfit("a number above 0")
    return float(value)


def _two(value):
    least, most = value
    return float(least), float(most)


def _or_none(value):
    return None if value is None else float(value)


def _same(value):
    return value


def last_name(value):
    return str(value).replace(":", ".").rpartition(".")[2]


# Every key that is read, with RSL-RL's default. Other keys of `algorithm`, `actor` and `critic` are
# refused; other keys of the runner are named in the warning.
RUNNER = {
    "num_steps_per_env": Row("num_steps", 24, whole(1)),
    "seed": Row("seed", 1, whole(0)),
    "save_interval": Row("names of the saved models", 50),
    "obs_groups": Row("observation_keys", {}),
    "actor": Row("the keys of `actor` below", {}),
    "critic": Row("the keys of `critic` below", {}),
    "algorithm": Row("the keys of `algorithm` below", {}),
    "logger": Row("tensorboard, or a sink", "tensorboard"),
    "wandb_project": Row("the sink's project", None),
    "multi_gpu": Row("none", None, allowed=(None,)),
    "check_for_nan": Row(
        "none", True, near="values are always checked", near_if=lambda value: not value
    ),
    "upload_model": Row("none", False, near="models are not uploaded", near_if=bool),
}
# Keys of training scripts and wrappers, which RSL-RL's runner does not read either.
OF_SCRIPTS = (
    "class_name max_iterations experiment_name run_name description resume load_run device "
    "load_checkpoint clip_actions wandb_tags neptune_project"
).split()
ALGORITHM = {
    "class_name": Row("algorithm = ppo", "PPO", allowed=("PPO",)),
    "num_learning_epochs": Row("update_epochs", 5, whole(1)),
    "num_mini_batches": Row("num_minibatches", 4, whole(1)),
    "clip_param": Row("clip_coef", 0.2, float),
    "gamma": Row("gamma", 0.99, float),
    "lam": Row("gae_lambda", 0.95, float),
    "value_loss_coef": Row("vf_coef", 1.0, lambda value: 2.0 * value),  # ours has a factor of 1/2
    "entropy_coef": Row("ent_coef", 0.01, float),
    "learning_rate": Row("learning_rate", 1e-3, float),
    "max_grad_norm": Row("max_grad_norm", 1.0, float),
    "optimizer": Row("none", "adam", allowed=("adam",)),
    "use_clipped_value_loss": Row("clip_vloss", True, bool),
    "schedule": Row(
        "lr_schedule",
        "adaptive",
        {"adaptive": "adaptive", "fixed": "constant"}.get,
        ("adaptive", "fixed"),
    ),
    "desired_kl": Row("desired_kl", 0.01, _or_none),
    "normalize_advantage_per_mini_batch": Row(
        "norm_adv", False, lambda value: "minibatch" if value else "batch"
    ),
    "use_mixed_precision": Row("none", False, allowed=(False,)),
    "rnd_cfg": Row("none", None, allowed=(None, {})),
    "symmetry_cfg": Row("mirror_samples, mirror_coef", None),
    "share_cnn_encoders": Row("none", False, allowed=(False,)),
    "grad_reduce_bucket_mb": Row("none: for several GPUs", 25),
}
MODEL = {
    "class_name": Row("encoder = mlp", "MLPModel", allowed=("MLPModel", "RNNModel")),
    "hidden_dims": Row("hidden_sizes", (256, 256, 256), _widths),
    "activation": Row("activation", "elu", _same, ("elu", "relu", "tanh")),
    "obs_normalization": Row("norm_obs", False, bool),
    "distribution_cfg": Row("the keys of `distribution_cfg` below", None),
    "cnn_cfg": Row("none", None, allowed=(None,)),
    "rnn_type": Row("recurrent"),
    "rnn_hidden_dim": Row("recurrent_units", 256),
    "rnn_num_layers": Row("none", 1),
}
DISTRIBUTION = {
    "class_name": Row("a Gaussian policy", "GaussianDistribution", None, ("GaussianDistribution",)),
    "init_std": Row("the first deviation", 1.0),
    "std_type": Row("std_form", "scalar", _same, ("scalar", "log")),
    "std_range": Row("std_min, std_max", (1e-6, 1e6)),
    "learn_std": Row("none", True, allowed=(True,)),
}


# Broadloom refuses a key that does nothing beside the others; RSL-RL's files name all.
IDLE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "shuffle": lambda ours: ours["shuffle"] == "block" and ours["update_epochs"] == 1,
    "clip_grads": lambda ours: ours["max_grad_norm"] == 0 or ours["vf_coef"] == 0,
    "clip_coef": lambda ours: ours["update_epochs"] * ours["num_minibatches"] == 1,
    "clip_vloss": lambda ours: (
        ours["update_epochs"] * ours["num_minibatches"] == 1 or ours["vf_coef"] == 0
    ),
    "gae_lambda": lambda ours: ours["gamma"] == 0 or ours["num_steps"] == 1,
}


def check_dict(key, value):
    if not isinstance(value, Mapping):
        got = f"{key} = {value!r}" if key else repr(value)
        raise _core.Error(f"train_cfg: got {got}, expected a dict")


class Reading:
    """Broadloom's settings of a configuration of RSL-RL.

    settings: keys of broadloom.train(). values: RSL-RL's values, defaults included, by table.
    near: keys that are honoured with a difference, with that difference. names: what messages call
    actor and critic."""

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
        parts = {name: self.values[""][name] or {} for name in ("algorithm", *MODELS)}
        for name in MODELS:
            self.read(f"{name}.", MODEL, parts[name])
        distribution = self.values["actor."]["distribution_cfg"] or {}
        self.read("actor.distribution_cfg.", DISTRIBUTION, distribution)
        self.read("algorithm.", ALGORITHM, parts["algorithm"])
        self.memory = self.read_memory(parts)
        self.check_models()
        self.check_numbers()
        if self.settings["desired_kl"] is None:
            self.settings |= {"lr_schedule": "constant"}
        if self.settings["lr_schedule"] != "adaptive":
            del self.settings["desired_kl"]
        name, usual = "actor.distribution_cfg.std_range", DISTRIBUTION["std_range"].default
        given = self.values["actor.distribution_cfg."]["std_range"]
        least, most = turned(_two, self.named(name), given, usual)
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
            if row.allowed is not None and known not in row.allowed:
                raise _core.Error(
                    f"train_cfg: got {name} = {value!r}, expected "
                    f"{' or '.join(map(repr, row.allowed))}, since Broadloom's runner has "
                    "nothing else; train with RSL-RL, or change the key"
                )
            if row.near and row.near_if(value):
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
        if found[0] and self.values["algorithm."]["symmetry_cfg"]:
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
        self.init_std = turned(_above_0, name, std, DISTRIBUTION["init_std"].default)
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


MODELS = ("actor", "critic")


class StepLog:
    """Means, over an iteration's steps, of what the environments log beside their rewards, as
    RSL-RL's logger takes them. They go to environment.jsonl of the run's folder, for sinks, and
    to TensorBoard's events of log_dir, where RSL-RL has them."""

    FILE = "environment.jsonl"

    def __init__(self, num_envs, num_steps, events_dir):
        self.num_envs, self.num_steps, self.events_dir = num_envs, num_steps, events_dir
        self.run_dir = self.events = None

    def begin(self, run_dir, global_step, iteration):
        self.run_dir, self.global_step = pathlib.Path(run_dir), global_step
        self.iteration, self.steps = iteration, []

    def __call__(self, logged):
        self.steps.append(logged)
        if len(self.steps) < self.num_steps:
            return
        self.global_step += self.num_envs * self.num_steps
        keys = dict.fromkeys(key for step in self.steps for key in step)
        means = {name_of(key): mean_of(self.steps, key) for key in keys}
        means = {name: mean for name, mean in means.items() if mean is not None}
        self.steps = []
        if means:
            self.write(means)
        self.iteration += 1

    def write(self, means):
        line = json.dumps({"global_step": self.global_step, **means})
        with open(self.run_dir / self.FILE, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        if self.events_dir is not None and self.events is None:
            self.events = event_writer(self.events_dir)
        if self.events:
            for name, mean in means.items():
                self.events.add_scalar(name, mean, self.iteration)

    def end(self):
        if self.events:
            self.events.close()
        self.events = None


def name_of(key):
    """RSL-RL's name of a logged number, which is no name of Broadloom's own numbers."""
    return key if "/" in key else f"Episode/{key}"


def mean_of(steps, key):
    """The mean of all numbers of this name; None if it is none."""
    try:
        values = [np.ravel(numpy_of(step[key])) for step in steps if key in step]
        mean = float(np.concatenate(values).mean(dtype=np.float64))
    except (TypeError, ValueError):  # texts and objects
        return None
    return mean if np.isfinite(mean) else None


def event_writer(folder):
    """A writer of TensorBoard's events; False without the package tensorboard."""
    try:
        from tensorboard.summary import Writer
    except ImportError:
        return False
    return Writer(os.fspath(folder))


class OnPolicyRunner:
    """Trains as rsl_rl.runners.OnPolicyRunner does, with Broadloom's engine.

    env: in the form of rsl_rl.env.VecEnv. train_cfg: RSL-RL's keys. A value that cannot be honoured
    is refused; values that are honoured with a difference are named in one warning. log_dir: gets
    model_<iteration>.pt and Broadloom's run folder; None saves nothing. device: of inference
    policies; the learner uses the CPU. threads: 0 for all cores; no bit depends on it.

    Truncated episodes are bootstrapped with V(last observation) if the simulator gives it (mjlab,
    Isaac Lab 3), else with V(s_t), as RSL-RL does; `truncation_mode` of the run's record says
    which. Raises broadloom.Error."""

    _names: Mapping[str, str] = {}  # of actor and critic in messages, if other than these
    _reads = "a PPO"  # whose checkpoints load() reads

    def __init__(
        self,
        env: Any,
        train_cfg: dict[str, Any],
        log_dir: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        *,
        threads: int = 0,
    ) -> None:
        if not is_rsl_rl(env):
            raise _core.Error(
                f"env: got a {type(env).__name__}, expected one with num_envs, num_actions and "
                "get_observations(), such as RslRlVecEnvWrapper(env)"
            )
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise _core.Error("WORLD_SIZE: got several processes, expected one")
        self.env, self.cfg, self.device, self.threads = env, train_cfg, device, threads
        self.log_dir = None if log_dir is None else pathlib.Path(log_dir)
        self.current_learning_iteration = 0
        self._scratch = tempfile.mkdtemp(prefix="broadloom-")
        weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        self._files, self._repositories = 0, []
        self._run, self._done = None, 0  # the run that goes on, and its iterations
        self._reading = Reading(train_cfg, self._names)
        held = RslRlEnvs(env, held=True)
        held.close()
        groups = self._reading.groups(held.single_observation_space.spaces)
        name = type(held.inner).__name__
        is_board = self._reading.values[""]["logger"] == "tensorboard"
        log = StepLog(
            held.num_envs,
            self._reading.settings["num_steps"],
            self.log_dir if is_board else None,
        )
        self._step_log = log
        self._kind = Kind(
            own_id(self, f"rsl_rl/{name}"),
            lambda request: RslRlEnvs(env, held=True, listen=log),
            keys=groups,
            probe_envs=held.num_envs,
            summary=f"{name}, stepped by its owner",
        )
        # The environments are the caller's: nothing plays them to learn about them.
        self._kind.is_probed, self._kind.deterministic = True, False
        self._kind.close_probe()
        exact = bool(held.metadata.get("final_obs"))
        self._kind.has_final_observations = exact
        self.settings = {
            **self._reading.settings,
            "num_envs": held.num_envs,
            "truncation_mode": "bootstrap" if exact else "state_value",
            "checkpoint_interval": 1,  # so that model_<iteration>.pt has the moments of Adam
            "tensorboard": is_board,
        }
        self._shapes = self._shapes_of(self._kind.spec)
        symmetry = self._reading.values["algorithm."]["symmetry_cfg"]
        if symmetry:
            check_dict("algorithm.symmetry_cfg", symmetry)
            from . import _rsl_rl_torch

            sizes = self._shapes.actor[-1], self._kind.spec["critic_observation"] is not None
            self.settings |= _rsl_rl_torch.mirror_settings(symmetry, env, groups, *sizes)
            if self.settings["norm_obs"]:
                self._reading.near["algorithm.symmetry_cfg"] = (
                    "statistics of observations are those of the mirror images, too"
                )
        left = held.num_envs % max(self.settings["num_minibatches"], 1)
        if self._reading.memory and left:
            self._reading.near["algorithm.num_mini_batches"] = (
                f"all environments are learnt from, where RSL-RL leaves out the last {left}"
            )
        self._warn()
        seed = self.settings["seed"]
        std = self._reading.init_std
        first = std if self._is_scalar() else np.log(std)
        self._check_memory()
        self._checkpoint = self._written({"learner.params": self._shapes.drawn(seed, first)})

    def _shapes_of(self, spec):
        policy = int(np.prod(spec["observation"]["shape"]))
        own = spec["critic_observation"]
        critic = policy if own is None else int(np.prod(own["shape"]))
        hidden = tuple(self.settings["hidden_sizes"])
        actions = int(np.prod(spec["action"]["shape"]))
        return Shapes((policy, *hidden, actions), (critic, *hidden, 1), self._reading.memory)

    def _check_memory(self):
        count, memory = self._shapes.count(), free_memory()
        needed = 20 * count  # bytes: NumPy draws with 64 bits, joins the numbers, then takes 32
        if 0 < memory < needed:
            keys = "hidden_dims or rnn_hidden_dim" if self._reading.memory else "hidden_dims"
            raise _core.Error(
                f"train_cfg: got networks of {count} parameters, which take {needed / 1e6:.0f} MB "
                f"to draw, expected at most the {memory / 1e6:.0f} MB that are free; make {keys} "
                "smaller"
            )

    def _warn(self):
        if self._reading.near:
            found = "; ".join(f"{key}: {words}" for key, words in self._reading.near.items())
            warnings.warn(
                f"train_cfg: these keys act with a difference, or not at all: {found}", stacklevel=3
            )

    def learn(self, num_learning_iterations: int, init_at_random_ep_len: bool = False) -> None:
        """Learns from num_learning_iterations blocks of num_steps_per_env steps of each
        environment. The episodes that are in progress go on. init_at_random_ep_len: sets each
        environment's count of steps at random first, from the seed."""
        if not hasattr(num_learning_iterations, "__index__") or num_learning_iterations < 1:
            raise _core.Error(
                f"num_learning_iterations: got {num_learning_iterations!r}, expected a whole "
                "number, at least 1"
            )
        if init_at_random_ep_len:
            self._stagger()
        if self._run is None:
            self._done = 0  # an interrupted learn() left its iterations here
        first, done = self.current_learning_iteration, self._done
        interval = self._reading.values[""]["save_interval"]
        self._write_states_of_code()

        def listen(progress):
            self.current_learning_iteration = first + progress["iteration"] - done - 1
            self._done = progress["iteration"]
            self._checkpoint = newest_checkpoint(progress["run_dir"])
            returned = progress["mean_return"]
            print(
                f"iteration {self.current_learning_iteration}: "
                f"{'no episode has ended' if returned is None else f'return {returned:.3f}'}, "
                f"{progress['steps_per_second']:,.0f} steps/s",
                flush=True,
            )
            if self.log_dir is not None and self.current_learning_iteration % interval == 0:
                self.save(self._model_path())

        _core.register(self._kind.spec, self._kind.simulator)
        steps = num_learning_iterations * self.settings["num_envs"] * self.settings["num_steps"]
        calls = {"threads": self.threads, "on_iteration": listen, "sinks": self._sinks()}
        run, self._run = self._run, None  # if it fails, the next one begins from the checkpoint
        folder, before = (self._new_folder(), 0) if run is None else (run.dir, run.global_step)
        self._step_log.begin(folder, before, first)
        try:
            if run is None:
                self._run = training.train(
                    self._kind.id,
                    out=folder,
                    init=self._checkpoint,
                    init_optimizer=True,
                    total_timesteps=steps,
                    **calls,
                    **self.settings,
                )
            else:
                self._run = training.resume(run, more_timesteps=steps, **calls)
        finally:
            self._step_log.end()
        if self.log_dir is not None:
            self.save(self._model_path())

    def save(self, path: str | os.PathLike[str], infos: dict[str, Any] | None = None) -> None:
        """Writes a checkpoint in RSL-RL's layout: actor, critic, optimiser, iteration, infos.

        The step counter of mjlab's curricula is in infos, as its runner writes it."""
        from . import _rsl_rl_torch

        counter = getattr(getattr(self.env, "unwrapped", None), "common_step_counter", None)
        if counter is not None:
            infos = {**(infos or {}), "env_state": {"common_step_counter": counter}}
        saved = {**self._saved(), "iter": self.current_learning_iteration, "infos": infos}
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        _rsl_rl_torch.write(path, saved)

    def load(
        self,
        path: str | os.PathLike[str],
        load_cfg: dict[str, bool] | None = None,
        strict: bool = True,
        map_location: Any = None,
    ) -> Any:
        """Reads a checkpoint of RSL-RL 3 to 5 or of save(), and returns its infos. The next
        learn() begins a new run from it.

        load_cfg: which of actor, critic, optimizer and iteration to take; None: all. strict=False
        leaves out what the file does not have."""
        from . import _rsl_rl_torch

        wanted = dict.fromkeys(("actor", "critic", "optimizer", "iteration"), load_cfg is None)
        check_load_cfg(load_cfg, wanted)
        wanted |= load_cfg or {}
        found = _rsl_rl_torch.read(path)
        if wanted["optimizer"]:
            found = _rsl_rl_torch.with_optimizer(path, found)
        self._checkpoint = self._written(self._arrays_of(found, wanted, strict, os.fspath(path)))
        self._run, self._done = None, 0
        if wanted["iteration"]:
            self.current_learning_iteration = found["iter"]
        infos = found.get("infos")
        inner = getattr(self.env, "unwrapped", None)
        state = infos.get("env_state") if isinstance(infos, Mapping) else None
        counter = state.get("common_step_counter") if isinstance(state, Mapping) else None
        if counter is not None and hasattr(inner, "common_step_counter"):
            inner.common_step_counter = counter
        return infos

    def get_inference_policy(self, device: str | None = None) -> Any:
        """A torch.nn.Module from observations (the groups, or one tensor [n, D]) to the mean
        actions [n, A], with the parameters as they are now. With a cell it keeps the state of each
        row; reset(dones) begins new episodes in rows where dones is 1, reset() in all."""
        from . import _rsl_rl_torch

        actor = self._actor()
        return _rsl_rl_torch.InferencePolicy(actor, self._kind.groups[0]).to(device or self.device)

    def export_policy_to_jit(self, path: str, filename: str = "policy.pt") -> None:
        """Writes the policy as TorchScript: normaliser and network, from [n, D] to [n, A]. With a
        cell n is 1: the file keeps a state, and has reset()."""
        from . import _rsl_rl_torch

        _rsl_rl_torch.write_jit(self._actor(), os.path.join(path, filename))

    def export_policy_to_onnx(
        self, path: str, filename: str = "policy.onnx", verbose: bool = False
    ) -> None:
        """Writes the policy as ONNX, with RSL-RL's names `obs` and `actions`; with a cell also
        `h_in`, `h_out` and, for an LSTM, `c_in`, `c_out`. Needs onnx."""
        from . import _rsl_rl_torch

        file = os.path.join(path, filename)
        _rsl_rl_torch.write_onnx(self._actor(), self._shapes.actor[0], file, verbose)

    def add_git_repo_to_log(self, repo_file_path: str) -> None:
        """Notes a repository whose state learn() writes to log_dir/git."""
        self._repositories.append(os.fspath(repo_file_path))

    def _model_path(self):
        return self.log_dir / f"model_{self.current_learning_iteration}.pt"

    def _new_folder(self):
        base = self.log_dir or pathlib.Path(self._scratch)
        number = 1
        while (base / f"broadloom_{number}").exists():
            number += 1
        return base / f"broadloom_{number}"

    def _sinks(self):
        logger = self._reading.values[""]["logger"]
        is_dict = isinstance(logger, Mapping)
        word = last_name(logger.get("class_name", logger) if is_dict else logger)
        if word in ("wandb", "WandbLogWriter"):
            from .sinks import WandB

            project = self._reading.values[""]["wandb_project"]
            return [WandB(project=project)] if project else ["wandb"]
        if word not in ("tensorboard", "None"):
            raise _core.Error(
                f"train_cfg: got logger = {logger!r}, expected 'tensorboard' or 'wandb'"
            )
        return []

    def _stagger(self):
        """Counts of steps from the seed, drawn by NumPy."""
        counts = self.env.episode_length_buf

        def like(numbers):
            if isinstance(counts, np.ndarray):
                return numbers.astype(counts.dtype)
            from . import _rsl_rl_torch

            return _rsl_rl_torch.like(counts, numbers)

        most = int(self.env.max_episode_length)
        if int(like(np.array(most - 1))) != most - 1:
            return  # counts of this type never come to the limit, so no episodes end together
        random = np.random.default_rng([self.settings["seed"], 0xA6E])
        self.env.episode_length_buf = like(random.integers(0, most, size=tuple(counts.shape)))

    def _written(self, arrays):
        """A checkpoint of Broadloom with these arrays."""
        self._files += 1
        path = os.path.join(self._scratch, f"{self._files}.safetensors")
        _core.register(self._kind.spec, self._kind.simulator)
        keys = {"env_id": self._kind.id, "total_timesteps": 1 << 40, **self.settings}
        texts = {key: training.text_of(value) for key, value in keys.items()}
        _core.write_checkpoint(texts, arrays, path)
        return path

    def _saved(self):
        """The dicts of RSL-RL's checkpoint, as NumPy arrays."""
        tensors = read_tensors(self._checkpoint)
        actor, critic, deviation = self._shapes.unpacked(tensors["learner.params"])
        name = f"distribution.{'std' if self._is_scalar() else 'log_std'}_param"
        statistics = [self._statistics(tensors, key) for key in self._normalizers()]
        count = int(tensors["learner.adam_steps"][0])
        moments = []
        for key in ("learner.adam_m", "learner.adam_v"):
            of_actor, of_critic, of_std = self._shapes.unpacked(tensors[key])
            moments.append([of_std, *of_actor.values(), *of_critic.values()])
        actor = {**statistics[0], name: deviation, **actor}
        return {
            "actor_state_dict": actor,
            "critic_state_dict": {**statistics[1], **critic},
            "optimizer": {
                "steps": count,
                "moments": moments,
                "learning_rate": float(tensors["learner.learning_rate"][0]),
                "shapes": [array.shape for array in moments[0]],
            },
        }

    def _is_scalar(self):
        return self.settings["std_form"] == "scalar"

    def _normalizers(self):
        """Names of the statistics that the actor's and the critic's observations have."""
        own = self._kind.spec["critic_observation"] is not None
        return "obs_normalizer", "critic_obs_normalizer" if own else "obs_normalizer"

    def _statistics(self, tensors, key):
        if not self.settings["norm_obs"]:
            return {}
        mean, var = (tensors[f"{key}.{name}"] for name in ("mean", "var"))
        count = int(round(float(tensors[f"{key}.count"][0])))
        rows = {"_mean": mean, "_var": var, "_std": np.sqrt(var)}
        out = {f"obs_normalizer.{name}": row[None].astype("f4") for name, row in rows.items()}
        return {**out, "obs_normalizer.count": np.int64(count)}

    def _arrays_of(self, found, wanted, strict, path):
        """Broadloom's tensors with those of RSL-RL's checkpoint that are wanted."""
        tensors = read_tensors(self._checkpoint)
        actor, critic, deviation = self._shapes.unpacked(tensors["learner.params"])
        out = {name: tensors[name] for name in tensors if name.startswith(KEPT)}
        models = {"actor": actor, "critic": critic}
        for name, key in zip(MODELS, self._normalizers(), strict=True):
            theirs, word = found.get(f"{name}_state_dict"), self._names.get(name, name)
            if not wanted.get(name):
                continue
            if theirs is None:
                if strict:
                    raise _core.Error(
                        f"{path}: got no {word}_state_dict, expected {self._reads} of RSL-RL"
                    )
                continue
            if strict:
                self.check_names(name, models[name], theirs, path)
            for part, now in models[name].items():
                if part not in theirs and not strict:
                    continue
                check_part(path, f"{word}'s {part}", theirs.get(part), now.shape)
                models[name][part] = theirs[part]
            if name == "actor":
                loaded = deviation_of(theirs, deviation, self._is_scalar())
                check_part(path, f"{word}'s deviation", loaded, deviation.shape)
                deviation = loaded
            if self.settings["norm_obs"] and "obs_normalizer._mean" in theirs:
                size = getattr(self._shapes, name)[0]
                for part, length in (("_mean", size), ("_std", size), ("count", 1)):
                    row = theirs.get(f"obs_normalizer.{part}")
                    row = None if row is None else np.ravel(row)
                    check_part(path, f"{word}'s obs_normalizer.{part}", row, (length,))
                out |= loaded_statistics(key, theirs)
        out["learner.params"] = self._shapes.packed(actor, critic, deviation)
        if wanted.get("optimizer") and "optimizer" in found:
            names = names_of_moments(found, models)
            out |= self._moments_of(found["optimizer"], names, path)
        return {name: np.ascontiguousarray(array) for name, array in out.items()}

    def check_names(self, name, model, theirs, path):
        """Whether a checkpoint's dict has what this actor or critic needs, and nothing else."""
        got = {part.split("._")[0] for part in theirs if part != "obs_normalizer.count"}
        got = {"the deviation" if part in STD_NAMES else part for part in got}
        expected = set(model) | ({"obs_normalizer"} if self.settings["norm_obs"] else set())
        expected |= {"the deviation"} if name == "actor" else set()
        if got != expected:
            extra, missing = sorted(got - expected), sorted(expected - got)
            raise _core.Error(
                f"{path}: {self._names.get(name, name)}: got "
                f"{', '.join(extra) or 'nothing more'}, expected "
                f"{', '.join(missing) or 'no such part'}; load it with the train_cfg that it was "
                "trained with, or with strict=False"
            )

    def _moments_of(self, optimizer, names, path):
        rate = optimizer["learning_rate"]
        check_finite(path, "learning rate", np.array(rate))
        if self.settings["lr_schedule"] == "constant":
            self.settings["learning_rate"] = rate
        out = {"learner.learning_rate": np.array([rate], np.float64)}
        zeros = np.zeros_like(read_tensors(self._checkpoint)["learner.params"])
        if not optimizer["moments"]:
            moments = {f"learner.{key}": zeros for key in ("adam_m", "adam_v")}
            return {**out, **moments, "learner.adam_steps": np.array([0], np.int64)}
        of_actor, of_critic, of_std = self._shapes.unpacked(zeros)
        expected = {
            **{("actor", part): array for part, array in of_actor.items()},
            **{("critic", part): array for part, array in of_critic.items()},
            DEVIATION: of_std,
        }
        for key, arrays in zip(("adam_m", "adam_v"), optimizer["moments"]):
            if len(arrays) != len(names) or sorted(names) != sorted(expected):
                raise _core.Error(
                    f"{path}: got moments of {len(arrays)} parameters, expected {len(expected)}; "
                    "load without them: load_cfg={'actor': True, 'critic': True}"
                )
            for i, (got, name) in enumerate(zip(arrays, names, strict=True)):
                check_part(path, f"moments of parameter {i}", got, expected[name].shape)
            moments = dict(zip(names, arrays, strict=True))
            deviation = moments.pop(DEVIATION)
            models = [
                {part: array for (model, part), array in moments.items() if model == name}
                for name in MODELS
            ]
            out[f"learner.{key}"] = self._shapes.packed(*models, deviation)
        return {**out, "learner.adam_steps": np.array([optimizer["steps"]], np.int64)}

    def _actor(self):
        from . import _rsl_rl_torch

        return _rsl_rl_torch.actor_of(
            self._saved()["actor_state_dict"],
            self.settings["activation"],
            self.settings["norm_obs"],
        )

    def _write_states_of_code(self):
        if self.log_dir is None:
            return
        for path in self._repositories:
            folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
            texts = []
            for words in (["rev-parse", "HEAD"], ["status", "--short"], ["diff", "HEAD"]):
                done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)
                texts.append(done.stdout or done.stderr)
            name = os.path.basename(os.path.normpath(folder))
            target = self.log_dir / "git" / f"{name}.diff"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(texts))


KEPT = ("learner.adam", "learner.learning_rate", "obs_normalizer.", "critic_obs_normalizer.")


# Names in RSL-RL 3 to 5 of the deviation's logarithm, then of the deviation.
LOG_STD_NAMES = ("distribution.log_std_param", "log_std")
STD_NAMES = (*LOG_STD_NAMES, "distribution.std_param", "std")


def check_load_cfg(load_cfg, known):
    if load_cfg is not None and not isinstance(load_cfg, Mapping):
        raise _core.Error(f"load_cfg: got {load_cfg!r}, expected a dict of {', '.join(known)}")
    unknown = [key for key in load_cfg or {} if key not in known]
    if unknown:
        raise _core.Error(f"load_cfg: got {unknown[0]!r}, expected some of {', '.join(known)}")


def check_part(path, name, got, expected):
    """expected: the shape of a checkpoint's part, whose numbers must be finite."""
    shape = None if got is None else got.shape
    if shape != expected:
        raise _core.Error(
            f"{path}: {name}: got shape {shape}, expected {expected} for these observations and "
            "train_cfg; load a checkpoint of this task"
        )
    check_finite(path, name, got)


DEVIATION = ("actor", "the deviation")


def names_of_moments(found, models):
    """(model, part) of each of the optimiser's moments, in the order of a checkpoint's dicts, which
    is that of torch's parameters. models: names where the checkpoint has no such dict."""
    names = found.get("order")  # of one dict for both models
    if names is None:
        dicts = {name: found.get(f"{name}_state_dict") or models[name] for name in MODELS}
        names = [(name, part) for name in MODELS for part in dicts[name]]
    names = [DEVIATION if part in STD_NAMES else (model, part) for model, part in names]
    return [name for name in names if not name[1].startswith("obs_normalizer.")]


def deviation_of(actor, usual, is_scalar):
    """The deviation in an actor's dict if is_scalar, else its logarithm."""
    for name in STD_NAMES:
        if name not in actor:
            continue
        if (name in LOG_STD_NAMES) != is_scalar:
            return actor[name]
        return np.exp(actor[name]) if is_scalar else np.log(np.maximum(actor[name], 1e-6))
    return usual


def loaded_statistics(key, model):
    """Broadloom's statistics that act as those of RSL-RL's normaliser do."""
    mean, std = (np.ravel(model[f"obs_normalizer.{name}"]) for name in ("_mean", "_std"))
    var = std.astype(np.float64) ** 2
    count = np.ravel(model["obs_normalizer.count"]).astype(np.float64)
    return {f"{key}.mean": mean.astype(np.float64), f"{key}.var": var, f"{key}.count": count}


def newest_checkpoint(run_dir):
    return sorted(pathlib.Path(run_dir, "checkpoints").glob("*.safetensors"))[-1]


def read_tensors(path):
    """{name: array} of a checkpoint (docs/formats/checkpoint.md)."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] in types:
            begin, end = (8 + size + place for place in entry["data_offsets"])
            out[name] = np.frombuffer(data[begin:end], types[entry["dtype"]]).copy()
    return out


_ids: set[str] = set()  # of runners that exist
_ids_lock = threading.Lock()


def own_id(runner, name):
    """An id that no other runner has, since environments are registered by id: this name, or the
    first of name_2, name_3, ... It is free again when the runner is gone."""
    with _ids_lock:
        found, number = name, 1
        while found in _ids:
            number += 1
            found = f"{name}_{number}"
        _ids.add(found)
    weakref.finalize(runner, _ids.discard, found)
    return found


def __dir__():
    return sorted([*globals(), "DistillationRunner"])


def __getattr__(name):
    if name != "DistillationRunner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._rsl_rl_distillation import DistillationRunner

    return DistillationRunner
