"""Pages and sources as text: prose of Markdown, comments and code."""

import ast
import functools
import re

C_LIKE = (".h", ".cc", ".cu", ".cuh", ".c", ".js", ".css")
HASH_LIKE = (".sh", ".cmake", ".toml", ".yml", ".yaml", "CMakeLists.txt", "Dockerfile")


# ---- Markdown ------------------------------------------------------------------------------------


def without_fences(text):
    """The lines of a page, with those of code blocks empty."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and mark.group(1).startswith(fence):
                fence = None
            lines.append("")
        elif mark:
            fence = mark.group(1)
            lines.append("")
        else:
            lines.append(line)
    return lines


def plain(text):
    """Prose as a reader hears it: code is one word, a link is its text."""
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", re.sub(r"<[^>]+>", "", text))


def blocks(text):
    """(line, kind, text) for each heading, paragraph, list item and table cell of a page."""
    found, block = [], None
    for number, line in enumerate(without_fences(text) + [""], 1):
        stripped = line.strip()
        item = re.match(r"([-*+]|\d+\.)\s+(\[.\]\s+)?", stripped)
        if block and (not stripped or item or stripped[0] in "#|"):
            found.append(tuple(block))
            block = None
        if not stripped or re.fullmatch(r"[-|: ]+", stripped):
            continue
        if stripped.startswith("#"):
            found.append((number, "heading", stripped.lstrip("# ")))
        elif stripped.startswith("|"):
            cells = re.split(r"(?<!\\)\|", stripped.strip("|"))
            found += [(number, "cell", cell.strip()) for cell in cells if cell.strip()]
        elif block:
            block[2] += " " + stripped
        else:
            block = [
                number,
                "item" if item else "paragraph",
                stripped[item.end() :] if item else stripped,
            ]
    return found


def sentences(text):
    return [one for one in re.split(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z\"(*`\[])", text.strip()) if one]


# ---- Comments ------------------------------------------------------------------------------------

C_TOKEN = re.compile(
    r"""(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])|R"(\w*)\(.*?\)\1\""""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.S,
)


@functools.lru_cache(maxsize=None)
def c_tokens(text):
    return list(C_TOKEN.finditer(text))


def c_comments(text):
    for match in c_tokens(text):
        comment = match.group("comment")
        if comment:
            body = re.sub(r"^(///?<?!?|/\*+)|\*/$", "", comment)
            start = text.rfind("\n", 0, match.start()) + 1
            alone = not text[start : match.start()].strip()
            first = text.count("\n", 0, match.start()) + 1
            for offset, line in enumerate(body.split("\n")):
                yield first + offset, re.sub(r"^\s*\*?\s?", "", line), alone


PYTHON_TOKEN = re.compile(
    r""""{3}.*?"{3}|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>\#[^\n]*)""",
    re.S,
)


@functools.lru_cache(maxsize=None)
def python_nodes(text):
    """(names that are declared, docstrings), each with its line."""
    names, docstrings = [], []
    try:
        nodes = ast.walk(ast.parse(text))
    except SyntaxError:
        return names, docstrings
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.append((node.lineno, node.id))
        elif isinstance(node, ast.arg):
            names.append((node.lineno, node.arg))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            if not isinstance(node, ast.Module):
                names.append((node.lineno, node.name))
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    docstrings.append((first.lineno, first.value.value))
    return names, docstrings


def python_comments(text):
    for match in PYTHON_TOKEN.finditer(text):
        if match.group("comment"):
            start = text.rfind("\n", 0, match.start()) + 1
            alone = not text[start : match.start()].strip()
            yield text.count("\n", 0, start) + 1, match.group("comment").lstrip("#! "), alone
    for first, docstring in python_nodes(text)[1]:
        for offset, line in enumerate(docstring.split("\n")):
            yield first + offset, line.strip(), True


def hash_comments(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?:^|(?<=\s))#+\s+(.*)", line)
        if match and not re.search(r"[\"']", line[: match.start()]):
            yield number, match.group(1), not line[: match.start()].strip()


def comments(path, text):
    """(line, text) of each comment; whole-line comments that follow each other are one."""
    if path.endswith(C_LIKE):
        lines = c_comments(text)
    elif path.endswith(".py"):
        lines = python_comments(text)
    else:
        lines = hash_comments(text)
    block = None
    for number, line, alone in sorted(lines):
        joins = block and alone and block[2] == number - 1 and line.strip()
        if joins:
            block[1] += " " + line.strip()
            block[2] = number
            continue
        if block and block[1].strip():
            yield block[0], block[1].strip()
        block = [number, line.strip(), number if alone and line.strip() else -1]
    if block and block[1].strip():
        yield block[0], block[1].strip()


def c_code(text):
    """Code without comments and strings, at the same lines."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0)) if len(match.group(0)) > 1 else "'"
    parts, end = [], 0
    for match in c_tokens(text):
        parts += [text[end : match.start()], blank(match)]
        end = match.end()
    return "".join(parts) + text[end:]
