"""The parts of rsl_rl.py that need torch: checkpoints, policies and exports of RSL-RL."""

from __future__ import annotations

import importlib
import os

import numpy as np
import torch
from torch import nn

from . import _core
from .rsl_rl import STD_OFFSET

ACTIVATIONS = {"elu": nn.ELU, "relu": nn.ReLU, "tanh": nn.Tanh}


class Normalizer(nn.Module):
    """RSL-RL's EmpiricalNormalization, with fixed statistics."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.offset = STD_OFFSET
        for name in ("_mean", "_var", "_std"):
            self.register_buffer(name, torch.zeros(1, size))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self._mean) / (self._std + self.offset)


class Actor(nn.Module):
    """Normaliser and network, from [n, D] to mean actions [n, A]."""

    def __init__(self, widths: list[int], activation: str, normalises: bool) -> None:
        super().__init__()
        self.obs_normalizer = Normalizer(widths[0]) if normalises else nn.Identity()
        layers: list[nn.Module] = []
        for inputs, outputs in zip(widths[:-1], widths[1:]):
            layers += [nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
        self.mlp = nn.Sequential(*layers[:-1])

    @classmethod
    def made(cls, state, activation, normalises):
        """The actor of a state dict of RSL-RL, given as arrays."""
        weights = [array for name, array in state.items() if name.endswith(".weight")]
        actor = cls([weights[0].shape[1], *(len(one) for one in weights)], activation, normalises)
        kept = {name: tensor(array) for name, array in state.items() if "distribution" not in name}
        actor.load_state_dict(kept)
        return actor.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mlp(self.obs_normalizer(x))

    @torch.jit.export
    def reset(self) -> None:
        """RSL-RL's exports have it, for recurrent networks."""


class InferencePolicy(nn.Module):
    """An Actor that takes the environment's groups of observations."""

    def __init__(self, actor: Actor, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.actor, self.groups = actor, groups

    @torch.no_grad()
    def forward(self, observations):
        if not torch.is_tensor(observations):
            observations = torch.cat([observations[key] for key in self.groups], dim=-1)
        return self.actor(observations)

    def reset(self, dones=None):
        """RSL-RL's models have it, for recurrent networks."""


SYMMETRY = (
    "env data_augmentation_func use_data_augmentation use_mirror_loss mirror_loss_coeff"
).split()


def mirror_settings(symmetry, env, groups, actions, critic_is_apart):
    """Broadloom's settings for RSL-RL's symmetry_cfg. groups: the actor's names, and the critic's.

    Broadloom mirrors by signed permutations. The images of numbers that all differ
    show which one the function is."""
    unknown = sorted(set(symmetry) - set(SYMMETRY))
    if unknown or "data_augmentation_func" not in symmetry:
        got = f"the key '{unknown[0]}'" if unknown else "no data_augmentation_func"
        raise _core.Error(
            f"train_cfg: got {got} in algorithm.symmetry_cfg, expected {', '.join(SYMMETRY)}"
        )
    weight = symmetry.get("mirror_loss_coeff", 0.0) if symmetry.get("use_mirror_loss") else 0.0
    out = {"mirror_samples": bool(symmetry.get("use_data_augmentation"))}
    out["mirror_coef"] = float(weight)
    if not any(out.values()):
        return {}  # RSL-RL logs the loss only
    function = resolved(symmetry["data_augmentation_func"])
    seen = [images_of(function, env, names, actions) for names in groups]
    out |= {"env.mirror_obs": seen[0][0], "env.mirror_action": seen[0][1]}
    if critic_is_apart:
        out["env.mirror_critic"] = seen[1][0]
    return {key: value for key, value in out.items() if value}


def resolved(function):
    if callable(function):
        return function
    module, _, name = str(function).replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _core.Error(
            f"train_cfg: got data_augmentation_func = {function!r}, expected a function or "
            f"'module:function' ({error})"
        ) from None


def images_of(function, env, names, actions):
    """(the permutation of the groups' numbers, that of the actions), as texts."""
    texts = []
    for seed in (0, 1):
        random = np.random.default_rng(seed)
        rows = env.get_observations()
        if isinstance(rows, dict):
            rows = {key: value[:1].clone() for key, value in rows.items()}
        else:
            rows = rows[:1].clone()
        for name in names:
            drawn = random.uniform(0.5, 1.0, rows[name].numel())
            rows[name] = torch.as_tensor(drawn).to(rows[name]).reshape(rows[name].shape)
        acted = torch.as_tensor(random.uniform(0.5, 1.0, (1, actions))).float()
        turned, acted_images = function(env=env, obs=rows, actions=acted)
        if len(acted_images) != 2:
            raise _core.Error(
                f"train_cfg: got a data_augmentation_func that gives {len(acted_images)} rows for "
                "one, expected 2: Broadloom learns from one mirror image"
            )
        flat = [
            np.concatenate([np.ravel(one[name][i]) for name in names])
            for one, i in ((rows, 0), (turned, 1))
        ]
        texts.append((signed(*flat), signed(np.ravel(acted[0]), np.ravel(acted_images[1]))))
    if texts[0] != texts[1] or None in texts[0]:
        raise _core.Error(
            "train_cfg: got a data_augmentation_func whose images are no signed permutations, "
            "expected each number of an image to be one of the row's, or its negative"
        )
    if not all(map(is_its_own_inverse, texts[0])):
        raise _core.Error(
            "train_cfg: got a data_augmentation_func whose image of an image is another row, such "
            "as a third of a turn; expected a mirror: twice gives the row again"
        )
    return texts[0]


def is_its_own_inverse(permutation):
    terms = permutation.split()
    return all(terms[int(term[1:])] == f"{term[0]}{i}" for i, term in enumerate(terms))


def signed(row, image):
    """The signed permutation from a row to its image as a text; None if there is none."""
    order = np.argsort(np.abs(row))
    place = np.searchsorted(np.abs(row)[order], np.abs(image))
    index = order[np.minimum(place, len(order) - 1)]
    if not np.array_equal(np.abs(row)[index], np.abs(image)):
        return None
    signs = np.where(np.sign(row[index]) == np.sign(image), "+", "-")
    return " ".join(f"{sign}{number}" for sign, number in zip(signs, index))


def tensor(array):
    return torch.from_numpy(np.array(array))


def like(counts, drawn):
    return torch.from_numpy(drawn).to(counts)


def write(path, saved):
    """saved: dicts of arrays, and the optimiser's moments in the order of RSL-RL's parameters."""
    optimizer = saved.pop("optimizer")
    out = {
        name: {key: tensor(array) for key, array in value.items()}
        if name.endswith("state_dict")
        else value
        for name, value in saved.items()
    }
    shapes = [torch.zeros(shape, requires_grad=True) for shape in optimizer["shapes"]]
    adam = torch.optim.Adam(shapes, lr=optimizer["learning_rate"])
    if optimizer["steps"] > 0:
        for parameter, first, second in zip(shapes, *optimizer["moments"]):
            adam.state[parameter] = {
                "step": torch.tensor(float(optimizer["steps"])),
                "exp_avg": tensor(first),
                "exp_avg_sq": tensor(second),
            }
    out["optimizer_state_dict"] = adam.state_dict()
    torch.save(out, path)


def read(path):
    """The dicts of arrays of a checkpoint, and `optimizer` as write() takes it."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # of pickle, zip or struct, as the bytes are
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        raise _core.Error(
            f"{path}: got a file that torch.load cannot read ({words}), expected a checkpoint of "
            "RSL-RL, model_<iteration>.pt"
        ) from None
    if not isinstance(found, dict):
        raise _core.Error(
            f"{path}: got a {type(found).__name__}, expected a dict, as RSL-RL's checkpoints are"
        )
    if "model_state_dict" in found:  # RSL-RL before 4.0: actor and critic in one dict
        found |= parts_of(found.pop("model_state_dict"))
    out = {
        name: {key: value.numpy() for key, value in found[name].items()}
        if name.endswith("state_dict") and not name.startswith("optimizer")
        else found[name]
        for name in found
    }
    adam = out.pop("optimizer_state_dict", None)
    if adam is not None:
        states = [adam["state"][i] for i in sorted(adam["state"])]
        out["optimizer"] = {
            "learning_rate": float(adam["param_groups"][0]["lr"]),
            "steps": int(states[0]["step"]) if states else 0,
            "moments": [[one[name].numpy() for one in states] for name in ("exp_avg", "exp_avg_sq")]
            if states
            else [],
        }
    return out


def parts_of(model):
    out = {"actor_state_dict": {}, "critic_state_dict": {}}
    for name, value in model.items():
        if name in ("std", "log_std"):
            out["actor_state_dict"][name] = value
        for part in ("actor", "critic"):
            for old, new in ((f"{part}.", "mlp."), (f"{part}_obs_normalizer.", "obs_normalizer.")):
                if name.startswith(old):
                    out[f"{part}_state_dict"][new + name.removeprefix(old)] = value
    return out


def write_jit(actor, path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    torch.jit.script(actor.cpu()).save(path)


def write_onnx(actor, size, path, verbose):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    torch.onnx.export(
        actor.cpu(),
        (torch.zeros(1, size),),
        path,
        opset_version=18,
        verbose=verbose,
        input_names=["obs"],
        output_names=["actions"],
        dynamic_axes={},
        dynamo=False,
    )
