"""A help text as a manual page, in the macros of man(7)."""
from __future__ import annotations

from command_docs.helptext import Command


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return "\\&" + text if text.startswith(".") else text


def paragraphs(lines: list[str]) -> list[str]:
    """Text that is filled, and indented lines as they stand."""
    out, verbatim = [], False
    for line in lines:
        indented = line.startswith("  ")
        if indented != verbatim:
            out.append(".RS 4\n.nf" if indented else ".fi\n.RE")
            verbatim = indented
        if line.strip():
            out.append(roff(line[2:] if indented else line.strip()))
        elif not verbatim:
            out.append(".PP")
    return [*out, ".fi\n.RE"] if verbatim else out


def page(command: Command, version: str, others: list[str]) -> str:
    name = command.name.replace(" ", "-")
    out = [f'.TH {name.upper()} 1 "" "ingot {version}" "ingot"']
    out += [".SH NAME", f"{roff(name)} \\- {roff(command.summary)}"]
    out += [".SH SYNOPSIS", ".nf", roff(command.usage), ".fi", ".SH DESCRIPTION", *paragraphs(command.text)]
    if command.options:
        out.append(".SH OPTIONS")
    for option in command.options:
        names = ", ".join(f"\\fB{roff(n)}\\fR" for n in option.names)
        out += [".TP", names + f"\\fI{roff(option.shown_value())}\\fR", roff(option.help)]
    if command.environment:
        out.append(".SH ENVIRONMENT")
    for variable, text in command.environment:
        out += [".TP", f"\\fB{variable}\\fR", roff(text)]
    out += [".SH EXIT STATUS", "0: done. 1: something failed. 2: the command line is wrong."]
    if command.examples:
        out += [".SH EXAMPLES", ".nf", *(roff(line) for line in command.examples if line.strip()), ".fi"]
    out += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other)}\\fR(1)" for other in others if other != name)]
    return "\n".join(out) + "\n"
