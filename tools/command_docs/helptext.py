"""The help of `ingot`, its commands and `ingotc`, read as data.

Requires that help texts keep their form: `usage:`, text, `options:` with rows of `-x, --name VALUE  help`, `examples:`,
`environment:`. Provides `read`; a command whose help has no usage or no option ends the program with a message.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

NAME = r"-{1,2}[\w-]+(?:\[=[^ ]+\]| [^ ]*[^ ,])?"  # --threads X[,Y[,Z]], --sanitize[=KIND,...]
ROW = re.compile(rf"^  (?: {{4}})?({NAME}(?:, {NAME})*)(?:\s+(\S.*))?$")
SECTIONS = ("options:", "examples:", "environment:")
LEVELS = ["x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-bf16-amx", "aarch64", "aarch64-bf16"]
TARGETS = [*LEVELS, "sm_80", "sm_90", "sm_90a", "sm_90.cubin", "sm_90a.cubin"]
WORDS = {"--target": TARGETS, "--cpu": LEVELS, "--type": ["f32", "f16", "bf16"], "--device": ["cpu", "cuda"]}


@dataclass
class Option:
    names: list[str]  # with their dashes, the short one first
    value: str  # "" for a flag
    help: str
    attached: str = ""  # "KIND,..." of --sanitize[=KIND,...], which is a flag without it
    choices: list[str] = field(default_factory=list)

    def shown_value(self) -> str:
        """What stands behind the names, with the space before it."""
        return f" {self.value}" if self.value else f"[={self.attached}]" if self.attached else ""

    def words(self) -> list[str]:
        """The values that there are, if they can be listed."""
        return self.choices or WORDS.get(self.names[-1], [])

    def kind(self) -> str:
        """What its value is: none, words, kernel, folder, file or any."""
        if not self.value:
            return "none"
        if self.words():
            return "words"
        if self.names[-1] == "--kernel":
            return "kernel"
        if self.value == "DIR":
            return "folder"
        return "file" if self.value in ("FILE", "LIB.ingot") else "any"


@dataclass
class Command:
    name: str  # "ingot", "ingot run", "ingotc"
    summary: str = ""
    usage: str = ""
    text: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    environment: list[tuple[str, str]] = field(default_factory=list)

    def word(self) -> str:
        return self.name.split()[-1]

    def positional(self) -> str:
        """What stands without an option: kernel (a file, then one of its kernels), file, operation or none."""
        after = self.usage.removeprefix(self.name).strip()
        if after.startswith("FILE KERNEL"):
            return "kernel"
        if after.startswith(("FILE", "SOURCE")):
            return "file"
        return "operation" if after.startswith("[OPERATION]") else "none"


@dataclass
class Programs:
    top: Command
    commands: list[Command]
    compiler: Command | None
    version: str

    def all(self) -> list[Command]:
        return [self.top, *self.commands, *([self.compiler] if self.compiler else [])]


def options_of(row: re.Match) -> list[Option]:
    words = [part.split(" ", 1) for part in re.split(r", (?=-)", row.group(1))]
    if len(words) > 1 and not row.group(2):  # `--version, --help`
        texts = {"--version": "print the version", "--help": "print this help"}
        return [Option([word[0]], "", texts.get(word[0], "")) for word in words]
    value = next((word[1] for word in words if len(word) > 1), "")
    attached = next((match[1] for word in words if (match := re.search(r"\[=(.*)\]$", word[0]))), "")
    names = sorted((word[0].partition("[")[0] for word in words), key=len)
    return [Option(names, value, row.group(2) or "", attached)]


def parse(name: str, lines: list[str], summary: str = "") -> Command:
    command, section = Command(name, summary), ""
    for line in lines:
        row = ROW.match(line)
        if line.startswith("usage: "):
            command.usage = line.removeprefix("usage: ").strip()
        elif command.usage and not command.text and line.startswith(" " * 7):  # its next line
            command.usage += ("  " if command.usage.endswith("|") else " ") + line.strip()
        elif line in SECTIONS:
            section = line
        elif section == "examples:":
            command.examples.append(line)
        elif section == "environment:":
            variable, _, text = line.strip().partition(" ")
            if variable:
                command.environment.append((variable, text.strip()))
        elif row and (section == "options:" or name == "ingotc"):  # ingotc has no line `options:`
            command.options += options_of(row)
        elif command.options and line.startswith(" " * 20):
            command.options[-1].help += " " + line.strip()
        elif not section:
            command.text.append(line)
    command.text = "\n".join(command.text).strip("\n").split("\n")
    return command


def help_of(program: pathlib.Path, *arguments: str) -> list[str]:
    done = subprocess.run([program, *arguments, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def passes(compiler: pathlib.Path) -> list[str]:
    """The names of all passes, each once: lines `NAME  KIND  …` of `ingotc --passes`."""
    text = subprocess.run([compiler, "--passes"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ *([a-z][\w-]*) +(?:mark|own|LLVM|table)\b", text, re.MULTILINE)
    if not found:
        sys.exit("command-docs: `ingotc --passes` lists no pass")
    return list(dict.fromkeys(found))


def read(folder: pathlib.Path) -> Programs:
    program, compiler = folder / "ingot", None
    top = parse("ingot", help_of(program), "run Metal compute kernels anywhere")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    listed = [match.groups() for line in top.text if (match := re.match(r"^  ([a-z]+)\s{2,}(\S.*)$", line))]
    if not listed:
        sys.exit("command-docs: `ingot --help` lists no command")
    commands = [parse(f"ingot {name}", help_of(program, name), text) for name, text in listed]
    if (folder / "ingotc").exists():
        compiler = parse("ingotc", help_of(folder / "ingotc"), "compile Metal compute kernels into an archive")
        for option in compiler.options:
            if option.names[-1] == "--emit":
                option.choices = ["cpp", "asm", *passes(folder / "ingotc")]
    found = Programs(top, commands, compiler, version)
    for command in found.all()[1:]:
        if not command.options or not command.usage:
            sys.exit(f"command-docs: the help of `{command.name}` has no options or no usage")
    return found
