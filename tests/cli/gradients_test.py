"""`broadloom gradients`: its files and output, equal with any number of threads, and errors on
wrong input."""

import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
QUICK = ["--blocks", "40", "--bias_budget", "200000"]


def train(folder, *flags):
    subprocess.run(
        [PROGRAM, "train", "--out", folder, "--quiet", "--no_tensorboard", *flags],
        check=True,
        timeout=250,
    )


def newest_checkpoint(run):
    folder = os.path.join(run, "checkpoints")
    return os.path.join(folder, sorted(os.listdir(folder))[-1])


def without_tensor(path, name, out):
    """The safetensors file without one of its tensors."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    del header[name]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data[8 + size :])


class Gradients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cart = os.path.join(cls.folder.name, "cart")
        cls.lake = os.path.join(cls.folder.name, "lake")
        train(
            cls.cart,
            "--env_id",
            "CartPole-v1",
            "--total_timesteps",
            "8192",
            "--hidden_sizes",
            "16,16",
        )
        train(
            cls.lake,
            "--env_id",
            "FrozenLake-v1",
            "--total_timesteps",
            "30000",
            "--num_envs",
            "16",
            "--num_steps",
            "32",
            "--hidden_sizes",
            "16,16",
            "--learning_rate",
            "0.003",
        )

        cls.begin_two_that_take_long()

    @classmethod
    def begin_two_that_take_long(cls):
        long = [PROGRAM, "gradients", cls.cart, "--blocks", "1000000", "--out", "long"]
        cls.quiet, cls.loud = (
            subprocess.Popen(
                [*long, "--threads", "1", *flags],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                cwd=cls.folder.name,
            )
            for flags in (["--quiet"], [])
        )
        for process in (cls.quiet, cls.loud):
            cls.addClassCleanup(process.kill)
        line = cls.loud.stderr.readline()
        cls.began = time.monotonic()
        cls.loud.send_signal(signal.SIGSTOP)
        assert re.search(r"^  0 %  .*; fewer --start_envs take less time$", line), line

    def run_gradients(self, *arguments):
        return subprocess.run(
            [PROGRAM, "gradients", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            timeout=280,
        )

    def report(self, *arguments, out="out"):
        result = self.run_gradients(*arguments, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stderr.splitlines():  # of slow machines
            self.assertRegex(line, r"^ *\d+ %  ")
        with open(os.path.join(self.folder.name, out, "gradients.json"), encoding="utf-8") as file:
            return json.load(file), result.stdout

    def test_a_smaller_pool_of_starts(self):
        some = [self.cart, *QUICK, "--study", "variance", "--shapes", "8x8", "--lambdas", "0.95"]
        pools = [
            self.report(*some, *pool)[0]
            for pool in ([], ["--start_envs", "4096"], ["--start_envs", "32"])
        ]
        found = [pool["variance"][0] for pool in pools]
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])
        refused = self.run_gradients(self.cart, "--start_envs", "8")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("start_envs", refused.stderr)

    # One rests meanwhile: only its clock has to go on, for ten seconds, beside the other tests. The
    # quiet one goes on, since its clock may not have begun when the other's first line comes.
    def test_progress_where_no_terminal_is(self):
        time.sleep(max(0.0, self.began + 10 - time.monotonic()))
        self.loud.send_signal(signal.SIGCONT)
        self.assertRegex(self.loud.stderr.readline(), r"^ *\d+ %  ")
        for process in (self.quiet, self.loud):
            process.terminate()
        self.loud.communicate()
        self.assertEqual(self.quiet.communicate()[1], "")

    def fails(self, code, words, *arguments):
        result = self.run_gradients(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, "one line says it: " + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_every_factorisation_and_what_it_is_made_of(self):
        report, text = self.report(self.cart, "--batch", "12", *QUICK)
        shapes = [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]
        self.assertEqual([(c["num_envs"], c["num_steps"]) for c in report["variance"][::3]], shapes)
        self.assertEqual([c["lambda"] for c in report["variance"][:3]], [0, 0.95, 1])
        for case in report["variance"]:
            parts = sum(case[part]["value"] for part in ("individual", "within", "across"))
            self.assertTrue(math.isclose(parts, case["total"]["value"], rel_tol=1e-3), case)
            self.assertTrue(case["parts_agree"])
            self.assertLess(case["total"]["low"], case["total"]["value"])
            self.assertEqual(case["total"]["count"], 40)
            lags = [
                lag for b in case["within_by_lag"] for lag in range(b["low_lag"], b["high_lag"] + 1)
            ]
            self.assertEqual(lags, list(range(1, case["num_steps"])))
        for case in report["correlation"]:
            self.assertEqual(len(case["batch_means"]["matrix"]), 24)
            for kind in [*case["within"], case["across"]]:
                self.assertEqual(sum(kind["histogram"]["counts"]), kind["pairs"])
        self.assertEqual(len(report["bias"]), 18)
        self.assertNotIn("exact", report)
        self.assertEqual(
            (report["settings"]["starts"], report["settings"]["start_envs"]), ("stationary", 4096)
        )
        for words in (
            "Variance of the batch gradient",
            "Similarity of gradients",
            "Bias of the batch",
            "gradients.html",
        ):
            self.assertIn(words, text)
        with open(
            os.path.join(self.folder.name, "out", "gradients.html"), encoding="utf-8"
        ) as file:
            self.assertIn("CartPole-v1", file.read())

    def test_agreement_under_both_critics(self):
        report, text = self.report(
            self.cart, "--study", "agreement", "--shapes", "2x8,16x1", "--lambdas", "0,0.95", *QUICK
        )
        cases = report["agreement"]
        self.assertEqual(
            len(cases), 2 * 2 * 2 * 2
        )  # shapes, critics, lambdas, with and without normalisation
        self.assertEqual({c["critic"] for c in cases}, {"own", "refitted"})
        for case in cases:
            if case["agreement"]["value"] is not None:
                self.assertTrue(-1 <= case["agreement"]["value"] <= 1)
                self.assertTrue(0 <= case["away"]["value"] <= 1)
        one = [
            c for c in cases if c["num_steps"] == 1 and c["critic"] == "own" and not c["norm_adv"]
        ]
        self.assertEqual(
            one[0]["agreement"], one[1]["agreement"]
        )  # at one step there is nothing for lambda to do
        self.assertGreater(report["critics"]["refitted"], report["critics"]["own"])
        self.assertIn("expected cosine of one block", text)
        self.assertIn("- " + report["summary"][0], text)
        self.assertIn("lambda 0.95", report["summary"][0])
        self.assertEqual(report["settings"]["beyond_limit"], 459)  # 0.99^459 is a hundredth
        self.fails(2, ["stationary"], self.cart, "--study", "agreement", "--starts", "synchronised")
        report, _ = self.report(
            self.cart,
            "--study",
            "agreement,variance",
            "--shapes",
            "2x8",
            "--norm_adv",
            "--start_envs",
            "64",
            *QUICK,
        )
        self.assertEqual(report["settings"]["start_envs"], 64)
        self.assertNotIn("agreement", report)
        self.assertTrue(any(note.startswith("No agreement") for note in report["notes"]))

    def test_the_limit_is_an_end_where_asked_or_trained_so(self):
        some = [
            "--study",
            "agreement,bias",
            "--shapes",
            "4x4",
            "--lambdas",
            "0.95",
            "--blocks",
            "10",
            "--bias_budget",
            "100000",
        ]
        for flags, beyond in (
            ([], 459),
            (["--time_limit", "end"], 0),
            (["--gammas", "0.9,0.5"], 459),
            (["--gammas", "1"], 0),
        ):
            report, _ = self.report(self.cart, *some, *flags)
            self.assertEqual(report["settings"]["beyond_limit"], beyond)
            answer = [note for note in report["notes"] if "takes the time limit as an end" in note]
            self.assertEqual(len(answer), 1 if flags == ["--gammas", "1"] else 0)
        self.fails(
            2, ["--time_limit end"], self.cart, *some, "--gammas", "1", "--time_limit", "continued"
        )
        self.fails(2, ["--time_limit", "'never'"], self.cart, "--time_limit", "never")

    def test_exact_values_where_there_is_a_table(self):
        report, text = self.report(
            self.lake, "--study", "agreement", "--shapes", "4x8,32x1", "--lambdas", "0.95", *QUICK
        )
        self.assertEqual({c["critic"] for c in report["agreement"]}, {"own", "refitted", "exact"})
        self.assertEqual(report["critics"]["samples"], 0)
        self.assertGreater(report["critics"]["exact"], report["critics"]["own"])
        self.assertNotIn("exact", report)
        self.assertIn("exact values", text)

    def test_the_same_for_any_threads_and_anew_for_another_seed(self):
        reports = []
        for extra in (["--threads", "1"], ["--threads", "3"], ["--seed", "2"]):
            report, _ = self.report(self.cart, "--shapes", "2x8,8x2", *QUICK, *extra)
            for key in ("created", "command", "seconds"):
                del report[key]
            del report["settings"]["threads"]
            reports.append(report)
        self.assertEqual(reports[0], reports[1])
        self.assertNotEqual(reports[0]["variance"], reports[2]["variance"])

    def test_sampled_agrees_with_exact(self):
        for starts in ("stationary", "synchronised"):
            report, text = self.report(
                self.lake,
                "--study",
                "exact",
                "--batch",
                "16",
                "--blocks",
                "400",
                "--bias_budget",
                "600000",
                "--starts",
                starts,
            )
            cases = report["exact"]["cases"]
            self.assertEqual(len(cases), 15)
            self.assertEqual(report["exact"]["states"], 16)
            quantities = [
                q for c in cases for q in c.values() if isinstance(q, dict) and q["sampled"]
            ]
            self.assertGreaterEqual(
                len(quantities), 15 * 4
            )  # a cosine that noise drowns has no answer
            # Cases share their samples, so their intervals hold or miss together: most must hold,
            # and all must at twice the width.
            self.assertGreater(
                sum(q["agrees"] for q in quantities), 0.5 * len(quantities), f"{starts}\n{text}"
            )
            for q in quantities:
                low, high = q["sampled"]["low"], q["sampled"]["high"]
                self.assertLess(abs(q["exact"] - (low + high) / 2), high - low, f"{starts}\n{text}")
            for case in cases:  # and none is far off
                total = case["total"]
                self.assertTrue(0.5 < total["sampled"]["value"] / total["exact"] < 2.0, case)

    def test_other_estimators_say_so(self):
        report, text = self.report(
            self.cart,
            "--shapes",
            "4x4",
            "--study",
            "variance",
            "--blocks",
            "20",
            "--norm_adv",
            "--value_term",
            "--entropy_term",
        )
        self.assertEqual(len(report["notes"]), 2)
        self.assertIn("normalised over each block", text)
        self.assertIn("value and entropy terms", text)
        self.assertTrue(report["settings"]["norm_adv"])
        self.assertNotIn("bias", report)

    def test_a_refusal_leaves_no_folder(self):
        out = os.path.join(self.folder.name, "refused")
        for run, *flags in (
            (self.cart, "--loss", "td"),
            (self.cart, "--study", "windows"),
            ("nowhere",),
        ):
            self.fails(3 if run == "nowhere" else 2, [], run, *flags, "--out", out + "/inside")
            self.assertFalse(os.path.exists(out), flags)

    def test_wrong_input(self):
        self.fails(3, ["nowhere"], "nowhere")
        self.fails(
            2, ["4x5", "batch of 20", "16"], self.cart, "--batch", "16", "--shapes", "4x4,4x5"
        )
        self.fails(2, ["8x4", "batch is 16"], self.cart, "--shapes", "4x4,8x4")
        self.fails(2, ["65536x65536", "1048576"], self.cart, "--shapes", "65536x65536")
        self.fails(2, ["'4by4'", "16x64"], self.cart, "--shapes", "4by4")
        self.fails(2, ["blocks is 5", "at least 10"], self.cart, "--blocks", "5")
        self.fails(2, ["--blocks", "'0'"], self.cart, "--blocks", "0")
        self.fails(2, ["'varianse'", "did you mean 'variance'"], self.cart, "--study", "varianse")
        self.fails(2, ["1.5", "0 to 1"], self.cart, "--lambdas", "0.9,1.5")
        self.fails(2, ["--starts", "'now'"], self.cart, "--starts", "now")
        self.fails(2, ["CartPole-v1", "FrozenLake-v1"], self.cart, "--study", "exact")
        self.fails(2, ["norm_adv"], self.lake, "--study", "exact", "--norm_adv")
        self.fails(2, ["lags"], self.cart, "--lags", "0")
        self.fails(2, ["unknown flag '--shape'", "--shapes"], self.cart, "--shape", "4x4")

    def test_damaged_checkpoints(self):
        whole = newest_checkpoint(self.cart)
        cut = os.path.join(self.folder.name, "cut.safetensors")
        with open(whole, "rb") as source, open(cut, "wb") as target:
            target.write(source.read()[:-100])
        self.fails(5, ["cut.safetensors"], cut)
        without = os.path.join(self.folder.name, "without.safetensors")
        without_tensor(whole, "learner.params", without)
        result = self.run_gradients(without)
        self.assertIn(result.returncode, (5, 6), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
