"""RSL-RL's checkpoints as Broadloom's tensors, and back."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import check_finite
from ._rsl_rl_keys import MODELS
from ._rsl_rl_shapes import Shapes

KEPT = ("learner.adam", "learner.learning_rate", "obs_normalizer.", "critic_obs_normalizer.")

# Names in RSL-RL 3 to 5 of the deviation's logarithm, then of the deviation.
LOG_STD_NAMES = ("distribution.log_std_param", "log_std")
STD_NAMES = (*LOG_STD_NAMES, "distribution.std_param", "std")


class Layout(NamedTuple):
    """The places of a run's tensors in RSL-RL's checkpoints."""

    shapes: Shapes
    is_scalar: bool  # the deviation is learnt, not its logarithm
    normalises: bool
    critic_is_apart: bool  # it reads observations of its own
    names: Mapping[str, str]  # of actor and critic in messages, if other than these
    reads: str  # whose checkpoints are expected

    def saved(self, tensors):
        """The dicts of RSL-RL's checkpoint, as NumPy arrays. tensors: those of Broadloom's."""
        actor, critic, deviation = self.shapes.unpacked(tensors["learner.params"])
        name = f"distribution.{'std' if self.is_scalar else 'log_std'}_param"
        statistics = [self.statistics(tensors, key) for key in self.normalizers()]
        count = int(tensors["learner.adam_steps"][0])
        moments = []
        for key in ("learner.adam_m", "learner.adam_v"):
            of_actor, of_critic, of_std = self.shapes.unpacked(tensors[key])
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

    def normalizers(self):
        """Names of the statistics that the actor's and the critic's observations have."""
        critic = "critic_obs_normalizer" if self.critic_is_apart else "obs_normalizer"
        return "obs_normalizer", critic

    def statistics(self, tensors, key):
        if not self.normalises:
            return {}
        mean, var = (tensors[f"{key}.{name}"] for name in ("mean", "var"))
        count = int(round(float(tensors[f"{key}.count"][0])))
        rows = {"_mean": mean, "_var": var, "_std": np.sqrt(var)}
        out = {f"obs_normalizer.{name}": row[None].astype("f4") for name, row in rows.items()}
        return {**out, "obs_normalizer.count": np.int64(count)}

    def arrays_of(self, tensors, found, wanted, strict, path):
        """Broadloom's tensors with those of RSL-RL's checkpoint that are wanted."""
        actor, critic, deviation = self.shapes.unpacked(tensors["learner.params"])
        out = {name: tensors[name] for name in tensors if name.startswith(KEPT)}
        models = {"actor": actor, "critic": critic}
        for name, key in zip(MODELS, self.normalizers(), strict=True):
            theirs, word = found.get(f"{name}_state_dict"), self.names.get(name, name)
            if not wanted.get(name):
                continue
            if theirs is None:
                if strict:
                    raise _core.Error(
                        f"{path}: got no {word}_state_dict, expected {self.reads} of RSL-RL"
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
                loaded = deviation_of(theirs, deviation, self.is_scalar)
                check_part(path, f"{word}'s deviation", loaded, deviation.shape)
                deviation = loaded
            if self.normalises and "obs_normalizer._mean" in theirs:
                size = getattr(self.shapes, name)[0]
                for part, length in (("_mean", size), ("_std", size), ("count", 1)):
                    row = theirs.get(f"obs_normalizer.{part}")
                    row = None if row is None else np.ravel(row)
                    check_part(path, f"{word}'s obs_normalizer.{part}", row, (length,))
                out |= loaded_statistics(key, theirs)
        out["learner.params"] = self.shapes.packed(actor, critic, deviation)
        if wanted.get("optimizer") and "optimizer" in found:
            names = names_of_moments(found, models)
            zeros = np.zeros_like(tensors["learner.params"])
            out |= self.moments_of(found["optimizer"], names, path, zeros)
        return {name: np.ascontiguousarray(array) for name, array in out.items()}

    def check_names(self, name, model, theirs, path):
        """Whether a checkpoint's dict has what this actor or critic needs, and nothing else."""
        got = {part.split("._")[0] for part in theirs if part != "obs_normalizer.count"}
        got = {"the deviation" if part in STD_NAMES else part for part in got}
        expected = set(model) | ({"obs_normalizer"} if self.normalises else set())
        expected |= {"the deviation"} if name == "actor" else set()
        if got != expected:
            extra, missing = sorted(got - expected), sorted(expected - got)
            raise _core.Error(
                f"{path}: {self.names.get(name, name)}: got "
                f"{', '.join(extra) or 'nothing more'}, expected "
                f"{', '.join(missing) or 'no such part'}; load it with the train_cfg that it was "
                "trained with, or with strict=False"
            )

    def moments_of(self, optimizer, names, path, zeros):
        """zeros: one for each parameter."""
        rate = optimizer["learning_rate"]
        check_finite(path, "learning rate", np.array(rate))
        out = {"learner.learning_rate": np.array([rate], np.float64)}
        if not optimizer["moments"]:
            moments = {f"learner.{key}": zeros for key in ("adam_m", "adam_v")}
            return {**out, **moments, "learner.adam_steps": np.array([0], np.int64)}
        of_actor, of_critic, of_std = self.shapes.unpacked(zeros)
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
            out[f"learner.{key}"] = self.shapes.packed(*models, deviation)
        return {**out, "learner.adam_steps": np.array([optimizer["steps"]], np.int64)}


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
