"""Converts policies of CleanRL and Stable-Baselines3 to checkpoints: to evaluate them, to measure
their gradients, or to train on."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import texts_of
from ._arrays import check_finite
from .registering import identified

if TYPE_CHECKING:
    from ._types import EnvSource, StrPath


def import_policy(
    source: StrPath | Mapping[str, Any],
    env: EnvSource,
    *,
    out: StrPath,
    name: str | None = None,
    observation_keys: tuple[str, str] = ("policy", "critic"),
    vec_normalize: Any = None,
    **config: Any,
) -> str:
    """Writes a PPO policy of another library as a checkpoint of Broadloom, and returns its path.
    All functions that take a run take the path: `broadloom.evaluate(path)`,
    `broadloom.gradients(path)`, `broadloom.train(..., init=path)`.

    source: a model of Stable-Baselines3 (`model.zip`), a `.cleanrl_model` of CleanRL, or a state
    dict of either, {name: tensor}. Reads files with torch.
    Networks: two separate dense bodies with tanh or ReLU, or one shared body with Nature's
    convolutions.
    env: as in train(). The policy must fit its spaces.
    vec_normalize: the VecNormalize of the policy's training, for observations, rewards or both.
    Without it neither is normalised.
    config: settings of a run with this policy, such as gamma=, gae_lambda=, num_envs= and
    num_steps= for gradients(). A model.zip brings its own."""
    found, settings = _read(source)
    file = os.fspath(source) if isinstance(source, (str, os.PathLike)) else "source"
    for key, array in found.items():
        check_finite(file, key, array)
    arrays, network = _arrays_of(found)
    keys = {"norm_reward": False, **settings, **network, **config, "norm_obs": False}
    if vec_normalize is not None and getattr(vec_normalize, "norm_obs", True):
        keys |= {"norm_obs": True, "clip_obs": float(vec_normalize.clip_obs)}
        arrays |= _statistics("obs_normalizer", vec_normalize.obs_rms)
    if getattr(vec_normalize, "norm_reward", False):
        keys |= {"norm_reward": True, "clip_reward": float(vec_normalize.clip_reward)}
        arrays |= _statistics("reward_normalizer", vec_normalize.ret_rms)
    if (
        keys["norm_obs"] or keys["norm_reward"]
    ):  # VecNormalize starts with the statistics of Gymnasium's wrappers
        keys.setdefault("normaliser", "gymnasium")
    with identified(env, name, "sync", observation_keys, config.get("num_envs")) as env_id:
        _core.write_checkpoint(texts_of({"env_id": env_id, **keys}), arrays, os.fspath(out))
    return os.fspath(out)


def _statistics(name, rms):
    arrays = {}
    for what in ("mean", "var", "count"):
        array = np.ravel(getattr(rms, what)).astype(np.float64)
        check_finite("vec_normalize", f"{what} of {name}", array)
        arrays[f"{name}.{what}"] = array
    return arrays


def _read(source):
    """(state dict of arrays, settings found in the file)."""
    if not isinstance(source, (str, os.PathLike)):
        return {
            key: np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
            for key, value in dict(source).items()
        }, {}
    import torch

    path, settings = os.fspath(source), {}
    file = path
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "policy.pth" in archive.namelist():
                file, settings = (
                    io.BytesIO(archive.read("policy.pth")),
                    _settings_of(json.loads(archive.read("data"))),
                )
    return {
        key: value.numpy()
        for key, value in torch.load(file, map_location="cpu", weights_only=True).items()
    }, settings


_SETTINGS = {
    "n_envs": "num_envs",
    "n_steps": "num_steps",
    "batch_size": "minibatch_size",
    "n_epochs": "update_epochs",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "ent_coef": "ent_coef",
    "max_grad_norm": "max_grad_norm",
}


def _settings_of(data):
    """Settings of a model.zip. Schedules are functions, and are not read."""
    out = {
        ours: data[theirs]
        for theirs, ours in _SETTINGS.items()
        if isinstance(data.get(theirs), (int, float))
    }
    if isinstance(data.get("vf_coef"), (int, float)):
        out["vf_coef"] = 2.0 * data["vf_coef"]  # Stable-Baselines3's value loss has no factor 1/2
    out["total_timesteps"] = out.get("num_envs", 1) * out.get(
        "num_steps", 1
    )  # of a run at its start
    activation = str(data.get("policy_kwargs", {}).get("activation_fn", ""))
    for word in ("relu", "tanh", "elu"):
        if re.search(rf"\b{word}\b", activation, re.IGNORECASE):
            out["activation"] = word
    return out


def _arrays_of(found):
    """(the tensors of a checkpoint, the settings of their network)."""
    for prefix, layout in (
        ("mlp_extractor.", _stable_baselines),
        ("features_extractor.cnn", _stable_baselines_images),
        ("network.0", _cleanrl_images),
        ("actor_mean.0", _cleanrl),
        ("actor.0", _cleanrl),
    ):
        if any(key.startswith(prefix) for key in found) and not (
            layout is _stable_baselines
            and any(key.startswith("features_extractor.cnn") for key in found)
        ):
            params, network = layout(found)
            flat = np.concatenate([np.ravel(np.asarray(part, np.float32)) for part in params])
            return {"learner.params": np.ascontiguousarray(flat)}, network
    raise _core.Error(
        f"source: got parameters {', '.join(list(found)[:6])}, ..., expected a PPO of CleanRL "
        "(actor.0.weight, ...) or of Stable-Baselines3 (mlp_extractor.policy_net.0.weight, ...)"
    )


def _layers(found, prefix):
    """The (weight, bias) pairs under a prefix, in order."""
    numbers = sorted(
        {
            int(match[1])
            for key in found
            if (match := re.fullmatch(re.escape(prefix) + r"(\d+)\.weight", key))
        }
    )
    return [(found[f"{prefix}{n}.weight"], found[f"{prefix}{n}.bias"]) for n in numbers]


def _dense(layers):
    return [part for weight, bias in layers for part in (weight.T, bias)]


def _two_bodies(policy, policy_head, value, value_head, log_std):
    widths = [len(bias) for _, bias in policy]
    if [len(bias) for _, bias in value] != widths:
        raise _core.Error(
            f"got hidden layers {widths} for the policy and {[len(bias) for _, bias in value]} for "
            "the value, expected equal ones"
        )
    if not widths:
        raise _core.Error("got a network without hidden layers, expected one or more")
    params = [
        *_dense(policy),
        *policy_head,
        *_dense(value),
        *value_head,
        *([] if log_std is None else [log_std]),
    ]
    return params, {"hidden_sizes": widths, "shared_encoder": False, "encoder": "mlp"}


def _stable_baselines(found):
    heads = [
        (found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("action_net", "value_net")
    ]
    return _two_bodies(
        _layers(found, "mlp_extractor.policy_net."),
        heads[0],
        _layers(found, "mlp_extractor.value_net."),
        heads[1],
        found.get("log_std"),
    )


def _cleanrl(found):
    name = "actor_mean." if "actor_mean.0.weight" in found else "actor."
    policy, value = _layers(found, name), _layers(found, "critic.")
    return _two_bodies(policy[:-1], policy[-1], value[:-1], value[-1], found.get("actor_logstd"))


def _nature(convolutions, dense, heads, log_std):
    shapes = [weight.shape for weight, _ in convolutions]
    if [(shape[0], *shape[2:]) for shape in shapes] != [(32, 8, 8), (64, 4, 4), (64, 3, 3)]:
        raise _core.Error(
            f"got convolutions {shapes}, expected Nature's: 32 of 8x8, 64 of 4x4, 64 of 3x3"
        )
    weight, bias = dense
    side = int(round((weight.shape[1] / 64) ** 0.5))
    # Images are [C, H, W] in PyTorch and [H, W, C] in Broadloom.
    dense_weight = (
        weight.reshape(len(bias), 64, side, side).transpose(2, 3, 1, 0)
        if 64 * side * side == weight.shape[1]
        else weight.T
    )
    params = [
        part for kernel, offset in convolutions for part in (kernel.transpose(2, 3, 1, 0), offset)
    ] + [dense_weight, bias, *heads[0], *heads[1]]
    return params + ([] if log_std is None else [log_std]), {
        "encoder": "nature",
        "shared_encoder": True,
        "hidden_sizes": [len(bias)],
        "activation": "relu",
    }


def _stable_baselines_images(found):
    if any(key.startswith("mlp_extractor.") for key in found):
        raise _core.Error("got dense layers after the convolutions (net_arch), expected none")
    heads = [
        (found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("action_net", "value_net")
    ]
    return _nature(
        _layers(found, "features_extractor.cnn."),
        (found["features_extractor.linear.0.weight"], found["features_extractor.linear.0.bias"]),
        heads,
        found.get("log_std"),
    )


def _cleanrl_images(found):
    layers = _layers(found, "network.")
    return _nature(
        layers[:3],
        layers[3],
        [(found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("actor", "critic")],
        None,
    )
