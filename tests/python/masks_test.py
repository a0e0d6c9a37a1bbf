"""Action masks of Gymnasium's environments: no invalid action in training, evaluation or Policy."""

import unittest

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

import broadloom
from simulator_cases import out, SMALL


def train(env, name, **keys):
    return broadloom.train(env, name=f"{name}-v0", out=out(name), **{**SMALL, **keys})


class Locks(gymnasium.Env):
    """Six steps of five choices, three of which are valid. Raises at an invalid one."""

    observation_space, action_space = Box(0, 1, (6,), np.float32), Discrete(5)

    def mask(self):
        return np.array([(i + self.t) % 5 < 3 for i in range(5)])

    def look(self):
        return np.eye(6, dtype=np.float32)[self.t % 6]

    def infos(self):
        return {}

    def is_valid(self, action):
        return self.mask()[action]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), self.infos()

    def step(self, action):
        if not self.is_valid(action):
            raise RuntimeError(f"invalid action {action} at step {self.t}")
        reward = float(np.all(action == self.t % 5))
        self.t += 1
        return self.look(), reward, self.t == 6, False, self.infos()


class ByMethod(Locks):
    def action_masks(self):
        return self.mask()


class ByInfos(Locks):
    def infos(self):
        return {"action_mask": self.mask().astype(np.int8)}


class ByKey(Locks):
    observation_space = Dict(observation=Locks.observation_space, action_mask=Box(0, 1, (5,), int))

    def look(self):
        return {"observation": super().look(), "action_mask": self.mask().astype(np.int64)}


class TwoLocks(Locks):
    """Two numbers."""

    action_space = MultiDiscrete([5, 2])

    def masks(self):
        return self.mask(), np.array([self.t % 2 == 0, True])

    def is_valid(self, action):
        return all(mask[a] for mask, a in zip(self.masks(), action, strict=True))


class Several(TwoLocks):
    def action_masks(self):
        return np.concatenate(self.masks())


class SeveralByInfos(TwoLocks):
    """A mask for each number, as Gymnasium's MultiDiscrete takes them."""

    def infos(self):
        return {"action_mask": self.masks()}


class NoMaskAtEnd(ByInfos):
    def infos(self):
        return super().infos() if self.t < 6 else {}


class NoMaskAtReset(ByInfos):
    def infos(self):
        return super().infos() if self.t else {}


class Transposed(gymnasium.vector.SyncVectorEnv):
    def action_masks(self):
        return np.stack(self.call("mask")).T


class Faulty(ByMethod):
    given = None

    def is_valid(self, action):
        return True

    def action_masks(self):
        return self.given(self.t) if self.t > 3 else self.mask()


class Masks(unittest.TestCase):
    def test_no_invalid_action_is_taken(self):
        for env in (ByMethod, ByInfos, ByKey, Several, SeveralByInfos):
            with self.subTest(env.__name__):
                run = train(env, env.__name__)
                for actions in ("most_likely", "sampled"):
                    broadloom.evaluate(run, episodes=8, actions=actions)
                policy = broadloom.Policy(run)
                self.assertTrue(policy.spec["action"]["masked"])
                sub_env = env()
                observation, _ = sub_env.reset()
                for t in range(6):
                    seen = observation["observation"] if env is ByKey else observation
                    masks = sub_env.action_masks() if env in (ByMethod, Several) else None
                    if masks is None and env is SeveralByInfos:
                        masks = np.concatenate(sub_env.masks())
                    elif masks is None:
                        masks = sub_env.mask()
                    rng = np.random.default_rng(t) if t % 2 else None
                    action = policy.act(seen, rng=rng, action_masks=masks)
                    observation, *_ = sub_env.step(action)

    def test_every_source_gives_the_same_run(self):
        parameters = []
        for env in (ByMethod, ByInfos, ByKey):
            run = train(env, f"Alike{env.__name__}", seed=3)
            parameters.append(broadloom.Policy(run).outputs(np.eye(6))[0])
        np.testing.assert_array_equal(parameters[0], parameters[1])
        np.testing.assert_array_equal(parameters[0], parameters[2])

    def test_other_processes_and_vector_environments(self):
        train(ByMethod, "Async", vectorization="async")
        train(lambda num_envs: gymnasium.vector.SyncVectorEnv([ByInfos] * num_envs), "NextStep")

    def test_an_ended_episode_needs_no_mask(self):
        train(NoMaskAtEnd, "NoMaskAtEnd")
        for mode in gymnasium.vector.AutoresetMode:
            with self.subTest(mode):
                train(
                    lambda num_envs, mode=mode: gymnasium.vector.SyncVectorEnv(
                        [NoMaskAtEnd] * num_envs, autoreset_mode=mode
                    ),
                    f"NoMaskAtEnd{mode.name}",
                )

    def test_masks_of_another_form_are_refused(self):
        with self.assertRaisesRegex(ValueError, "infos of step.. have 'action_mask'"):
            train(NoMaskAtReset, "NoMaskAtReset")
        with self.assertRaisesRegex(ValueError, "environment 0 .* got 4 numbers of bool"):
            train(lambda num_envs: Transposed([Locks] * num_envs), "Transposed")

    def test_bad_masks_are_named(self):
        for name, given, words in (
            ("Short", lambda t: np.ones(4, bool), "environment 0 .* got 4 numbers of bool"),
            ("Large", lambda t: np.full(5, 2), "got 5 numbers of int64, expected 5 booleans"),
            ("Real", lambda t: np.ones(5), "got 5 numbers of float64"),
            ("None", lambda t: None, "got none, expected 5"),
            ("Empty", lambda t: np.zeros(5, bool), "environment 0 has no valid action at its step"),
        ):
            with self.subTest(name):
                env = type(name, (Faulty,), {"given": staticmethod(given)})
                with self.assertRaisesRegex(Exception, words):
                    train(env, name)

    def test_a_policy_needs_masks(self):
        policy = broadloom.Policy(train(ByMethod, "Needs"))
        rows = np.zeros((2, 6), np.float32)
        for masks, words in (
            (None, r"got none.*env.action_masks\(\) or infos\['action_mask'\] has them"),
            (np.ones((2, 4), bool), r"shape \(2, 4\), expected booleans of shape \(2, 5\)"),
            (np.array([[1, 0, 0, 0, 0], [0] * 5]), "no valid choice in row 1"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                policy.act(rows, action_masks=masks)

    def test_broadlooms_own_environments_have_them(self):
        env = gymnasium.make("broadloom/TicTacToe-v0")
        observation, info = env.reset(seed=1)
        rng, done = np.random.default_rng(1), False
        while not done:
            mask = env.unwrapped.action_masks()
            np.testing.assert_array_equal(mask, info["action_mask"])
            np.testing.assert_array_equal(mask, observation[:9] + observation[9:] == 0)
            choice = rng.choice(np.flatnonzero(mask))
            observation, _, done, _, info = env.step(choice)
        envs = gymnasium.make_vec("broadloom/TicTacToe-v0", num_envs=3)
        envs.reset(seed=1)
        self.assertEqual(envs.unwrapped.action_masks().shape, (3, 9))
        cart_pole = gymnasium.make("broadloom/CartPole-v1").unwrapped
        self.assertFalse(hasattr(cart_pole, "action_masks"))
        run = train(lambda: gymnasium.make("broadloom/CartPole-v1"), "Unmasked")
        self.assertNotIn("masked", broadloom.Policy(run).spec["action"])


if __name__ == "__main__":
    unittest.main()
