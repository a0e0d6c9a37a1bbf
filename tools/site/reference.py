#!/usr/bin/env python3
"""The reference of the public headers, by Doxygen. `reference.py FOLDER` makes it there and prints
the members without documentation; exit code 77 where there is no Doxygen."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = "cmake/public_headers.txt"


def sections(root=ROOT):
    """[(title, [headers])] of the list, its first comment left out."""
    with open(os.path.join(root, LIST), encoding="utf-8") as file:
        parts = file.read().split("\n\n")[1:]
    return [
        (part.split("\n")[0].lstrip("# "), [line for line in part.split("\n")[1:] if line])
        for part in parts
    ]


def source(header):
    """The file of a header in the repository."""
    return header if os.path.exists(os.path.join(ROOT, header)) else "cli/include/" + header


def purpose(header):
    """The first sentence of a header's comment."""
    with open(os.path.join(ROOT, source(header)), encoding="utf-8") as file:
        top = re.match(r"((?://.*\n)+)", file.read()).group(1)
    paragraph = re.split(r"\n//\n", top)[0]
    text = " ".join(line[2:].strip() for line in paragraph.split("\n"))
    return re.split(r"(?<=\.)\s", text)[0].strip().rstrip(".:") + "."


def main_page():
    lines = [
        "/** \\mainpage The library",
        "",
        "The public headers. Each begins with what it is for and an example.",
        "",
    ]
    for title, headers in sections():
        lines += [f"### {title}", ""]
        lines += [f'- \\ref {header} "{header}": {purpose(header)}' for header in headers] + [""]
    return "\n".join(lines) + "*/\n/** \\namespace broadloom\nAll of the library. */\n"


def make(folder):
    """Makes folder/html. Returns ({header's source: page}, [warnings]); None without Doxygen."""
    if shutil.which("doxygen") is None:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    main = os.path.join(folder, "main.dox")
    with open(main, "w", encoding="utf-8") as file:
        file.write(main_page())
    headers = [source(header) for _, section in sections() for header in section]
    with open(os.path.join(ROOT, "tools", "site", "Doxyfile"), encoding="utf-8") as file:
        settings = file.read()
    tags = os.path.join(folder, "tags.xml")
    settings += "INPUT = " + " ".join([f'"{main}"'] + headers) + "\n"
    settings += f'OUTPUT_DIRECTORY = "{folder}"\nGENERATE_TAGFILE = "{tags}"\n'
    run = subprocess.run(
        ["doxygen", "-"], cwd=ROOT, input=settings, capture_output=True, text=True, check=True
    )
    pages = {}
    for file in xml.etree.ElementTree.parse(tags).getroot().iter("compound"):
        if file.get("kind") == "file" and file.findtext("name").endswith(".h"):
            path = os.path.join(file.findtext("path") or "", file.findtext("name"))
            path = os.path.relpath(path, ROOT) if os.path.isabs(path) else path
            pages[path] = file.findtext("filename")
    return pages, [line.replace(ROOT + "/", "") for line in run.stderr.split("\n") if line.strip()]


def main():
    made = make(os.path.abspath(sys.argv[1]))
    if made is None:
        print("no doxygen: the reference was not made", file=sys.stderr)
        sys.exit(77)
    print("\n".join(made[1]))
    sys.exit(1 if made[1] else 0)


if __name__ == "__main__":
    main()
