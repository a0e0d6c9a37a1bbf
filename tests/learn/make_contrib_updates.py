"""Makes tests/learn/contrib_updates.safetensors: three updates by sb3-contrib's RecurrentPPO and
MaskablePPO, in double precision, with log-probabilities and entropies of the first parameters.
tests/learn/contrib_updates_test.cc compares ours with them.

Needs torch, safetensors, stable-baselines3 and sb3-contrib 2.9. The test needs none of them.

    python tests/learn/make_contrib_updates.py
"""

import json
import pathlib
from unittest import mock

import numpy as np
import torch
from gymnasium import spaces
from make_package_updates import flat_of, linears, load
from safetensors.numpy import save_file
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.buffers import RecurrentRolloutBuffer
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.common.utils import FloatSchedule

FOLDER = pathlib.Path(__file__).parent
STEPS, ENVS, SEEN, WIDTH, UPDATES = 12, 6, 3, 8, 3
RATE = 1e-3

CASES = {
    "recurrent": {"heads": [3], "minibatches": 1, "length": STEPS, "clip_range_vf": None},
    "recurrent_sequences": {"heads": [3], "minibatches": 4, "length": 4, "clip_range_vf": 0.1},
    "masked": {"heads": [5], "minibatches": 1, "length": 1, "clip_range_vf": None},
    "masked_heads": {"heads": [3, 4, 2], "minibatches": 3, "length": 1, "clip_range_vf": 0.1},
    "recurrent_first": {
        "heads": [3],
        "minibatches": 1,
        "length": STEPS,
        "clip_range_vf": None,
        "units": 5,
    },
}


class Dense(BaseFeaturesExtractor):
    def __init__(self, space):
        super().__init__(space, WIDTH)
        self.layers = torch.nn.Sequential(torch.nn.Linear(SEEN, WIDTH), torch.nn.Tanh())

    def forward(self, seen):
        return self.layers(seen)


def make_block(case, random):
    heads, rows = case["heads"], STEPS * ENVS
    block = {
        "observations": random.standard_normal((rows, SEEN)),
        "advantages": random.standard_normal(rows),
        "ended": (random.random(rows) < 0.2).astype(float),
        "states": random.uniform(-0.5, 0.5, (ENVS, 4 * case.get("units", WIDTH))),
        "valid": (random.random((rows, sum(heads))) < 0.6).astype(float),
        "actions": np.zeros((rows, len(heads))),
    }
    first = 0
    for h, count in enumerate(heads):
        own = block["valid"][:, first : first + count]
        block["actions"][:, h] = random.integers(count, size=rows)
        own[np.arange(rows), block["actions"][:, h].astype(int)] = 1.0
        first += count
    return {name: np.float32(number) for name, number in block.items()}


def action_space(heads):
    return spaces.Discrete(heads[0]) if len(heads) == 1 else spaces.MultiDiscrete(heads)


def parts_of(policy, recurrent):
    """Parameters in our order, each with whether ours is its transpose."""
    parts = []
    if not recurrent:
        for layers, head in (
            (linears(policy.mlp_extractor.policy_net), policy.action_net),
            (linears(policy.mlp_extractor.value_net), policy.value_net),
        ):
            for layer in layers:
                parts += [(layer.weight, True), (layer.bias, False)]
            parts += [(head.weight, False), (head.bias, False)]
        return parts
    top = policy.mlp_extractor
    for body, cell, above, head in (
        (policy.pi_features_extractor, policy.lstm_actor, top.policy_net, policy.action_net),
        (policy.vf_features_extractor, policy.lstm_critic, top.value_net, policy.value_net),
    ):
        for layer in linears(body):
            parts += [(layer.weight, True), (layer.bias, False)]
        parts += [(cell.weight_ih_l0, True), (cell.bias_ih_l0, False)]
        parts += [(cell.weight_hh_l0, True), (cell.bias_hh_l0, False)]
        for layer in linears(above):
            parts += [(layer.weight, True), (layer.bias, False)]
        parts += [(head.weight, False), (head.bias, False)]
    return parts


def make_ppo(algorithm, policy, case):
    """An algorithm without an environment; train() reads these members only."""
    ppo = algorithm.__new__(algorithm)
    ppo.policy, ppo.action_space = policy, policy.action_space
    ppo.lr_schedule, ppo.clip_range = FloatSchedule(RATE), FloatSchedule(0.2)
    own = case["clip_range_vf"]
    ppo.clip_range_vf = None if own is None else FloatSchedule(own)
    ppo._current_progress_remaining, ppo._n_updates = 1.0, 0
    ppo.n_epochs, ppo.batch_size = 4, STEPS * ENVS // case["minibatches"]
    ppo.normalize_advantage, ppo.target_kl, ppo.verbose = True, None, 0
    ppo.ent_coef, ppo.vf_coef, ppo.max_grad_norm = 0.01, 0.5, 0.5
    ppo._logger = Logger(None, [])
    return ppo


def minibatches_of(case):
    """Rows [T, N] of each minibatch: sequences in the order of their first steps, without
    shuffling, each step by step."""
    length, rows = case["length"], np.arange(STEPS * ENVS).reshape(STEPS, ENVS)
    sequences = rows.reshape(STEPS // length, length, ENVS).transpose(0, 2, 1).reshape(-1, length)
    count = case["minibatches"]
    return [
        sequences[m * len(sequences) // count : (m + 1) * len(sequences) // count].reshape(-1)
        for m in range(count)
    ]


class Sequences:
    """sb3-contrib's own samples, cut where our sequences begin. Its buffer is used by method."""

    def __init__(self, kept, case):
        self.case = case
        self.values = self.returns = np.zeros(1)
        self.buffer = RecurrentRolloutBuffer.__new__(RecurrentRolloutBuffer)
        self.buffer.device, self.buffer.obs_shape = "cpu", (SEEN,)
        self.buffer.to_torch = lambda array, copy=True: torch.as_tensor(array)
        for name, number in kept.items():
            setattr(self.buffer, name, number)

    def get(self, _):
        starts = np.zeros(STEPS * ENVS)
        starts.reshape(STEPS, ENVS)[:: self.case["length"]] = 1.0
        for rows in minibatches_of(self.case):
            yield self.buffer._get_samples(rows, starts)


def play(policy, block):
    """Every step's states, values, log-probabilities and entropies, one row at a time."""
    kept = {name: [] for name in ("values", "log_probs", "entropies")}
    kept |= {f"{part}_states_{side}": [] for part in ("hidden", "cell") for side in ("pi", "vf")}
    state = torch.as_tensor(block["states"]).double().reshape(ENVS, 4, -1)
    pi, vf = [tuple(state[:, k][None].contiguous() for k in pair) for pair in ((0, 1), (2, 3))]
    ended = np.vstack([np.zeros((1, ENVS)), block["ended"].reshape(STEPS, ENVS)[:-1]])
    seen = torch.as_tensor(block["observations"]).double().reshape(STEPS, ENVS, SEEN)
    actions = torch.as_tensor(block["actions"]).reshape(STEPS, ENVS)
    with torch.no_grad():
        for t in range(STEPS):
            starts = torch.as_tensor(ended[t])
            for name, number in zip(
                ("hidden_states_pi", "cell_states_pi", "hidden_states_vf", "cell_states_vf"),
                (*pi, *vf),
            ):
                kept[name].append(number.transpose(0, 1))
            values, log_probs, entropies = policy.evaluate_actions(
                seen[t], actions[t], RNNStates(pi, vf), starts
            )
            features = policy.extract_features(seen[t])
            _, pi = policy._process_sequence(features[0], pi, starts, policy.lstm_actor)
            _, vf = policy._process_sequence(features[1], vf, starts, policy.lstm_critic)
            kept["values"].append(values.flatten())
            kept["log_probs"].append(log_probs)
            kept["entropies"].append(entropies)
    kept = {name: torch.cat(number).numpy() for name, number in kept.items()}
    return kept | {"episode_starts": ended.reshape(-1)}


def recurrent(case, block, random):
    space = spaces.Box(-np.inf, np.inf, (SEEN,)), action_space(case["heads"])
    policy = RecurrentActorCriticPolicy(
        *space,
        lambda _: RATE,
        net_arch=[WIDTH] if "units" in case else [],
        features_extractor_class=FlattenExtractor if "units" in case else Dense,
        share_features_extractor=False,
        lstm_hidden_size=case.get("units", WIDTH),
        optimizer_kwargs={"eps": 1e-5},
    ).double()
    parts = parts_of(policy, True)
    before = first_numbers(parts, random)
    load(parts, before)
    ppo, noted = make_ppo(RecurrentPPO, policy, case), None
    for _ in range(UPDATES):
        kept = play(policy, block)
        noted = noted or kept
        kept = kept | {name: block[name].astype(float) for name in ("observations", "actions")}
        kept["advantages"] = block["advantages"].astype(float)
        kept["returns"] = kept["advantages"] + kept["values"]
        ppo.rollout_buffer = Sequences(kept, case)
        ppo.train()
    return before, flat_of(parts), noted


def masked(case, block, random):
    space = spaces.Box(-np.inf, np.inf, (SEEN,)), action_space(case["heads"])
    policy = MaskableActorCriticPolicy(
        *space, lambda _: RATE, net_arch=[WIDTH], optimizer_kwargs={"eps": 1e-5}
    ).double()
    parts = parts_of(policy, False)
    before = first_numbers(parts, random)
    load(parts, before)
    ppo, noted = make_ppo(MaskablePPO, policy, case), None
    names = ("observations", "actions", "advantages", "valid")
    kept = {name: torch.as_tensor(block[name]).double() for name in names}
    kept["action_masks"] = kept.pop("valid")
    own = kept["actions"].flatten() if len(case["heads"]) == 1 else kept["actions"]
    for _ in range(UPDATES):
        with torch.no_grad():
            values, log_probs, entropies = policy.evaluate_actions(
                kept["observations"], own, action_masks=kept["action_masks"]
            )
        noted = noted or {"log_probs": log_probs.numpy(), "entropies": entropies.numpy()}
        kept["old_values"], kept["old_log_prob"] = values.flatten(), log_probs
        kept["returns"] = kept["advantages"] + kept["old_values"]
        samples = [
            mock.Mock(**{name: number[rows] for name, number in kept.items()})
            for rows in minibatches_of(case)
        ]
        ppo.rollout_buffer = mock.Mock(
            get=lambda _: samples, values=np.zeros(1), returns=np.zeros(1)
        )
        ppo.train()
    return before, flat_of(parts), noted


def first_numbers(parts, random):
    count = sum(number.numel() for number, _ in parts)
    return torch.as_tensor(np.float32(0.5 * random.standard_normal(count))).double()


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    tensors, kept = {}, {}
    # Both would round observations to float32.
    exact = "stable_baselines3.common.policies.preprocess_obs"
    for place, (name, case) in enumerate(CASES.items()):
        random = np.random.default_rng(100 + place)
        block = make_block(case, random)
        make = masked if name.startswith("masked") else recurrent
        with mock.patch(exact, lambda seen, *_, **__: seen):
            before, after, noted = make(case, block, random)
        for part, number in block.items():
            tensors[f"{name}.{part}"] = number
        tensors[f"{name}.before"], tensors[f"{name}.after"] = np.float32(before.numpy()), after
        for part in ("log_probs", "entropies"):
            tensors[f"{name}.{part}"] = np.ascontiguousarray(noted[part])
        kept[name] = case
        print(name, np.abs(after - before.numpy()).max())
    save_file(tensors, FOLDER / "contrib_updates.safetensors", {"cases": json.dumps(kept)})


if __name__ == "__main__":
    main()
