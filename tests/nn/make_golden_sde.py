"""Makes tests/nn/golden_sde.json: log-probabilities, entropies and gradients of Stable-Baselines3's
StateDependentNoiseDistribution. tests/nn/state_noise_test.cc sets ours beside them.

Run it only to add cases, with any Python that has stable_baselines3; the tests need it not:

    python tests/nn/make_golden_sde.py
"""

import json
import pathlib

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.distributions import StateDependentNoiseDistribution

ROWS, WIDTH, COUNT, ENTROPY = 5, 4, 3, 0.3

torch.set_default_dtype(torch.float64)


def record():
    rng = np.random.default_rng(7)

    def draw(*shape, scale=1.0):
        numbers = (scale * rng.normal(size=shape)).round(3)
        return torch.tensor(numbers, requires_grad=True)

    features = draw(ROWS, WIDTH)
    weight, bias = draw(COUNT, WIDTH), draw(COUNT)
    log_std = draw(WIDTH, COUNT, scale=0.5)
    actions, row_weights = draw(ROWS, COUNT), draw(ROWS)
    theirs = StateDependentNoiseDistribution(COUNT)
    theirs.proba_distribution_net(WIDTH, latent_sde_dim=WIDTH)
    found = theirs.proba_distribution(features @ weight.T + bias, log_std, features)
    log_probs, entropies = found.log_prob(actions.detach()), found.entropy()
    (row_weights.detach() @ log_probs + ENTROPY * entropies.sum()).backward()

    def flat(tensor):
        return [float(number) for number in tensor.detach().flatten()]

    given = {
        "features": features,
        "weight": weight,
        "bias": bias,
        "log_std": log_std,
        "actions": actions,
        "row_weights": row_weights,
        "log_probs": log_probs,
        "entropies": entropies,
    }
    gradients = {"d_weight": weight, "d_bias": bias, "d_log_std": log_std}
    return {
        **{name: flat(tensor) for name, tensor in given.items()},
        **{name: flat(tensor.grad) for name, tensor in gradients.items()},
    }


golden = {
    "stable_baselines3": stable_baselines3.__version__,
    "rows": ROWS,
    "width": WIDTH,
    "count": COUNT,
    "entropy": ENTROPY,
    **record(),
}
path = pathlib.Path(__file__).with_name("golden_sde.json")
path.write_text(json.dumps(golden) + "\n", encoding="utf-8")
