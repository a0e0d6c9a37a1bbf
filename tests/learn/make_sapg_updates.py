"""Makes tests/learn/sapg_updates.safetensors: three blocks and updates by the program of SAPG's
authors (github.com/jayeshs999/sapg, a fork of rl_games), in double precision.
tests/learn/sapg_updates_test.cc compares ours with them.

Its agent plays an environment of recorded numbers and learns by its own train_epoch(). Only its
two draws are ours: the followers, and the order of samples.

Needs a clone of that program, and torch, safetensors, gymnasium, gym 0.26, omegaconf, psutil and
tensorboardX. The test needs none of them.

    python tests/learn/make_sapg_updates.py CLONE
"""

import json
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

import numpy as np
import torch
from make_golden_update import philox
from make_package_updates import linears, load
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent
SEED, STEPS, UPDATES, MINIBATCHES = 1, 16, 3, 4
SEEN, ACTIONS, WIDTH, VECTOR = 4, 2, 8, 32  # its vectors are always of this size
GAMMA, LAMBDA = 0.97, 0.9

# With entropy_scale, the authors' program ignores ent_coef.
CASES = {
    "one_follower": {
        "policies": 3, "followers": 1, "envs": 6, "activation": "elu", "entropy_scale": 0.2,
        "ent_coef": 0.0, "clip_coef": 0.1, "clip_value": True, "vf_coef": 4.0, "bounds_coef": 0.01,
        "max_grad_norm": 1.0, "update_epochs": 4, "learning_rate": 3e-3,
    },
    "three_followers": {
        "policies": 5, "followers": 3, "envs": 5, "activation": "tanh", "entropy_scale": 0.0,
        "ent_coef": 0.02, "clip_coef": 0.2, "clip_value": False, "vf_coef": 1.0,
        "bounds_coef": 0.0, "max_grad_norm": 0.0, "update_epochs": 2, "learning_rate": 1e-3,
    },
}  # fmt: skip


def words(count, lane, purpose, iteration):
    blocks = range((count + 3) // 4)
    drawn = [philox((b, iteration, lane, purpose << 24), (SEED, 0)) for b in blocks]
    return [word for four in drawn for word in four]


def permutation(count, iteration):
    """Order of an update's samples, as broadloom/rollout/minibatches.cc draws it."""
    order = list(range(count))
    for left, word in zip(range(count, 1, -1), words(count, 0, 2, iteration), strict=False):
        other = word * left >> 32
        order[left - 1], order[other] = order[other], order[left - 1]
    return order


def followers_of(case, iteration):
    """Policies, as broadloom/learn/relabelled.cc draws them."""
    all_of_them = list(range(case["policies"] - 1))
    for k, word in zip(range(case["followers"]), words(case["followers"], 0, 29, iteration)):
        other = k + (word * (len(all_of_them) - k) >> 32)
        all_of_them[k], all_of_them[other] = all_of_them[other], all_of_them[k]
    return all_of_them[: case["followers"]]


def places(case):
    """Indices of our samples, step by step, in the authors' batch, environment by environment."""
    own = np.arange(case["envs"] * STEPS).reshape(-1, STEPS)
    count = case["envs"] // case["policies"] * case["followers"]
    relabelled = own.size + np.arange(count * STEPS).reshape(-1, STEPS)
    return np.concatenate([own.T.reshape(-1), relabelled.T.reshape(-1)])


class Envs:
    """The environments that the agent plays: recorded numbers, whatever it does."""

    def __init__(self, kept):
        self.kept, self.step_number = kept, 0
        self.env = mock.Mock(device="cpu")

    def set_train_info(self, *_):
        pass

    def reset(self):
        return self.kept["observations"][0]

    def step(self, _):
        t = self.step_number
        self.step_number += 1
        ended = self.kept["ended"][t].to(torch.uint8)
        return self.kept["observations"][t + 1].clone(), self.kept["rewards"][t], ended, {}


def config_of(case, envs, folder):
    from gym import spaces

    samples = len(places(case))
    by_scale = case["entropy_scale"] > 0.0
    config = {
        # Set by the authors' option --sapg.
        "expl_type": "mixed_expl_learn_param", "use_others_experience": "lf",
        "expl_coef_block_size": case["envs"] // case["policies"],
        "expl_reward_type": "entropy" if by_scale else "none",
        "expl_reward_coef_scale": case["entropy_scale"],
        "off_policy_ratio": case["followers"],
        # As in their files of settings.
        "ppo": True, "lr_schedule": "constant", "schedule_type": "standard",
        "normalize_advantage": True, "normalize_input": False, "normalize_value": False,
        "truncate_grads": case["max_grad_norm"] > 0.0, "grad_norm": case["max_grad_norm"],
        "critic_coef": case["vf_coef"], "clip_value": case["clip_value"],
        "e_clip": case["clip_coef"], "entropy_coef": case["ent_coef"],
        "bounds_loss_coef": case["bounds_coef"], "gamma": GAMMA, "tau": LAMBDA,
        "learning_rate": case["learning_rate"], "mini_epochs": case["update_epochs"],
        "horizon_length": STEPS, "minibatch_size": samples // MINIBATCHES,
        "seq_length": 1, "num_actors": case["envs"], "clip_actions": False,
        # The rest of the program.
        "name": "0_sapg", "env_name": "recorded", "device": "cpu", "vec_env": envs,
        "train_dir": folder, "features": {"observer": mock.Mock()},
        "reward_shaper": lambda rewards: rewards,
        "env_info": {
            "observation_space": spaces.Box(-np.inf, np.inf, (SEEN,)),
            "action_space": spaces.Box(-1.0, 1.0, (ACTIONS,)),
        },
    }  # fmt: skip
    default = {"name": "default"}
    gaussian = {
        "mu_activation": "None", "sigma_activation": "None", "mu_init": default,
        "sigma_init": {"name": "const_initializer", "val": 0}, "fixed_sigma": "coef_cond",
    }  # fmt: skip
    layers = {"units": [WIDTH, WIDTH], "activation": case["activation"], "d2rl": False}
    network = {
        "name": "actor_critic", "separate": False, "space": {"continuous": gaussian},
        "mlp": {**layers, "initializer": default, "regularizer": {"name": "None"}},
    }  # fmt: skip
    return {
        "algo": {"name": "a2c_continuous"},
        "model": {"name": "continuous_a2c_logstd"},
        "network": network,
        "config": config,
    }


def parts_of(agent):
    """Parameters in our order, each with whether ours is its transpose."""
    network = agent.model.a2c_network
    # Ours has biases of the vectors, which stay 0.
    parts = [(network.extra_params, False), (torch.zeros(VECTOR), False)]
    for layer in linears(network.actor_mlp):
        parts += [(layer.weight, True), (layer.bias, False)]
    for head in (network.mu, network.value):
        parts += [(head.weight, False), (head.bias, False)]
    return [*parts, (network.sigma, False)]


def flat_of(parts):
    arrays = [(number.T if turned else number).detach().reshape(-1) for number, turned in parts]
    return torch.cat(arrays).numpy()


def first_numbers(parts, random):
    pieces = [0.4 * random.standard_normal(number.numel()) for number, _ in parts]
    pieces[0] *= 0.2  # so policies are near each other, and some ratios within the clip range
    pieces[-1] *= 0.2
    pieces[1][:] = 0.0
    return torch.as_tensor(np.float32(np.concatenate(pieces))).double()


def make(case, random, folder):
    from rl_games.algos_torch.a2c_continuous import A2CAgent

    steps = UPDATES * STEPS
    kept = {
        "observations": random.standard_normal((steps + 1, case["envs"], SEEN)),
        "rewards": random.standard_normal((steps, case["envs"])),
        "ended": (random.random((steps, case["envs"])) < 0.15).astype(float),
    }
    kept = {name: torch.as_tensor(np.float32(number)).double() for name, number in kept.items()}
    agent = A2CAgent("sapg", config_of(case, Envs(kept), folder))
    agent.model.double()
    parts = parts_of(agent)
    before = first_numbers(parts, random)
    load(parts, before)
    for number in agent.model.parameters():
        number.data = number.data.contiguous()  # the agent views gradients as vectors
    agent.init_tensors()
    buffer = agent.experience_buffer.tensor_dict
    for name, number in buffer.items():
        # Actions stay in float32, ours; other numbers are not to be rounded.
        if name not in ("actions", "dones"):
            buffer[name] = number.double()
    agent.obs = agent.env_reset()
    made, mix = {"actions": []}, agent.augment_batch_for_mixed_expl

    def mix_and_note(*given):
        batch = mix(*given)
        if "values" not in made:
            for name in ("values", "returns", "neglogpacs"):
                made[name] = batch[name].reshape(-1)[places(case)].numpy()
        return batch

    agent.augment_batch_for_mixed_expl = mix_and_note
    for update in range(1, UPDATES + 1):
        drawn = [1 + policy for policy in followers_of(case, update)]
        order = torch.as_tensor(places(case)[permutation(len(places(case)), update)])
        with (
            mock.patch("numpy.random.choice", lambda *_, drawn=drawn, **__: drawn),
            mock.patch("torch.randperm", lambda *_, order=order: order),
        ):
            agent.update_epoch()
            agent.train_epoch()
        made["actions"].append(buffer["actions"].numpy().reshape(-1, ACTIONS).copy())
        made[f"after_{update}"] = flat_of(parts)
    case["drawn"] = [followers_of(case, update) for update in range(1, UPDATES + 1)]
    made["actions"] = np.concatenate(made["actions"])
    made["before"] = before.numpy()
    made |= {name: number.numpy().reshape(len(number), -1) for name, number in kept.items()}
    return {name: np.ascontiguousarray(np.float32(number)) for name, number in made.items()}


def commit_of(clone):
    """The clone's commit, of which its program must be."""
    source = clone / "rl_games" / "rl_games"
    if not (source / "common" / "custom_utils.py").is_file():
        sys.exit(
            f"CLONE: got {clone}, which has no rl_games/rl_games/common/custom_utils.py; expected "
            "a clone of https://github.com/jayeshs999/sapg"
        )
    git = ["git", "-C", str(clone)]
    if subprocess.run([*git, "diff", "--quiet", "HEAD", "--", str(source)]).returncode != 0:
        sys.exit(f"CLONE: got {source} with changes; expected its commit's files. Undo the changes")
    return subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_sapg_updates.py CLONE, a clone of github.com/jayeshs999/sapg")
    clone = pathlib.Path(sys.argv[1]).resolve()
    commit = commit_of(clone)
    sys.path.insert(0, str(clone / "rl_games"))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    tensors = {}
    for place, (name, case) in enumerate(CASES.items()):
        torch.manual_seed(200 + place)
        with tempfile.TemporaryDirectory() as folder:
            made = make(case, np.random.default_rng(200 + place), folder)
        tensors |= {f"{name}.{part}": number for part, number in made.items()}
        print(name, case["drawn"], np.abs(made["after_3"] - made["before"]).max())
    target = FOLDER / "sapg_updates.safetensors"
    save_file(tensors, target, {"cases": json.dumps(CASES), "commit": commit})


if __name__ == "__main__":
    main()
