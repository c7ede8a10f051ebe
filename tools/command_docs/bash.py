"""Completion for bash: a function per command."""
from __future__ import annotations

from command_docs.helptext import Command, Option, Programs

HEAD = r"""# bash completion for ingot and ingotc; written by tools/command-docs from their --help.
_ingot_words() { # _ingot_words WORD...: those that begin with what is typed
    COMPREPLY=($(compgen -W "$*" -- "$cur"))
}
_ingot_folders() {
    compopt -o filenames
    COMPREPLY=($(compgen -d -- "$cur"))
}
_ingot_files() {
    compopt -o filenames
    COMPREPLY=($(compgen -d -- "$cur") $(compgen -f -X '!*.metal' -- "$cur") $(compgen -f -X '!*.ingot' -- "$cur")
        $(compgen -f -X '!*.metallib' -- "$cur"))
    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}
_ingot_file_of_line() { # the first source or archive before the word at hand
    local word
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        case "$word" in *.metal | *.ingot | *.metallib) printf '%s' "$word" && return ;; esac
    done
}
_ingot_kernels() {
    local file
    file=$(_ingot_file_of_line)
    COMPREPLY=()
    [ -z "$file" ] || _ingot_words "$(ingot inspect "$file" --names 2>/dev/null)"
}
_ingot_kernel_or_file() {
    if [ "$prev" = "$(_ingot_file_of_line)" ]; then _ingot_kernels; else _ingot_files; fi
}
_ingot_operations() {
    _ingot_words "$(ingot ops --markdown 2>/dev/null | sed -n 's/^| `\([a-z0-9_]*\)`.*/\1/p')"
}
"""
VALUES = {"folder": "_ingot_folders", "file": "_ingot_files", "kernel": "_ingot_kernels", "any": "COMPREPLY=()"}
REST = {"kernel": "_ingot_kernel_or_file", "file": "_ingot_files", "operation": "_ingot_operations",
        "none": "COMPREPLY=()"}
CURRENT = "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"


def value(option: Option) -> str:
    return f"_ingot_words {' '.join(option.words())}" if option.kind() == "words" else VALUES[option.kind()]


def body(command: Command) -> list[str]:
    actions: dict[str, list[str]] = {}
    for option in command.options:
        if option.value:
            actions.setdefault(value(option), []).extend(option.names)
    cases = [f"    {' | '.join(names)}) {action}; return ;;" for action, names in actions.items()]
    names = " ".join(n for o in command.options for n in o.names if n.startswith("--"))
    return ['    case "$prev" in', *cases, "    esac",
            f"    if [[ $cur == -* ]]; then _ingot_words {names}; else {REST[command.positional()]}; fi"]


def script(programs: Programs) -> str:
    out = [HEAD.rstrip("\n")]
    for command in programs.commands:
        out += [f"_ingot_command_{command.word()}() {{", *body(command), "}"]
    names = [command.word() for command in programs.commands]
    out += ["_ingot() {", CURRENT, '    if [ "$COMP_CWORD" = 1 ]; then',
            f"        _ingot_words {' '.join(names)} --help --version", "        return", "    fi",
            '    case "${COMP_WORDS[1]}" in', f"    {' | '.join(names)}) \"_ingot_command_${{COMP_WORDS[1]}}\" ;;",
            "    *) COMPREPLY=() ;;", "    esac", "}", "complete -F _ingot ingot"]
    if programs.compiler:
        out += ["_ingotc() {", CURRENT, *body(programs.compiler), "}", "complete -F _ingotc ingotc"]
    return "\n".join(out) + "\n"
