"""The pages of the site, their order, and the targets of links to other files."""

import fnmatch
import os
import posixpath
import re
import subprocess

# Section: pages, in order; docs/README.md lists the same kinds. A pattern takes the pages that no
# line before it took.
SECTIONS = [
    ("Start", ["README.md", "docs/README.md"]),
    ("Tutorials", [
        "docs/first_run.md", "docs/python.md", "docs/robots.md", "docs/own_environment.md",
        "docs/envs/MuJoCo.md", "docs/first_week.md", "experiments/worked-run/README.md",
    ]),
    ("Guides", [
        "docs/advise.md", "docs/study.md", "docs/cluster.md", "docs/audit.md", "docs/panel.md",
        "docs/ledger.md", "docs/watch.md", "docs/export.md", "docs/coming_from.md",
        "docs/plugins.md", "docs/networks.md", "docs/normalisation.md", "docs/pqn.md",
        "docs/rnd.md", "docs/distillation.md", "docs/episodes.md",
        "docs/run_ends.md", "docs/shape_schedule.md",
        "docs/instruments.md", "docs/gpu.md", "docs/ranks.md", "docs/envs/Quadruped.md",
        "docs/benchmarks.md",
    ]),
    ("Reference", [
        "docs/reference/*.md", "docs/library.md", "docs/glossary.md", "docs/envs/*.md",
        "docs/formats/*.md",
    ]),
    ("Explanation", [
        "ARCHITECTURE.md", "docs/bits.md", "docs/statistics.md", "docs/gradients.md",
        "docs/trust.md", "docs/adr/README.md", "docs/adr/*.md",
    ]),
    ("Results", [
        "experiments/README.md", "experiments/*.md", "experiments/*/README.md",
        "experiments/*/DETAILS.md",
        "bench/RESULTS.md", "bench/COSTS.md", "bench/peers/README.md", "bench/peers/THRESHOLD.md",
        "bench/peers/POLICIES.md", "bench/peers/RUNNER.md", "bench/gpu/README.md",
        "experiments/*/PREREGISTRATION.md",
    ]),
    ("Project", [
        "CONTRIBUTING.md", "docs/style.md", "VERSIONING.md", "CHANGELOG.md", "SECURITY.md",
        "THIRD_PARTY.md",
    ]),
]  # fmt: skip
# Pages that the site's search shows after all others.
LESS_FOUND = ["CHANGELOG.md", "docs/adr/*.md", "experiments/*/PREREGISTRATION.md"]
# Pages that only their folder needs.
ELSEWHERE = [
    "experiments/*/results/*.md",
    "bench/peers/threshold/*.md",
    "cuda/README.md",
    "tests/*",
    "tests/*/*",
    ".github/*",
]

LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def tracked(root):
    """Files that git has or would add, so that a new page shows before its commit."""
    out = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [
        path
        for path in sorted(set(out.split("\n")))
        if path and os.path.exists(os.path.join(root, path))
    ]


def placed(files):
    """[(section, [pages])]. A page that has no place is an error."""
    left = [
        path
        for path in files
        if path.endswith(".md") and not any(fnmatch.fnmatch(path, pattern) for pattern in ELSEWHERE)
    ]
    sections = []
    for title, patterns in SECTIONS:
        pages = []
        for pattern in patterns:
            depth = pattern.count("/")
            taken = [
                path for path in left if fnmatch.fnmatch(path, pattern) and path.count("/") == depth
            ]
            pages += taken
            left = [path for path in left if path not in taken]
        sections.append((title, pages))
    if left:
        raise SystemExit(f"tools/site/pages.py: no section for {', '.join(left)}")
    return sections


def links(text):
    """Relative links of a page, code left out: (whole, path, anchor)."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", text)):
        link = match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        yield link, path, anchor


def target(page, path):
    """The target of a page's link, from the repository's root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def anchors(text):
    """The anchors of a page's headings, as on GitHub and in the site's table of contents."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    found, seen = set(), {}
    for heading in re.findall(r"^#+ +(.+?) *#*$", text, flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", plain.lower().strip()))
        seen[name] = seen.get(name, -1) + 1
        found.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return found
