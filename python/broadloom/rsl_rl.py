"""A runner in the form of RSL-RL's OnPolicyRunner (rsl-rl-lib 5.4 and 5.5) that learns with
Broadloom.

    from broadloom.rsl_rl import OnPolicyRunner
    runner = OnPolicyRunner(env, train_cfg, log_dir="logs/go1", device="cpu")
    runner.learn(num_learning_iterations=300, init_at_random_ep_len=True)

It reads RSL-RL's configuration, and reads and writes its checkpoints (model_<iteration>.pt). Only
checkpoints, policies and exports need torch."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, training
from ._arguments import text_of
from ._checks import check_count, is_one_of
from ._kind import Kind
from ._memory import free_memory
from ._robots import RslRlEnvs, is_rsl_rl
from ._rsl_rl_checkpoint import Layout, newest_checkpoint, read_tensors
from ._rsl_rl_keys import last_name
from ._rsl_rl_log import StepLog, write_states_of_code
from ._rsl_rl_reading import Reading
from ._rsl_rl_shapes import Shapes


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
        is_board = is_one_of(self._reading.values[""]["logger"], ("tensorboard",))
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
        self._layout = Layout(
            self._shapes,
            self.settings["std_form"] == "scalar",
            self.settings["norm_obs"],
            self._kind.spec["critic_observation"] is not None,
            self._names,
            self._reads,
        )
        if self._reading.symmetry:
            from . import _rsl_rl_torch

            sizes = self._shapes.actor[-1], self._layout.critic_is_apart
            self.settings |= _rsl_rl_torch.mirror_settings(
                self._reading.symmetry, env, groups, *sizes
            )
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
        first = std if self._layout.is_scalar else np.log(std)
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
        check_count("num_learning_iterations", num_learning_iterations, 1)
        if init_at_random_ep_len:
            self._stagger()
        if self._run is None:
            self._done = 0  # an interrupted learn() left its iterations here
        first, done = self.current_learning_iteration, self._done
        interval = self._reading.values[""]["save_interval"]
        write_states_of_code(self._repositories, self.log_dir)

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
            if not isinstance(project, (str, type(None))):
                raise _core.Error(f"train_cfg: got wandb_project = {project!r}, expected a name")
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
        texts = {key: text_of(value) for key, value in keys.items()}
        _core.write_checkpoint(texts, arrays, path)
        return path

    def _saved(self):
        """The dicts of RSL-RL's checkpoint, as NumPy arrays."""
        return self._layout.saved(read_tensors(self._checkpoint))

    def _arrays_of(self, found, wanted, strict, path):
        """Broadloom's tensors with those of RSL-RL's checkpoint that are wanted."""
        tensors = read_tensors(self._checkpoint)
        out = self._layout.arrays_of(tensors, found, wanted, strict, path)
        is_constant = self.settings["lr_schedule"] == "constant"
        if is_constant and wanted.get("optimizer") and "optimizer" in found:
            self.settings["learning_rate"] = found["optimizer"]["learning_rate"]
        return out

    def _actor(self):
        from . import _rsl_rl_torch

        return _rsl_rl_torch.actor_of(
            self._saved()["actor_state_dict"],
            self.settings["activation"],
            self.settings["norm_obs"],
        )


def check_load_cfg(load_cfg, known):
    if load_cfg is not None and not isinstance(load_cfg, Mapping):
        raise _core.Error(f"load_cfg: got {load_cfg!r}, expected a dict of {', '.join(known)}")
    unknown = [key for key in load_cfg or {} if key not in known]
    if unknown:
        raise _core.Error(f"load_cfg: got {unknown[0]!r}, expected some of {', '.join(known)}")
    for key, value in (load_cfg or {}).items():
        if not is_one_of(value, (True, False)):
            raise _core.Error(f"load_cfg: got {key} = {value!r}, expected True or False")


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
