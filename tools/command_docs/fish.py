"""Completion for fish: a line per option."""
from __future__ import annotations

from command_docs.helptext import Command, Option, Programs

HEAD = r"""# fish completion for ingot and ingotc; written by tools/command-docs from their --help.
function __ingot_kernels
    set -l files (commandline -opc | string match -r '.*\.(?:metal|ingot|metallib)$')
    test (count $files) -gt 0; and ingot inspect $files[1] --names 2>/dev/null
end
function __ingot_operations
    ingot ops --markdown 2>/dev/null | string replace -rf '^\| `([a-z0-9_]*)`.*' '$1'
end
"""
VALUES = {"folder": "-r -f -a '(__fish_complete_directories)'", "kernel": "-r -f -a '(__ingot_kernels)'",
          "any": "-r -f", "file": "-r -F", "none": ""}
REST = {"kernel": "-a '(__ingot_kernels)'", "operation": "-f -a '(__ingot_operations)'"}


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def line(option: Option, start: str) -> str:
    names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
    value = f"-r -f -a {quoted(' '.join(option.words()))}" if option.kind() == "words" else VALUES[option.kind()]
    return " ".join(part for part in (start, *names, value, f"-d {quoted(option.help)}") if part)


def lines(command: Command, start: str) -> list[str]:
    rest = REST.get(command.positional())
    return [*(line(option, start) for option in command.options), *([f"{start} {rest}"] if rest else [])]


def script(programs: Programs) -> str:
    out = [HEAD.rstrip("\n")]
    for command in programs.commands:
        word = command.word()
        out.append(f"complete -c ingot -n __fish_use_subcommand -f -a {word} -d {quoted(command.summary)}")
        out += lines(command, f"complete -c ingot -n '__fish_seen_subcommand_from {word}'")
    return "\n".join(out) + "\n"


def compiler_script(compiler: Command) -> str:
    return "\n".join([HEAD.rstrip("\n"), *lines(compiler, "complete -c ingotc")]) + "\n"
