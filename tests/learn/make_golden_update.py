"""Makes tests/learn/golden_update.safetensors: blocks of samples, and what one whole PPO update by CleanRL's formulas
(vwxyzjn/cleanrl, `ppo` and `ppo_continuous_action`) makes of a small network, by PyTorch's own gradients and Adam in
double precision. tests/learn/golden_update_test.cc sets ours beside it.

Run it only to add cases, with any Python that has torch, numpy and safetensors; the tests need none of them:

    python tests/learn/make_golden_update.py
"""

import json
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

SEED, ITERATION = 1, 1
SAMPLES, OBSERVATION, WIDTH, OUTPUTS = 128, 4, 16, {"discrete": 3, "box": 2}
CLEANRL = {
    "clip_coef": 0.2,
    "clip_vloss": True,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
    "adam_eps": 1e-5,
    "norm_adv": "minibatch",
    "update_epochs": 4,
    "minibatches": 4,
    "learning_rate": 3e-3,
    "target_kl": 0.0,
    "shared_encoder": False,
}
# Each case is CleanRL's settings but for one or two. norm_adv = batch is not CleanRL's: the same formula over the block.
CASES = {
    "cleanrl": {},
    "one_epoch": {"update_epochs": 1},
    "one_step": {"update_epochs": 1, "minibatches": 1},
    "ten_epochs": {"update_epochs": 10, "minibatches": 2},
    "value_not_clipped": {"clip_vloss": False},
    "advantages_as_they_are": {"norm_adv": "off"},
    "advantages_over_the_block": {"norm_adv": "batch"},
    "no_entropy": {"ent_coef": 0.0},
    "much_entropy": {"ent_coef": 0.3},
    "no_value": {"vf_coef": 0.0},
    "much_value": {"vf_coef": 2.0},
    "gradient_not_clipped": {"max_grad_norm": 1e6},
    "gradient_much_clipped": {"max_grad_norm": 0.01},
    "narrow_clip": {"clip_coef": 0.05},
    "other_adam": {"adam_eps": 1e-3, "learning_rate": 1e-2},
    "stopped_by_kl": {"target_kl": 0.01, "update_epochs": 10},
    "one_body": {"shared_encoder": True},
}


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def permutation(epoch):
    """As Broadloom draws it: Fisher and Yates, on the stream of broadloom/core/random.h for shuffling."""
    words = [
        w
        for block in range(SAMPLES // 4)
        for w in philox((block, ITERATION, epoch, 2 << 24), (SEED, 0))
    ]
    order = list(range(SAMPLES))
    for left, word in zip(range(SAMPLES, 1, -1), words):
        other = word * left >> 32
        order[left - 1], order[other] = order[other], order[left - 1]
    return order


class Network(torch.nn.Module):
    def __init__(self, space, shared):
        super().__init__()
        self.shared, self.discrete = shared, space == "discrete"
        self.actor, self.critic = self.body(), None if shared else self.body()
        self.policy_head, self.value_head = (
            self.layer(WIDTH, OUTPUTS[space], 1.0),
            self.layer(WIDTH, 1, 1.0),
        )
        if not self.discrete:
            self.log_std = torch.nn.Parameter(
                torch.tensor([-0.3, 0.2], dtype=torch.float32).double()
            )

    @staticmethod
    def layer(inputs, outputs, gain):
        linear = torch.nn.Linear(inputs, outputs)
        torch.nn.init.orthogonal_(linear.weight, gain)
        torch.nn.init.normal_(linear.bias, std=0.1)
        return linear.double()

    @classmethod
    def body(cls):
        return torch.nn.Sequential(
            cls.layer(OBSERVATION, WIDTH, 2.0**0.5),
            torch.nn.Tanh(),
            cls.layer(WIDTH, WIDTH, 2.0**0.5),
            torch.nn.Tanh(),
        )

    def forward(self, observations):
        features = self.actor(observations)
        outputs = self.policy_head(features)
        if self.discrete:
            policy = torch.distributions.Categorical(logits=outputs)
        else:
            policy = torch.distributions.Independent(
                torch.distributions.Normal(outputs, self.log_std.exp()), 1
            )
        values = self.value_head(features if self.shared else self.critic(observations))
        return policy, values.squeeze(1)

    def flat(self):
        """In the order of docs/formats/checkpoint.md."""
        parts = []
        for body, head in ((self.actor, self.policy_head), (self.critic, self.value_head)):
            for linear in [] if body is None else (body[0], body[2]):
                parts += [linear.weight.T, linear.bias]
            parts += [head.weight, head.bias]
        if not self.discrete:
            parts.append(self.log_std)
        return torch.cat([part.detach().reshape(-1) for part in parts]).numpy()


def make_block(network, rng):
    """Random observations, on which the network itself acted. Whatever is recorded is a float32."""
    observations = torch.tensor(rng.normal(size=(SAMPLES, OBSERVATION)).astype(np.float32)).double()
    with torch.no_grad():
        policy, values = network(observations)
        actions = policy.sample().float().double()
        log_probs = policy.log_prob(actions).float().double()
    advantages = torch.tensor((1.5 * rng.normal(size=SAMPLES) + 0.7).astype(np.float32)).double()
    return {
        "observations": observations,
        "actions": actions,
        "log_probs": log_probs,
        "values": values.float().double(),
        "advantages": advantages,
    }


def normalised(advantages):
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def loss_of(network, block, picked, case, margins):
    policy, values = network(block["observations"][picked])
    log_ratios = policy.log_prob(block["actions"][picked]) - block["log_probs"][picked]
    ratios, entropy = log_ratios.exp(), policy.entropy().mean()
    advantages = block["advantages"]
    if case["norm_adv"] == "batch":
        advantages = normalised(advantages)
    advantages = advantages[picked]
    if case["norm_adv"] == "minibatch":
        advantages = normalised(advantages)
    clip = case["clip_coef"]
    policy_loss = torch.maximum(
        -advantages * ratios, -advantages * ratios.clamp(1 - clip, 1 + clip)
    ).mean()

    old, targets = block["values"][picked], (block["advantages"] + block["values"])[picked]
    errors = (values - targets) ** 2
    change = values - old
    if case["clip_vloss"]:
        errors = torch.maximum(errors, (old + change.clamp(-clip, clip) - targets) ** 2)
        margins.append((change.abs() - clip).abs().min().item())
    margins.append(((ratios - 1).abs() - clip).abs().min().item())
    value_loss = 0.5 * errors.mean()

    numbers = {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "old_approx_kl": -log_ratios.mean(),
        "approx_kl": (ratios - 1 - log_ratios).mean(),
        "clipfrac": ((ratios - 1).abs() > clip).double().mean(),
    }
    loss = policy_loss - case["ent_coef"] * entropy + case["vf_coef"] * value_loss
    return loss, {name: number.item() for name, number in numbers.items()}


def update(network, block, case):
    """Changes the network. Returns means over all gradient steps, and the epochs carried out."""
    adam = torch.optim.Adam(network.parameters(), lr=case["learning_rate"], eps=case["adam_eps"])
    steps, margins = [], []
    for epoch in range(case["update_epochs"]):
        order = torch.tensor(permutation(epoch))
        for picked in order.split(SAMPLES // case["minibatches"]):
            loss, numbers = loss_of(network, block, picked, case, margins)
            adam.zero_grad()
            loss.backward()
            numbers["grad_norm"] = torch.nn.utils.clip_grad_norm_(
                network.parameters(), case["max_grad_norm"]
            ).item()
            adam.step()
            steps.append(numbers)
        if 0 < case["target_kl"] < steps[-1]["approx_kl"]:
            break
    # A sample at the edge of a clip would be on either side by rounding.
    assert min(margins) > 2e-6, (
        f"a sample is {min(margins)} off the edge of a clip: take another seed"
    )
    means = {name: float(np.mean([numbers[name] for numbers in steps])) for name in steps[0]}
    return means, epoch + 1


def main():
    tensors, cases = {}, []
    for space in OUTPUTS:
        for shared in (False, True):
            kind = f"{space}.{'one_body' if shared else 'two_bodies'}"
            torch.manual_seed(3)
            before = Network(space, shared)
            # From here on parameters are float32 numbers, computed with in double precision.
            before.load_state_dict(
                {name: value.float().double() for name, value in before.state_dict().items()}
            )
            block = make_block(before, np.random.default_rng(5))
            for name, tensor in {**block, "before": torch.tensor(before.flat())}.items():
                tensors[f"{kind}.{name}"] = tensor.numpy().astype(np.float32)
            for name, other in CASES.items():
                case = {**CLEANRL, **other}
                if case["shared_encoder"] != shared:
                    continue
                network = Network(space, shared)
                network.load_state_dict(before.state_dict())
                case["means"], case["epochs"] = update(network, block, case)
                tensors[f"{kind}.{name}.after"] = network.flat().astype(np.float32)
                cases.append({"name": name, "kind": kind, **case})
                print(
                    kind,
                    name,
                    case["epochs"],
                    {key: round(mean, 5) for key, mean in case["means"].items()},
                )
    epochs = max(case["update_epochs"] for case in CASES.values() if "update_epochs" in case)
    tensors["permutations"] = np.array(
        [permutation(epoch) for epoch in range(epochs)], dtype=np.int32
    )
    path = pathlib.Path(__file__).parent / "golden_update.safetensors"
    save_file(
        tensors,
        path,
        metadata={"cases": json.dumps(cases), "seed": str(SEED), "iteration": str(ITERATION)},
    )
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
