"""A C header of ingot's public API as a page of Markdown.

Requires the style of include/ingot: comments `/* … */`, sections by `/* ---- title ---- */`, blank lines between
entries, a comment in front of what it describes. Provides headings with an anchor for every function, type and
macro, and the names of all of them. Does not parse C: what is not a comment is shown as it stands.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

SECTION = re.compile(r"/\* -{2,} ?(.*?) ?-{2,} \*/$")
NAMES = [
    re.compile(r"^INGOT_API\b[^;]*?\b(ingot_\w+)\(", re.MULTILINE),
    re.compile(r"^\} (ingot_\w+);", re.MULTILINE),
    re.compile(r"^typedef [^{;]*?\(?\*?(ingot_\w+)\)?(?:\([^;]*\))?;", re.MULTILINE),
    re.compile(r"^#define (INGOT_\w+)", re.MULTILINE),
]
HIDDEN = re.compile(r"^#(if|ifdef|ifndef|else|elif|endif|include|undef)\b|^extern \"C\"|^\}$|_H$|^#define INGOT_API\b")


@dataclass
class Entry:
    """A comment, and the declarations that it describes."""

    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        code = "\n".join(self.code)
        found = sorted((m.start(), m.group(1)) for pattern in NAMES for m in pattern.finditer(code))
        return list(dict.fromkeys(name for _, name in found))


def comment_at(lines: list[str], at: int) -> tuple[list[str], int]:
    """The text of the comment that starts at a line, and the line behind it."""
    end = at
    while "*/" not in lines[end]:
        end += 1
    inside = [line.replace("*/", "") for line in lines[at:end + 1]]
    text = [inside[0].replace("/*", "", 1).strip(), *(re.sub(r"^ ?\*? ?", "", line) for line in inside[1:])]
    return [line.rstrip() for line in text], end + 1


def entries_of(lines: list[str]) -> list[Entry | str]:
    """Entries, and titles of sections as plain strings, in the order of the header."""
    found: list[Entry | str] = []
    entry, at = Entry(), 0

    def finish() -> None:
        nonlocal entry
        if entry.code or entry.text:
            found.append(entry)
        entry = Entry()

    while at < len(lines):
        line = lines[at]
        section = SECTION.match(line)
        if section:
            finish()
            found.append(section.group(1))
            at += 1
        elif line.startswith("/*"):
            if entry.code:
                finish()
            text, at = comment_at(lines, at)
            entry.text += text
        elif not line.strip():
            finish()
            at += 1
        elif HIDDEN.search(line):
            at += 1
        else:
            depth = 0
            while True:  # to the end of this declaration
                plain = re.sub(r"/\*.*?\*/", "", lines[at])
                depth += plain.count("{") - plain.count("}")
                entry.code.append(lines[at])
                macro = lines[at].startswith("#define") and not lines[at].endswith("\\")
                done = macro or depth == 0 and plain.rstrip().endswith(";")
                at += 1
                if done or at == len(lines):
                    break
            while entry.code[-1].count("/*") > entry.code[-1].count("*/") and at < len(lines):
                entry.code.append(lines[at])  # a comment that goes on behind the semicolon
                at += 1
                if "*/" in entry.code[-1]:
                    break
    finish()
    return found


def prose(lines: list[str], link) -> str:
    """A comment's text as Markdown; indented lines stay as they are."""
    out: list[str] = []
    for line in lines:
        if line.startswith("  "):
            out.append("    " + line.strip() if not out or not out[-1].startswith("- ") else line)
            continue
        parts = re.split(r"(`[^`]*`)", line)
        for i in range(0, len(parts), 2):
            part = re.sub(r"([*<>|\[\]])", r"\\\1", parts[i])
            part = re.sub(r"\bdocs/([\w/-]+)\.md", r"[\1](/docs/\1.md)", part)
            parts[i] = re.sub(r"\b(?:ingot|INGOT)_\w+(?:\(\))?", lambda m: link(m.group(0)), part)
        out.append("".join(parts))
    return "\n".join(out).strip()


def names_of(text: str) -> list[str]:
    return [name for entry in entries_of(text.splitlines()) if isinstance(entry, Entry) for name in entry.names()]


def page(title: str, path: str, text: str, link) -> str:
    """`link` turns a name such as `ingot_buffer_create` into Markdown."""
    lines = text.splitlines()
    head, at = comment_at(lines, 0)
    out = [f"# {title}", "", prose(head, link), "", f"This page is generated from `{path}`.", ""]
    for entry in entries_of(lines[at:]):
        if isinstance(entry, str):
            is_name = re.match(r"\w*[_(:]|\w+:", entry)  # of an operation: stays as it is
            out += [f"## {entry if is_name else entry[:1].upper() + entry[1:]}", ""]
            continue
        names = entry.names()
        if names:
            shown = names[0] + ("" if len(names) == 1 else f", {names[1]}" if len(names) == 2 else ", …")
            out += [*(f'<a id="{name}"></a>' for name in names[1:]), "", f"### `{shown}` {{ #{names[0]} }}", ""]
        text_of_entry = prose(entry.text, link)
        if text_of_entry:
            out += [text_of_entry, ""]
        if entry.code:
            out += ["```c", *entry.code, "```", ""]
    return "\n".join(out) + "\n"
