#!/usr/bin/env python3
"""Doxygen's input filter. Doxygen does not read plain comments. Prints a header with `///` for
comments before a declaration, `///<` for comments behind one, and examples as code."""

import re
import sys

# Heads of braces that hold declarations; all others hold statements or values.
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
COMMENT = re.compile(r"^(\s*)//(?!/)(.*)$")
TRAILING = re.compile(r"^(.*?\S)\s+//(?!/)(.*)$")
PAIR = re.compile(r"^(\s*(?:const )?[\w:]+) (\*?\w+(?: = [^,;()]+)?), (\*?\w+(?: = [^,;()]+)?);$")
FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
# A line of a table of options, v("name", name, ..., "help"): the help is the last text.
OPTION = re.compile(r'\bv\(\s*"(\w+)",\s*\w+(.*?)\);', re.S)
TEXTS = re.compile(r'"((?:[^"\\]|\\.)*)"')


def escaped(text):
    """Prose as Markdown that Doxygen shows letter for letter; code in backticks stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\<>@#%*$&])", r"\\\1", part) for part in parts
    )


def prose(lines):
    """Contents of the lines of one comment. Indented lines after an empty one are code."""
    out, in_code, before = [], False, ""
    for line in lines:
        is_indented = line.startswith("   ")
        in_code = is_indented and (in_code or not before.strip()) or (in_code and not line.strip())
        out.append("     " + line if in_code and line.strip() else escaped(line))
        before = line
    return out


def code_of(line):
    """A line without texts and comments, for braces to be counted in."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    return re.sub(r"//.*", "", re.sub(r"'(?:[^'\\]|\\.)'", "''", line))


def scopes(lines):
    """For each line, whether a declaration may begin there."""
    stack, head, result = [], "", []
    for line in lines:
        result.append(all(stack))
        if line.lstrip().startswith("#"):
            continue
        for letter in code_of(line):
            if letter == "{":
                plain = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", head)
                stack.append(bool(SCOPE.search(plain)) and "(" not in plain)
                head = ""
            elif letter == "}":
                if stack:
                    stack.pop()
                head = ""
            elif letter == ";":
                head = ""
            else:
                head += letter
        head += " "
    return result


def options(text):
    """{name: help} of the fields that a visit_fields() declares."""
    if "void visit_fields(" not in text and "::visit_fields(" not in text:
        return {}
    helps = {}
    for name, rest in OPTION.findall(text):
        texts = TEXTS.findall(re.sub(r"Choices\{\{.*?\}\}", "", rest, flags=re.S))
        if texts:
            helps[name] = "".join(texts)
    return helps


def is_declaration(line):
    stripped = line.strip()
    others = (
        "//",
        "}",
        "public:",
        "private:",
        "protected:",
        "namespace",
        "#if",
        "#endif",
        "#else",
        "#include",
        "#pragma",
    )
    return bool(stripped) and not stripped.startswith(others)


def filtered(text):
    lines = text.split("\n")
    in_scope, helps = scopes(lines), options(text)
    out, i, documented = [], 0, ""
    while i < len(lines):
        line = lines[i]
        if not in_scope[i]:
            out.append(line)
            i += 1
            continue
        comment = COMMENT.match(line)
        if comment:
            end = i
            while end < len(lines) and COMMENT.match(lines[end]):
                end += 1
            block = [COMMENT.match(one).group(2) for one in lines[i:end]]
            is_top = i == 0
            follows = end < len(lines) and is_declaration(lines[end])
            if is_top or follows:
                contents = ["" if "NOLINT" in one else one for one in block]
                out += ["/// \\file"] if is_top else []
                out += [comment.group(1) + "///" + one for one in prose(contents)]
            else:
                out += lines[i:end]
            documented = name_of(lines[end]) if follows else ""
            i = end
            if follows:
                i = declaration(lines, i, out)
            continue
        if "operator==(" in line and "= default" in line:
            out.append(line + "  ///< Member by member.")
            i += 1
            continue
        trailing = TRAILING.match(line)
        if trailing and is_declaration(line) and not line.lstrip().startswith(("#", "namespace")):
            i = behind(lines, i, out)
            continue
        name = name_of(line)
        member = re.match(r"^\s+[\w:<>, ]+\s(\w+)\s*(=.*|\{.*\})?;$", line)
        if name and name == documented:
            out.append(re.sub(r"^(\s*)", r"\1/** As the one above. */ ", line, count=1))
        elif member and member.group(1) in helps:
            out.append(f"{line}  ///< {escaped(helps[member.group(1)])}")
        else:
            if not line.strip():
                documented = ""
            out.append(line)
        i += 1
    return "\n".join(out)


def name_of(line):
    match = FUNCTION.search(line)
    return match.group(1) if match and not line.lstrip().startswith(("#", "//")) else ""


def declaration(lines, i, out):
    """The line after a comment; a comment behind that line belongs to it."""
    if TRAILING.match(lines[i]) and not lines[i].lstrip().startswith("#"):
        return behind(lines, i, out)
    pair = PAIR.match(lines[i])
    if pair:
        kind, first, second = pair.groups()
        out += [f"{kind} {first};", f"{kind} {second};  ///< As the one before."]
    else:
        out.append(lines[i])
    return i + 1


def behind(lines, i, out):
    """A comment behind a declaration, with its further lines."""
    match = TRAILING.match(lines[i])
    column = lines[i].index("//", len(match.group(1)))
    pair = PAIR.match(match.group(1))
    if pair:  # each needs its own comment
        kind, first, second = pair.groups()
        out.append(f"{kind} {first};  /**<{escaped(match.group(2))} */")
        out.append(f"{kind} {second};  ///<{escaped(match.group(2))}")
    else:
        out.append(f"{match.group(1)}  ///<{escaped(match.group(2))}")
    i += 1
    while i < len(lines) and re.match(rf"^ {{{column}}}//(?!/)", lines[i]):
        out.append(" " * column + "///<" + escaped(lines[i][column + 2 :]))
        i += 1
    return i


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(filtered(header.read()))
