"""Policies of CleanRL and Stable-Baselines3 as checkpoints, for evaluation, panels, the laboratory, and to go on from."""

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
from .training import identified, text_of

if TYPE_CHECKING:
    from ._types import EnvSource, StrPath


def import_policy(source: StrPath | Mapping[str, Any], env: EnvSource, *, out: StrPath, name: str | None = None, observation_keys: tuple[str, str] = ("policy", "critic"),
                  vec_normalize: Any = None, **config: Any) -> str:
    """Writes what somebody else's PPO has learnt as a checkpoint of Broadloom's, and returns its path: whatever takes a run or a checkpoint takes it
    (`broadloom.evaluate(path)`, `broadloom.gradients(path)`, `train --init path`).

    source: a model of Stable-Baselines3's (`model.zip`), CleanRL's `.cleanrl_model`, or a state dict of either ({name: tensor}). Networks: dense ones with tanh or ReLU in
    two bodies, and Nature's convolutions in one. env: as train() has it; the policy must fit its spaces. vec_normalize: the VecNormalize that observations, rewards or both went
    through; without it neither is normalised.
    config: settings that a run of that policy has, for what depends on them (gamma=, gae_lambda=, num_envs=, num_steps= of the laboratory); of a model.zip its own are taken.
    Reads the file with torch."""
    found, settings = _read(source)
    arrays, network = _arrays_of(found)
    keys = {"norm_reward": False, **settings, **network, **config, "norm_obs": False}
    if vec_normalize is not None and getattr(vec_normalize, "norm_obs", True):
        keys |= {"norm_obs": True, "clip_obs": float(vec_normalize.clip_obs)}
        arrays |= _statistics("obs_normalizer", vec_normalize.obs_rms)
    if getattr(vec_normalize, "norm_reward", False):
        keys |= {"norm_reward": True, "clip_reward": float(vec_normalize.clip_reward)}
        arrays |= _statistics("reward_normalizer", vec_normalize.ret_rms)
    if keys["norm_obs"] or keys["norm_reward"]:  # VecNormalize begins as Gymnasium's wrappers do
        keys.setdefault("normaliser", "gymnasium")
    with identified(env, name, "sync", observation_keys, config.get("num_envs")) as env_id:
        texts = {key: text_of(value) for key, value in {"env_id": env_id, **keys}.items()}
        _core.write_checkpoint(texts, arrays, os.fspath(out))
    return os.fspath(out)


def _statistics(name, rms):
    return {f"{name}.{what}": np.ravel(getattr(rms, what)).astype(np.float64) for what in ("mean", "var", "count")}


def _read(source):
    """(state dict of arrays, settings that the file says)."""
    if not isinstance(source, (str, os.PathLike)):
        return {key: np.asarray(value.detach().cpu() if hasattr(value, "detach") else value) for key, value in dict(source).items()}, {}
    import torch

    path, settings = os.fspath(source), {}
    file = path
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "policy.pth" in archive.namelist():
                file, settings = io.BytesIO(archive.read("policy.pth")), _settings_of(json.loads(archive.read("data")))
    return {key: value.numpy() for key, value in torch.load(file, map_location="cpu", weights_only=True).items()}, settings


_SETTINGS = {"n_envs": "num_envs", "n_steps": "num_steps", "batch_size": "minibatch_size", "n_epochs": "update_epochs", "gamma": "gamma", "gae_lambda": "gae_lambda",
             "ent_coef": "ent_coef", "max_grad_norm": "max_grad_norm"}


def _settings_of(data):
    """Those of a model.zip; what is a function (a schedule) is not read."""
    out = {ours: data[theirs] for theirs, ours in _SETTINGS.items() if isinstance(data.get(theirs), (int, float))}
    if isinstance(data.get("vf_coef"), (int, float)):
        out["vf_coef"] = 2.0 * data["vf_coef"]  # their loss has no factor of 1/2
    out["total_timesteps"] = out.get("num_envs", 1) * out.get("num_steps", 1)  # of a run that has not begun
    activation = str(data.get("policy_kwargs", {}).get("activation_fn", ""))
    for word in ("relu", "tanh", "elu"):
        if re.search(rf"\b{word}\b", activation, re.IGNORECASE):
            out["activation"] = word
    return out


def _arrays_of(found):
    """The tensors of a checkpoint, and the settings of the network that they are of."""
    for prefix, layout in (("mlp_extractor.", _of_stable_baselines), ("features_extractor.cnn", _of_stable_baselines_images), ("network.0", _of_cleanrl_images),
                           ("actor_mean.0", _of_cleanrl), ("actor.0", _of_cleanrl)):
        if any(key.startswith(prefix) for key in found) and not (layout is _of_stable_baselines and any(key.startswith("features_extractor.cnn") for key in found)):
            params, network = layout(found)
            flat = np.concatenate([np.ravel(np.asarray(part, np.float32)) for part in params])
            return {"learner.params": np.ascontiguousarray(flat)}, network
    raise _core.Error(f"these are no parameters of a PPO of CleanRL's or Stable-Baselines3's: {', '.join(list(found)[:6])}, ...; expected names such as actor.0.weight or "
                      "mlp_extractor.policy_net.0.weight")


def _layers(found, prefix):
    """The (weight, bias) pairs under a prefix, in order."""
    numbers = sorted({int(match[1]) for key in found if (match := re.fullmatch(re.escape(prefix) + r"(\d+)\.weight", key))})
    return [(found[f"{prefix}{n}.weight"], found[f"{prefix}{n}.bias"]) for n in numbers]


def _dense(layers):
    return [part for weight, bias in layers for part in (weight.T, bias)]


def _two_bodies(policy, policy_head, value, value_head, log_std):
    widths = [len(bias) for _, bias in policy]
    if [len(bias) for _, bias in value] != widths:
        raise _core.Error(f"the policy's hidden layers are {widths} and the value's {[len(bias) for _, bias in value]}; expected the same")
    if not widths:
        raise _core.Error("got a network without hidden layers; expected some")
    params = [*_dense(policy), *policy_head, *_dense(value), *value_head, *([] if log_std is None else [log_std])]
    return params, {"hidden_sizes": widths, "shared_encoder": False, "encoder": "mlp"}


def _of_stable_baselines(found):
    heads = [(found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("action_net", "value_net")]
    return _two_bodies(_layers(found, "mlp_extractor.policy_net."), heads[0], _layers(found, "mlp_extractor.value_net."), heads[1], found.get("log_std"))


def _of_cleanrl(found):
    name = "actor_mean." if "actor_mean.0.weight" in found else "actor."
    policy, value = _layers(found, name), _layers(found, "critic.")
    return _two_bodies(policy[:-1], policy[-1], value[:-1], value[-1], found.get("actor_logstd"))


def _nature(convolutions, dense, heads, log_std):
    shapes = [weight.shape for weight, _ in convolutions]
    if [(shape[0], *shape[2:]) for shape in shapes] != [(32, 8, 8), (64, 4, 4), (64, 3, 3)]:
        raise _core.Error(f"got convolutions of {shapes}; expected Nature's: 32 of 8x8, 64 of 4x4, 64 of 3x3")
    weight, bias = dense
    side = int(round((weight.shape[1] / 64) ** 0.5))
    # Images there are [C, H, W], here [H, W, C].
    as_here = weight.reshape(len(bias), 64, side, side).transpose(2, 3, 1, 0) if 64 * side * side == weight.shape[1] else weight.T
    params = [part for kernel, offset in convolutions for part in (kernel.transpose(2, 3, 1, 0), offset)] + [as_here, bias, *heads[0], *heads[1]]
    return params + ([] if log_std is None else [log_std]), {"encoder": "nature", "shared_encoder": True, "hidden_sizes": [len(bias)], "activation": "relu"}


def _of_stable_baselines_images(found):
    if any(key.startswith("mlp_extractor.") for key in found):
        raise _core.Error("got dense layers after the convolutions (net_arch); expected none")
    heads = [(found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("action_net", "value_net")]
    return _nature(_layers(found, "features_extractor.cnn."), (found["features_extractor.linear.0.weight"], found["features_extractor.linear.0.bias"]), heads, found.get("log_std"))


def _of_cleanrl_images(found):
    layers = _layers(found, "network.")
    return _nature(layers[:3], layers[3], [(found[f"{name}.weight"], found[f"{name}.bias"]) for name in ("actor", "critic")], None)
