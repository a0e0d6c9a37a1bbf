"""Makes tests/learn/package_updates.safetensors: three updates by the code of other libraries,
on the block and first parameters of golden_update.safetensors, in double precision.
tests/learn/package_updates_test.cc compares ours with them.

Needs torch, safetensors and the library of each case: rsl-rl-lib 5.4 or 5.5 with tensordict,
stable-baselines3, rl-games 2.0. The test needs none of them. Named cases alone are made anew:

    python tests/learn/make_package_updates.py [CASE ...]
"""

import json
import pathlib
import sys
from unittest import mock

import numpy as np
import torch
from gymnasium import spaces
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

FOLDER = pathlib.Path(__file__).parent
STEPS, ENVS, SAMPLES, MINIBATCHES, UPDATES, WIDTH = 16, 8, 128, 4, 3, 16
KIND = "box.two_bodies"


def recorded():
    with safe_open(FOLDER / "golden_update.safetensors", "np") as file:
        names = ("observations", "actions", "advantages", "before")
        block = {name: torch.tensor(file.get_tensor(f"{KIND}.{name}")).double() for name in names}
        return block, torch.tensor(file.get_tensor("permutations")).long()


def linears(module):
    return [part for part in module.modules() if isinstance(part, torch.nn.Linear)]


def numbers_of(actor, critic, deviation):
    """Parameters in our order, each with whether ours is its transpose."""
    parts = []
    for layers in (actor, critic):
        for i, layer in enumerate(layers):
            parts += [(layer.weight, i + 1 < len(layers)), (layer.bias, False)]
    return [*parts, (deviation, False)]


def load(parts, flat):
    place = 0
    for number, turned in parts:
        part = flat[place : place + number.numel()]
        place += number.numel()
        shape = number.T.shape if turned else number.shape
        number.data = (part.reshape(shape).T if turned else part.reshape(shape)).clone()


def flat_of(parts):
    arrays = [(number.T if turned else number).detach().reshape(-1) for number, turned in parts]
    return torch.cat(arrays).numpy().astype(np.float32)


def mirrored(env, obs, actions):
    """Rows and their images, as RSL-RL asks for; package_updates_test.cc has the same mirror."""
    from tensordict import TensorDict

    if obs is not None:
        seen = obs["policy"]
        image = seen[:, [0, 1, 3, 2]] * torch.tensor([1.0, -1.0, -1.0, -1.0])
        obs = TensorDict({"policy": torch.cat([seen, image])}, batch_size=[2 * len(seen)])
    if actions is not None:
        actions = torch.cat([actions, -actions[:, [1, 0]]])
    return obs, actions


def rsl_rl(block, orders, case):
    from rsl_rl.algorithms import PPO as RslPpo
    from rsl_rl.models import MLPModel
    from rsl_rl.storage import RolloutStorage
    from tensordict import TensorDict

    groups = {"actor": ["policy"], "critic": ["policy"]}
    seen = TensorDict({"policy": block["observations"]}, batch_size=[SAMPLES])
    gaussian = {"class_name": "rsl_rl.modules:GaussianDistribution", "std_type": case["std_form"]}
    gaussian["std_range"] = tuple(case["std_range"])
    shape = {"hidden_dims": (WIDTH, WIDTH), "activation": "tanh"}
    actor = MLPModel(seen, groups, "actor", 2, **shape, distribution_cfg=gaussian).double()
    critic = MLPModel(seen, groups, "critic", 1, **shape).double()
    first = TensorDict({"policy": block["observations"][:ENVS]}, batch_size=[ENVS])
    storage = RolloutStorage("rl", ENVS, STEPS, first, [2], "cpu")
    symmetry = None
    if "mirror_coef" in case:
        symmetry = {
            "env": None, "data_augmentation_func": mirrored,
            "use_data_augmentation": case["mirror_samples"],
            "use_mirror_loss": case["mirror_coef"] > 0.0,
            "mirror_loss_coeff": case["mirror_coef"],
        }  # fmt: skip
    ppo = RslPpo(
        actor,
        critic,
        storage,
        learning_rate=case["learning_rate"],
        entropy_coef=case["ent_coef"],
        num_mini_batches=MINIBATCHES,
        num_learning_epochs=case["update_epochs"],
        desired_kl=case["desired_kl"],
        max_grad_norm=case["max_grad_norm"],
        symmetry_cfg=symmetry,
    )
    noise = actor.distribution
    deviation = noise.std_param if case["std_form"] == "scalar" else noise.log_std_param
    parts = numbers_of(linears(actor.mlp), linears(critic.mlp), deviation)
    before = block["before"].clone()
    if case["std_form"] == "scalar":
        before[-2:] = before[-2:].exp()
    before = before.float().double()
    load(parts, before)
    for _ in range(UPDATES):
        with torch.no_grad():
            actor(seen, stochastic_output=True)
            values = critic(seen)
            fill = {
                "actions": block["actions"],
                "values": values,
                "returns": block["advantages"][:, None] + values,
                "actions_log_prob": actor.get_output_log_prob(block["actions"])[:, None],
            }
            advantages = block["advantages"][:, None]
            fill["advantages"] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            for name, number in fill.items():
                setattr(storage, name, number.reshape(STEPS, ENVS, -1).clone())
            storage.observations = seen.reshape(STEPS, ENVS)
            storage.distribution_params = tuple(
                number.reshape(STEPS, ENVS, -1).clone()
                for number in actor.output_distribution_params
            )
        with mock.patch("torch.randperm", lambda *_, **__: orders[0]):
            ppo.update()
    return before.numpy().astype(np.float32), flat_of(parts), ppo.learning_rate


class Buffer:
    """The minibatches of a rollout buffer in our order."""

    def __init__(self, block, orders):
        self.block, self.orders, self.epoch = block, orders, 0
        self.values = self.returns = np.zeros(1)

    def get(self, size):
        order = self.orders[self.epoch]
        self.epoch += 1
        for picked in order.split(size):
            yield mock.Mock(**{name: number[picked] for name, number in self.block.items()})


def sb3(block, orders, case):
    from stable_baselines3 import PPO as Sb3Ppo
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.utils import FloatSchedule

    # Stable-Baselines3 would round observations to float32.
    exact = mock.patch("stable_baselines3.common.policies.preprocess_obs", lambda x, *_, **__: x)
    space = spaces.Box(-np.inf, np.inf, (4,)), spaces.Box(-1, 1, (2,))
    policy = ActorCriticPolicy(
        *space,
        lambda _: case["learning_rate"],
        net_arch=[WIDTH, WIDTH],
        optimizer_kwargs={"eps": case["adam_eps"]},
    ).double()
    actor = [*linears(policy.mlp_extractor.policy_net), policy.action_net]
    critic = [*linears(policy.mlp_extractor.value_net), policy.value_net]
    parts = numbers_of(actor, critic, policy.log_std)
    load(parts, block["before"])
    # A policy without an environment; train() reads these members only.
    ppo = Sb3Ppo.__new__(Sb3Ppo)
    ppo.policy, ppo.action_space = policy, space[1]
    ppo.lr_schedule = FloatSchedule(case["learning_rate"])
    ppo.clip_range = FloatSchedule(0.2)
    own = case["clip_range_vf"]
    ppo.clip_range_vf = None if own is None else FloatSchedule(own)
    ppo._current_progress_remaining, ppo._n_updates = 1.0, 0
    ppo.n_epochs, ppo.batch_size = case["update_epochs"], SAMPLES // MINIBATCHES
    ppo.normalize_advantage, ppo.target_kl, ppo.verbose = True, None, 0
    ppo.ent_coef, ppo.vf_coef = case["ent_coef"], 0.5
    ppo.max_grad_norm = case["max_grad_norm"]
    ppo._logger = Logger(None, [])
    for _ in range(UPDATES):
        with torch.no_grad():
            with exact:
                values, log_probs, _ = policy.evaluate_actions(
                    block["observations"], block["actions"]
                )
        kept = {name: block[name] for name in ("observations", "actions", "advantages")}
        kept |= {"old_values": values.flatten(), "old_log_prob": log_probs}
        kept["returns"] = kept["advantages"] + kept["old_values"]
        ppo.rollout_buffer = Buffer(kept, orders)
        with exact:
            ppo.train()
    return block["before"].numpy().astype(np.float32), flat_of(parts), case["learning_rate"]


def dense(outputs):
    layers = [torch.nn.Linear(4, WIDTH), torch.nn.Linear(WIDTH, WIDTH)]
    parts = [part for layer in layers for part in (layer, torch.nn.Tanh())]
    return torch.nn.Sequential(*parts, torch.nn.Linear(WIDTH, outputs)).double()


def rl_games(block, orders, case):
    """Its datasets, losses and statistics of values, with an own network and loop."""
    from rl_games.algos_torch.a2c_continuous import A2CAgent
    from rl_games.algos_torch.running_mean_std import RunningMeanStd
    from rl_games.common.common_losses import actor_loss

    actor, critic, log_std = dense(2), dense(1), torch.nn.Parameter(torch.zeros(2))
    parts = numbers_of(linears(actor), linears(critic), log_std)
    load(parts, block["before"])
    statistics = RunningMeanStd((1,)).eval()
    # An agent without environments; the two methods read these members only.
    agent = mock.Mock(
        config={}, normalize_value=True, value_mean_std=statistics, normalize_advantage=True,
        normalize_rms_advantage=False, has_central_value=False, ppo=True, has_value_loss=True,
        clip_value=case["clip_value"], bound_loss_type="bound", critic_coef=case["vf_coef"],
        entropy_coef=case["ent_coef"], bounds_loss_coef=case["bounds_coef"],
    )  # fmt: skip
    agent.bound_loss = lambda mu: A2CAgent.bound_loss(agent, mu)
    numbers = [*actor.parameters(), *critic.parameters(), log_std]
    adam = torch.optim.Adam(numbers, case["learning_rate"], eps=case["adam_eps"])
    for _ in range(UPDATES):
        noise = torch.distributions.Normal(actor(block["observations"]), log_std.exp())
        with torch.no_grad():
            values = statistics(critic(block["observations"]), denorm=True)
            batch = dict.fromkeys(("dones", "mus", "sigmas", "rnn_states", "rnn_masks"))
            batch |= {"obses": block["observations"], "actions": block["actions"]}
            batch |= {"returns": case["scale"] * block["advantages"][:, None] + values}
            batch |= {"values": values, "neglogpacs": -noise.log_prob(block["actions"]).sum(-1)}
            A2CAgent.prepare_dataset(agent, batch)
        data = agent.dataset.update_values_dict.call_args.args[0]
        for epoch in range(case["update_epochs"]):
            for i in orders[epoch].split(SAMPLES // MINIBATCHES):
                mean = actor(data["obs"][i])
                noise = torch.distributions.Normal(mean, log_std.exp())
                loss = A2CAgent.calc_losses(
                    agent, actor_loss, data["old_logp_actions"][i],
                    -noise.log_prob(data["actions"][i]).sum(-1), data["advantages"][i],
                    0.2, data["old_values"][i], critic(data["obs"][i]), data["returns"][i],
                    mean, noise.entropy().sum(-1), None,
                )[0]  # fmt: skip
                adam.zero_grad()
                loss.backward()
                adam.step()
    case["statistics"] = [float(statistics.running_mean), float(statistics.running_var)]
    case["statistics"].append(float(statistics.count))
    return block["before"].numpy().astype(np.float32), flat_of(parts), case["learning_rate"]


CASES = {
    "rsl_rl_scalar": {
        "std_form": "scalar", "std_range": [1e-6, 1e6], "learning_rate": 1e-3, "ent_coef": 0.01,
        "update_epochs": 5, "desired_kl": 0.01, "max_grad_norm": 1.0,
    },
    "rsl_rl_bounded": {
        "std_form": "log", "std_range": [0.5, 1.22], "learning_rate": 3e-3, "ent_coef": 0.005,
        "update_epochs": 3, "desired_kl": 0.002, "max_grad_norm": 0.3,
    },
    "rsl_rl_mirror": {
        "std_form": "scalar", "std_range": [1e-6, 1e6], "learning_rate": 1e-3, "ent_coef": 0.01,
        "update_epochs": 5, "desired_kl": 0.01, "max_grad_norm": 1.0, "mirror_samples": True,
        "mirror_coef": 0.5,
    },
    "rsl_rl_mirror_loss": {
        "std_form": "log", "std_range": [0.5, 1.22], "learning_rate": 3e-3, "ent_coef": 0.005,
        "update_epochs": 3, "desired_kl": 0.002, "max_grad_norm": 0.3, "mirror_samples": False,
        "mirror_coef": 2.0,
    },
    "sb3": {
        "learning_rate": 3e-4, "ent_coef": 0.0, "update_epochs": 10, "adam_eps": 1e-5,
        "max_grad_norm": 0.5, "clip_range_vf": None,
    },
    "sb3_value_clip": {
        "learning_rate": 1e-3, "ent_coef": 0.01, "update_epochs": 4, "adam_eps": 1e-5,
        "max_grad_norm": 0.5, "clip_range_vf": 0.1,
    },
    "rl_games": {
        "learning_rate": 1e-3, "ent_coef": 0.01, "update_epochs": 4, "adam_eps": 1e-8,
        "max_grad_norm": 0.0, "vf_coef": 2.0, "bounds_coef": 0.01, "clip_value": True,
        "scale": 30.0,
    },
}  # fmt: skip


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    block, orders = recorded()
    target = FOLDER / "package_updates.safetensors"
    tensors, cases, chosen = {}, [], sys.argv[1:] or list(CASES)
    if chosen != list(CASES):
        tensors = load_file(target)
        with safe_open(target, "np") as file:
            cases = json.loads(file.metadata()["cases"])
        cases = [one for one in cases if one["name"] not in chosen]
    makers = {"rsl_rl": rsl_rl, "sb3": sb3, "rl_games": rl_games}
    for name in chosen:
        case = CASES[name]
        make = next(make for start, make in makers.items() if name.startswith(start))
        made = make(block, orders, case)
        tensors[f"{name}.before"], tensors[f"{name}.after"], rate = made
        cases.append({"name": name, **case, "rate_after": rate})
        print(name, rate, np.abs(made[1] - made[0]).max())
    save_file(tensors, target, metadata={"cases": json.dumps(cases)})


if __name__ == "__main__":
    main()
