"""Policies as modules of PyTorch's."""

import copy
import inspect
import pathlib
import tempfile
import unittest

import gymnasium
import numpy as np
import torch

import broadloom
from simulator_cases import GIVEN, given

HERE = tempfile.TemporaryDirectory()
OUT = pathlib.Path(HERE.name)
FEW = {"total_timesteps": 512, "num_envs": 8, "num_steps": 32, "quiet": True}
KINDS = {
    "gaussian": ("Pendulum-v1", {"norm_obs": True}),
    "index": ("Taxi-v3", {"shared_encoder": True}),
    "frames": ("MinAtar/Breakout-v1", {"encoder": "minatar", "env.frame_stack": 2}),
    "pqn": ("CartPole-v1", {"algorithm": "pqn"}),
}


class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.runs = {
            name: broadloom.train(env_id, out=OUT / name, **{**FEW, **keys})
            for name, (env_id, keys) in KINDS.items()
        }

    def test_a_module_is_the_policy(self):
        for name, run in self.runs.items():
            with self.subTest(name):
                policy, module = broadloom.Policy(run), broadloom.Policy(run).to_torch()
                self.assertIsInstance(module, torch.nn.Module)
                self.assertFalse(module.training)
                env = broadloom.VectorEnv(
                    9,
                    env_id=KINDS[name][0],
                    **{
                        key[4:]: value
                        for key, value in KINDS[name][1].items()
                        if key.startswith("env.")
                    },
                )
                rows = env.reset(seed=1)[0]
                with torch.no_grad():
                    found = module(torch.from_numpy(rows))
                outputs, values = policy.outputs(rows)
                head = next(key for key in ("mean", "logits", "action_values") if key in found)
                np.testing.assert_allclose(found[head].numpy(), outputs, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(found["value"].numpy(), values, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(
                    found["action"].numpy(), policy.act(rows), rtol=1e-5, atol=1e-5
                )

    def test_a_module_reads_what_the_environment_gives(self):
        for name, (space, keys, read) in GIVEN.items():
            run = broadloom.train(given(space), out=OUT / f"given_{name}", **keys, **FEW)
            policy, module = broadloom.Policy(run), broadloom.Policy(run).to_torch()
            many = gymnasium.vector.utils.concatenate(
                space,
                [space.sample() for _ in range(3)],
                gymnasium.vector.utils.create_empty_array(space, 3),
            )
            if name == "masked":
                many["action_mask"][:] = 1
            shown = read(many) if name == "nested" else many  # its groups by their names
            is_dict = isinstance(shown, dict)
            tensors = (
                {key: torch.from_numpy(np.asarray(rows)) for key, rows in shown.items()}
                if is_dict
                else torch.from_numpy(shown)
            )
            masks = [tensors["action_mask"]] if name == "masked" else []
            with self.subTest(name), torch.no_grad():
                found = module(tensors, *masks)
                np.testing.assert_allclose(
                    found["logits"].numpy(), policy.outputs(many)[0], rtol=1e-5, atol=1e-5
                )
                self.assertEqual(found["action"].tolist(), policy.act(many).tolist())

    def test_a_module_remembers(self):
        for cell in ("mingru", "gru", "lstm"):
            run = broadloom.train("TMaze-v0", out=OUT / cell, recurrent=cell, **FEW)
            policy, module = broadloom.Policy(run), broadloom.Policy(run).to_torch()
            rng, state, expected = np.random.default_rng(1), None, None
            for _ in range(4):
                rows = rng.random((5, 3), np.float32)
                found = module(torch.from_numpy(rows), state)
                state = found["next_state"]
                logits, _, expected = policy.outputs(rows, state=expected)
                np.testing.assert_allclose(found["logits"].detach(), logits, atol=1e-5)
                np.testing.assert_allclose(state.detach(), expected, atol=1e-5)
            found["value"].sum().backward()
            self.assertGreater(module.critic["cell"].weight.grad.abs().max(), 0)

    def test_its_state_dict_is_that_of_the_exported_file(self):
        module = broadloom.Policy(self.runs["gaussian"]).to_torch()
        broadloom.export(self.runs["gaussian"], OUT / "policy.npz")
        state = module.state_dict()
        saved = np.load(OUT / "policy.npz")
        self.assertEqual(set(state) | {"policy"}, set(saved.files))
        for name, tensor in state.items():
            np.testing.assert_array_equal(tensor.numpy(), saved[name])
        self.assertEqual(
            [name for name, _ in module.named_parameters()],
            [
                "log_std",
                *(
                    f"{side}.{layer}.{part}"
                    for side in ("actor", "critic")
                    for layer in ("linear1", "linear2", "head")
                    for part in ("weight", "bias")
                ),
            ],
        )
        self.assertNotIn(
            "critic.head.bias",
            broadloom.Policy(self.runs["gaussian"]).to_torch(value=False).state_dict(),
        )

    def test_it_is_a_module_like_any_other(self):
        module = broadloom.Policy(self.runs["gaussian"]).to_torch()
        other = copy.deepcopy(module)
        found = module(torch.zeros(2, 3))
        (found["mean"].sum() + found["value"].sum()).backward()
        self.assertTrue(
            all(p.grad is not None for name, p in module.named_parameters() if name != "log_std")
        )
        with torch.no_grad():
            for p in other.parameters():
                p.zero_()
        self.assertEqual(float(other(torch.zeros(2, 3))["mean"].detach().abs().sum()), 0.0)
        self.assertIn("F.tanh(actor_linear1)", inspect.getsource(module.forward))
        program = torch.export.export(module, (torch.zeros(4, 3),)).module()
        torch.testing.assert_close(
            program(torch.ones(4, 3))["mean"], module(torch.ones(4, 3))["mean"]
        )


if __name__ == "__main__":
    unittest.main()
