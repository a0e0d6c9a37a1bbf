#!/usr/bin/env python3
"""tidy_changed.py: prints the source files that clang-tidy must read again, one name per line.
These are files that are not committed, files that changed since the newest commit a day older than
HEAD, and files that include a changed header. Only history decides, so every clone gets the same
list. All sources where clang-tidy's settings changed, or where the history does not reach back a
day. Called at the root of the repository; --root FOLDER for tests."""

import argparse
import pathlib
import re
import subprocess
import sys

SOURCES = ("broadloom/", "research/", "bridges/", "cli/", "cuda/")
SETTINGS = {
    ".clang-tidy",
    "cli/.clang-tidy",
    "tools/check_tidy.sh",
    "tools/tidy_changed.py",
    "tools/tidy_units.py",
}
DAY = 24 * 3600
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def git(root, *arguments):
    """git's output, or None if it fails."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-c", "core.quotePath=false", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
    )
    return done.stdout if done.returncode == 0 else None


def base_commit(root):
    """The newest commit of HEAD's history that is at least a day older than HEAD, or None."""
    if (git(root, "rev-parse", "--is-shallow-repository") or "").strip() != "false":
        return None
    head = git(root, "show", "-s", "--format=%ct", "HEAD")
    if not head:
        return None
    found = git(root, "rev-list", "-1", f"--before={int(head) - DAY}", "HEAD")
    return (found or "").strip() or None


def changed_since(root, commit):
    """Names of changed files, uncommitted ones included."""
    names = set()
    for line in git(root, "diff", "--name-status", "-M", commit).splitlines():
        status, *paths = line.split("\t")
        if status not in ("R100", "D"):
            names.add(paths[-1])
    names.update(git(root, "ls-files", "--others", "--exclude-standard").splitlines())
    return names


def to_read(texts, changed):
    """The sources of texts {name: content} that changed, or include a changed header."""
    includers = {}
    for name, text in texts.items():
        for header in INCLUDE.findall(text):
            includers.setdefault(header, set()).add(name)
    found, seen = set(), set()
    waiting = [name for name in changed if name in texts]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.endswith(".cc"):
            found.add(name)
            continue
        sources = {n for n in includers.get(name, ()) if n.endswith(".cc")}
        found |= sources
        if not sources:  # only headers include it: a source that includes one of them shows it
            waiting += includers.get(name, ())
    return found


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    root = options.parse_args().root
    names = [
        n
        for n in git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        if n.startswith(SOURCES) and n.endswith((".h", ".cc", ".inc")) and (root / n).is_file()
    ]
    sources = {n for n in names if n.endswith(".cc")}
    commit = base_commit(root)
    if commit is None:
        why = "the history does not reach back a day"
    else:
        changed = changed_since(root, commit)
        settings = sorted(changed & SETTINGS)
        if not settings:
            chosen = to_read({n: (root / n).read_text(encoding="utf-8") for n in names}, changed)
            print(
                f"clang-tidy: {len(chosen)} of {len(sources)} sources changed, or a header that "
                "they "
                f"include, since {commit[:12]}",
                file=sys.stderr,
            )
            print("\n".join(sorted(chosen)))
            return
        why = f"{settings[0]} changed since {commit[:12]}"
    print(f"clang-tidy: all {len(sources)} sources, since {why}", file=sys.stderr)
    print("\n".join(sorted(sources)))


if __name__ == "__main__":
    main()
