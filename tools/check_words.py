#!/usr/bin/env python3
"""Checks the words of pages, comments and names against docs/style.md.

    tools/check_words.py                     every check; exit status 1 if one finds a fault
    tools/check_words.py --list openings     each fault of one check, those allowed included
    tools/check_words.py --counts [REVISION] a table of counts, of this tree or of a revision
    tools/check_words.py --lower             lowers the counts of tools/check_words.toml

tools/check_words.toml lists the faults that each folder may still have. A count there only falls.
Spelling needs codespell, readability needs textstat; without them these two checks are skipped.
"""

import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

from source_text import (
    blocks,
    c_code,
    C_LIKE,
    comments,
    HASH_LIKE,
    plain,
    python_nodes,
    sentences,
    without_fences,
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALLOWED = "tools/check_words.toml"
COLUMNS = 100
WORDS_IN_A_SENTENCE = 25
OPENINGS = "What|Of|That|Where|Those|Which"
NAMES = frozenset(
    "of at to from by on into with within those said told that which whose Ears Purse Said".split()
)
WORD_LIMITS = {"README": 700, "pages": 60000, "tutorials, guides, explanations": 30000}
READABILITY_BAR = 38  # LIX of the hardest page when the bar was set
READABLE_FROM = 80  # words of prose; fewer give no stable index

# Files that a program writes, that others wrote, plans that were registered before their runs, and
# the page of bad examples.
NOT_OURS = [
    "*/results/*", "bench/peers/threshold/*", "tests/kept/*", "*/PREREGISTRATION.md",
    "*/iframe-worker.js", "LICENSE", "THIRD_PARTY.md", "docs/style.md", "*.min.js",
    "docs/reference/config.md",
]  # fmt: skip
# Pages that a program writes are not counted among the words.
GENERATED = ["docs/reference/config.md"]
# Pages that list facts. All other pages of docs/ teach, guide or explain.
REFERENCE = [
    "docs/README.md", "docs/reference/*", "docs/formats/*", "docs/envs/*", "docs/adr/*",
    "docs/glossary.md", "docs/library.md", "docs/style.md",
]  # fmt: skip

Fault = collections.namedtuple("Fault", "path line text")


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


class Tree:
    """The text files of a checkout: those that git has, or would have after `git add .`"""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        for path in self.paths():
            is_text = path.endswith((".md", ".py", *C_LIKE, *HASH_LIKE))
            if is_text and not matches(path, NOT_OURS):
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    self.texts[path] = file.read()

    def paths(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            git = ["git", "-c", "safe.directory=*", "-C", self.root, "ls-files", "-z"]
            git += ["--cached", "--others", "--exclude-standard"]
            listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout
            found = set(listed.split("\0")) - {""}  # a path in a merge conflict comes three times
        else:
            found = [
                os.path.relpath(os.path.join(folder, name), self.root)
                for folder, _, names in os.walk(self.root)
                for name in names
            ]
        return sorted(path for path in found if os.path.isfile(os.path.join(self.root, path)))

    def pages(self):
        return {path: text for path, text in self.texts.items() if path.endswith(".md")}

    def code(self):
        return {path: text for path, text in self.texts.items() if not path.endswith(".md")}


# ---- Checks: each gives faults -------------------------------------------------------------------


def check_columns(tree):
    for path, text in tree.texts.items():
        lines = without_fences(text) if path.endswith(".md") else text.split("\n")
        for number, line in enumerate(lines, 1):
            is_free = "://" in line or (
                path.endswith(".md") and line.lstrip().startswith(("|", "!["))
            )
            if len(line) > COLUMNS and not is_free:
                # A single link or path that no one can break is free, too.
                if len(line) - len(max(line.split(), key=len)) < 10:
                    continue
                yield Fault(path, number, f"{len(line)} columns; break the line at {COLUMNS}")


def opening_faults(path, number, text, is_cell=False):
    for one in sentences(text):
        word = re.match(rf"[\"(*_]*({OPENINGS})\b(?!-)", one)
        if word and not (is_cell and one.rstrip('*_)" ').endswith("?")):
            short = one if len(one) <= 60 else one[:57] + "..."
            yield Fault(path, number, f'"{short}" begins with {word.group(1)}; begin with its noun')


def check_openings(tree):
    for path, text in tree.pages().items():
        for number, kind, block in blocks(text):
            yield from opening_faults(path, number, plain(block), kind == "cell")
    for path, text in tree.code().items():
        for number, comment in comments(path, text):
            yield from opening_faults(path, number, comment)


NOT_TYPES = frozenset(
    "return case goto delete throw new else co_return and or not in of typeof await yield".split()
)
DECLARED = re.compile(
    rf"([\w>\])])[&*]*\s+(?:\.\.\.\s*)?({'|'.join(sorted(NAMES))})\s*(?=[,)=;{{\[:(])"
)


def c_names(text):
    code = c_code(text)
    for match in DECLARED.finditer(code):
        name = match.group(2)
        before = re.search(r"\w*$", code[: match.start() + 1]).group(0)
        if before in NOT_TYPES or code.startswith("#", code.rfind("\n", 0, match.start()) + 1):
            continue
        if name == "at" and code[match.end() :].lstrip().startswith("("):
            continue  # as the standard containers have it
        yield code.count("\n", 0, match.start(2)) + 1, name
    for match in re.finditer(r"auto&{0,2}\s*\[([^\]]*)\]", code):
        for name in re.findall(r"\w+", match.group(1)):
            if name in NAMES:
                yield code.count("\n", 0, match.start()) + 1, name


JS_DECLARED = re.compile(
    r"(?:const|let|var|function)\s+(\w+)|(?:const|let|var)\s*([\[{][^\]}]*)[\]}]"
    r"|\(([\w\s,]*)\)\s*(?:=>|\{)"
)


def js_names(text):
    code = c_code(text)
    for match in re.finditer(JS_DECLARED, code):
        for name in re.findall(r"\w+", "".join(filter(None, match.groups()))):
            if name in NAMES:
                yield code.count("\n", 0, match.start()) + 1, name


def check_names(tree):
    for path, text in tree.code().items():
        if path.endswith(".js"):
            found = js_names(text)
        elif path.endswith(C_LIKE) and not path.endswith(".css"):
            found = c_names(text)
        elif path.endswith(".py"):
            found = [one for one in python_nodes(text)[0] if one[1] in NAMES]
        else:
            continue
        for number, name in sorted(set(found)):
            yield Fault(path, number, f"'{name}' is no name; say the thing, as a noun or a verb")


def check_headings(tree):
    """A page's title and headings name a subject; its first lines say the use of the page."""
    for path, text in tree.pages().items():
        for number, kind, block in blocks(text):
            if kind == "heading" and re.match(r"(What|Where|Which|Who|Why|How|When)\b", block):
                yield Fault(path, number, f'the heading "{block}" asks; name its subject')


def check_sentences(tree):
    for path, text in tree.pages().items():
        for number, kind, block in blocks(text):
            if kind in ("heading", "cell"):
                continue
            for one in sentences(plain(block)):
                length = len(re.findall(r"\w[\w'.-]*", one))
                if length > WORDS_IN_A_SENTENCE:
                    text = f'{length} words, at most {WORDS_IN_A_SENTENCE}: "{one[:60]}..."'
                    yield Fault(path, number, text)


def words(text):
    """Words of a page: what stands outside code blocks and has a letter or digit."""
    text = re.sub(r"\]\([^)\s]*\)", "]", "\n".join(without_fences(text)))
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def counted_pages(tree):
    found = {}
    for path in tree.paths():
        is_counted = path in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
        is_counted |= bool(re.match(r"docs/.*\.md$", path)) and path not in GENERATED
        if is_counted:
            with open(os.path.join(tree.root, path), encoding="utf-8") as file:
                found[path] = file.read()
    return found


def word_sums(tree, count=words):
    pages = {path: count(text) for path, text in counted_pages(tree).items()}
    taught = [path for path in pages if not matches(path, REFERENCE)]
    return {
        "README": pages.get("README.md", 0),
        "pages": sum(pages.values()),
        "tutorials, guides, explanations": sum(pages[path] for path in taught),
    }


def check_words(tree):
    for name, count in word_sums(tree).items():
        if count > WORD_LIMITS[name]:
            text = f"{count:,} words in {name}; at most {WORD_LIMITS[name]:,}"
            yield Fault("README.md" if name == "README" else "docs", 0, text)


def prose(text):
    kept = [one for _, kind, one in blocks(text) if kind in ("paragraph", "item")]
    return "\n".join(
        one if one.endswith((".", "?", "!")) else one + "." for one in map(plain, kept)
    )


def readability(tree):
    """{page: LIX}: mean words of a sentence plus the percentage of words of over six letters."""
    from textstat import textstat

    found = {}
    for path, text in tree.pages().items():
        spoken = prose(text)
        if len(spoken.split()) >= READABLE_FROM:
            found[path] = textstat.lix(spoken)
    return found


def check_readability(tree):
    for path, index in readability(tree).items():
        if index > READABILITY_BAR:
            text = f"LIX {index:.0f}, at most {READABILITY_BAR}; use shorter sentences and words"
            yield Fault(path, 0, text)


def check_spelling(tree):
    paths = [path for path in tree.texts]
    codespell = [sys.executable, "-m", "codespell_lib", *paths]
    done = subprocess.run(codespell, cwd=tree.root, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        match = re.match(r"(.+?):(\d+): (.*)", line)
        if match:
            yield Fault(match.group(1).removeprefix("./"), int(match.group(2)), match.group(3))


def check_links(tree):
    script = os.path.join("tests", "docs", "links_test.py")
    if not os.path.exists(os.path.join(tree.root, script)):
        return
    done = subprocess.run([sys.executable, script], cwd=tree.root, capture_output=True, text=True)
    if done.returncode != 0:
        lines = re.findall(r"^\+? ?[-\[ ]*'([\w/.-]+\.md): (.*?)'", done.stderr, flags=re.M)
        for path, text in sorted(set(lines)) or [("docs", done.stderr.strip().split("\n")[-1])]:
            yield Fault(path, 0, text)


CHECKS = {
    "columns": check_columns,
    "openings": check_openings,
    "names": check_names,
    "headings": check_headings,
    "sentences": check_sentences,
    "words": check_words,
    "links": check_links,
    "spelling": check_spelling,
    "readability": check_readability,
}
NEEDS = {"spelling": "codespell_lib", "readability": "textstat"}


def missing_package(check):
    if check not in NEEDS:
        return None
    try:
        __import__(NEEDS[check])
    except ImportError:
        return NEEDS[check].removesuffix("_lib")
    return None


# ---- Faults that the tree may still have ---------------------------------------------------------


def allowed_counts(root):
    path = os.path.join(root, ALLOWED)
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return tomllib.load(file)


def place_of(path, places):
    """The longest listed folder or file that holds a path, or the path itself."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in places:
            return "/".join(parts[:length])
    return path


def by_place(faults, places):
    found = collections.defaultdict(list)
    for fault in faults:
        found[place_of(fault.path, places)].append(fault)
    return found


def show(fault):
    return (
        f"{fault.path}:{fault.line}: {fault.text}" if fault.line else f"{fault.path}: {fault.text}"
    )


def run_checks(root):
    tree, allowed, failed = Tree(root), allowed_counts(root), 0
    pool = concurrent.futures.ThreadPoolExecutor()
    running = {}  # checks by other programs, while the others run here
    for name in ("links", "spelling"):
        if not missing_package(name):
            running[name] = pool.submit(lambda check=CHECKS[name]: list(check(tree)))
    for name, check in CHECKS.items():
        lacking = missing_package(name)
        if lacking:
            print(f"**** SKIPPED: {name}. Install it: python3 -m pip install {lacking}")
            continue
        places = allowed.get(name, {})
        faults = running[name].result() if name in running else check(tree)
        failed += report(name, by_place(faults, places), places)
    return failed


def report(name, found, places):
    """Prints what a check found; gives the number of places with more faults than allowed."""
    failed, left, lowered = 0, 0, 0
    for place in sorted(set(found) | set(places)):
        count, limit = len(found.get(place, [])), places.get(place, 0)
        left += min(count, limit)
        lowered += count < limit
        if count > limit:
            failed += 1
            for fault in found[place][:40]:
                print(show(fault))
            if limit:
                print(f"{place}: {count} faults in '{name}', {ALLOWED} allows {limit}")
    note = f", {left} allowed" if left else ""
    note += f"; --lower can lower {lowered} counts" if lowered else ""
    print(f"{name}: {sum(map(len, found.values()))} found{note}")
    return failed


def lower(root):
    """Writes the counts down to those of today. None rises and none is added."""
    tree, allowed = Tree(root), allowed_counts(root)
    with open(os.path.join(root, ALLOWED), encoding="utf-8") as file:
        lines = file.read().split("\n")
    kept, name, found = [], None, {}
    for line in lines:
        table = re.fullmatch(r"\[(\w+)\]", line)
        entry = re.fullmatch(r'"?([^"=]+?)"? = (\d+)(.*)', line)
        if table:
            name = table.group(1)
            skipped = missing_package(name)
            found = None if skipped else by_place(CHECKS[name](tree), allowed[name])
        if entry and found is not None:
            count = min(int(entry.group(2)), len(found.get(entry.group(1), [])))
            line = f'"{entry.group(1)}" = {count}{entry.group(3)}' if count else None
        if line is not None:
            kept.append(line)
    with open(os.path.join(root, ALLOWED), "w", encoding="utf-8") as file:
        file.write("\n".join(kept))


def counts(root):
    tree = Tree(root)
    rows = [
        ("comments", sum(1 for path, text in tree.code().items() for _ in comments(path, text)))
    ]
    for name in ("openings", "names", "columns", "headings", "sentences"):
        rows.append((name, len(list(CHECKS[name](tree)))))
    rows += [(f"words: {name}", count) for name, count in word_sums(tree).items()]
    as_wc = word_sums(tree, lambda text: len(text.split()))
    rows += [(f"words as `wc -w` counts: {name}", count) for name, count in as_wc.items()]
    if not missing_package("readability"):
        indices = sorted(readability(tree).values())
        rows.append(("readability, median page (LIX)", round(indices[len(indices) // 2])))
        rows.append(("readability, hardest page (LIX)", round(indices[-1])))
    return rows


def print_counts(root, revision):
    if revision is None:
        rows = counts(root)
    else:
        folder = tempfile.mkdtemp()
        try:
            archive = subprocess.run(
                ["git", "-c", "safe.directory=*", "-C", root, "archive", revision],
                check=True, stdout=subprocess.PIPE,
            )  # fmt: skip
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
            rows = counts(folder)
        finally:
            shutil.rmtree(folder)
    for name, count in rows:
        print(f"{count:>8,}  {name}")


def main(arguments):
    if arguments[:1] == ["--counts"]:
        print_counts(ROOT, arguments[1] if len(arguments) > 1 else None)
    elif arguments[:1] == ["--list"] and len(arguments) == 2 and arguments[1] in CHECKS:
        for fault in CHECKS[arguments[1]](Tree(ROOT)):
            print(show(fault))
    elif arguments == ["--lower"]:
        lower(ROOT)
    elif arguments:
        print(__doc__)
        return 2
    else:
        failed = run_checks(ROOT)
        if failed:
            print(f"check_words.py: {failed} places have faults; docs/style.md has the rules")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
