"""Training on environments written in JAX. Small ones follow gymnax's, Craftax's and Brax's forms;
gymnax's own CartPole plays if it is installed."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom
from broadloom import _core, _jax
from simulator_cases import out, parameters, SMALL

LIMIT = 10
TINY = 1e-40  # a denormal number: XLA rounds it to 0 in its own threads, Broadloom does not
SETTINGS = {**SMALL, "norm_obs": True, "num_steps": 24, "total_timesteps": 4 * 24 * 8}


class Space:
    """A space of gymnax: its class is called Box or Discrete."""

    def __init__(self, **members):
        self.__dict__.update(members)


class Box(Space):
    pass


class Discrete(Space):
    pass


class Dict(Space):
    pass


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    x: jax.Array
    time: jax.Array


@dataclasses.dataclass(frozen=True)
class Params:
    max_steps_in_episode: int = LIMIT
    start: float = 0.0  # half of the width of starts

    def replace(self, **changed):
        return dataclasses.replace(self, **changed)


def shown(x, time, array):
    return array([x, TINY, time / 8])


class Corridor:
    """Walk to an end, of the form of gymnax 1.0. All numbers are exact in float32."""

    default_params = Params()

    def observation_space(self, params):
        return Box(low=-9.0, high=jnp.full(3, 9.0), shape=(3,), dtype=jnp.float32)

    def action_space(self, params):
        return Discrete(n=2)

    def reset_env(self, key, params):
        x = jax.random.uniform(key, (), jnp.float32, -params.start, params.start)
        state = State(x if params.start else jnp.float32(0), jnp.int32(0))
        return self.look(state), state

    def look(self, state):
        return shown(state.x, state.time, lambda row: jnp.array(row, jnp.float32))

    def step_env(self, key, state, action, params):
        state = State(state.x + 0.25 * (2 * action - 1), state.time + 1)
        return self.look(state), state, state.x, abs(state.x) >= 1, {}

    def is_truncated(self, state, params):
        return state.time >= params.max_steps_in_episode


class OldCorridor(Corridor):
    """In gymnax 0.0.9 and Craftax the limit counts as an end."""

    is_truncated = property()

    def step_env(self, key, state, action, params):
        rows, state, reward, ended, info = super().step_env(key, state, action, params)
        return rows, state, reward, ended | (state.time >= params.max_steps_in_episode), info


class Masked(Corridor):
    """The valid actions change with time. Another one ends in a number that is refused."""

    def observation_space(self, params):
        both = {"observation": super().observation_space(params)}
        mask = Box(low=0, high=1, shape=(2,), dtype=jnp.int32)
        return Dict(spaces={**both, "action_mask": mask})

    def look(self, state):
        time = state.time % 3
        mask = jnp.stack([time != 0, time != 1]).astype(jnp.int32)
        return {"observation": super().look(state), "action_mask": mask}

    def step_env(self, key, state, action, params):
        is_valid = self.look(state)["action_mask"][action] == 1
        rows, state, reward, ended, info = super().step_env(key, state, action, params)
        return rows, state, jnp.where(is_valid, reward, jnp.nan), ended, info


class GymnasiumCorridor(gymnasium.Env):
    """The same without JAX."""

    observation_space = gymnasium.spaces.Box(-9, 9, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.x, self.time = 0.0, 0
        return self.look(), {}

    def look(self):
        return shown(self.x, self.time, lambda row: np.array(row, np.float32))

    def step(self, action):
        self.x, self.time = self.x + 0.25 * (2 * action - 1), self.time + 1
        return self.look(), self.x, abs(self.x) >= 1, self.time >= LIMIT, {}


def plain_corridors(num_envs):
    return SyncVectorEnv([GymnasiumCorridor] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class BraxState:
    obs: dict
    reward: jax.Array
    done: jax.Array
    info: dict
    x: jax.Array

    def replace(self, **changed):
        return dataclasses.replace(self, **changed)


class Sliders:
    """N environments of Brax's form, with a critic's own observations and continuous actions."""

    observation_size, action_size, episode_length = 2, 2, 8

    def reset(self, keys):
        x = jax.vmap(lambda key: jax.random.uniform(key, (2,), jnp.float32, -1, 1))(keys)
        zero = jnp.zeros(len(keys), jnp.float32)
        return BraxState(self.look(x), zero, zero, {"truncation": zero, "steps": zero}, x)

    def look(self, x):
        return {"state": x, "privileged_state": jnp.concatenate([x, x[:, :1]], axis=1)}

    def step(self, state, action):
        x = state.x + action / 4
        steps = state.info["steps"] + 1
        far = (abs(x) > 1.5).any(axis=1).astype(jnp.float32)
        late = (steps >= self.episode_length).astype(jnp.float32)
        info = {"truncation": late * (1 - far), "steps": steps}
        reward = -abs(x).sum(axis=1)
        return BraxState(self.look(x), reward, jnp.maximum(far, late), info, x)


class AutoResetWrapper:
    """As Brax's: begins episodes where the first ones began."""

    observation_size, action_size, episode_length = 2, 2, 8

    def __init__(self, env):
        self.env = env

    def reset(self, keys):
        state = self.env.reset(keys)
        return state.replace(info={**state.info, "first": state.x})

    def step(self, state, action):
        first = state.info["first"]
        state = self.env.step(state, action)
        ended = state.done[:, None] != 0
        x = jnp.where(ended, first, state.x)
        steps = jnp.where(state.done != 0, 0, state.info["steps"])
        info = {**state.info, "steps": steps, "first": first}
        return state.replace(obs=self.env.look(x), x=x, info=info)


def sliders(num_envs):
    return AutoResetWrapper(Sliders())


def train(name, env, **settings):
    return broadloom.train(env, name=f"{name}-v0", out=out(name), **{**SETTINGS, **settings})


def step_by_step():
    """Within the block, environments are stepped one step at a time."""
    return unittest.mock.patch.object(_jax.TracedEnvs, "plays_blocks", lambda *_: False)


class JaxTest(unittest.TestCase):
    def test_a_program_has_the_bits_of_the_same_environments_without_jax(self):
        """Actions, log-probabilities, normalisers, ends, last observations and values: a different
        bit in one would change the parameters."""
        run = train("program", lambda num_envs: Corridor())
        with step_by_step():
            stepped = train("stepped", lambda num_envs: Corridor())
        plain = train("plain", plain_corridors)
        self.assertGreater(run.episodes, 8)
        self.assertEqual(parameters(run), parameters(plain))
        self.assertEqual(parameters(stepped), parameters(plain))

    def test_hashes_of_every_step_are_those_without_jax(self):
        settings = {"norm_obs": False, "hashes": True}
        run = train("hashed", lambda num_envs: Corridor(), **settings)
        plain = train("plain_hashed", plain_corridors, **settings)
        hashes = [(one.dir / "hashes.bin").read_bytes() for one in (run, plain)]
        self.assertGreater(len(hashes[0]), 1000)
        self.assertEqual(*hashes)

    @unittest.skipUnless(hasattr(_core, "emulate_device"), "this build has a device")
    def test_a_device_that_acts_within_a_program_has_the_bits_of_the_cpu(self):
        _core.emulate_device()
        settings = {"hashes": True, "total_timesteps": 2 * 24 * 4, "update_epochs": 1}
        runs = [
            train(f"acts_{device}", lambda num_envs: Corridor(), device=device, **settings)
            for device in ("cpu", "cuda")
        ]
        self.assertEqual(*((run.dir / "hashes.bin").read_bytes() for run in runs))

    def test_a_limit_that_counts_as_an_end_is_told_apart(self):
        made = train("new", lambda num_envs: (Corridor(), Params()))
        old = train("old", lambda num_envs: (OldCorridor(), Params()))
        self.assertEqual(parameters(made), parameters(old))

    def test_random_starts_repeat_for_any_number_of_threads(self):
        def wide(num_envs):
            return Corridor(), Params(start=0.5)

        runs = [train(f"wide{threads}", wide, threads=threads) for threads in (1, 2)]
        self.assertEqual(parameters(runs[0]), parameters(runs[1]))
        other = train("wide_seed", wide, seed=2)
        self.assertNotEqual(parameters(runs[0]), parameters(other))

    def test_continuous_actions_and_a_critic_of_its_own(self):
        run = train("sliders", sliders)
        with step_by_step():
            stepped = train("sliders_stepped", sliders)
        self.assertEqual(parameters(run), parameters(stepped))
        self.assertGreater(run.episodes, 8)

    def test_a_resumed_run_has_the_bits_of_one_that_went_on(self):
        def wide(num_envs):
            return Corridor(), Params(start=0.5)

        whole = train("whole", wide)
        part = train("part", wide, on_iteration=lambda p: p["iteration"] < 3)
        self.assertFalse(part.finished)
        resumed = broadloom.resume(part, quiet=True)
        self.assertTrue(resumed.finished)
        self.assertEqual(parameters(resumed), parameters(whole))

    def test_a_program_that_goes_on_after_an_interrupt_calls_nobody(self):
        """JAX returns before its program has ended, and an interrupt may come meanwhile."""

        class Heavy(Corridor):
            """JAX waits for programs with little arithmetic."""

            def step_env(self, key, state, action, params):
                rows, state, reward, *rest = super().step_env(key, state, action, params)
                table = jnp.full((64, 64), reward)
                return rows, state, reward + (table @ table)[0, 0] / 4096, *rest

        running = []

        def interrupt(played):
            running.append(played)
            raise KeyboardInterrupt

        with (
            unittest.mock.patch.object(jax, "block_until_ready", interrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            steps = {"num_steps": 4096, "total_timesteps": 4 * 4096}
            train("interrupted", lambda num_envs: Heavy(), **steps)
        jax.block_until_ready(running)

    def test_masks_that_depend_on_time_resume(self):
        whole = train("masked", lambda num_envs: Masked())
        part = train("part_masked", lambda num_envs: Masked(), on_iteration=lambda p: False)
        self.assertEqual(parameters(broadloom.resume(part, quiet=True)), parameters(whole))

    def test_a_tuple_of_others_is_refused(self):
        with self.assertRaisesRegex(TypeError, "got a tuple from the function"):
            train("pair", lambda num_envs: (plain_corridors(num_envs), {}))

    def test_an_environment_may_show_its_limit(self):
        class Clock(OldCorridor):
            """Shows how much of the limit is gone."""

            def step_env(self, key, state, action, params):
                _, state, *rest = super().step_env(key, state, action, params)
                share = state.time / params.max_steps_in_episode
                return jnp.array([state.x, share, 0.0], jnp.float32), state, *rest

        envs = _jax.GymnaxEnvs(Clock(), 1)
        envs.reset(seed=1)
        rows, *_ = envs.step(np.ones(1, np.int32))
        self.assertEqual(rows[0, 1], np.float32(0.1))

    def test_evaluations_play_single_steps(self):
        run = train("evaluated", lambda num_envs: Corridor(), eval_interval=4, eval_episodes=8)
        self.assertIsNotNone(run.best_return)
        self.assertEqual(broadloom.evaluate(run, episodes=8)["episodes"], 8)

    def test_an_observation_that_is_no_number_names_its_step(self):
        class Broken(Corridor):
            def look(self, state):
                return super().look(state) / jnp.where(state.time == 5, 0.0, 1.0)

        words = "observation .*of environment 0 is not finite at its step 5"
        with self.assertRaisesRegex(broadloom.Error, words):
            train("broken", lambda num_envs: Broken())
        with step_by_step(), self.assertRaisesRegex(broadloom.Error, words):
            train("broken_step", lambda num_envs: Broken())

    def test_a_reward_that_is_no_number_names_its_step(self):
        class Broken(Corridor):
            def step_env(self, key, state, action, params):
                rows, state, reward, *rest = super().step_env(key, state, action, params)
                return rows, state, reward / jnp.where(state.time == 5, 0.0, 1.0), *rest

        with self.assertRaisesRegex(
            broadloom.Error, "reward of environment 0 is not finite at its step 4"
        ):
            train("broken_reward", lambda num_envs: Broken())

    def test_more_environments_than_memory_holds_are_refused(self):
        """Each is 28 or 72 bytes, which a step reads and writes."""
        for made, needed, most in (
            (lambda num_envs: Corridor(), 56, 178571),
            (sliders, 144, 69444),
        ):
            words = (
                "num_envs: got 1000000, but the states .* take at least "
                f"{needed} MB, and there are 10 MB; expected at most {most}"
            )
            with (
                self.subTest(words),
                unittest.mock.patch.object(_jax, "free_memory", lambda: 10**7),
                self.assertRaisesRegex(MemoryError, words),
            ):
                train("many", made, num_envs=10**6)

    @unittest.skipIf("BROADLOOM_SANITIZED" in os.environ, "ASan ends who asks for so much")
    def test_a_step_without_memory_tells_of_num_envs(self):
        class Wide(Corridor):
            def step_env(self, key, state, action, params):
                rows, state, reward, *rest = super().step_env(key, state, action, params)
                table = jnp.full((10**7, 10**7), reward)  # more than a process can address
                return rows, state, reward + (table @ table)[0, 0], *rest

        words = "num_envs: got 4, and JAX found no memory .*RESOURCE_EXHAUSTED.*expected fewer"
        with self.assertRaisesRegex(MemoryError, words):
            train("wide", lambda num_envs: Wide())
        with step_by_step(), self.assertRaisesRegex(MemoryError, words):
            train("wide_step", lambda num_envs: Wide())

    def test_wrong_environments_are_refused(self):
        class Vague(Corridor):
            step_env = property()

        with self.assertRaisesRegex(TypeError, "got a Vague without step_env, expected"):
            train("vague", lambda num_envs: (Vague(), Params()))

        class Odd(Corridor):
            def action_space(self, params):
                return Space()

        with self.assertRaisesRegex(TypeError, "action space: got Space, expected Box or Discrete"):
            train("odd", lambda num_envs: Odd())

        class Wide(Corridor):
            def look(self, state):
                return jnp.zeros(4, jnp.float32)

        with self.assertRaisesRegex(
            ValueError, r"got an array of shape \(4, 4\), expected \(4, 3\)"
        ):
            train("wide_rows", lambda num_envs: Wide())

    def test_numbers_of_64_bits_are_refused(self):
        jax.config.update("jax_enable_x64", True)
        try:
            with self.assertRaisesRegex(ValueError, "jax_enable_x64: got True, expected False"):
                train("x64", lambda num_envs: Corridor())
        finally:
            jax.config.update("jax_enable_x64", False)

    def test_a_python_without_jax_says_how_to_install_it(self):
        code = (
            "import sys; sys.modules['jax'] = None; import broadloom\n"
            "class Env: step_env = reset_env = None\n"
            "try: broadloom.train(lambda num_envs: Env(), quiet=True)\n"
            "except ModuleNotFoundError as error: print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("an environment written in JAX needs the package jax", found.stdout)
        self.assertIn("pip install jax", found.stdout)


class GymnaxTest(unittest.TestCase):
    def setUp(self):
        if importlib.util.find_spec("gymnax") is None:
            self.skipTest("gymnax is not installed")

    def test_cart_pole_learns(self):
        run = broadloom.train(
            "gymnax/CartPole-v1",
            num_envs=64,
            num_steps=32,
            total_timesteps=150_000,
            out=out("gymnax"),
            quiet=True,
        )
        self.assertGreater(run.mean_return, 100)

    def test_unknown_ids_are_refused(self):
        words = "gymnax .* has no Pole-v9, expected one of CartP"
        with self.assertRaisesRegex(ValueError, words) as refused:
            broadloom.train("gymnax/Pole-v9", **SMALL)
        self.assertEqual(refused.exception.kind, "not_found")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
