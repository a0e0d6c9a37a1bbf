"""Makes tests/learn/distill_updates.safetensors: three updates of distillation by RSL-RL's code, on
the block and first parameters of golden_update.safetensors, in double precision.
tests/learn/distill_updates_test.cc compares ours with them.

Needs torch, safetensors, gymnasium and rsl-rl-lib 5.5 with tensordict; the test needs none of them:

    python tests/learn/make_distill_updates.py
"""

import json

import numpy as np
import torch
from make_package_updates import (
    ENVS,
    FOLDER,
    SAMPLES,
    STEPS,
    UPDATES,
    WIDTH,
    flat_of,
    linears,
    load,
    numbers_of,
    recorded,
)
from rsl_rl.algorithms import Distillation
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from safetensors.numpy import save_file
from tensordict import TensorDict

# update_epochs: no other number of gradient steps than ours, whose epochs begin at the first step.
CASES = {
    "mse": {"distill_loss": "mse", "gradient_length": 4, "update_epochs": 1,
            "learning_rate": 1e-3, "max_grad_norm": 0.0},
    "huber": {"distill_loss": "huber", "gradient_length": 8, "update_epochs": 2,
              "learning_rate": 3e-3, "max_grad_norm": 0.5},
}  # fmt: skip


def updates(block, labels, case):
    seen = TensorDict({"policy": block["observations"]}, batch_size=[SAMPLES])
    groups = {"student": ["policy"], "teacher": ["policy"]}
    shape = {"hidden_dims": (WIDTH, WIDTH), "activation": "tanh"}
    gaussian = {"class_name": "rsl_rl.modules:GaussianDistribution", "std_type": "log"}
    student = MLPModel(seen, groups, "student", 2, **shape, distribution_cfg=gaussian).double()
    teacher = MLPModel(seen, groups, "teacher", 2, **shape, distribution_cfg=dict(gaussian))
    critic = MLPModel(seen, groups, "student", 1, **shape).double()  # ours has one
    parts = numbers_of(
        linears(student.mlp), linears(critic.mlp), student.distribution.log_std_param
    )
    load(parts, block["before"])
    first = TensorDict({"policy": block["observations"][:ENVS]}, batch_size=[ENVS])
    storage = RolloutStorage("distillation", ENVS, STEPS, first, [2], "cpu")
    distillation = Distillation(
        student,
        teacher,
        storage,
        num_learning_epochs=case["update_epochs"],
        gradient_length=case["gradient_length"],
        learning_rate=case["learning_rate"],
        max_grad_norm=case["max_grad_norm"] or None,
        loss_type=case["distill_loss"],
    )
    losses = []
    for _ in range(UPDATES):
        storage.observations = seen.reshape(STEPS, ENVS)
        storage.actions = storage.actions.double()
        storage.privileged_actions = labels.reshape(STEPS, ENVS, -1).clone()
        losses.append(distillation.update()["behavior"])
    return flat_of(parts), losses


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    block, _ = recorded()
    drawn = np.random.default_rng(54).normal(size=(SAMPLES, 2)).astype(np.float32)
    tensors, cases = {"labels": drawn, "before": block["before"].numpy().astype(np.float32)}, []
    for name, case in CASES.items():
        after, losses = updates(block, torch.tensor(drawn).double(), case)
        tensors[f"{name}.after"] = after
        cases.append({"name": name, **case, "losses": losses})
        print(name, losses, np.abs(after - tensors["before"]).max())
    save_file(tensors, FOLDER / "distill_updates.safetensors", {"cases": json.dumps(cases)})


if __name__ == "__main__":
    main()
