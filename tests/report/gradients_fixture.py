"""Makes gradients.json texts as docs/formats/gradients.md describes them, with numbers that look like real ones."""

import math
import random


def estimate(value, half, count=512, low=None, high=None):
    return {
        "value": value,
        "low": value - half if low is None else low,
        "high": value + half if high is None else high,
        "count": count,
    }


def histogram(rng, spread, peak, count, bins=50, lean=0.0):
    """A bump at zero with peaks at both ends: peak is their share, lean moves weight to the right one."""
    counts = [0] * bins
    for _ in range(count):
        if rng.random() < peak:
            x = (1 if rng.random() < 0.5 + lean else -1) * (1 - min(1.0, rng.expovariate(18)))
        else:
            x = max(-1.0, min(1.0, rng.gauss(0, spread)))
        counts[min(bins - 1, int((x + 1) / 2 * bins))] += 1
    return {"low": -1.0, "high": 1.0, "counts": counts}


def cosines(rng, mean, size, square, half, peak, lean=0.0, count=1500):
    return {
        "mean": estimate(mean, half),
        "mean_abs": estimate(size, half),
        "mean_square": estimate(square, half),
        "histogram": histogram(rng, 0.35, peak, count, lean=lean),
    }


def batch_matrix(rng, size, common):
    """Cosines between random vectors that share a direction."""
    vectors = [[rng.gauss(common if k == 0 else 0, 1) for k in range(6)] for _ in range(size)]
    norms = [math.sqrt(sum(x * x for x in v)) for v in vectors]
    return [
        [sum(x * y for x, y in zip(a, b)) / (na * nb) for b, nb in zip(vectors, norms)]
        for a, na in zip(vectors, norms)
    ]


LAGS = (1, 2, 3, 5, 7, 10, 20, 40, 50)


def correlation_case(rng, envs, steps, lam, scale):
    within = []
    for lag in LAGS:
        if lag >= steps:
            break
        fade = math.exp(-lag / (6 + 30 * lam))
        c = cosines(
            rng,
            0.05 * fade * (1 - lam),
            0.35 + 0.4 * fade,
            0.2 + 0.4 * fade,
            0.012,
            0.55 * fade + 0.1,
            0.25 * (1 - lam) * fade,
        )
        sign = -0.12 if lam == 0.95 and lag > 2 else 1
        within.append(
            {
                "lag": lag,
                "pairs": 524288 // lag,
                **c,
                "uncentred_mean": estimate(0.02 * fade, 0.004),
                "autocovariance": estimate(
                    scale * sign * 0.3 * fade * rng.uniform(0.8, 1.2), scale * 0.03
                ),
            }
        )
    across = {
        "pairs": 65536,
        **cosines(rng, 0.001, 0.33, 0.18, 0.006, 0.08),
        "uncentred_mean": estimate(0.0, 0.004),
        "autocovariance": estimate(scale * 0.002, scale * 0.01),
    }
    return {
        "num_envs": envs,
        "num_steps": steps,
        "lambda": lam,
        "gamma": 0.99,
        "blocks": 512,
        "within": within,
        "across": across,
        "with_mean": {
            "samples": 524288,
            **cosines(rng, 0.05, 0.42, 0.25, 0.004, 0.4, 0.2 * (1 - lam)),
        },
        "batch_means": {
            "pairs": 130816,
            **cosines(rng, 0.1 + 0.4 * (1 - lam), 0.35 + 0.2 * (1 - lam), 0.2, 0.02, 0.1, 0.2),
            "matrix": batch_matrix(rng, 12, 2 - 1.8 * lam),
        },
    }


def variance_case(rng, envs, steps, lam, batch):
    sample = 4.0 + 60.0 * lam**8
    individual = sample / batch
    length = 1 + 30 * lam**3
    share = min(steps, 200) / (min(steps, 200) + length)
    within = individual * (2.5 * share * lam - 0.35 * share * (1 - lam)) * (0 if steps == 1 else 1)
    across = individual * rng.gauss(0, 0.02)
    total = individual + within + across
    half = 0.06 * total
    squared = 0.02 * total * (8 if lam < 0.5 else 1)
    vif = total / individual
    ranges = [
        (1, 1),
        (2, 3),
        (4, 7),
        (8, 15),
        (16, 31),
        (32, 63),
        (64, 127),
        (128, 255),
        (256, 511),
        (512, 1023),
    ]
    ranges = [(a, min(b, steps - 1)) for a, b in ranges if a < steps]
    weights = [math.exp(-i / 2.5) for i in range(len(ranges))]
    return {
        "num_envs": envs,
        "num_steps": steps,
        "lambda": lam,
        "gamma": 0.99,
        "blocks": 512,
        "total": estimate(total * rng.uniform(0.985, 1.015), half),
        "individual": estimate(individual, 0.02 * individual),
        "within": estimate(within, 0.5 * half),
        "across": estimate(across, 0.05 * individual),
        "within_by_lag": [
            {"low_lag": a, "high_lag": b, "value": estimate(within * w / sum(weights), 0.2 * half)}
            for (a, b), w in zip(ranges, weights)
        ],
        "parts_sum": estimate(total, half),
        "parts_agree": True,
        "sample_variance": estimate(sample, 0.02 * sample),
        "squared_norm": estimate(squared, 0.6 * squared),
        "variance_inflation": estimate(vif, 0.06 * vif),
        "effective_sample_size": estimate(batch / vif, 0.06 * batch / vif),
        "signal_to_noise": estimate(squared / total, 0.7 * squared / total),
        "noise_scale": estimate(
            sample / squared, 0, low=sample / squared / 1.7, high=sample / squared * 2.6
        ),
        "critical_batch": estimate(
            batch * total / squared, 0, low=batch * total / squared / 1.7, high=None
        ),
    }


def bias_case(rng, steps, lam, gamma=0.99):
    norm = 0.4 * (1.02 - lam) / math.sqrt(steps) + 1e-4
    half = 0.004 * (1 + lam)
    value = max(0.0, norm + rng.gauss(0, half / 3))
    if steps >= 512:
        value = 0.0
    return {
        "num_steps": steps,
        "lambda": lam,
        "gamma": gamma,
        "samples": 1 << 24,
        "groups": 64,
        "bias_norm": estimate(value, half, 64, low=max(0.0, value - half)),
        "bias_squared": estimate(
            value * value - (1e-6 if value == 0 else 0), 2 * half * max(value, half), 64
        ),
        "relative_bias": estimate(value / 0.35, half / 0.35, 64, low=max(0.0, value - half) / 0.35),
        "expected_norm": estimate(0.35 - 0.3 * value, half, 64),
        "reference_norm": estimate(0.35, half, 64),
        "cosine": estimate(1 - 0.8 * value, 0.01, 64),
        "stopped": "budget" if lam == 1 else "precision",
    }


def agreement_case(rng, envs, steps, lam, critic, normalised):
    value = {"own": 0.5 - 0.9 / steps, "refitted": 0.7, "exact": 0.8}[critic] - 0.3 * abs(
        lam - 0.95
    )
    return {
        "num_envs": envs,
        "num_steps": steps,
        "lambda": lam,
        "gamma": 0.99,
        "blocks": 512,
        "critic": critic,
        "norm_adv": normalised,
        "agreement": estimate(value + rng.gauss(0, 0.02), 0.05),
        "away": estimate(0.5 - value / 2, 0.04),
    }


def exact_part(rng, cases):
    out = []
    for i, (steps, lam) in enumerate(cases):
        case = {"num_steps": steps, "lambda": lam, "gamma": 0.99}
        truth = {
            "expected_norm": 0.012 * (1 + lam),
            "reference_norm": 0.02,
            "bias_norm": 0.01 * (1.1 - lam) / steps**0.5,
            "cosine": 1 - 0.3 * (1 - lam) / steps,
            "total": 0.002 * steps**0.3 * (0.2 + lam),
        }
        for key, value in truth.items():
            half = 0.04 * value
            sampled = value + half / 2 * rng.gauss(0, 1)
            case[key] = {
                "exact": value,
                "sampled": estimate(sampled, half),
                "agrees": abs(sampled - value) <= half,
            }
        case["total"]["num_envs"] = 64 // steps
        if i == 0:
            case["cosine"].update(sampled=None, agrees=None)
        out.append(case)
    return {
        "states": 64,
        "actions": 4,
        "max_episode_steps": 100,
        "mean_episode_length": 31.4159,
        "mean_return": 0.0421,
        "cases": out,
    }


def frame(lambdas, batch):
    return {
        "format": 1,
        "created": "2026-01-02T03:04:05Z",
        "version": "0.1.0",
        "revision": "0123456789ab",
        "command": ["broadloom", "gradients", "runs/pendulum", "--batch", str(batch)],
        "checkpoint": {
            "file": "runs/pendulum/checkpoints/000440.safetensors",
            "env_id": "Pendulum-v1",
            "iteration": 440,
            "global_step": 450560,
        },
        "policy": {
            "parameters": 4481,
            "hidden_sizes": [64, 64],
            "activation": "tanh",
            "shared_encoder": False,
        },
        "settings": {
            "batch": batch,
            "blocks": 512,
            "groups": 64,
            "confidence": 0.95,
            "starts": "stationary",
            "start_envs": 4096,
            "burn_in": 2000,
            "norm_adv": False,
            "value_term": False,
            "entropy_term": False,
            "truncation_mode": "bootstrap",
            "gamma": 0.99,
            "lambdas": list(lambdas),
            "seed": 1,
            "threads": 2,
        },
        "notes": [],
        "seconds": {"total": 812.5, "variance": 300.1},
    }


def rich(seed=1):
    """Eleven shapes, three lambdas, every study."""
    rng = random.Random(seed)
    lambdas, batch = (0.0, 0.95, 1.0), 1024
    shapes = [(1 << k, batch >> k) for k in range(11)]
    data = frame(lambdas, batch)
    data["notes"] = [
        "Advantages were not normalised; with normalised ones the estimator is another.",
        'A note with </script><script>throw 1</script> and <b>marks</b> & "quotes" stays text.',
    ]
    data["summary"] = [
        "Best shape for one block under the run's critic at lambda 0.95: 1 x 64 (0.49 [0.44, 0.54]); least agrees 64 x 1.",
        "From T = 1 down one block's direction is reversed.",
    ]
    data["agreement"] = [
        agreement_case(rng, n, t, lam, critic, normalised)
        for lam in lambdas
        for n, t in shapes
        for critic in ("own", "refitted", "exact")
        for normalised in (False, True)
    ]
    data["critics"] = {"own": 0.36, "refitted": 0.41, "exact": 0.43, "samples": 0}
    data["correlation"] = [
        correlation_case(rng, n, t, lam, 1 + 20 * lam**8) for lam in lambdas for n, t in shapes
    ]
    data["variance"] = [variance_case(rng, n, t, lam, batch) for lam in lambdas for n, t in shapes]
    data["bias"] = [bias_case(rng, t, lam) for lam in lambdas for _, t in shapes]
    data["exact"] = exact_part(rng, [(t, lam) for lam in lambdas for t in (1, 2, 4, 8, 16, 32, 64)])
    return data


def two_shapes(seed=2):
    """The shapes and lambdas of the published study, two discounts, no exact part, one disagreement of parts."""
    rng = random.Random(seed)
    data = frame((0.0, 0.95, 1.0), 1024)
    shapes = [(16, 64), (4, 256)]
    data["correlation"] = [
        correlation_case(rng, n, t, lam, 1.0) for lam in (0.0, 0.95, 1.0) for n, t in shapes
    ]
    data["variance"] = [
        variance_case(rng, n, t, lam, 1024) for lam in (0.0, 0.95, 1.0) for n, t in shapes
    ]
    data["variance"][0]["parts_agree"] = False
    data["bias"] = [bias_case(rng, t, 0.95, gamma) for gamma in (0.9, 0.99) for t in (1, 16, 256)]
    return data


def of_values(seed=9):
    """PQN's loss: one kind of agreement, under the run's own values alone."""
    rng = random.Random(seed)
    data = frame((0.0, 0.65), 1024)
    data["settings"]["loss"] = "td"
    shapes = [(16, 64), (128, 8)]
    data["agreement"] = [
        agreement_case(rng, n, t, lam, "own", False) for lam in (0.0, 0.65) for n, t in shapes
    ]
    data["critics"] = {"own": None, "refitted": None, "exact": None, "samples": 90000}
    data["variance"] = [
        variance_case(rng, n, t, lam, 1024) for lam in (0.0, 0.65) for n, t in shapes
    ]
    return data


def one_shape(seed=3):
    """One shape and lambda, one-step blocks, and numbers that are missing in many ways."""
    rng = random.Random(seed)
    nothing = {"value": None, "low": None, "high": None, "count": 0}
    data = frame((0.95,), 64)
    case = correlation_case(rng, 64, 1, 0.95, 1.0)  # one step: no pairs within a trajectory
    case["across"]["autocovariance"] = nothing
    case["batch_means"]["matrix"] = [[1.0, None], [None, 1.0]]
    case["with_mean"]["histogram"]["counts"] = [0] * 50
    data["correlation"] = [case]
    data["variance"] = [variance_case(rng, 64, 1, 0.95, 64)]
    data["variance"][0].update(
        signal_to_noise=nothing,
        noise_scale=nothing,
        critical_batch=nothing,
        squared_norm=estimate(-1e-7, 3e-6),
        within=nothing,
        within_by_lag=[],
    )
    data["variance"][0]["total"].update(low=None, high=None)
    data["bias"] = [bias_case(rng, 1, 0.95)]
    data["bias"][0].update(bias_norm=nothing, relative_bias=nothing, stopped="budget")
    data["exact"] = {
        "states": 16,
        "actions": 4,
        "max_episode_steps": None,
        "mean_episode_length": None,
        "mean_return": None,
        "cases": [
            {
                "num_steps": 4,
                "lambda": 0.95,
                "gamma": 0.99,
                "bias_norm": {"exact": 0.01, "sampled": None, "agrees": None},
            }
        ],
    }
    return data


def only(study, seed=4):
    """A file in which one study only was asked for."""
    data = rich(seed)
    return {
        key: value
        for key, value in data.items()
        if key == study
        or key not in ("agreement", "critics", "correlation", "variance", "bias", "exact")
    }


def bare():
    """The least that a file can hold."""
    return {"format": 1}


ALL = {
    "rich": rich,
    "two_shapes": two_shapes,
    "of_values": of_values,
    "one_shape": one_shape,
    "only_variance": lambda: only("variance"),
    "only_exact": lambda: only("exact"),
    "bare": bare,
}
