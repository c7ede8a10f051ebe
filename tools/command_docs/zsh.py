"""Completion for zsh: specifications for _arguments."""
from __future__ import annotations

from command_docs.helptext import Command, Option, Programs

HEAD = r"""# zsh completion for ingot and ingotc; written by tools/command-docs from their --help.
_ingot_kernels() {
    local -a files=(${(M)words:#*.(metal|ingot|metallib)})
    (( $#files )) && compadd -- ${(f)"$(ingot inspect $files[1] --names 2>/dev/null)"}
}
_ingot_operations() {
    local table="$(ingot ops --markdown 2>/dev/null)"
    compadd -- ${${(M)${(f)table}:#\| \`*}//(#b)\| \`([a-z0-9_]#)\`*/$match[1]}
}
"""
ACTIONS = {"file": "_files", "folder": "_files -/", "kernel": "_ingot_kernels", "any": " "}
SOURCES = '_files -g "*.(metal|ingot|metallib)"'
REST = {"kernel": [f"'1:file:{SOURCES}'", "'2:kernel:_ingot_kernels'", "'*:argument:_files'"],
        "file": [f"'*:file:{SOURCES}'"], "operation": ["'*:operation:_ingot_operations'"], "none": []}


def escaped(text: str) -> str:
    for character, instead in (("'", "'\\''"), ("[", "\\["), ("]", "\\]"), (":", "\\:")):
        text = text.replace(character, instead)
    return text


def spec(option: Option) -> str:
    names = option.names[0] if len(option.names) == 1 else "{" + ",".join(option.names) + "}"
    action = f"({' '.join(option.words())})" if option.kind() == "words" else ACTIONS.get(option.kind(), "")
    value = f":{escaped(option.value)}:{action}" if option.value else ""
    return f"'*'{names}'[{escaped(option.help)}]{value}'"


def arguments(command: Command, indent: str) -> list[str]:
    specs = [*(spec(option) for option in command.options), *REST[command.positional()]]
    return [f"{indent}_arguments \\", *(f"{indent}    {s} \\" for s in specs[:-1]), f"{indent}    {specs[-1]}"]


def script(programs: Programs) -> str:
    out = [f"#compdef ingot{' ingotc' if programs.compiler else ''}", HEAD.rstrip("\n")]
    out += ["_ingot_commands() {", "    local -a commands=("]
    out += [f"        '{command.word()}:{escaped(command.summary)}'" for command in programs.commands]
    out += ["    )", "    _describe command commands", "}", "_ingot() {", "    setopt local_options extended_glob"]
    if programs.compiler:
        out += ["    if [[ $service == ingotc ]]; then", *arguments(programs.compiler, "        "),
                "        return", "    fi"]
    out += ["    if (( CURRENT == 2 )); then", "        _ingot_commands", "        return", "    fi",
            "    local command=$words[2]", "    shift words", "    (( CURRENT-- ))", "    case $command in"]
    for command in programs.commands:
        out += [f"    {command.word()})", *arguments(command, "        "), "        ;;"]
    return "\n".join([*out, "    esac", "}", '_ingot "$@"']) + "\n"
