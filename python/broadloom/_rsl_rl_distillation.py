"""A runner in the form of RSL-RL's DistillationRunner (rsl-rl-lib 5.5) that learns with Broadloom.

from broadloom.rsl_rl import DistillationRunner
runner = DistillationRunner(env, train_cfg, log_dir="logs/student")
runner.load("logs/go1/model_300.pt")          # the teacher: RSL-RL's PPO, or a run of Broadloom
runner.learn(num_learning_iterations=300)
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
from typing import Any

import numpy as np

from . import _core, rsl_rl
from ._rsl_rl_checkpoint import KEPT, newest_checkpoint, read_tensors
from ._rsl_rl_keys import Row, float_or_none, last_name, number, same, whole
from ._rsl_rl_reading import check_dict, dict_of

# Keys of `algorithm`, with RSL-RL's defaults.
ALGORITHM = {
    "class_name": Row("algorithm = distill", "Distillation", allowed=("Distillation",)),
    "num_learning_epochs": Row("update_epochs", 1, whole(1)),
    "gradient_length": Row("gradient_length", 15, whole(1)),
    "learning_rate": Row("learning_rate", 1e-3, number),
    "max_grad_norm": Row("max_grad_norm", None, lambda value: float_or_none(value) or 0.0),
    "loss_type": Row("distill_loss", "mse", same, ("mse", "huber")),
    "optimizer": Row("none", "adam", allowed=("adam",)),
    "use_mixed_precision": Row("none", False, allowed=(False,)),
    "rnd_cfg": Row("none", None, allowed=(None, {})),
    "symmetry_cfg": Row("none", None, allowed=(None, {})),
    "grad_reduce_bucket_mb": Row("none: for several GPUs", 25),
}
MODELS = ("student", "teacher")
# Settings of PPO, which a student's run does not have.
OF_PPO = (
    "num_minibatches clip_coef clip_vloss vf_coef ent_coef norm_adv desired_kl kl_estimate "
    "clip_grads shuffle"
).split()


def config_of(config, model):
    """The configuration of a PPO whose actor is the student or the teacher. The critic's groups are
    the teacher's."""
    sets = dict(dict_of("obs_groups", config.get("obs_groups")))
    for name in MODELS:
        sets.setdefault(name, [name if name == "teacher" else "policy"])
    kept = {key: value for key, value in config.items() if key not in (*MODELS, "algorithm")}
    own = dict(dict_of(model, config.get(model)))
    critic = {key: value for key, value in own.items() if key != "distribution_cfg"}
    return {
        **kept,
        "obs_groups": {"actor": sets[model], "critic": sets["teacher"]},
        "actor": own,
        "critic": critic,
        "algorithm": {"schedule": "fixed"},
    }


class Teacher(rsl_rl.OnPolicyRunner):
    """Reads a teacher's checkpoints."""

    _names = {"actor": "teacher", "critic": "teacher"}
    _reads = "a PPO or a Distillation"


class DistillationRunner(rsl_rl.OnPolicyRunner):
    """Trains as rsl_rl.runners.DistillationRunner does, with Broadloom's engine.

    Arguments are those of OnPolicyRunner. train_cfg: RSL-RL's keys `student`, `teacher`,
    `algorithm` (class_name Distillation) and `obs_groups` with the sets student and teacher. load()
    names the teacher first. A memory (rnn_type) is refused. Raises broadloom.Error."""

    _names = {"actor": "student", "critic": "teacher"}
    _reads = "a Distillation"

    def __init__(
        self,
        env: Any,
        train_cfg: dict[str, Any],
        log_dir: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        *,
        threads: int = 0,
    ) -> None:
        check_dict("", train_cfg)
        for key in MODELS:
            self._refuse_memory(key, dict_of(key, train_cfg.get(key)))
        for key in ("actor", "critic", "policy"):
            if key in train_cfg:
                raise _core.Error(
                    f"train_cfg: got the key '{key}', expected 'student' and 'teacher', as "
                    "RSL-RL 5 reads them; train PPO with OnPolicyRunner"
                )
        super().__init__(env, config_of(train_cfg, "student"), log_dir, device, threads=threads)
        self.cfg = train_cfg
        self._teacher = Teacher(env, config_of(train_cfg, "teacher"), None, device)
        self.teacher_loaded = False
        algorithm = dict_of("algorithm", train_cfg.get("algorithm"))
        self._reading.read("algorithm.", ALGORITHM, algorithm)
        settings = {**self._reading.settings, **self.settings}
        for row in ALGORITHM.values():
            if row.turn is not None:
                settings[row.ours] = self._reading.settings[row.ours]
        for key in OF_PPO:
            settings.pop(key, None)
        length, steps = settings["gradient_length"], settings["num_steps"]
        if steps % length != 0:
            fits = [one for one in range(1, steps + 1) if steps % one == 0]
            near = min(fits, key=lambda one: (abs(one - length), one))
            raise _core.Error(
                f"train_cfg: got gradient_length = {length} with num_steps_per_env = {steps}, "
                "expected a divisor, since Broadloom's windows end with the block, where RSL-RL's "
                f"go on in the next epoch; take algorithm.gradient_length = {near}"
            )
        self.settings = {**settings, "algorithm": "distill", "lr_schedule": "constant"}

    def _refuse_memory(self, key, model):
        class_name, rnn_type = model.get("class_name", "MLPModel"), model.get("rnn_type")
        if last_name(class_name) == "RNNModel" or rnn_type is not None:
            raise _core.Error(
                f"train_cfg: got {key} with class_name = {class_name!r} and rnn_type = "
                f"{rnn_type!r}, expected no memory, which would go on from other states than "
                "RSL-RL's; train with RSL-RL, or a student with broadloom.train(algorithm="
                "'distill', recurrent='lstm', ...)"
            )

    def learn(self, num_learning_iterations: int, init_at_random_ep_len: bool = False) -> None:
        self._check_teacher()
        super().learn(num_learning_iterations, init_at_random_ep_len)

    def save(self, path: str | os.PathLike[str], infos: dict[str, Any] | None = None) -> None:
        self._check_teacher()  # load() would refuse a file without one
        super().save(path, infos)

    def load(
        self,
        path: str | os.PathLike[str],
        load_cfg: dict[str, bool] | None = None,
        strict: bool = True,
        map_location: Any = None,
    ) -> Any:
        """Reads the teacher from a checkpoint of RSL-RL's PPO, or from a run or checkpoint of
        Broadloom; or goes on from one of RSL-RL's Distillation or of save().

        load_cfg: which of student, teacher, optimizer and iteration to take; None: the teacher of a
        PPO, else all."""
        if pathlib.Path(path).is_dir() or str(path).endswith(".safetensors"):
            self._take_teacher(os.fspath(path))
            return None
        from . import _rsl_rl_torch

        found = _rsl_rl_torch.read(path)
        known = ("student", "teacher", "optimizer", "iteration")
        if load_cfg is None:
            is_ppo = "actor_state_dict" in found
            load_cfg = {"teacher": True} if is_ppo else dict.fromkeys(known, True)
        rsl_rl.check_load_cfg(load_cfg, known)
        name = os.fspath(path)
        if load_cfg.get("teacher"):
            teacher = self._teacher
            state = found.get("teacher_state_dict") or found.get("actor_state_dict")
            arrays = teacher._arrays_of({"actor_state_dict": state}, {"actor": True}, strict, name)
            self._take_teacher(teacher._written(arrays))
        if load_cfg.get("optimizer"):
            found = _rsl_rl_torch.with_optimizer(path, found)
        if load_cfg.get("student"):
            self._take_student(found, load_cfg, strict, name)
        if load_cfg.get("iteration"):
            self.current_learning_iteration = found["iter"]
        return found.get("infos")

    def _check_teacher(self):
        if not self.teacher_loaded:
            raise _core.Error("teacher: got none, expected one; name it with load(path) first")

    def _take_teacher(self, path):
        """Keeps a checkpoint where the record of a run can name it."""
        if self.log_dir is not None and path.endswith(".safetensors"):
            # Named by its bytes: an earlier run's record may name another teacher.
            digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            kept = self.log_dir / f"teacher_{digest[:16]}.safetensors"
            if not kept.exists():
                self.log_dir.mkdir(parents=True, exist_ok=True)
                half = shutil.copy(path, f"{kept}.{os.getpid()}.tmp")
                os.replace(half, kept)
            path = kept
        self.settings["teacher"] = os.fspath(path)
        self.teacher_loaded = True
        kept = read_tensors(self._checkpoint)
        names = [one for one in kept if one.startswith(("learner.params", *KEPT))]
        self._checkpoint = self._written({name: kept[name] for name in names})
        self._run, self._done = None, 0

    def _take_student(self, found, load_cfg, strict, path):
        self._check_teacher()
        theirs = {"actor_state_dict": found.get("student_state_dict")}
        wanted = {"actor": True}
        if load_cfg.get("optimizer") and "optimizer" in found:
            wanted["optimizer"] = True
            theirs["optimizer"] = self._with_critic(found["optimizer"])
        self._checkpoint = self._written(self._arrays_of(theirs, wanted, strict, path))
        self._run, self._done = None, 0

    def _with_critic(self, optimizer):
        """RSL-RL's student has no critic; ours has one, whose moments are 0."""
        widths = self._shapes.critic
        zeros = []
        for inputs, outputs in zip(widths[:-1], widths[1:], strict=True):
            zeros += [np.zeros((outputs, inputs), np.float32), np.zeros(outputs, np.float32)]
        moments = [[*arrays, *zeros] for arrays in optimizer["moments"]]
        return {**optimizer, "moments": moments}

    def _saved(self):
        saved = super()._saved()
        optimizer, count = saved["optimizer"], 2 * len(self._shapes.actor) - 1
        optimizer["moments"] = [arrays[:count] for arrays in optimizer["moments"]]
        optimizer["shapes"] = optimizer["shapes"][:count]
        return {
            "student_state_dict": saved["actor_state_dict"],
            "teacher_state_dict": self._teacher_state(),
            "optimizer": optimizer,
        }

    def _teacher_state(self):
        teacher = self._teacher
        path = self.settings.get("teacher")
        if path is None:
            return {}
        if pathlib.Path(path).is_dir():
            path = newest_checkpoint(path)
        teacher._checkpoint = os.fspath(path)
        return teacher._saved()["actor_state_dict"]

    def _actor(self):
        from . import _rsl_rl_torch

        state = super()._saved()["actor_state_dict"]
        return _rsl_rl_torch.actor_of(state, self.settings["activation"], self.settings["norm_obs"])
