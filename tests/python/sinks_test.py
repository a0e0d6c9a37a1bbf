"""Sinks read the run's folder: each package's own reader finds there what the run wrote, and no
bit of the run moves."""

import contextlib
import csv
import io
import json
import pathlib
import struct
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

import broadloom
from broadloom import sinks

HERE = tempfile.TemporaryDirectory()
KEYS = {
    "total_timesteps": 2048,
    "num_envs": 8,
    "num_steps": 32,
    "hidden_sizes": [8],
    "eval_interval": 2,
    "eval_episodes": 3,
    "quiet": True,
}


def out(name):
    return pathlib.Path(HERE.name) / name


def train(name, **keys):
    return broadloom.train("CartPole-v1", out=out(name), **{**KEYS, **keys})


def tensors(run):
    data = sorted((run.dir / "checkpoints").glob("*.safetensors"))[-1].read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


def logged(run):
    """{(step, name): number} of metrics.jsonl and eval.jsonl, without nested numbers."""
    found = {}
    for name, prefix in (("metrics.jsonl", ""), ("eval.jsonl", "eval/")):
        for line in map(json.loads, (run.dir / name).read_text().splitlines()):
            for key, value in line.items():
                is_own = prefix and key in ("source", "seed", "global_step")
                if isinstance(value, (int, float)) and key != "global_step" and not is_own:
                    found[line["global_step"], prefix + key] = value
    return found


def rows(path):
    """{(step, name): number} of a CSV file."""
    with open(path, newline="") as file:
        return {
            (int(row["global_step"]), name): float(text)
            for row in csv.DictReader(file)
            for name, text in row.items()
            if text and name != "global_step"
        }


class Heard(sinks.Sink):
    """Keeps what it gets."""

    def __init__(self):
        self.opened, self.steps, self.closed = threading.Event(), [], None

    def open(self, run):
        self.opened.set()

    def write(self, step, wall_time, numbers):
        self.steps.append(step)

    def close(self, finished):
        self.closed = finished
        return "here"


class Breaks(Heard):
    def write(self, step, wall_time, numbers):
        raise OSError("the network is down")


class FilesTest(unittest.TestCase):
    def test_csv_has_the_numbers_and_the_bits_stay(self):
        heard = Heard()
        run = train("csv", sinks=["csv", heard])
        plain = train("plain")
        self.assertEqual(tensors(run), tensors(plain))
        got = rows(run.dir / "metrics.csv")
        self.assertLessEqual(logged(run).items(), got.items())
        self.assertEqual(sorted({step for step, _ in got}), list(range(256, 2049, 256)))
        self.assertEqual(heard.steps, sorted(heard.steps))
        self.assertIs(heard.closed, True)
        self.assertEqual(broadloom.log_to(run, "csv"), [str(run.dir / "metrics.csv")])
        self.assertEqual(rows(run.dir / "metrics.csv"), got)
        broadloom.log_to(run, sinks.CSV(out("elsewhere")))
        self.assertEqual(rows(out("elsewhere") / "csv.csv"), got)

    def test_a_run_that_goes_on_is_sent_whole(self):
        run = train("stopped", sinks="csv", on_iteration=lambda p: p["iteration"] < 3)
        self.assertEqual(max(step for step, _ in rows(run.dir / "metrics.csv")), 768)
        run = broadloom.resume(run, quiet=True, sinks="csv")
        self.assertLessEqual(logged(run).items(), rows(run.dir / "metrics.csv").items())

    def test_films_show_the_policy_while_it_trains(self):
        film = sinks.Film(every=512, max_steps=20)
        with mock.patch.object(sinks, "POLL_SECONDS", 0.0):
            run = train("filmed", sinks=film, checkpoint_interval=2)
        self.assertEqual(tensors(run), tensors(train("unfilmed", checkpoint_interval=2)))
        films = sorted((run.dir / "films").iterdir())
        steps = [int(path.stem.removeprefix("step_")) for path in films]
        self.assertEqual(steps, [512, 1024, 1536, 2048])
        self.assertEqual({path.read_bytes()[:6] for path in films}, {b"GIF89a"})
        self.assertGreater(len({path.read_bytes() for path in films}), 1)
        # Afterwards, and from the shell, of the last checkpoint alone.
        place = broadloom.log_to(train("later", checkpoint_interval=2), sinks.Film(max_steps=20))
        self.assertEqual(len(list(pathlib.Path(place[0]).iterdir())), 1)
        with self.assertRaisesRegex(broadloom.Error, "kind='png'; expected steps and gif or mp4"):
            sinks.Film(kind="png")

    def test_environments_of_python_are_filmed_by_another_process(self):
        keys = {"checkpoint_interval": 2, **KEYS}
        words = "expected other sinks.*python -m broadloom.sinks film RUN --follow"
        with self.assertRaisesRegex(broadloom.Error, words):
            broadloom.train("gymnasium/CartPole-v1", out=out("python"), sinks="film", **keys)
        self.assertFalse(out("python").exists())
        run = broadloom.train(
            "gymnasium/CartPole-v1", out=out("python"), on_iteration=lambda p: False, **keys
        )
        with self.assertRaisesRegex(broadloom.Error, words):
            broadloom.resume(run, sinks=sinks.Film(), quiet=True)
        run = broadloom.resume(run, quiet=True)

        class Painted(CartPoleEnv):
            def __init__(self):
                super().__init__(render_mode="rgb_array")

            def render(self):
                return np.full((8, 8, 3), 100, np.uint8)

        place = broadloom.log_to(run, sinks.Film(max_steps=5, env=Painted))[0]
        self.assertEqual(len(list(pathlib.Path(place).glob("*.gif"))), 1)

        words = r"broadloom.register\('python/Painted-v0', ...\) and then broadloom.log_to\(RUN"
        with self.assertRaisesRegex(broadloom.Error, words):
            broadloom.train(Painted, out=out("painted"), sinks=sinks.Film(), **keys)
        self.assertFalse(out("painted").exists())

    def test_new_columns_come_later(self):
        run = train("columns", instruments="plasticity", instrument_every=3, sinks="csv")
        self.assertLessEqual(logged(run).items(), rows(run.dir / "metrics.csv").items())
        self.assertIn((768, "plasticity/dormant"), rows(run.dir / "metrics.csv"))

    def test_another_thread_follows_a_run(self):
        heard, begun, runs = Heard(), threading.Event(), []

        def wait(progress):
            begun.set()
            self.assertTrue(heard.opened.wait(60))

        def work():
            runs.append(train("followed", on_iteration=wait))

        worker = threading.Thread(target=work)
        worker.start()
        self.assertTrue(begun.wait(60))
        self.assertEqual(broadloom.log_to(out("followed"), heard, follow=True), ["here"])
        worker.join()
        self.assertEqual(sorted(set(heard.steps)), list(range(256, 2049, 256)))
        self.assertEqual(heard.steps, sorted(heard.steps))
        self.assertTrue(runs[0].finished)

    def test_a_sink_that_fails_does_not_stop_the_run(self):
        heard = Heard()
        with self.assertWarnsRegex(UserWarning, "Breaks failed .*network is down.*log_to"):
            run = train("broken", sinks=[Breaks(), heard])
        self.assertTrue(run.finished)
        self.assertEqual(max(heard.steps), 2048)

    def test_wrong_calls_say_so(self):
        with self.assertRaisesRegex(broadloom.Error, "sinks: got 'wandbb', expected one of wandb"):
            train("wrong", sinks=["wandbb"])
        with self.assertRaisesRegex(TypeError, "got a int without open, write, close"):
            train("wrong", sinks=[3])
        for name in ("wandb", "mlflow"):
            with (
                mock.patch.dict(sys.modules, {name: None}),
                self.assertRaisesRegex(ModuleNotFoundError, f"pip install {name}"),
            ):
                train("wrong", sinks=[name])
        self.assertFalse(out("wrong").exists())
        with self.assertRaisesRegex(FileNotFoundError, "expected a run's folder"):
            broadloom.log_to(HERE.name, "csv")

    def test_the_shell_has_it(self):
        run = train("shell")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = sinks.main(["csv", str(run.dir), "--dir", str(out("tables"))])
        self.assertEqual((code, printed.getvalue()), (0, f"{run.dir}: {out('tables')}/shell.csv\n"))
        self.assertLessEqual(logged(run).items(), rows(out("tables") / "shell.csv").items())
        runs = list(map(str, (run.dir, run.dir.parent / "ledger.jsonl")))  # as runs/* gives them
        quiet = contextlib.redirect_stdout(io.StringIO())
        with quiet, contextlib.redirect_stderr(io.StringIO()) as printed:
            self.assertEqual(sinks.main(["csv", *runs]), 0)
        self.assertIn("ledger.jsonl: left out", printed.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.assertEqual(sinks.main(["csv", str(out("nothing"))]), 1)
        self.assertIn("expected a run's folder", printed.getvalue())

    def test_tensorboard_reads_settings_and_curves(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

        def read(folder):
            events = EventAccumulator(str(folder))
            events.Reload()
            data = HParamsPluginData()
            data.ParseFromString(
                events.PluginTagToContent("hparams")["_hparams_/session_start_info"]
            )
            return events, data.session_start_info.hparams

        run = train("board", sinks="tensorboard", learning_rate=1e-3)
        events, settings = read(run.dir)  # the run's own curves stay
        self.assertEqual(settings["learning_rate"].number_value, 1e-3)
        self.assertEqual(settings["env_id"].string_value, "CartPole-v1")
        self.assertIs(settings["norm_obs"].bool_value, False)
        self.assertEqual(len(events.Scalars("charts/episodic_return")), 8)
        broadloom.log_to(run, sinks.TensorBoard(out("boards")))
        events, settings = read(out("boards") / "board")
        self.assertEqual(settings["num_envs"].number_value, 8)
        numbers = logged(run)
        for item in events.Scalars("approx_kl") + events.Scalars("eval/mean_return"):
            name = "eval/mean_return" if (item.step, "eval/mean_return") in numbers else ""
            expected = [numbers[item.step, tag] for tag in ("approx_kl", name) if tag]
            self.assertTrue(any(abs(item.value - e) <= 1e-6 * abs(e) for e in expected), item)
        self.assertEqual(len(events.Scalars("eval/mean_return")), 4)
        self.assertTrue(broadloom.resume(run, total_timesteps=2048, quiet=True).finished)


def records(path):
    """Records of a .wandb file: LevelDB's log (blocks of 32 KiB, chunks with checksum, length and
    type), after W&B's own header of 7 bytes."""
    import zlib

    from wandb.proto.wandb_internal_pb2 import Record

    data = path.read_bytes()
    assert data[:4] == b":W&B", data[:8]
    place, whole, found = 7, b"", []
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        check, size, kind = struct.unpack("<IHB", data[place : place + 7])
        chunk = data[place + 7 : place + 7 + size]
        crc = zlib.crc32(bytes([kind]) + chunk)
        assert check == crc, (check, crc)
        whole += chunk
        if kind in (1, 4):  # whole, or last
            record = Record()
            record.ParseFromString(whole)
            found.append(record)
            whole = b""
        place += 7 + size
    return found


class WandBTest(unittest.TestCase):
    def test_its_offline_folder_holds_the_run(self):
        place = out("wandb")
        sink = sinks.WandB(project="poles", mode="offline", dir=place)
        run = train("offline", sinks=[sink], learning_rate=1e-3)
        sink.wandb.teardown()  # its process may write a little later
        files = list(place.glob("wandb/offline-run-*/*.wandb"))
        self.assertEqual(len(files), 1)
        found = records(files[0])
        history, config, project = {}, {}, ""
        for record in found:
            if record.WhichOneof("record_type") == "run":
                project = record.run.project or project
                config |= {item.key: item.value_json for item in record.run.config.update}
            if record.WhichOneof("record_type") != "history":
                continue
            values = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            history |= {(values["_step"], key): value for key, value in values.items()}
        self.assertEqual(project, "poles")
        self.assertEqual(json.loads(config["learning_rate"]), 1e-3)
        self.assertEqual(json.loads(config["env_id"]), "CartPole-v1")
        missing = [
            (key, value, history.get(key))
            for key, value in logged(run).items()
            if history.get(key) != value
        ]
        self.assertEqual(missing, [])
        self.assertEqual(tensors(run), tensors(train("wandb_plain", learning_rate=1e-3)))


class MLflowTest(unittest.TestCase):
    def test_its_store_holds_the_run(self):
        from mlflow.tracking import MlflowClient

        uri = f"sqlite:///{out('mlflow.db')}"
        sink = sinks.MLflow(experiment="poles", tracking_uri=uri)
        run = train("stored", sinks=[sink], on_iteration=lambda p: p["iteration"] < 4)
        client = MlflowClient(tracking_uri=uri)
        experiment = client.get_experiment_by_name("poles").experiment_id
        (stored,) = client.search_runs([experiment])
        self.assertEqual(stored.info.status, "KILLED")
        self.assertEqual(stored.data.params["env_id"], "CartPole-v1")
        self.assertEqual(stored.data.params["num_envs"], "8")
        run = broadloom.resume(run, quiet=True, sinks=sinks.MLflow("poles", uri))
        (stored,) = client.search_runs([experiment])  # the same run, longer
        self.assertEqual(stored.info.status, "FINISHED")
        numbers = logged(run)
        for name in ("approx_kl", "episodic_return", "eval/mean_return"):
            history = client.get_metric_history(stored.info.run_id, name)
            expected = {step: value for (step, key), value in numbers.items() if key == name}
            self.assertEqual({item.step: item.value for item in history}, expected)
            self.assertEqual(len(history), len(expected), name)


if __name__ == "__main__":
    done = unittest.main(exit=False)
    sys.exit(0 if done.result.wasSuccessful() else 1)  # W&B's hook at exit wants no bool
