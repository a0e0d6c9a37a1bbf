#!/usr/bin/env python3
"""Markdown tables of gradients.json files: tables.py gradients.json... > tables.md"""

import json
import sys


def number(x):
    return "-" if x is None else f"{x:.3g}"


def text(estimate):
    if estimate is None or estimate["value"] is None:
        return "-"
    if estimate["low"] is None or estimate["high"] is None:
        return number(estimate["value"])
    return f"{number(estimate['value'])} ({number(estimate['low'])} .. {number(estimate['high'])})"


def share(part, total):
    return "-" if not total["value"] else f"{100 * part['value'] / total['value']:.0f} %"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def variance_and_bias(report):
    """One row a shape and lambda; the bias depends on T and lambda only."""
    bias = {(c["num_steps"], c["lambda"]): c for c in report.get("bias", [])}
    rows = []
    for c in sorted(report["variance"], key=lambda c: (c["lambda"], c["num_envs"])):
        b = bias.get((c["num_steps"], c["lambda"]), {})
        rows.append(
            [
                f"{c['lambda']:g}",
                f"{c['num_envs']} x {c['num_steps']}",
                text(c["total"]),
                share(c["within"], c["total"]),
                text(c["variance_inflation"]),
                text(c["signal_to_noise"]),
                text(b.get("relative_bias")),
                text(b.get("cosine")),
            ]
        )
    table(
        [
            "lambda",
            "N x T",
            "Tr Cov(G_B)",
            "of it within",
            "VIF",
            "signal to noise",
            "bias / |G_T|",
            "cos(E G_B, G_T)",
        ],
        rows,
    )


CRITICS = ("own", "refitted", "exact")


def agreement(report):
    """One row a shape and lambda: advantages as training takes them, normalised over the block."""
    cases = {}
    for c in report["agreement"]:
        if c["norm_adv"]:
            cases.setdefault((c["lambda"], c["num_envs"], c["num_steps"]), {})[c["critic"]] = c
    critics = [name for name in CRITICS if any(name in by_critic for by_critic in cases.values())]
    explained = [
        f"{name} {100 * report['critics'][name]:.1f} %"
        for name in critics
        if report["critics"].get(name) is not None
    ]
    print(
        "Expected cosine of one block's gradient with the true one"
        + (
            f"; share of the returns' variance that the critic explains: {', '.join(explained)}"
            if explained
            else ""
        )
        + ".\n"
    )
    table(
        [
            "lambda",
            "N x T",
            *[f"agreement, {name} critic" for name in critics],
            "blocks that point away, own",
        ],
        [
            [
                f"{lam:g}",
                f"{envs} x {steps}",
                *[
                    text(by_critic[name]["agreement"]) if name in by_critic else "-"
                    for name in critics
                ],
                "-"
                if by_critic["own"]["away"]["value"] is None
                else f"{100 * by_critic['own']['away']['value']:.0f} %",
            ]
            for (lam, envs, steps), by_critic in sorted(cases.items())
        ],
    )


def correlations(report):
    rows = []
    for c in report["correlation"]:
        for kind in [*c["within"], c["across"]]:
            if kind["pairs"] == 0:
                continue
            rows.append(
                [
                    f"{c['lambda']:g}",
                    f"{c['num_envs']} x {c['num_steps']}",
                    kind.get("lag", "across"),
                    text(kind["mean"]),
                    text(kind.get("uncentred_mean")),
                    text(kind["mean_abs"]),
                    text(kind["autocovariance"]),
                ]
            )
        rows.append(
            [
                f"{c['lambda']:g}",
                f"{c['num_envs']} x {c['num_steps']}",
                "blocks' means",
                text(c["batch_means"]["mean"]),
                "",
                text(c["batch_means"]["mean_abs"]),
                "",
            ]
        )
    table(
        ["lambda", "N x T", "lag", "mean cos", "not centred", "mean abs cos", "autocovariance"],
        rows,
    )


def exact(report):
    names = ("expected_norm", "reference_norm", "bias_norm", "cosine", "total")
    cases = report["exact"]["cases"]
    print(
        f"Mean return {report['exact']['mean_return']:.4g}, mean episode {report['exact']['mean_episode_length']:.4g} "
        "steps (solved). Intervals that hold the exact number: "
        + ", ".join(
            f"{name} {sum(c[name]['agrees'] for c in cases if name in c)} of {sum(name in c for c in cases)}"
            for name in names
        )
        + ".\n"
    )
    table(
        ["lambda", "T", *[f"{n}: exact, sampled" for n in names[1:]]],
        [
            [
                f"{c['lambda']:g}",
                c["num_steps"],
                *[
                    f"{number(c[n]['exact'])}, {text(c[n]['sampled'])}" if n in c else "-"
                    for n in names[1:]
                ],
            ]
            for c in cases
        ],
    )


def main(files):
    for name in files:
        report = json.load(open(name, encoding="utf-8"))
        print(
            f"## {report['checkpoint']['env_id']} at step {report['checkpoint']['global_step']:,}\n"
        )
        print(
            f"B = {report['settings']['batch']}, {report['settings']['blocks']} blocks a shape, "
            f"{report['settings']['starts']} starts, gamma {report['settings']['gamma']:g}. In brackets: 95 %.\n"
        )
        if "agreement" in report:
            agreement(report)
        if "variance" in report:
            variance_and_bias(report)
        if "exact" in report:
            exact(report)
        if "correlation" in report and len(report["correlation"]) <= 6:
            correlations(report)


main(sys.argv[1:])
