#!/usr/bin/env python3
"""Compares the program's printed text with the approved texts in tests/cli/wording/.

    wording_test.py PROGRAM            fails and shows a diff if a text differs from the approved
    one wording_test.py --approve PROGRAM  writes today's texts as the approved ones

Each approved file shows commands of one topic, their exit codes and their output. Paths, versions,
times and numbers that depend on the machine are replaced. Read the diff of these files in a review.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wording")
COMMANDS = [
    "train", "eval", "advise", "study", "study merge", "report", "audit", "gradients", "curve",
    "watch", "export", "compare", "diff", "rerun", "env", "env list", "env show", "env check",
    "env bench", "bench", "zoo",
]  # fmt: skip
SMALL = "--total_timesteps 1024 --num_envs 2 --num_steps 64 --isa exact --threads 1"

# Files in the folder of the calls, by name.
FILES = {
    "key.toml": "num_envs = 4\nlerning_rate = 0.1\n",
    "alias.toml": "n_envs = 8\nlr = 0.1\n",
    "value.toml": "num_envs = 4\nnum_steps = 'many'\n",
    "twice.toml": "num_envs = 4\nnum_envs = 8\n",
    "syntax.toml": "num_envs = = 4\n",
    "option.toml": "env_id = 'FrozenLake-v1'\n\n[env]\nis_slipery = false\n",
    "strata.toml": "[strata.wind]\nforze = [1, 2]\n",
    "config.toml": "env_id = 'CartPole-v1'\nnum_envs = 4\n",
    "study.toml": "seeds = 2\n[base]\nenv_id = 'CartPole-v1'\n",
    "grid.toml": "seeds = 2\n[grid]\nlearning_rat = [0.1, 0.2]\n",
    "panel.toml": "env_id = 'CartPole-v1'\nepisodes = 4\nseeds = [1]\n",
    "bad_panel.toml": "env_id = 'CartPole-v1'\nepisods = 4\n",
    "text.txt": "not a checkpoint\n",
    "folder/readme.txt": "no run\n",
}

# Runs and results that later commands use. Their output is not compared.
PREPARED = [
    f"train {SMALL} --out runs/a --hashes --quiet",
    f"train {SMALL} --out runs/b --hashes --quiet --seed 2",
    f"train {SMALL} --out runs/c --quiet --ledger none",
    "export runs/a --out taken.onnx --quiet",
    "study study.toml --num_envs 2 --num_steps 64 --total_timesteps 1024 --isa exact --out s.sqlite"
    " --no_report --quiet",
]

TOPICS = {
    "calls": [
        "",
        "trian",
        "train --n-steps 64",
        "train --lerning_rate 0.1",
        "train --track",
        "train --cuda",
        "train --config config.toml",
        "report --track store",
        "train --out",
        "train --out=",
        "train --threads -1",
        "train --threads many",
        "train --hashes=maybe",
        "train --no-hashes=true",
        "train 64",
        "train folder",
        "eval",
        "eval runs/a --episodes 0",
        "eval runs/a --actions best",
        "eval runs/a --panel panel.toml --seed 2",
        "eval runs/a --markdown",
        "advise --time soon",
        "advise --for fun",
        "study --num_envs 4",
        "study --seeds 0",
        "study --seeds 2 --grid learning_rate",
        "study --seeds 2 --grid hidden_sizes=64,32",
        "study study.toml --parts 2",
        "study study.toml --launcher slrum",
        "study study.toml --part 3/2",
        "gradients runs/a --study noise",
        "gradients runs/a --shapes 4by4",
        "curve runs/a --out curve.png",
        "watch runs/a --out page.pdf",
        "export runs/a --out policy.bin",
        "export runs/a --format tensorflow",
        "compare runs/a",
        "compare runs/a runs/b",
        "compare runs/a runs/a --panel panel.toml",
    ],
    "settings": [
        "train key.toml",
        "train alias.toml",
        "train value.toml",
        "train twice.toml",
        "train syntax.toml",
        "train option.toml",
        "train strata.toml",
        "train --num_envs 0",
        "train --num_envs 1.5",
        "train --learning_rate fast",
        "train --gamma 1.5",
        "train --hidden_sizes 64,0",
        "train --lr_schedule cosine",
        "train --total_timesteps 10",
        "train --num_minibatches 4096",
        "train --shape_schedule '8x128 @ 0.5'",
        "train --instruments gradients",
        "train --algorithm pqn --clip_coef 0.1",
        "train --max_grad_norm nan",
        "train --env_id CartPole-v2",
        "train --env.gravity -3000",
        "train --env.gravty 9",
        "train --strata.wind.gravity 9..8",
        "train --disturb.action_delay -1",
        "train --curriculum easy",
        "train --isa avx1024",
        "study grid.toml",
        "study --seeds 2 --shapes 4x64 --batch 512",
    ],
    "files": [
        "train nothing.toml",
        "train study.toml",
        "train panel.toml",
        "study config.toml",
        "eval runs/a --panel config.toml",
        "eval runs/a --panel bad_panel.toml",
        "eval nothing",
        "eval folder",
        "eval text.txt",
        "train --out runs/a",
        "train --resume nothing",
        "train --resume folder",
        "train --resume runs/a --out runs/d",
        "train --resume runs/a --learning_rate 0.1",
        "train --resume runs/a --total_timesteps 100",
        "train --init folder",
        "train --out config.toml/run",
        "rerun nothing.jsonl",
        "rerun runs",
        "rerun runs/ledger.jsonl:x",
        "rerun runs/ledger.jsonl:9",
        "rerun text.txt",
        "diff runs/a runs/c",
        "diff runs/a folder",
        "report nothing.sqlite",
        "report text.txt",
        "study study.toml --num_envs 4 --num_steps 64 --total_timesteps 1024 --out s.sqlite",
        "study merge s.sqlite s.sqlite --out merged.sqlite",
        "export runs/a --out taken.onnx",
        "curve folder",
        "compare runs/a text.txt --panel panel.toml",
        "bench nothing.toml",
        "train --env_id plugin:libnothing.so:Task-v0",
        "eval runs/a --allow_plugin nothing.so",
    ],
    "results": [
        f"train {SMALL} --out runs/d",
        f"train {SMALL} --out runs/e --panel panel.toml --instruments audit --instrument_every 2",
        f"train {SMALL} --out runs/f --init runs/a --total_timesteps 1000",
        "train --resume runs/d --threads 1",
        "train --resume runs/d --total_timesteps 2048",
        "eval runs/a --episodes 1",
        "eval runs/a --episodes 20 --max_steps 5",
        "eval runs/a --panel panel.toml",
        "compare runs/a runs/b --panel panel.toml",
        "diff runs/a runs/b",
        "diff runs/a runs/a",
        "rerun runs/ledger.jsonl --out runs/again",
        "audit runs/a --iterations 2",
        "curve runs/a runs/b",
        "watch runs/a --max_steps 5",
        "export runs/a --out policy.npz",
        "study study.toml --num_envs 2 --num_steps 64 --plan",
        "env show CartPole-v1",
        "env check CartPole-v1",
        "env bench CartPole-v1 --num_steps 100 --threads 1",
    ],
}

# Text that depends on the machine or the build, and its replacement.
REPLACED = [
    (r"broadloom \d+\.\d+\.\d+ \([^)]*\)", "broadloom VERSION"),
    (r"\b(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "HASH"),
    (r"\d+ MB allowed", "N MB allowed"),
    (r"\d[\d,]* +steps/s", "N steps/s"),
    (r"\b\d+\.\d s\b|\b\d+:\d\d\b", "TIME"),
    (r"(\d threads?, )\w+(?=: )", r"\1ISA"),
    (r"-?\b\d+\.\d+(e[-+]\d+)?(?! %|\w)", "X"),
]


def words_of(command):
    return [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)]


def call(program, command, folder):
    environment = {**os.environ, "LC_ALL": "C", "COLUMNS": "100"}
    return subprocess.run(
        [program, *words_of(command)],
        cwd=folder, capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip


def same_everywhere(text, topic, folder):
    rules = REPLACED if topic == "results" else REPLACED[:2]
    text = text.replace(os.path.realpath(folder), "FOLDER")
    for pattern, replacement in rules:
        text = re.sub(pattern, replacement, text)
    lines = [line.rstrip() for line in text.splitlines()]
    if topic == "results":
        # Lines of progress come as time passes. A rerun's fields are data of the machine.
        progress = re.compile(r"[\d, ]+/ [\d,]+ steps|[ \d]+%  |  agrees +(?!config)|  x ")
        lines = [re.sub(r" {2,}", "  ", line) for line in lines if not progress.match(line)]
    return "\n".join(lines)


def answer(program, command, folder, topic):
    result = call(program, command, folder)
    parts = [f"$ broadloom {command}".rstrip()]
    texts = [same_everywhere(text, topic, folder) for text in (result.stdout, result.stderr)]
    parts += filter(None, texts)  # a text of progress alone is left out
    return "\n".join(parts) + f"\n[exit code {result.returncode}]\n"


def entries(page):
    """The page's lines; those that continue an entry of help are with its first line."""
    return re.split(r"\n(?! {3,}\S)", page)


def help_pages(program, folder):
    """The help of each command. Entries of train's help are left out of the pages after it."""
    pages, known = [answer(program, "--help", folder, "help")], set()
    for command in COMMANDS:
        all_of_it = entries(answer(program, f"{command} --help", folder, "help"))
        kept = [entry for entry in all_of_it if not entry.strip() or entry not in known]
        pages.append(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)))
        known = known or set(all_of_it[1:-2])
    return "\n".join(pages)


def printed_texts(program):
    """{topic: the text of its approved file}."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        texts = {"help": help_pages(program, folder)}
        for command in PREPARED:
            done = call(program, command, folder)
            if done.returncode != 0:
                sys.exit(f"cannot prepare `broadloom {command}`: {done.stderr}")
        for topic, commands in TOPICS.items():
            answers = [answer(program, command, folder, topic) for command in commands]
            texts[topic] = "\n".join(answers)
    return texts


def approved(topic):
    path = os.path.join(FOLDER, topic + ".txt")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def approve(texts):
    os.makedirs(FOLDER, exist_ok=True)
    for topic, text in texts.items():
        with open(os.path.join(FOLDER, topic + ".txt"), "w", encoding="utf-8") as file:
            file.write(text)


def compare(texts):
    """Prints the differences from the approved texts; returns how many topics differ."""
    differ = 0
    for topic, text in texts.items():
        lines = list(difflib.unified_diff(
            approved(topic).splitlines(), text.splitlines(),
            f"approved {topic}.txt", "printed now", lineterm="",
        ))  # fmt: skip
        print("\n".join(lines))
        differ += bool(lines)
    return differ


def main(arguments):
    approves = arguments[:1] == ["--approve"]
    programs = arguments[1:] if approves else arguments
    if len(programs) != 1:
        print(__doc__)
        return 2
    texts = printed_texts(os.path.abspath(programs[0]))
    if approves:
        approve(texts)
        return 0
    differ = compare(texts)
    if differ:
        print(
            f"{differ} texts are not the approved ones. If the new wording is right, run\n"
            f"  tests/cli/wording_test.py --approve {programs[0]}"
        )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
