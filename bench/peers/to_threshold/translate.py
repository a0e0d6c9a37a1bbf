"""Broadloom's settings as arguments of Stable-Baselines3's PPO."""

from __future__ import annotations

import json
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any


def settings_of(options: Any) -> dict[str, Any]:
    """Every setting that a Broadloom run with this config has and SB3 knows. They are read from a
    run of one block, since the config leaves out what is the task's default."""
    given = tomllib.loads(Path(options.config).read_text())
    block = given["num_envs"] * given["num_steps"]
    with tempfile.TemporaryDirectory() as folder:
        words = [options.broadloom, "train", options.config, "--env_id", options.task]
        words += ["--total_timesteps", str(block), "--no-tensorboard", "--quiet"]
        words += ["--ledger", "none"]
        done = subprocess.run(
            [*words, "--out", f"{folder}/run"], check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
        kept = json.loads((Path(folder) / "run" / "manifest.json").read_text())["config"]
    return translated(kept) | {"n_timesteps": given["total_timesteps"]}


def translated(kept: dict[str, str]) -> dict[str, Any]:
    """Broadloom's keys as SB3's arguments. SB3's value loss has no factor of 1/2, so its weight is
    halved. Its value clip has a loss of its own: the clipped one alone, not the larger."""
    expected = {"lr_schedule": "constant", "clip_schedule": "constant", "ent_schedule": "constant"}
    expected |= {"hidden_sizes": "64,64", "activation": "tanh", "shared_encoder": "false"}
    expected |= {"adam_eps": "1e-05", "norm_adv": "minibatch", "target_kl": "0"}
    for key, value in expected.items():
        if kept[key] != value:
            raise SystemExit(f"{key}: got {kept[key]}; SB3's settings here are for {value}")
    block = int(kept["num_envs"]) * int(kept["num_steps"])
    size = int(kept["minibatch_size"]) or block // int(kept["num_minibatches"])
    return {
        "n_envs": int(kept["num_envs"]),
        "n_steps": int(kept["num_steps"]),
        "batch_size": size,
        "n_epochs": int(kept["update_epochs"]),
        "learning_rate": float(kept["learning_rate"]),
        "gamma": float(kept["gamma"]),
        "gae_lambda": float(kept["gae_lambda"]),
        "clip_range": float(kept["clip_coef"]),
        "clip_range_vf": float(kept["clip_coef"]) if kept["clip_vloss"] == "true" else None,
        "ent_coef": float(kept["ent_coef"]),
        "vf_coef": float(kept["vf_coef"]) / 2,
        "max_grad_norm": float(kept["max_grad_norm"]),
        "norm_obs": kept["norm_obs"] == "true",
        "norm_reward": kept["norm_reward"] == "true",
    }
