"""The keys of RSL-RL's configuration: Broadloom's keys for them, defaults, and their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._checks import is_one_of, whole_number

MODELS = ("actor", "critic")
STD_OFFSET = 1e-2  # RSL-RL divides by the deviation plus this


class Row(NamedTuple):
    """A key of RSL-RL's configuration."""

    ours: str  # Broadloom's key, or the part that reads it
    default: Any = None
    turn: Callable[[Any], Any] | None = None  # their value to ours; None: another part reads it
    allowed: tuple[Any, ...] | None = None  # other values are refused
    near: str = ""  # the difference that remains, for the warning
    near_at: bool = True  # the value that has it


class Unfit(ValueError):
    """Its text is what is expected of a value."""


def turned(turn, name, value, usual=None):
    """turn(value), for the key of this name. usual: a value that fits, for the error."""
    try:
        return turn(value)
    except Unfit as error:
        expected = str(error)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # torch's are the last
        expected = f"a value such as {usual!r}"
    raise _core.Error(
        f"train_cfg: got {name} = {value!r} ({type(value).__name__}), expected {expected}"
    )


def whole(least, most=None, words=""):
    """Turns any type of whole numbers within these limits to an int, but no bool."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def turn(value):
        number = whole_number(value)
        if number is None or number < least or (most is not None and number > most):
            raise Unfit(words or f"a whole number {limits}")
        return number

    return turn


WIDEST = 1 << 16  # of the engine's hidden_sizes and recurrent_units


def number(value):
    """The float of a number of any type. A text is refused, as RSL-RL's optimiser refuses it."""
    if isinstance(value, (str, bytes)):
        raise Unfit("a number, not its text; YAML reads 1e-3 as a text, and 1.0e-3 as a number")
    if isinstance(value, (bool, np.bool_)) or np.ndim(value) != 0:
        raise TypeError
    return float(value)


def truth(value):
    if not is_one_of(value, (True, False)):
        raise Unfit("True or False")
    return bool(value)


def widths(value):
    if isinstance(value, str):
        raise TypeError
    width = whole(1, WIDEST, f"a list of whole numbers from 1 to {WIDEST}")
    return [width(one) for one in value]


def above_0(value):
    if not 0 < number(value) < np.inf:
        raise Unfit("a number above 0")
    return number(value)


def two(value):
    least, most = value
    return number(least), number(most)


def float_or_none(value):
    return None if value is None else number(value)


def same(value):
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
    "check_for_nan": Row("none", True, near="values are always checked", near_at=False),
    "upload_model": Row("none", False, near="models are not uploaded"),
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
    "clip_param": Row("clip_coef", 0.2, number),
    "gamma": Row("gamma", 0.99, number),
    "lam": Row("gae_lambda", 0.95, number),
    # Ours has a factor of 1/2.
    "value_loss_coef": Row("vf_coef", 1.0, lambda value: 2.0 * number(value)),
    "entropy_coef": Row("ent_coef", 0.01, number),
    "learning_rate": Row("learning_rate", 1e-3, number),
    "max_grad_norm": Row("max_grad_norm", 1.0, number),
    "optimizer": Row("none", "adam", allowed=("adam",)),
    "use_clipped_value_loss": Row("clip_vloss", True, truth),
    "schedule": Row(
        "lr_schedule",
        "adaptive",
        {"adaptive": "adaptive", "fixed": "constant"}.get,
        ("adaptive", "fixed"),
    ),
    "desired_kl": Row("desired_kl", 0.01, float_or_none),
    "normalize_advantage_per_mini_batch": Row(
        "norm_adv", False, lambda value: "minibatch" if truth(value) else "batch"
    ),
    "use_mixed_precision": Row("none", False, allowed=(False,)),
    "rnd_cfg": Row("none", None, allowed=(None, {})),
    "symmetry_cfg": Row("mirror_samples, mirror_coef", None),
    "share_cnn_encoders": Row("none", False, allowed=(False,)),
    "grad_reduce_bucket_mb": Row("none: for several GPUs", 25),
}
MODEL = {
    "class_name": Row("encoder = mlp", "MLPModel", allowed=("MLPModel", "RNNModel")),
    "hidden_dims": Row("hidden_sizes", (256, 256, 256), widths),
    "activation": Row("activation", "elu", same, ("elu", "relu", "tanh")),
    "obs_normalization": Row("norm_obs", False, truth),
    "distribution_cfg": Row("the keys of `distribution_cfg` below", None),
    "cnn_cfg": Row("none", None, allowed=(None,)),
    "rnn_type": Row("recurrent"),
    "rnn_hidden_dim": Row("recurrent_units", 256),
    "rnn_num_layers": Row("none", 1),
}
DISTRIBUTION = {
    "class_name": Row("a Gaussian policy", "GaussianDistribution", None, ("GaussianDistribution",)),
    "init_std": Row("the first deviation", 1.0),
    "std_type": Row("std_form", "scalar", same, ("scalar", "log")),
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
