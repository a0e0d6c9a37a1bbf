"""The hyperparameters that the peers themselves publish for the tasks, as numbers.

RL Zoo: hyperparams/ppo.yml of DLR-RM/rl-baselines3-zoo at commit 22e3ff2450fd (2026-04-23). Other
settings are Stable-Baselines3's defaults. "lin" falls to zero over the budget. Its `normalize` is
norm_obs and norm_reward here.

rejax: the `ppo` sections of configs/gymnax of keraJLi/rejax at commit d7510951b7a8 (2026-06-10),
without `eval_freq`, which has no part in training.

RLtools: src/rl/zoo/pendulum-v1/ppo.h of rl-tools/rl-tools, written out in rltools_run.cc, since the
package has no zoo. Two versions, because the package is older than the newest: commit 7b3596b9
(2025-10-19), the last before January 2026, and 9acdf5c83cf2 (2026-02-08). The zoo has no PPO on the
other three tasks."""

from __future__ import annotations

from typing import Any

RL_ZOO: dict[str, dict[str, Any]] = {
    "CartPole-v1": {
        "n_envs": 8,
        "n_timesteps": 100_000,
        "n_steps": 32,
        "batch_size": 256,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "n_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": ("lin", 0.001),
        "clip_range": ("lin", 0.2),
    },
    "Acrobot-v1": {
        "norm_obs": True,
        "norm_reward": True,
        "n_envs": 16,
        "n_timesteps": 1_000_000,
        "n_steps": 256,
        "gae_lambda": 0.94,
        "gamma": 0.99,
        "n_epochs": 4,
        "ent_coef": 0.0,
    },
    "Pendulum-v1": {
        "n_envs": 4,
        "n_timesteps": 100_000,
        "n_steps": 1024,
        "gae_lambda": 0.95,
        "gamma": 0.9,
        "n_epochs": 10,
        "ent_coef": 0.0,
        "learning_rate": 1e-3,
        "clip_range": 0.2,
        "use_sde": True,
        "sde_sample_freq": 4,
    },
    "MountainCarContinuous-v0": {
        "norm_obs": True,
        "norm_reward": True,
        "n_envs": 1,
        "n_timesteps": 20_000,
        "batch_size": 256,
        "n_steps": 8,
        "gamma": 0.9999,
        "learning_rate": 7.77e-05,
        "ent_coef": 0.00429,
        "clip_range": 0.1,
        "n_epochs": 10,
        "gae_lambda": 0.9,
        "max_grad_norm": 5,
        "vf_coef": 0.19,
        "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.29, "ortho_init": False},
    },
}

_REJAX_SMALL = {
    "agent_kwargs": {"activation": "tanh"},
    "num_envs": 5,
    "num_steps": 100,
    "num_epochs": 5,
    "num_minibatches": 5,
    "learning_rate": 0.00075,
    "max_grad_norm": 0.5,
    "total_timesteps": 100_000,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_eps": 0.2,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
}

REJAX: dict[str, dict[str, Any]] = {
    "CartPole-v1": _REJAX_SMALL,
    "Acrobot-v1": {**_REJAX_SMALL, "normalize_observations": True},
    "Pendulum-v1": {
        "agent_kwargs": {"activation": "swish"},
        "num_envs": 100,
        "num_steps": 100,
        "num_epochs": 10,
        "num_minibatches": 10,
        "learning_rate": 0.001,
        "max_grad_norm": 10,
        "total_timesteps": 150_000,
        "gamma": 0.995,
        "gae_lambda": 0.95,
        "clip_eps": 0.2,
        "ent_coef": 0.0,
        "vf_coef": 0.5,
        "normalize_observations": True,
    },
    "MountainCarContinuous-v0": {
        "agent_kwargs": {"activation": "relu"},
        "num_envs": 5,
        "num_steps": 100,
        "num_epochs": 10,
        "num_minibatches": 10,
        "learning_rate": 0.0003,
        "max_grad_norm": 10,
        "total_timesteps": 200_000,
        "gamma": 0.9,
        "gae_lambda": 0.95,
        "clip_eps": 0.2,
        "ent_coef": 0.0,
        "vf_coef": 0.5,
    },
}

RLTOOLS_TASKS = ("Pendulum-v1",)
RLTOOLS: dict[str, dict[str, Any]] = {
    "2025": {
        "num_envs": 8,
        "num_steps": 128,
        "minibatch": 128,
        "entropy": 0.0,
        "budget": 1_000_000,
    },
    "2026": {
        "num_envs": 64,
        "num_steps": 128,
        "minibatch": 1024,
        "entropy": 0.1,
        "budget": 10_000_000,
    },
}
