"""The parts of the runner that need torch: checkpoints, policies and exports of RSL-RL."""

from __future__ import annotations

import importlib
import operator
import os

import numpy as np
import torch
from torch import nn

from . import _core
from ._rsl_rl_keys import STD_OFFSET, number, truth, turned

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

    def __init__(self, inputs: int, widths: list[int], activation: str, normalises: bool) -> None:
        super().__init__()
        self.obs_normalizer = Normalizer(inputs) if normalises else nn.Identity()
        layers: list[nn.Module] = []
        for below, above in zip(widths[:-1], widths[1:]):
            layers += [nn.Linear(below, above), ACTIVATIONS[activation]()]
        self.mlp = nn.Sequential(*layers[:-1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mlp(self.obs_normalizer(x))

    @torch.jit.export
    def reset(self) -> None:
        """RSL-RL's exports have it, for recurrent networks."""


class RecurrentActor(nn.Module):
    """Normaliser, cell and network. As a module of its own it acts in one environment, whose state
    it keeps, as RSL-RL's exports do."""

    __constants__ = ["is_lstm"]  # so that TorchScript compiles one of the two forms

    def __init__(self, actor: Actor, cell: nn.LSTM | nn.GRU) -> None:
        super().__init__()
        self.obs_normalizer, self.rnn, self.mlp = actor.obs_normalizer, cell, actor.mlp
        self.is_lstm = isinstance(cell, nn.LSTM)
        self.register_buffer("hidden_state", torch.zeros(1, 1, cell.hidden_size))
        if self.is_lstm:
            self.register_buffer("cell_state", torch.zeros(1, 1, cell.hidden_size))

    def step(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor):
        """(mean actions [n, A], h, c) for states [1, n, units]. A GRU passes c on."""
        x = self.obs_normalizer(x).unsqueeze(0)
        if self.is_lstm:
            x, (h, c) = self.rnn(x, (h, c))
        else:
            x, h = self.rnn(x, h)
        return self.mlp(x.squeeze(0)), h, c

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_lstm:
            out, h, c = self.step(x, self.hidden_state, self.cell_state)
            self.cell_state[:] = c.detach()
        else:
            out, h, c = self.step(x, self.hidden_state, self.hidden_state)
        self.hidden_state[:] = h.detach()
        return out

    @torch.jit.export
    def reset(self) -> None:
        self.hidden_state[:] = 0.0
        if self.is_lstm:
            self.cell_state[:] = 0.0


def actor_of(state, activation, normalises):
    """The actor of a state dict of RSL-RL, given as arrays."""
    kept = {name: tensor(array) for name, array in state.items() if "distribution" not in name}
    kept = {name.removeprefix("rnn."): array for name, array in kept.items()}
    weights = [array for name, array in kept.items() if name.endswith(".weight")]
    inputs = kept.get("rnn.weight_ih_l0", weights[0]).shape[1]
    widths = [weights[0].shape[1], *(len(one) for one in weights)]
    actor = Actor(inputs, widths, activation, normalises)
    if "rnn.weight_hh_l0" in kept:
        sums, units = kept["rnn.weight_hh_l0"].shape
        actor = RecurrentActor(actor, (nn.LSTM if sums == 4 * units else nn.GRU)(inputs, units))
        kept |= dict(actor.named_buffers(recurse=False))
    actor.load_state_dict(kept)
    return actor.eval()


class InferencePolicy(nn.Module):
    """An actor that takes the environment's groups of observations. With a cell it keeps the state
    of each row, which is 0 at first."""

    def __init__(self, actor: Actor | RecurrentActor, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.actor, self.groups = actor, groups
        self.is_recurrent = isinstance(actor, RecurrentActor)
        self._width = actor.rnn.input_size if self.is_recurrent else actor.mlp[0].in_features
        self._states: tuple[torch.Tensor, ...] | None = None

    @torch.no_grad()
    def forward(self, observations):
        observations = self._joined(observations)
        if not self.is_recurrent:
            return self.actor(observations)
        rows = len(observations)
        if self._states is None:
            self._states = (observations.new_zeros(1, rows, self.actor.rnn.hidden_size),) * 2
        if self._states[0].shape[1] != rows:
            raise _core.Error(
                f"observations: got {rows} rows, expected {self._states[0].shape[1]}, as before; "
                "call reset() to begin with others"
            )
        actions, *states = self.actor.step(observations, *self._states)
        self._states = tuple(states)
        return actions

    def _joined(self, observations):
        """The actor's numbers as one tensor: [n, D], or [..., D] without a cell."""
        width = self._width
        if torch.is_tensor(observations):
            parts = {"observations": observations}
        elif hasattr(observations, "keys"):
            known = list(observations.keys())
            missing = [key for key in self.groups if key not in known]
            if missing:
                raise _core.Error(
                    f"observations: got the groups {known}, expected {list(self.groups)}"
                )
            parts = {key: observations[key] for key in self.groups}
        else:
            raise _core.Error(
                f"observations: got a {type(observations).__name__}, expected a tensor "
                f"[n, {width}], or a dict of tensors with the groups {list(self.groups)}"
            )
        for key, part in parts.items():
            if not torch.is_tensor(part):
                raise _core.Error(f"{key}: got a {type(part).__name__}, expected a tensor")
        shapes = [tuple(part.shape) for part in parts.values()]
        fits = all(shapes) and len({shape[:-1] for shape in shapes}) == 1
        fits = fits and sum(shape[-1] for shape in shapes) == width
        if not fits or (self.is_recurrent and len(shapes[0]) != 2):
            got = ", ".join(f"{key} of shape {shape}" for key, shape in zip(parts, shapes))
            raise _core.Error(f"observations: got {got}, expected rows [n, {width}]")
        return torch.cat(list(parts.values()), dim=-1)

    def reset(self, dones=None):
        """Begins new episodes: in the rows where dones is 1, or in all. dones: [n], or [n, 1]."""
        if dones is None:
            self._states = None
        elif self._states is not None:
            rows = self._states[0].shape[1]
            try:
                ended = torch.as_tensor(dones, device=self._states[0].device)
            except (TypeError, ValueError, RuntimeError):
                raise _core.Error(
                    f"dones: got {dones!r}, expected numbers of shape ({rows},), one for each row "
                    "of observations"
                ) from None
            if tuple(ended.shape) not in ((rows,), (rows, 1)):
                raise _core.Error(
                    f"dones: got shape {tuple(ended.shape)}, expected ({rows},), one number for "
                    "each row of observations; reset() begins new episodes in all"
                )
            ended = ended.reshape(-1, 1) == 1
            self._states = tuple(state.masked_fill(ended, 0.0) for state in self._states)


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
    usual = {"use_data_augmentation": False, "use_mirror_loss": False, "mirror_loss_coeff": 0.0}
    found = {
        key: turned(
            number if key == "mirror_loss_coeff" else truth,
            f"algorithm.symmetry_cfg.{key}",
            symmetry.get(key, value),
            value,
        )
        for key, value in usual.items()
    }
    out = {"mirror_samples": found["use_data_augmentation"]}
    out["mirror_coef"] = found["mirror_loss_coeff"] if found["use_mirror_loss"] else 0.0
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
    """The dicts of arrays of a checkpoint, and its other parts as they are."""
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
    order = None
    if "model_state_dict" in found:  # RSL-RL before 4.0: actor and critic in one dict
        name = "model_state_dict"
        parts, order = parts_of(dict_of(path, name, found.pop(name)))
        found |= parts
    out = {name: found.get(name) for name in ("infos", "optimizer_state_dict")} | {"order": order}
    try:
        out["iter"] = operator.index(found.get("iter") or 0)
    except (TypeError, RuntimeError):
        raise _core.Error(f"{path}: iter: got {found['iter']!r}, expected a whole number") from None
    for model in ("actor", "critic", "student", "teacher"):
        name = f"{model}_state_dict"
        if name in found:
            parts = dict_of(path, name, found[name]).items()
            out[name] = {key: array_of(path, f"{model}'s {key}", value) for key, value in parts}
    return out


def dict_of(path, name, value):
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _core.Error(f"{path}: {name}: got a {type(value).__name__}, expected a dict by names")
    return value


def array_of(path, name, value):
    """A checkpoint's tensor as an array. NumPy has no bfloat16 and no float8; float32 holds their
    numbers exactly."""
    got = type(value).__name__
    if torch.is_tensor(value):
        got = f"a tensor of {value.dtype}"
        try:
            is_short = value.is_floating_point() and value.element_size() < 4
            array = (value.float() if is_short else value).detach().numpy()
            if array.dtype.kind in "fiu":
                return array
        except (TypeError, RuntimeError):  # sparse and quantised ones
            got += f", {value.layout}"
    raise _core.Error(f"{path}: {name}: got {got}, expected a tensor of real numbers")


def with_optimizer(path, found):
    """The dict of read(), with `optimizer` as write() takes it if there is one."""
    adam = found["optimizer_state_dict"]
    if adam is None:
        return found
    try:
        states = [adam["state"][i] for i in sorted(adam["state"])]
        rate = float(adam["param_groups"][0]["lr"])
        steps = int(states[0]["step"]) if states else 0
        moments = [[one[name] for one in states] for name in ("exp_avg", "exp_avg_sq")]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        raise _core.Error(
            f"{path}: optimizer_state_dict: got another form ({words}), expected that of "
            "torch.optim.Adam; load with a load_cfg without optimizer"
        ) from None
    arrays = [
        [array_of(path, f"moments of parameter {i}", one) for i, one in enumerate(of_all)]
        for of_all in moments
    ]
    optimizer = {"learning_rate": rate, "steps": steps, "moments": arrays if states else []}
    return {**found, "optimizer": optimizer}


def parts_of(model):
    """The dicts of actor and critic, and (actor or critic, name) of all parts in their order."""
    out, order = {"actor_state_dict": {}, "critic_state_dict": {}}, []
    for name, value in model.items():
        found = ("actor", name) if name in ("std", "log_std") else None
        for part in ("actor", "critic"):
            for old, new in (
                (f"{part}.", "mlp."),
                (f"{part}_obs_normalizer.", "obs_normalizer."),
                (f"memory_{part[0]}.", "rnn."),
            ):
                if name.startswith(old):
                    found = (part, new + name.removeprefix(old))
        if found:
            out[f"{found[0]}_state_dict"][found[1]] = value
            order.append(found)
    return out, order


def write_jit(actor, path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    torch.jit.script(actor.cpu()).save(path)


class OnnxActor(nn.Module):
    """A RecurrentActor whose states are inputs and outputs."""

    def __init__(self, actor: RecurrentActor) -> None:
        super().__init__()
        self.actor = actor

    def forward(self, obs, h_in, c_in=None):
        out, *states = self.actor.step(obs, h_in, c_in)
        return (out, *states) if self.actor.is_lstm else (out, states[0])


def write_onnx(actor, size, path, verbose):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    inputs, states = (torch.zeros(1, size),), []
    if isinstance(actor, RecurrentActor):
        states = ["h", "c"] if actor.is_lstm else ["h"]
        inputs += tuple(torch.zeros(1, 1, actor.rnn.hidden_size) for _ in states)
        actor = OnnxActor(actor)
    torch.onnx.export(
        actor.cpu(),
        inputs,
        path,
        opset_version=18,
        verbose=verbose,
        input_names=["obs", *(f"{name}_in" for name in states)],
        output_names=["actions", *(f"{name}_out" for name in states)],
        dynamic_axes={},
        dynamo=False,
    )
