#!/usr/bin/env python3
"""The article's pictures of per-sample policy gradients, measured with controls.

    article.py check POLICY.npz CHECKPOINT GRADIENTS.json    the gradients are right, or an error
    article.py buffers POLICY.npz CHECKPOINT OUT             batches of one buffer and of five
    article.py noise POLICY.npz CHECKPOINT                   FrozenLake: exact advantages beside GAE
    article.py episodes POLICY.npz CHECKPOINT                FrozenLake: steps and their episode
    article.py histograms GRADIENTS.json...                  cosines that the laboratory counted
    article.py updates GRADIENTS.json...                     its cosines between blocks
    article.py shapes GRADIENTS.json...                      its agreement and inflation

Policies are files of `broadloom export`. Results are CSV on standard output. A sample's gradient is
g = A grad log pi(a|s), as in docs/gradients.md; its sign has no effect on any number here.
"""

import csv
import json
import pathlib
import struct
import sys

import numpy as np

LAMBDAS = (0.0, 0.95, 1.0)
SHAPES = ((4, 256), (16, 64))
SETS, BATCHES, GROUPS = 100, 5, 40
T_975 = 2.023  # Student's t at 0.975 for 39 degrees of freedom
LAKE = "SFFFFFFF FFFFFFFF FFFHFFFF FFFFFHFF FFFHFFFF FHHFFFHF FHFFHFHF FFFHFFFG".split()


def tensor(checkpoint, name):
    """A tensor of float64 numbers in a checkpoint; None if it has none of this name."""
    data = pathlib.Path(checkpoint).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    if name not in header:
        return None
    first, last = header[name]["data_offsets"]
    return np.frombuffer(data[8 + size + first : 8 + size + last], np.float64)


def setting(checkpoint, key):
    data = pathlib.Path(checkpoint).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size])["__metadata__"]["config." + key]


class Policy:
    """Two hidden tanh layers for the policy and for its critic, with gradients by hand."""

    def __init__(self, file, checkpoint, dtype=np.float32):
        self.arrays = {key: value for key, value in np.load(file).items() if key != "policy"}
        about = json.loads(bytes(np.load(file)["policy"]))["about"]
        self.env_id, self.step = about["env_id"], int(about["global_step"])
        self.gaussian = "log_std" in self.arrays
        self.gamma = float(setting(checkpoint, "gamma"))
        variance = tensor(checkpoint, "reward_normalizer.var")
        self.scale = 1.0 if variance is None else 1 / np.sqrt(variance[0] + 1e-8)
        self.arrays = {key: value.astype(dtype) for key, value in self.arrays.items()}

    def inputs(self, observations):
        if not self.gaussian:
            return np.eye(64, dtype=self.arrays["actor.head.bias"].dtype)[observations]
        a = self.arrays
        mean = a["observation_mean"] + a["observation_mean_rest"]
        return np.clip((observations - mean) * a["observation_scale"], -10, 10)

    def layers(self, body, x):
        """Inputs of the three linear layers, and the last one's output."""
        a = self.arrays
        h1 = np.tanh(x @ a[body + ".linear1.weight"].T + a[body + ".linear1.bias"])
        h2 = np.tanh(h1 @ a[body + ".linear2.weight"].T + a[body + ".linear2.bias"])
        return [x, h1, h2], h2 @ a[body + ".head.weight"].T + a[body + ".head.bias"]

    def values(self, observations):
        return self.layers("critic", self.inputs(observations))[1][..., 0]

    def probabilities(self, observations):
        logits = self.layers("actor", self.inputs(observations))[1]
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return odds / odds.sum(axis=-1, keepdims=True)

    def draw(self, observations, rng):
        if self.gaussian:
            mean = self.layers("actor", self.inputs(observations))[1]
            return mean + np.exp(self.arrays["log_std"]) * rng.standard_normal(mean.shape)
        below = self.probabilities(np.arange(64)).cumsum(axis=-1)[observations]
        return (below < rng.random(len(below))[:, None]).sum(axis=-1).clip(max=3)

    def log_probability(self, observations, actions):
        if self.gaussian:
            mean = self.layers("actor", self.inputs(observations))[1]
            log_std = self.arrays["log_std"]
            return (-(((actions - mean) / np.exp(log_std)) ** 2) / 2 - log_std).sum(axis=-1)
        chosen = np.take_along_axis(self.probabilities(observations), actions[..., None], axis=-1)
        return np.log(chosen[..., 0])

    def factors(self, observations, actions):
        """Parts of grad log pi: (delta, input) of each layer, and the part of log_std.

        The gradient for a layer's weights is the outer product of delta and input, that for its
        bias is delta.
        """
        a = self.arrays
        inputs, output = self.layers("actor", self.inputs(observations))
        if self.gaussian:
            distance = (actions - output) / np.exp(a["log_std"])
            head, rest = distance / np.exp(a["log_std"]), distance**2 - 1
        else:
            head = np.eye(4, dtype=output.dtype)[actions] - self.probabilities(observations)
            rest = np.zeros((*output.shape[:-1], 0), output.dtype)
        second = head @ a["actor.head.weight"] * (1 - inputs[2] ** 2)
        first = second @ a["actor.linear2.weight"] * (1 - inputs[1] ** 2)
        return list(zip((first, second, head), inputs, strict=True)), rest


def means(factors, weights):
    """[batches, parameters]: mean of weight * score over the last axis of the weights."""
    layers, rest = factors
    w = weights[..., None].astype(rest.dtype)
    parts = [np.sum(w * rest, axis=-2)]
    for delta, inputs in layers:
        weighted = w * delta
        outer = np.swapaxes(weighted, -1, -2) @ inputs
        parts += [outer.reshape(*outer.shape[:-2], -1), weighted.sum(axis=-2)]
    return np.concatenate(parts, axis=-1) / weights.shape[-1]


def each(factors):
    """[samples, parameters]: the score of every sample."""
    layers, rest = factors
    parts = [rest]
    for delta, inputs in layers:
        parts += [(delta[:, :, None] * inputs[:, None, :]).reshape(len(rest), -1), delta]
    return np.concatenate(parts, axis=-1)


def cosines(rows):
    rows = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows @ np.swapaxes(rows, -1, -2)


def pairs(rows):
    """[sets, pairs]: cosines of all pairs of the last but one axis."""
    above = np.triu_indices(rows.shape[-2], 1)
    return cosines(rows)[..., above[0], above[1]]


def play(policy, environments, steps, seed):
    """Windows of `steps` steps that begin in all phases of episodes: arrays [environment, step]."""
    import broadloom  # noqa: F401  registers the environments
    import gymnasium

    env = gymnasium.make_vec("broadloom/" + policy.env_id, num_envs=environments)
    rng = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    limit = 200  # of an episode, on both tasks
    starts = rng.integers(limit, 2 * limit, environments)
    keep = {key: [] for key in ("observation", "action", "reward", "next", "terminated", "ended")}
    for step in range(2 * limit + steps):
        actions = policy.draw(observations, rng)
        sent = np.clip(actions, -2, 2).astype(np.float32) if policy.gaussian else actions
        following, rewards, terminated, truncated, infos = env.step(sent)
        after = following.copy()
        ended = terminated | truncated
        for one in np.flatnonzero(ended):
            after[one] = infos["final_obs"][one]
        if step >= limit:
            seen = observations, actions, rewards, after, terminated, ended
            for key, value in zip(keep, seen, strict=True):
                keep[key].append(np.array(value))
        observations = following.copy()
    index = starts[:, None] - limit + np.arange(steps)
    rows = np.arange(environments)[:, None]
    data = {key: np.stack(value)[index, rows] for key, value in keep.items()}
    if policy.gaussian:
        data["reward"] = np.clip(data["reward"] * policy.scale, -10, 10)
    return data


def pieces(data, steps):
    """The windows cut into shorter ones: [environment, piece, step]."""
    return {
        key: value.reshape(len(value), -1, steps, *value.shape[2:]) for key, value in data.items()
    }


def gae(data, values, gamma, lam):
    """Advantages along the last axis of the rewards; a block's end and a time limit bootstrap."""
    now, after = values(data["observation"]), values(data["next"])
    error = data["reward"] + gamma * after * ~data["terminated"] - now
    result, following = np.empty_like(error), 0.0
    for t in reversed(range(error.shape[-1])):
        following = error[..., t] + gamma * lam * following * ~data["ended"][..., t]
        result[..., t] = following
    return result


def blocks(data, environments, steps):
    """[block, sample]: consecutive environments make a block; their pieces go to other sets."""
    cut = pieces(data, steps)

    def arrange(value):
        count = len(value) // environments
        value = value[: count * environments].reshape(count, environments, *value.shape[1:])
        value = np.moveaxis(value, 2, 0)  # piece, block, environment, step
        return value.reshape(-1, environments * steps, *value.shape[4:])

    return {key: arrange(value) for key, value in cut.items()}, arrange


def interval(values):
    """Mean and 95 % half-width over independent sets, by Student's t over groups of sets."""
    groups = np.array([part.mean() for part in np.array_split(values, GROUPS)])
    return float(np.mean(values)), T_975 * float(groups.std(ddof=1)) / np.sqrt(GROUPS)


def jackknife(statistic, groups):
    """Value and half-width: delete a group, Student's t."""
    count = groups.max() + 1
    values = np.array([statistic(groups != g) for g in range(count)])
    spread = np.sqrt((count - 1) / count * np.sum((values - values.mean(axis=0)) ** 2, axis=0))
    return statistic(groups >= 0), T_975 * spread


def table(head, rows):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(head)
    for row in rows:
        out.writerow([f"{cell:.5g}" if isinstance(cell, float) else cell for cell in row])


def three(name):
    return [name, name + " low", name + " high"]


def name_of(env_id):
    return env_id.removesuffix("-v1")


def buffers(file, checkpoint, out):
    """Batches of one buffer beside those of five; cosines of samples with their block's mean."""
    policy = Policy(file, checkpoint)
    data = play(policy, SETS * BATCHES * SHAPES[0][0], SHAPES[0][1], seed=1)
    about, summary, heat, with_mean = [name_of(policy.env_id), policy.step], [], [], []
    for environments, steps in SHAPES:
        shape = f"{environments}x{steps}"
        rng = np.random.default_rng(2)
        block, arrange = blocks(data, environments, steps)
        assert len(block["reward"]) == SETS * BATCHES
        size = environments * steps // BATCHES
        order = rng.permuted(np.tile(np.arange(environments * steps), (SETS * BATCHES, 1)), axis=1)
        order = order[:, : size * BATCHES]
        for lam in LAMBDAS:
            weights = arrange(gae(pieces(data, steps), policy.values, policy.gamma, lam))
            fifths, wholes = [], []
            histogram, sums = np.zeros(40), []
            for first in range(0, SETS * BATCHES, 20):
                part = order[first : first + 20]

                def take(values, rows=slice(first, first + 20), part=part):
                    index = part.reshape(part.shape + (1,) * (values.ndim - 2))
                    found = np.take_along_axis(values[rows], index, axis=1)
                    return found.reshape(20, BATCHES, size, *values.shape[2:])

                w = take(weights)
                factors = policy.factors(take(block["observation"]), take(block["action"]))
                fifths.append(means(factors, w))
                wholes.append(fifths[-1].mean(axis=1))
                for one in range(0, 20, 10):  # a tenth of the blocks tells enough
                    found = with_vector(flat(factors, one), wholes[-1][one])
                    found = found * np.sign(w[one].reshape(-1))
                    sums.append([found.mean(), np.abs(found).mean()])
                    histogram += np.histogram(found, 40, (-1, 1))[0]
            fifths = np.concatenate(fifths).reshape(SETS, BATCHES, BATCHES, -1)
            wholes = np.concatenate(wholes).reshape(SETS, BATCHES, -1)
            # Five ways to take one fifth of each of a set's buffers.
            five = np.arange(BATCHES)
            turns = [fifths[:, five, (five + turn) % BATCHES] for turn in range(BATCHES)]
            sources = {
                "one buffer": pairs(fifths).reshape(SETS, -1),
                "five buffers": np.concatenate([pairs(turn) for turn in turns], axis=1),
                "whole blocks": pairs(wholes),
            }
            for source, found in sources.items():
                opposite = found.reshape(-1, 10).min(axis=1).reshape(SETS, -1) < -0.5
                row = [*about, shape, lam, source, found.size]
                for values in (found, np.abs(found), opposite):
                    mean, half = interval(values.mean(axis=1))
                    row += [mean, mean - half, mean + half]
                summary.append(row)
            one, other = sources["one buffer"].mean(axis=1), sources["five buffers"].mean(axis=1)
            mean, half = interval(one - other)
            row = [*about, shape, lam, "difference", "", mean, mean - half, mean + half]
            summary.append([*row, *[""] * 6])
            shown = {"one buffer": fifths[0, 0], "five buffers": turns[0][0]}
            for source, rows in shown.items():
                matrix = cosines(rows)
                heat += [
                    [*about, shape, lam, source, a + 1, b + 1, float(matrix[a, b])]
                    for a in range(BATCHES)
                    for b in range(BATCHES)
                ]
            share = histogram / histogram.sum() / 0.05
            mean, absolute = np.mean(sums, axis=0)
            with_mean += [
                [*about, shape, lam, float(mean), float(absolute), -0.975 + 0.05 * k, float(one)]
                for k, one in enumerate(share)
            ]
    head = ["task", "step", "shape", "lambda"]
    for name, columns, rows in (
        (
            "buffers",
            ["source", "pairs", *three("cosine"), *three("absolute"), *three("opposite")],
            summary,
        ),
        ("heat", ["source", "a", "b", "cosine"], heat),
        ("with_mean", ["mean", "mean absolute", "cosine", "density"], with_mean),
    ):
        path = pathlib.Path(out) / f"{name}_{name_of(policy.env_id).lower()}.csv"
        with path.open("w", encoding="utf-8") as sys.stdout:
            table([*head, *columns], rows)
    sys.stdout = sys.__stdout__


def flat(factors, block):
    """Factors of one block of [block, batch, sample], its samples in one row."""
    layers, rest = factors
    samples = rest.shape[1] * rest.shape[2]
    rows = [(d[block].reshape(samples, -1), x[block].reshape(samples, -1)) for d, x in layers]
    return rows, rest[block].reshape(samples, rest.shape[-1])


def with_vector(factors, vector):
    """Cosine of each sample's score with a vector over all parameters, without storing scores."""
    layers, rest = factors
    product = rest @ vector[: rest.shape[-1]]
    square = np.sum(rest**2, axis=-1)
    place = rest.shape[-1]
    for delta, inputs in layers:
        rows, columns = delta.shape[-1], inputs.shape[-1]
        weights = vector[place : place + rows * columns].reshape(rows, columns)
        bias = vector[place + rows * columns : place + rows * (columns + 1)]
        product = product + np.sum(delta * (inputs @ weights.T + bias), axis=-1)
        square = square + np.sum(delta**2, axis=-1) * (np.sum(inputs**2, axis=-1) + 1)
        place += rows * (columns + 1)
    return product / np.sqrt(square) / np.linalg.norm(vector)


def lake():
    """P[s, a, s'] and mean rewards R[s, a] of the slippery 8x8 lake; ends are left for nothing."""
    P, R = np.zeros((64, 4, 64)), np.zeros((64, 4))
    moves = ((0, -1), (1, 0), (0, 1), (-1, 0))  # left, down, right, up
    for s in range(64):
        for a in range(4):
            for slip in (-1, 0, 1):
                row, column = (
                    min(max(place + move, 0), 7)
                    for place, move in zip(divmod(s, 8), moves[(a + slip) % 4], strict=True)
                )
                if LAKE[row][column] in "SF":
                    P[s, a, 8 * row + column] += 1 / 3
                R[s, a] += (LAKE[row][column] == "G") / 3
    return P, R


def solve(policy):
    """Exact values V[s] and Q[s, a] of a policy that no time limit ends."""
    P, R = lake()
    chosen = policy.probabilities(np.arange(64))
    V = np.linalg.solve(
        np.eye(64) - policy.gamma * np.einsum("sa,sat->st", chosen, P), np.sum(chosen * R, axis=1)
    )
    return V, R + policy.gamma * P @ V


def noise(file, checkpoint):
    """Tr Cov of one block of 128 samples: exact advantages, GAE, and GAE less exact ones."""
    policy = Policy(file, checkpoint, np.float64)
    V, Q = solve(policy)
    states, actions = np.divmod(np.arange(256), 4)
    scores = each(policy.factors(states, actions))
    basis = np.linalg.cholesky(scores @ scores.T + 1e-12 * np.eye(256))
    own_values = policy.values(np.arange(64))
    data, rows = play(policy, 6000, 128, seed=3), []
    seen = np.zeros((64, 4, 64))
    np.add.at(seen, (data["observation"], data["action"], data["next"]), 1)
    P, _ = lake()
    inside = [s for s in range(64) if LAKE[s // 8][s % 8] in "SF"]
    expected = P[:, :, inside] * seen.sum(axis=2, keepdims=True)
    away = np.abs(seen[:, :, inside] - expected) / np.sqrt(np.maximum(expected, 1))
    assert away.max() < 6, (
        f"played transitions differ from the table by {away.max():.1f} deviations"
    )
    for environments, steps in ((1, 128), (4, 32), (32, 4), (128, 1)):
        cut = pieces(data, steps)
        kept = min(cut["reward"].shape[1], 8)
        chosen = np.linspace(0, cut["reward"].shape[1] - 1, kept).astype(int)
        cut = {key: value[:, chosen] for key, value in cut.items()}
        place = 4 * cut["observation"] + cut["action"]
        exact = (Q - V[:, None]).reshape(-1)[place]
        kinds = [("exact advantages", "", exact)]
        for lam in LAMBDAS:
            own = gae(cut, lambda s: own_values[s], policy.gamma, lam)
            solved = gae(cut, lambda s: V[s], policy.gamma, lam)
            kinds += [
                ("GAE, own critic", lam, own),
                ("GAE, exact values", lam, solved),
                ("GAE of exact values less exact advantages", lam, solved - exact),
            ]
        groups = np.repeat(np.arange(len(place)) % GROUPS, kept)
        for kind, lam, advantages in kinds:
            # A block's gradient is a sum over (s, a); the basis has the scores' products.
            index = np.arange(len(place) * kept).reshape(-1, kept, 1) * 256 + place
            weights = np.bincount(
                index.ravel(), advantages.ravel() / steps, 256 * len(place) * kept
            )
            mean_gradients = weights.reshape(-1, 256) @ basis
            squares = np.sum(mean_gradients**2, axis=1)
            count = np.bincount(groups)
            square_sums = np.bincount(groups, squares)
            sums = np.stack([mean_gradients[groups == g].sum(axis=0) for g in range(GROUPS)])

            def variance(mask, count=count, square_sums=square_sums, sums=sums, n=environments):
                keep = np.array([mask[groups == g][0] for g in range(GROUPS)])
                total = count[keep].sum()
                mean = sums[keep].sum(axis=0) / total
                return (square_sums[keep].sum() / total - mean @ mean) / n

            value, half = jackknife(variance, groups)
            shape = f"{environments}x{steps}"
            about = ["FrozenLake8x8", policy.step, shape, kind, lam]
            rows.append([*about, value, value - half, value + half])
    table(["task", "step", "shape", "advantages", "lambda", *three("variance")], rows)


def episodes(file, checkpoint):
    """Cosine of each step's gradient with its episode's mean, beside steps of other episodes."""
    policy = Policy(file, checkpoint)
    data = play(policy, 420, 400, seed=5)
    rng, lam = np.random.default_rng(6), 0.95
    advantages = gae(data, policy.values, policy.gamma, lam)
    found = []  # whole episodes: (environment, first, last + 1), the first of each environment
    for row, ended in enumerate(data["ended"]):
        ends = np.flatnonzero(ended)
        if len(ends) > 1:
            found.append((row, ends[0] + 1, ends[1] + 1))

    def mean_cosine(rows, columns):
        factors = policy.factors(data["observation"][rows, columns], data["action"][rows, columns])
        weights = advantages[rows, columns]
        vector = means(factors, weights)
        return float(np.mean(np.sign(weights) * with_vector(factors, vector)))

    results = []
    for row, first, last in found[:400]:
        steps = np.arange(first, last)
        own = mean_cosine(np.full(len(steps), row), steps)
        others = [found[k] for k in rng.permutation(len(found)) if found[k][0] != row][: len(steps)]
        drawn = mean_cosine(
            np.array([one[0] for one in others]),
            np.array([rng.integers(one[1], one[2]) for one in others]),
        )
        results.append((own, drawn, len(steps), data["reward"][row, first:last].sum()))
    own, drawn, length, reward = np.array(results).T
    row = [policy.step // 128, len(own), *map(float, (length.mean(), reward.mean(), own[0]))]
    for values in (own, drawn, own - drawn):
        mean, half = interval(values)
        row += [mean, mean - half, mean + half]
    head = ["update", "episodes", "steps", "return", "first episode"]
    table([*head, *three("episode"), *three("drawn"), *three("difference")], [row])


def histograms(*files):
    """Histograms of centred cosines that the laboratory counted, as densities."""
    rows = []
    for name in files:
        report = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        about = report["checkpoint"]
        for case in report["correlation"]:
            shape = f"{case['num_envs']}x{case['num_steps']}"
            if shape not in ("4x256", "16x64", "4x32", "32x4") or case["lambda"] != 0.95:
                continue
            kinds = {f"lag {one['lag']}": one for one in case["within"]}
            for kind in ("lag 1", "lag 10", "across"):
                one = kinds.get(kind, case["across"] if kind == "across" else None)
                if one is None:
                    continue
                counts = np.array(one["histogram"]["counts"], float)
                density = counts / counts.sum() * len(counts) / 2
                row = [name_of(about["env_id"]), about["global_step"], shape, kind]
                rows += [[*row, -0.98 + 0.04 * k, float(x)] for k, x in enumerate(density)]
    table(["task", "step", "shape", "pairs", "cosine", "density"], rows)


def updates(*files):
    """Mean cosine between blocks at each update; the file's folder names the run."""
    rows = []
    for name in files:
        report = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        for case in report["correlation"]:
            one = case["batch_means"]
            run = pathlib.Path(name).parent.name
            shape = f"{case['num_envs']}x{case['num_steps']}"
            row = [run, report["checkpoint"]["global_step"] // 128, shape]
            for key in ("mean", "mean_abs"):
                row += [one[key][end] for end in ("value", "low", "high")]
            rows.append(row)
    table(["run", "update", "shape", *three("cosine"), *three("absolute")], sorted(rows))


def shapes(*files):
    """Agreement under each critic, advantages normalised, and inflation under the run's own."""
    rows = []
    for name in files:
        report = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        about = report["checkpoint"]
        inflation = {
            (case["num_envs"], case["lambda"]): case["variance_inflation"]
            for case in report["variance"]
        }
        for case in report["agreement"]:
            if not case["norm_adv"]:
                continue
            shape = f"{case['num_envs']}x{case['num_steps']}"
            row = [name_of(about["env_id"]), about["global_step"], shape]
            row += [case["lambda"], case["critic"], case["blocks"]]
            row += [case["agreement"][end] for end in ("value", "low", "high")]
            spread = inflation[case["num_envs"], case["lambda"]] if case["critic"] == "own" else {}
            row += [spread.get(end, "") for end in ("value", "low", "high")]
            rows.append(row)
    head = ["task", "step", "shape", "lambda", "critic", "blocks"]
    table([*head, *three("agreement"), *three("inflation")], rows)


def check(file, checkpoint, laboratory):
    """Finite differences, and the laboratory's variance and cosine on the same checkpoint."""
    policy, rng = Policy(file, checkpoint, np.float64), np.random.default_rng(7)
    data = play(policy, 16, 64, seed=8)
    some = slice(0, 5)
    observations, actions = data["observation"][:, 0][some], data["action"][:, 0][some]
    scores = each(policy.factors(observations, actions))
    layers = ("actor.linear1", "actor.linear2", "actor.head")
    names = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
    names = ["log_std"] * policy.gaussian + names
    place, worst = 0, 0.0
    for name in names:
        array = policy.arrays[name].reshape(-1)  # a view: changes reach the policy
        for k in rng.choice(len(array), min(20, len(array)), replace=False):
            before, values = array[k], []
            for step in (1e-5, -1e-5):
                array[k] = before + step
                values.append(policy.log_probability(observations, actions))
            array[k] = before
            slope = (values[0] - values[1]) / 2e-5
            off = np.abs(slope - scores[:, place + k]) / (1 + np.abs(slope).max())
            worst = max(worst, off.max())
        place += len(array)
    assert place == scores.shape[1] and worst < 1e-7, (place, worst)
    print(f"{name_of(policy.env_id)} {policy.step}: finite differences agree to {worst:.0e}")
    report = json.loads(pathlib.Path(laboratory).read_text(encoding="utf-8"))
    data = play(policy, 3200, 64, seed=9)
    block, arrange = blocks(data, 16, 64)
    apart = 0
    for case in report["variance"]:
        if (case["num_envs"], case["num_steps"]) != (16, 64):
            continue
        weights = arrange(gae(pieces(data, 64), policy.values, policy.gamma, case["lambda"]))
        rows = []
        for part in (slice(k, k + 25) for k in range(0, len(weights), 25)):
            factors = policy.factors(block["observation"][part], block["action"][part])
            rows.append(means(factors, weights[part]))
        rows = np.concatenate(rows)
        groups = np.arange(len(rows)) % GROUPS
        squares, products = np.sum(rows**2, axis=1), cosines(rows)
        sums = np.stack([rows[groups == g].sum(axis=0) for g in range(GROUPS)])

        def variance(keep, squares=squares, sums=sums, groups=groups):
            mean = sums[[keep[groups == g][0] for g in range(GROUPS)]].sum(axis=0) / keep.sum()
            return (squares[keep].mean() - mean @ mean) * keep.sum() / (keep.sum() - 1)

        def cosine(keep, products=products):
            count = keep.sum()
            return (products[np.ix_(keep, keep)].sum() - count) / count / (count - 1)

        values = {"total": jackknife(variance, groups), "cosine": jackknife(cosine, groups)}
        (cosine_there,) = (
            one["batch_means"]["mean"] for one in report["correlation"]
            if (one["num_envs"], one["lambda"]) == (16, case["lambda"])
        )  # fmt: skip
        estimates = case["total"], cosine_there
        for (name, (value, half)), other in zip(values.items(), estimates, strict=True):
            allowed = 1.5 * np.hypot(half, (other["high"] - other["low"]) / 2)
            apart += abs(value - other["value"]) > allowed
            there = f"{other['value']:.4g} [{other['low']:.4g}, {other['high']:.4g}]"
            here = f"{value:.4g} +- {half:.2g}"
            print(f"  lambda {case['lambda']:g}, {name}: {here}, laboratory {there}")
    assert apart == 0, "script and laboratory differ"


if __name__ == "__main__":
    commands = (check, buffers, noise, episodes, histograms, updates, shapes)
    {one.__name__: one for one in commands}[sys.argv[1]](*sys.argv[2:])
