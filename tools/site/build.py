#!/usr/bin/env python3
"""Makes the site. Stages the repository's pages, their pictures and all linked files at their own
paths, and runs mkdocs. The reference of the public headers is in api/; links to a public header
lead there.

`--serve` shows the site, and makes it again on every change of a page."""

import fnmatch
import html
import logging
import os
import posixpath
import re
import shutil
import subprocess
import sys

from mkdocs.commands import build, serve
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from pymdownx.slugs import slugify

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402
import reference  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "site")
STAGE = os.path.join(OUT, "pages")
SHIM = "assets/iframe-worker.js"
STYLE = "assets/site.css"
# The three ways in: what one uses, its page, and what it is for.
DOORS = [
    ("Python", "docs/python.html", "Train on your Gymnasium environment."),
    ("The program", "docs/first_run.html", "Train, compare and explain runs from a shell."),
    ("C++", "docs/own_environment.html", "Write an environment, or build on the library."),
]
AGENT = "docs/images/watch_cartpole.svg"
LANGUAGES = {
    ".h": "cpp", ".cc": "cpp", ".toml": "toml", ".sh": "bash", ".py": "python", ".json": "json",
    ".txt": "text",
}  # fmt: skip

API_PAGES = {}  # the reference's page of each public header; empty where there is no Doxygen


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def stage(path, text=None):
    target = os.path.join(STAGE, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if text is None:
        shutil.copyfile(os.path.join(ROOT, path), target)
    else:
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)


def source_page(path):
    """A page that shows a source file in colours, for links to it."""
    language = LANGUAGES.get(os.path.splitext(path)[1], "text")
    return f"# {path}\n\n````{language}\n{read(path)}\n````\n"


def folder_page(folder, files):
    """A page that lists a folder without a README."""
    inside = [path for path in files if posixpath.dirname(path) == folder]
    lines = [
        f"- [{posixpath.basename(path)}]({staged_name(path, files, folder)})" for path in inside
    ]
    return f"# {folder}\n\n" + "\n".join(lines) + "\n"


def staged_name(path, files, start):
    """The link from folder `start` to where the site shows a file or folder of the repository."""
    if path in API_PAGES:
        target = "api/" + API_PAGES[path]
    elif path in files:
        is_source = os.path.splitext(path)[1] in LANGUAGES or "." not in posixpath.basename(path)
        target = path + ".md" if is_source else path
    else:
        target = posixpath.join(path, "README.md")
    return posixpath.relpath(target, start or ".")


def stage_target(path, files):
    """Whatever a page links to, unless it is staged as a page anyhow."""
    if path in API_PAGES:
        return
    if path in files:
        if path.endswith(".md"):
            if not os.path.exists(os.path.join(STAGE, path)):
                stage(path)  # first, since pages may link to each other
                stage_page(path, files)
            return
        if os.path.splitext(path)[1] in LANGUAGES or "." not in posixpath.basename(path):
            stage(path + ".md", source_page(path))
        else:
            stage(path)
    elif posixpath.join(path, "README.md") not in files:
        stage(posixpath.join(path, "README.md"), folder_page(path, files))
        for inside in files:
            if posixpath.dirname(inside) == path:
                stage_target(inside, files)


def plain(text):
    return html.escape(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", ""))


def doors():
    """An agent at work and the ways in, for the start page."""
    cards = "".join(
        f'<a href="{link}"><strong>{name}</strong>{use}</a>' for name, link, use in DOORS
    )
    picture = f'<img class="agent" src="{AGENT}" alt="A trained policy balances a pole">'
    return f'\n<p>{picture}</p>\n<div class="doors">{cards}</div>\n\n'


def gallery(files):
    """Each experiment with a figure: the figure, and its answer in the table of experiments."""
    row = r"^\| \[[^\]]*\]\(([\w-]+)/README\.md\) \| [^|]* \| ([^|]*) \|"
    answers = dict(re.findall(row, read("experiments/README.md"), flags=re.M))
    cards = []
    for page in fnmatch.filter(files, "experiments/*/README.md"):
        text = read(page)
        figure = re.search(r"^!\[([^\]]*)\]\(([^)]+)\)", text, flags=re.M)
        folder = posixpath.relpath(posixpath.dirname(page), "experiments")
        if not figure or folder not in answers:
            continue
        cards.append(
            f'<a href="{folder}/index.html">'
            f'<img src="{folder}/{figure.group(2)}" alt="{plain(figure.group(1))}">'
            f"<strong>{plain(title_of(page))}</strong>"
            f"<span>{plain(answers[folder])}</span></a>"
        )
    return f'\n<div class="gallery">{"".join(cards)}</div>\n\n'


def with_cards(page, text, files):
    """The start page has the ways in after its first paragraph; results have a gallery."""
    if page == "README.md":
        cards, mark = doors(), "\n!["
    elif page == "experiments/README.md":
        cards, mark = gallery(files), "\n| "
    else:
        return text
    before, mark, rest = text.partition(mark)
    return before + cards + mark + rest


def stage_page(page, files):
    text = read(page)
    for link, path, anchor in set(pages.links(text)):
        if not path:
            continue
        target = pages.target(page, path)
        if target not in files and not any(one.startswith(target + "/") for one in files):
            raise SystemExit(f"{page}: links to {link}, which is not in the repository")
        stage_target(target, files)
        new = staged_name(target, files, posixpath.dirname(page)) + ("#" + anchor if anchor else "")
        text = text.replace(f"]({link})", f"]({new})")
    text = with_cards(page, text, files)
    if page == "README.md":  # a cover: wide, without lists of pages beside it
        text = "---\nhide:\n  - navigation\n  - toc\n---\n\n" + text
    if any(fnmatch.fnmatch(page, pattern) for pattern in pages.LESS_FOUND):
        text = "---\nsearch:\n  boost: 0.3\n---\n\n" + text
    stage(page, text)


def title_of(page):
    heading = re.search(r"^# +(.+)$", read(page), flags=re.M)
    return re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)) if heading else page


def stage_reference():
    made = reference.make(os.path.join(OUT, "reference"))
    if made is None:
        print(
            "**** NO REFERENCE of the public headers: there is no doxygen (Debian: doxygen). "
            "All else is made.",
            file=sys.stderr,
        )
        return
    html_pages, warnings = made
    API_PAGES.update(html_pages)
    shutil.copytree(os.path.join(OUT, "reference", "html"), os.path.join(STAGE, "api"))
    for line in warnings:
        print(line, file=sys.stderr)
    print(
        f"reference of {len(html_pages)} public headers, {len(warnings)} warnings", file=sys.stderr
    )


def navigation(sections):
    nav = [
        {title: [{title_of(page): page} for page in section]}
        for title, section in sections
        if section
    ]
    for section in nav:
        if API_PAGES and "Reference" in section:
            section["Reference"].append({"The library's headers": "api/index.html"})
    return nav


def version_words():
    """The version that the pages describe, for the foot of each."""
    version = re.search(r'^version = "(.+)"', read("pyproject.toml"), flags=re.M).group(1)
    revision = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--abbrev=12"], capture_output=True, text=True
    ).stdout.strip()
    return f"Broadloom {version}" + (f", revision {revision}" if revision else "")


def palette(scheme, preference, name, icon):
    """The light and dark colours, and the button that switches them."""
    return {
        "media": f"(prefers-color-scheme: {preference})",
        "scheme": scheme,
        "primary": "indigo",
        "toggle": {"icon": icon, "name": name},
    }


def settings(sections):
    return {
        "site_name": "Broadloom",
        "docs_dir": STAGE,
        "site_dir": os.path.join(OUT, "html"),
        "copyright": version_words(),
        "use_directory_urls": False,  # so that links work from disk
        "theme": {
            "name": "material",
            "font": False,  # the reader's own: no network
            "features": [
                "navigation.tabs",
                "navigation.tabs.sticky",
                "navigation.indexes",
                "navigation.footer",
                "navigation.top",
                "toc.follow",
                "content.code.copy",
                "search.suggest",
                "search.highlight",
            ],
            "palette": [
                palette("default", "light", "Switch to dark mode", "material/weather-night"),
                palette("slate", "dark", "Switch to light mode", "material/weather-sunny"),
            ],
        },
        # Search from disk, without the shim that `offline` would have from elsewhere.
        "plugins": ["search", "offline"],
        "extra_css": [STYLE],
        "extra": {"polyfills": [SHIM], "generator": False},
        "markdown_extensions": [
            "tables",
            "pymdownx.highlight",
            "pymdownx.superfences",
            # Anchors as GitHub makes them.
            {"toc": {"permalink": True, "slugify": slugify(case="lower")}},
        ],
        "validation": {
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
            "nav": {"omitted_files": "ignore"},
        },
        "nav": navigation(sections),
    }


def main():
    logging.basicConfig(level=logging.WARNING)  # mkdocs says which link is wrong
    files = pages.tracked(ROOT)
    shutil.rmtree(STAGE, ignore_errors=True)
    stage_reference()
    sections = pages.placed(files)
    for _, section in sections:
        for page in section:
            stage_page(page, files)
    for path in files:
        if path.endswith((".svg", ".png", ".webp")) and path.startswith(
            ("docs/", "experiments/", "bench/")
        ):
            stage(path)
    os.makedirs(os.path.join(STAGE, "assets"), exist_ok=True)
    for asset in (SHIM, STYLE):
        shutil.copyfile(os.path.join(ROOT, "tools", "site", asset), os.path.join(STAGE, asset))
    config = os.path.join(OUT, "mkdocs.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("site_name: Broadloom\n")
    if sys.argv[1:] == ["--serve"]:
        serve.serve(config_file=config, **settings(sections))
        return
    try:
        build.build(load_config(config, strict=True, **settings(sections)))
    except Abort as error:
        sys.exit(f"the site was not built: {error}")
    print(os.path.relpath(os.path.join(OUT, "html", "index.html"), ROOT))


main()
