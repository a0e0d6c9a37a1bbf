"""Runs and policies meet the environments that they were trained on, or somebody says so."""

import contextlib
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import gymnasium
import numpy as np

import broadloom
from broadloom._sameness import recipe_of, same
from simulator_cases import HERE, SMALL


class Paid(gymnasium.Env):
    """Ten steps with the same reward."""

    observation_space = gymnasium.spaces.Box(0, 20, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, reward=1.0, render_mode=None):
        self.paid, self.render_mode = reward, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.full(3, self.t, np.float32), self.paid, self.t >= 10, False, {}

    def render(self):
        return np.zeros((16, 16, 3), np.uint8)


class Tenfold(gymnasium.RewardWrapper):
    def reward(self, reward):
        return 10 * reward


gymnasium.register("Paid-v3", Paid)
gymnasium.register("Other-v3", Paid)


def out():
    return pathlib.Path(tempfile.mkdtemp(dir=HERE.name)) / "run"


def train(env, **keys):
    return broadloom.train(env, out=out(), **{**SMALL, **keys})


def recorded(run, name="manifest.json"):
    return json.loads((pathlib.Path(run) / name).read_text())


def id_of(run):
    return recorded(run)["config"]["env_id"]


def played(run):
    return broadloom.evaluate(run, episodes=2)["mean_return"]


def make():
    return Paid()


class NamesTest(unittest.TestCase):
    """A default name means the environments that had it first."""

    def test_other_arguments_of_an_id(self):
        calls = (
            ({"env_kwargs": {"reward": 2.0}}, "python/Other-v3", 20),
            ({"env_kwargs": {"reward": 3.0}}, "python/Other_2-v3", 30),
            ({"env_kwargs": {"reward": 2.0}, "wrappers": [Tenfold]}, "python/Other_3-v3", 200),
            ({"vectorization": "async"}, "python/Other_4-v3", 10),
            ({"env_kwargs": {"reward": 2.0}}, "python/Other-v3", 20),
            ({}, "gymnasium/Other-v3", 10),
        )
        runs = [train("gymnasium/Other-v3", **given) for given, _, _ in calls]
        for run, (given, name, result) in zip(runs, calls, strict=True):
            with self.subTest(**given):
                self.assertEqual((id_of(run), played(run)), (name, result))

    def test_a_function_that_is_defined_again(self):
        def mine():
            return Paid()

        first = train(mine)

        def mine():
            return Paid(4.0)

        second = train(mine)
        self.assertEqual([id_of(first), id_of(second)], ["python/mine-v0", "python/mine_2-v0"])
        self.assertEqual([played(first), played(second)], [10, 40])

    def test_one_lambda_for_many_seeds_keeps_its_name(self):
        names = {id_of(train(lambda: Paid(5.0), seed=seed)) for seed in (1, 2, 3)}
        self.assertEqual(len(names), 1)

    def test_what_a_function_reads_counts(self):
        found = {}
        for pay in (1.0, 2.0, 1.0):
            found.setdefault(id_of(train(lambda: Paid(pay))), set()).add(pay)
        self.assertEqual(sorted(map(sorted, found.values())), [[1.0], [2.0]])

    def test_sameness(self):
        size = {"a": [1, 2]}

        def reads():
            return size

        def around():
            return make()

        before, outer = recipe_of(reads), recipe_of(around)
        self.assertTrue(same(before, recipe_of(reads)))
        size["a"].append(3)
        self.assertFalse(same(before, recipe_of(reads)))
        self.assertTrue(same(outer, recipe_of(around)))
        with mock.patch.dict(globals(), {"make": lambda: Paid(2)}):
            self.assertFalse(same(outer, recipe_of(around)))
        parts = [recipe_of(functools.partial(Paid, reward)) for reward in (1.0, 1.0, 2.0)]
        self.assertEqual([same(parts[0], part) for part in parts], [True, True, False])
        self.assertTrue(same([np.ones(2)], [np.ones(2)]))
        self.assertFalse(same([np.ones(2)], [np.ones(2, np.float32)]))
        self.assertFalse(same(1, True))

    def test_equal_calls_in_threads(self):
        cases = (
            ("gymnasium/Paid-v3", {"env_kwargs": {"reward": 7.0}}),
            ("gymnasium/Paid-v3", {"wrappers": [Tenfold]}),
            ("gymnasium/Paid-v3", {"vectorization": "async"}),
            (Paid, {"name": "Threads-v0", "wrappers": [Tenfold]}),
            (lambda: functools.partial(make), {"name": "Parts-v0"}),
        )
        for env, keys in cases:
            with self.subTest(str(env), **keys):
                errors, ready = [], threading.Barrier(2)

                def meet(progress, ready=ready):
                    if progress["iteration"] == 1:
                        ready.wait(60)

                def one(env=env, keys=keys, errors=errors, ready=ready, meet=meet):
                    made = env() if keys.get("name") == "Parts-v0" else env
                    try:
                        train(made, on_iteration=meet, **keys)
                    except Exception as error:
                        errors.append(error)
                        ready.abort()

                threads = [threading.Thread(target=one) for _ in range(2)]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                self.assertEqual(errors, [])


class SourcesTest(unittest.TestCase):
    """One name, registered with other environments."""

    def setUp(self):
        broadloom.register("Mine-v0", Paid, env_kwargs={"reward": 1.0})
        self.run_dir = train("Mine-v0", on_iteration=lambda p: False)
        self.assertFalse(self.run_dir.finished)

    def change(self):
        broadloom.register("Mine-v0", Paid, env_kwargs={"reward": 2.0})

    def test_a_resume_refuses_it(self):
        self.change()
        words = (
            r"got 'Paid\(reward=2.0\)', expected 'Paid\(reward=1.0\)'; register that one under "
            "this id"
        )
        with self.assertRaisesRegex(broadloom.Error, words) as caught:
            broadloom.resume(self.run_dir, quiet=True)
        self.assertEqual(caught.exception.kind, "mismatch")
        broadloom.register("Mine-v0", Paid)
        with self.assertRaisesRegex(broadloom.Error, "got a function alone, expected 'Paid"):
            broadloom.resume(self.run_dir, quiet=True)
        broadloom.register("Mine-v0", Paid, env_kwargs={"reward": 1.0})
        self.assertTrue(broadloom.resume(self.run_dir, quiet=True).finished)

    def test_others_say_it(self):
        panel = out().with_name("panel.toml")
        panel.write_text('env_id = "Mine-v0"\nepisodes = 2\nseeds = [1]\n')
        self.change()
        words = r"from 'Paid\(reward=2.0\)' now, and came from 'Paid\(reward=1.0\)' when"
        with self.assertWarnsRegex(UserWarning, words):
            self.assertEqual(played(self.run_dir), 20)
        with self.assertWarnsRegex(UserWarning, words):
            broadloom.evaluate(self.run_dir, panel=panel)
        with self.assertWarnsRegex(UserWarning, words):
            broadloom.watch(self.run_dir, out().with_name("film.gif"))
        self.assertRegex(" ".join(broadloom.audit(self.run_dir)["notes"]), words)
        found = broadloom.gradients(
            self.run_dir,
            out=out(),
            starts="synchronised",
            study="variance",
            batch=32,
            blocks=10,
            shapes="4x8",
        )
        self.assertRegex(json.dumps(found), words)
        notes = io.StringIO()
        with contextlib.redirect_stderr(notes):
            train("Mine-v0", init=self.run_dir, quiet=False)
        self.assertRegex(notes.getvalue(), words)

    def test_a_store_compares_it(self):
        broadloom.register("Stored-v0", Paid, env_kwargs={"reward": 1.0})
        base = {key: value for key, value in SMALL.items() if key != "quiet"}
        definition = {"seeds": 2, "base": {"env_id": "Stored-v0", **base}}
        stores = [out() for _ in range(2)]
        [store.parent.mkdir(exist_ok=True) for store in stores]
        studies = [broadloom.Study(definition, name="s", out=store) for store in stores]
        [studies[0].run(part="1/2", quiet=True) for _ in range(2)]
        broadloom.register("Stored-v0", Paid, env_kwargs={"reward": 2.0})
        words = r"upstream Paid\(reward=1.0\)', .*'upstream Paid\(reward=2.0\)"
        with self.assertRaisesRegex(broadloom.Error, words) as caught:
            studies[0].run(part="1/2", quiet=True)
        self.assertEqual(caught.exception.kind, "mismatch")
        studies[1].run(part="2/2", quiet=True)
        with self.assertRaisesRegex(broadloom.Error, "upstream Paid"):
            broadloom.command("study", "merge", *stores, out=out())

    def test_a_rerun_compares_it(self):
        run = broadloom.resume(self.run_dir, quiet=True)
        source = "Paid(reward=1.0)"
        self.assertEqual(recorded(run)["upstream"], source)
        self.assertEqual(recorded(run, "ledger_line.json")["contract"]["upstream"], source)
        whole = train("Mine-v0")
        self.change()
        found = broadloom.rerun(whole, out=out())
        self.assertFalse(found["agrees"])
        self.assertIn("contract.upstream", json.dumps(found))

    def test_another_version_is_noted_alone(self):
        name = broadloom.register("Versions-v0", "gymnasium/Paid-v3", env_kwargs={"reward": 1.0})
        run = train(name, on_iteration=lambda p: False)
        with mock.patch.object(gymnasium, "__version__", "99.1.0"):
            broadloom.register(name, "gymnasium/Paid-v3", env_kwargs={"reward": 1.0})
        words = r"comes from 'gymnasium 99.1.0: make\('Paid-v3', reward=1.0\)' now"
        with self.assertWarnsRegex(UserWarning, words):
            broadloom.evaluate(run, episodes=2)
        self.assertTrue(broadloom.resume(run, quiet=True).finished)

    def test_addresses_of_objects_do_not_count(self):
        for _ in range(2):
            broadloom.register("Objects-v0", Paid, wrappers=[functools.partial(lambda env: env)])
            if _ == 0:
                run = train("Objects-v0", on_iteration=lambda p: False)
        self.assertRegex(recorded(run)["upstream"], " at 0x")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            broadloom.evaluate(run, episodes=2)
            broadloom.watch(run, out().with_name("film.gif"))
        self.assertTrue(broadloom.resume(run, quiet=True).finished)

    def test_a_report_keeps_them_apart(self):
        runs = []
        for reward in (1.0, 2.0):
            broadloom.register("Mine-v0", Paid, env_kwargs={"reward": reward})
            runs += [train("Mine-v0", seed=seed) for seed in (1, 2)]
        page = out()
        self.assertEqual(broadloom.main(["report", *[run.dir for run in runs], "--out", page]), 0)
        text = next(page.glob("*.html")).read_text()
        self.assertNotIn("All runs have the same settings", text)
        for reward in ("1.0", "2.0"):
            self.assertIn(f"upstream=Paid(reward={reward})", text)
        self.assertRegex(text, "<mark>upstream</mark>")


class GridOfPay(Paid):
    def __init__(self, grid, render_mode=None):
        super().__init__(float(grid.sum()), render_mode)


class ArrayTest(unittest.TestCase):
    """The text of an array of two dimensions has several lines."""

    def test_arguments_may_be_arrays(self):
        lake = np.array([list("SFFF"), list("FHFH"), list("FFFH"), list("HFFG")])
        for source, name, keys in (
            ("gymnasium/FrozenLake-v1", "Lake-v0", {"desc": lake}),
            (GridOfPay, "Grid-v0", {"grid": np.eye(3)}),
        ):
            with self.subTest(name):
                run = train(source, name=name, env_kwargs=keys, on_iteration=lambda p: False)
                self.assertIn("],\n", recorded(run)["upstream"])
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    broadloom.evaluate(run, episodes=2)
                self.assertTrue(broadloom.resume(run, quiet=True).finished)
        broadloom.register("Grid-v0", GridOfPay, env_kwargs={"grid": np.zeros((3, 3))})
        with self.assertRaises(broadloom.Error) as caught:
            broadloom.resume(run, quiet=True)
        self.assertRegex(
            str(caught.exception),
            r"got 'GridOfPay\(grid=array\(\[\[0., 0., 0.\], \[0.*expected '.*\[\[1., 0., 0.\], \[0",
        )

    def test_the_store_of_flags_has_one_name_for_all_sources(self):
        names = set()
        for size in (2, 3):
            broadloom.register("Stores-v0", GridOfPay, env_kwargs={"grid": np.eye(size)})
            plan = broadloom.command("study", "--env_id", "Stores-v0", "--seeds", "2", "--plan")
            names.add(plan["store"])
        self.assertEqual(len(names), 1, names)


class FoldersTest(unittest.TestCase):
    def test_a_run_stays_in_its_folder(self):
        """Though the environment or a callback changes the folder of the process."""

        class Moves(Paid):
            def reset(self, *, seed=None, options=None):
                os.chdir(elsewhere)
                return super().reset(seed=seed)

        def move(progress):
            os.chdir(elsewhere)

        before = os.getcwd()
        cases = ((Moves, {}), ("CartPole-v1", {"on_iteration": move}))
        for number, (env, keys) in enumerate(cases):
            with self.subTest(number):
                start, elsewhere = (tempfile.mkdtemp(dir=HERE.name) for _ in range(2))
                named, keys = f"runs/moved{number}", {"sinks": "csv", **keys}
                try:
                    os.chdir(start)
                    run = broadloom.train(env, out=f"{named}/", **SMALL, **keys)
                    self.assertEqual(os.getcwd(), os.path.realpath(elsewhere))
                    self.assertEqual(run.run_dir, named)
                    self.assertEqual(run.record, "runs/ledger.jsonl:1")
                    self.assertEqual(run.dir, pathlib.Path(start, named))
                    self.assertEqual(len(run.metrics()), 8)
                finally:
                    os.chdir(before)
                self.assertEqual(os.listdir(elsewhere), [])
                whole = pathlib.Path(start, named)
                self.assertEqual(recorded(whole, "ledger_line.json")["run"]["folder"], named)
                self.assertTrue((whole / "metrics.csv").is_file())
                self.assertEqual(len(list((whole / "checkpoints").iterdir())), 2)
                self.assertTrue(pathlib.Path(start, "runs/ledger.jsonl").is_file())

    def test_named_files_lie_in_the_folder_of_the_call(self):
        class Box(Paid):
            action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

        class Moves(Box):
            def reset(self, *, seed=None, options=None):
                os.chdir(elsewhere)
                return super().reset(seed=seed)

        self.addCleanup(os.chdir, os.getcwd())
        start, elsewhere = (os.path.realpath(tempfile.mkdtemp(dir=HERE.name)) for _ in range(2))
        os.chdir(start)
        pathlib.Path("panel.toml").write_text(
            'env_id = "python/MovesPanel-v0"\nepisodes = 2\nseeds = [1]\n'
        )
        broadloom.train(Box, out="first", **SMALL)
        for keys in (
            {"init": "first"},
            {"panel": "panel.toml"},
            {"algorithm": "distill", "teacher": "first", "gradient_length": 8},
        ):
            with self.subTest(keys):
                os.chdir(start)
                kind = type(f"Moves{next(iter(keys)).title()}", (Moves,), {})
                run = broadloom.train(kind, out="-".join(keys), **SMALL, **keys)
                self.assertEqual(os.getcwd(), elsewhere)
                self.assertTrue(run.finished)
                os.chdir(start)
                folder = f"again-{run.run_dir}"
                found = broadloom.rerun(run.run_dir, out=folder)
                self.assertTrue(found["agrees"], found)
                self.assertEqual(found["run_dir"], folder)
                self.assertTrue(pathlib.Path(start, folder, "manifest.json").is_file())
        self.assertEqual(os.listdir(elsewhere), [])


SIGNALLED = """
import os, signal, sys
import broadloom

number = getattr(signal, sys.argv[2])
signal.signal(number, signal.SIG_DFL)  # nohup ignores one
def send(progress):
    if progress["iteration"] == 3:
        if sys.argv[3:] == ["ignore"]:
            signal.signal(number, signal.SIG_IGN)
        os.kill(os.getpid(), number)

if sys.argv[3:] == ["own"]:
    signal.signal(number, lambda *_: print("mine"))
try:
    run = broadloom.train("CartPole-v1", num_envs=4, num_steps=8, total_timesteps=320,
                          out=sys.argv[1], quiet=False, on_iteration=send)
finally:
    handler = signal.getsignal(number)
    print({signal.SIG_DFL: "restored", signal.SIG_IGN: "ignored"}.get(handler, "kept"))
"""


class SignalsTest(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run(
            [sys.executable, "-c", SIGNALLED, *arguments], capture_output=True, text=True
        )

    def test_signals_that_end_a_process_save_the_run(self):
        for name in ("SIGTERM", "SIGUSR1", "SIGHUP"):
            with self.subTest(name):
                folder = str(out())
                done = self.call(folder, name)
                self.assertEqual(done.returncode, 130, done.stderr)
                self.assertIn("restored", done.stdout)
                self.assertIn("go on with broadloom.resume(", done.stderr)
                self.assertIn("step 96", done.stderr)
                self.assertTrue(broadloom.resume(folder, quiet=True).finished)

    def test_a_handler_of_the_users_stays(self):
        done = self.call(str(out()), "SIGTERM", "own")
        self.assertEqual((done.returncode, done.stdout.split()[-2:]), (0, ["mine", "kept"]))

    def test_signals_that_a_callback_ignores_stay_so(self):
        done = self.call(str(out()), "SIGUSR1", "ignore")
        self.assertEqual((done.returncode, done.stdout.split()[-1]), (0, "ignored"), done.stderr)


class KeysTest(unittest.TestCase):
    """Dictionaries of observations: a run says which keys it leaves out, or gives to the policy."""

    def notes_of(self, observation_space, **keys):
        class Keyed(Paid):
            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                return self.observation_space.sample(), {}

            def step(self, action):
                found = super().step(action)
                return self.observation_space.sample(), *found[1:]

        Keyed.observation_space = observation_space
        notes = io.StringIO()
        with contextlib.redirect_stderr(notes), contextlib.redirect_stdout(io.StringIO()):
            train(Keyed, **{"quiet": False, **keys})
        return notes.getvalue()

    def test_keys_that_nobody_reads(self):
        box = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        space = gymnasium.spaces.Dict(policy=box, goal=box)
        self.assertIn("'goal' is not read, only 'policy'", self.notes_of(space))
        self.assertNotIn("not read", self.notes_of(space, observation_keys=(("policy", "goal"),)))
        both = gymnasium.spaces.Dict(policy=box, critic=box)
        self.assertNotIn("not read", self.notes_of(both))

    def test_a_critics_key_that_the_policy_reads(self):
        box = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        space = gymnasium.spaces.Dict(critic=box, state=box)
        self.assertIn("reads every key of the observations, 'critic', too", self.notes_of(space))
        plain = gymnasium.spaces.Dict(goal=box, state=box)
        self.assertNotIn("reads every key", self.notes_of(plain))

    def test_keys_of_spaces_without_keys(self):
        words = r"observation_keys: got \('state', 'state'\) with observations of .* no keys, Box"
        for env in (Paid, "gymnasium/Paid-v3"):
            with self.assertRaisesRegex(broadloom.Error, words):
                train(env, observation_keys="state")


class Rewards(Paid):
    """Its fifth reward is another one."""

    def step(self, action):
        found = super().step(action)
        return found[0], self.paid if self.t == 5 else 1.0, *found[2:]


class SmallTest(unittest.TestCase):
    def test_rewards_that_float32_cannot_hold(self):
        with self.assertRaisesRegex(broadloom.Error, r"gave 1e\+300, expected at most 3.4"):
            train(Rewards, env_kwargs={"reward": 1e300})
        with self.assertRaisesRegex(broadloom.Error, r"reward of step\(\): got None, expected one"):
            train(Rewards, env_kwargs={"reward": None})

    def test_a_seed_draws_as_its_generator(self):
        policy = broadloom.Policy(train("CartPole-v1"))
        rows = np.zeros((20, 4), np.float32)
        drawn = policy.act(rows, rng=np.random.default_rng(3))
        np.testing.assert_array_equal(policy.act(rows, rng=3), drawn)
        with self.assertRaisesRegex(broadloom.Error, "rng: got 'x', expected a NumPy Generator"):
            policy.act(rows, rng="x")

    def test_names_in_gymnasium_get_a_hint(self):
        for given, meant in (
            ("CartPole-v1", "CartPole-v1"),
            ("MinAtar-Breakout-v1", "MinAtar/Breakout-v1"),
        ):
            with self.assertRaisesRegex(broadloom.Error, f"did you mean '{meant}'"):
                train(f"broadloom/{given}")

    def test_choices_have_the_dtype_of_their_space(self):
        env = gymnasium.make("broadloom/FrozenLake-v1").unwrapped
        observation, _ = env.reset(seed=1)
        self.assertIs(type(observation), np.int64)
        self.assertIs(type(env.step(0)[0]), np.int64)


if __name__ == "__main__":
    unittest.main()
