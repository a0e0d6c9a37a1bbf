"""Keys of a config for type checkers. Written by tools/python_keys.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class ConfigKeys(TypedDict, total=False):
    env_id: str
    algorithm: Literal["ppo", "pqn", "ppo_rnd", "distill"]
    dialect: Literal["none", "cleanrl", "sb3", "rsl_rl", "rl_games", "skrl", "brax"]
    seed: int
    total_timesteps: int
    stop_at_return: str | float
    num_envs: int
    num_steps: int
    shape_schedule: str | float
    stagger_starts: bool
    stagger_by: Literal["actions", "age"]
    max_episode_steps: int
    seed_families: int
    strata_sampling: Literal["sampled", "stratified"]
    curriculum: Sequence[str] | str
    curriculum_up: float
    curriculum_down: float
    curriculum_episodes: int
    learning_rate: float
    lr_schedule: Literal["linear", "constant", "adaptive"]
    learning_rate_end: float
    schedule_timesteps: int
    desired_kl: float
    kl_estimate: Literal["samples", "analytic"]
    adapt_every: Literal["minibatch", "epoch"]
    adaptive_rate_min: float
    adam_eps: float
    adam_beta1: float
    adam_beta2: float
    max_grad_norm: float
    clip_grads: Literal["together", "apart"]
    shuffle: Literal["epoch", "block", "off"]
    gamma: float
    gae_lambda: float
    gae_weights: Literal["geometric", "normalised"]
    truncation_mode: Literal["bootstrap", "as_termination", "state_value", "zero"]
    num_minibatches: int
    minibatch_size: int
    update_epochs: int
    norm_adv: Literal["minibatch", "batch", "running", "off"]
    norm_adv_decay: float
    proximal_decay: float
    clip_coef: float
    clip_schedule: Literal["constant", "linear"]
    clip_vloss: bool
    clip_vloss_coef: float
    clip_vloss_rule: Literal["larger", "clipped"]
    ent_coef: float
    ent_schedule: Literal["constant", "linear"]
    vf_coef: float
    bounds_coef: float
    mirror_samples: bool
    mirror_coef: float
    sapg_policies: int
    sapg_vector_size: int
    sapg_entropy_scale: float
    sapg_followers: int
    sapg_clip: Literal["code", "paper"]
    target_kl: float
    eps_start: float
    eps_finish: float
    eps_decay: float
    ext_coef: float
    int_coef: float
    int_gamma: float
    update_proportion: float
    num_iterations_obs_norm_init: int
    rnd_hidden_sizes: Sequence[int] | str
    rnd_outputs: int
    teacher: str
    teacher_reads: Literal["auto", "policy", "critic"]
    distill_loss: Literal["mse", "huber"]
    gradient_length: int
    encoder: Literal["mlp", "minatar", "nature", "impala"]
    group_encoders: Sequence[str] | str
    policy_groups: Sequence[str] | str
    critic_groups: Sequence[str] | str
    layer_norm: Literal["off", "channels", "all"]
    weight_init: Literal[
        "orthogonal",
        "he_normal",
        "lecun_normal",
        "torch",
        "torch_weights",
        "lecun_uniform",
    ]
    hidden_sizes: Sequence[int] | str
    activation: Literal["tanh", "relu", "elu"]
    shared_encoder: bool
    recurrent: Literal["none", "mingru", "gru", "lstm"]
    recurrent_units: int
    sequence_length: int
    action_distribution: Literal["gaussian", "squashed", "beta"]
    log_std_init: float
    std_form: Literal["log", "scalar", "state_dependent", "sde"]
    std_min: float
    std_max: float
    sde_sample_freq: int
    norm_obs: bool
    norm_reward: bool
    norm_value: Literal["off", "running", "popart"]
    normaliser: Literal["exact", "gymnasium"]
    obs_eps: float
    obs_eps_in: Literal["variance", "deviation"]
    clip_obs: float
    clip_reward: float
    reward_scale: float
    eval_interval: int
    eval_episodes: int
    eval_actions: Literal["most_likely", "sampled"]
    checkpoint_interval: int
    keep_checkpoints: int
    log_interval: int
    tensorboard: bool
    instruments: Sequence[str] | str
    instrument_every: int
    hashes: bool
    device: Literal["cpu", "cuda"]
    isa: Literal["auto", "avx512", "avx2", "neon", "sse4", "exact"]
    precision: Literal["fp32", "tf32"]
    memory_limit: int
