"""Python programs that use torch, each in a process of its own, without the seconds that each would import it for.

`run(["script.py", "argument"])` is `subprocess.run([sys.executable, "script.py", "argument"])`, with `-c` and `-m` too.
One process imports torch, and forks for every program. The program does not see a difference, but that torch, NumPy
and pytest are in `sys.modules` at its first line, and ingot is not. What depends on how torch is imported (its order
with ingot, variables that it or Python reads then) needs subprocess.run.
"""
from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import types

READ_AT_START = ("PYTHON", "OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "TORCH", "PYTORCH", "LD_")


# ---- the process that forks ----

def become(request: dict) -> None:
    """In the child: everything that a new process would have, then the program."""
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, request["stdout"], os.O_WRONLY | os.O_APPEND),
                                (2, request["stderr"], os.O_WRONLY | os.O_APPEND)):
        file = os.open(path, flags)
        os.dup2(file, number)
        os.close(file)
    first, *rest = request["arguments"]
    if first == "-m":
        import runpy

        sys.argv = rest
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    if first == "-c":
        source, name = rest[0], "<string>"
        sys.argv = ["-c", *rest[1:]]
        sys.path[0] = ""
    else:
        with open(first, encoding="utf-8") as file:
            source = file.read()
        name = program.__file__ = first
        sys.argv = [first, *rest]
        sys.path[0] = os.path.dirname(os.path.realpath(first))
    exec(compile(source, name, "exec"), program.__dict__)


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import pytest  # noqa: F401
    import torch  # noqa: F401

    nothing = os.fork()  # OpenBLAS has threads, and ends them before a fork
    if nothing == 0:
        os._exit(0)
    os.waitpid(nothing, 0)
    threads = len(os.listdir("/proc/self/task"))
    print(json.dumps({"threads": threads}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            answers.close()
            become(request)
            return
        print(json.dumps({"process": child}), file=answers, flush=True)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"status": status}), file=answers, flush=True)


# ---- what tests call ----

class Server:
    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.held = b""
        self.environment = dict(os.environ)
        threads = self.answer(300)["threads"]
        if threads != 1:  # a fork has only the thread that forks
            raise RuntimeError(f"importing torch started threads: there are {threads}, and 1 is needed to fork")
        atexit.register(self.close)

    def answer(self, timeout: float) -> dict:
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.held:
            if not select.select([pipe], [], [], timeout)[0]:
                raise TimeoutError
            read = os.read(pipe, 4096)
            if not read:
                raise RuntimeError(f"the process that forks has ended, with status {self.process.wait()}")
            self.held += read
        line, self.held = self.held.split(b"\n", 1)
        return json.loads(line)

    def ask(self, request: dict, timeout: float) -> int:
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        child = self.answer(60)["process"]
        try:
            return self.answer(timeout)["status"]
        except TimeoutError:
            os.killpg(child, signal.SIGKILL)
            self.answer(60)
            raise

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


server: Server | None = None


def run(arguments: list, cwd: os.PathLike | str = ".", env: dict[str, str] | None = None,
        timeout: float = 300) -> subprocess.CompletedProcess:
    """The program's status and what it printed, as text. subprocess.TimeoutExpired when it did not end in time."""
    global server
    if server is None:
        server = Server()
    environment = dict(os.environ if env is None else env)
    different = [name for name in {*environment, *server.environment} if name.startswith(READ_AT_START)
                 and environment.get(name) != server.environment.get(name)]
    if different:
        raise ValueError(f"read when Python or torch starts, and not as in the process that forks: {different}")
    command = [str(argument) for argument in arguments]
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as errors:
        request = {"arguments": command, "cwd": os.path.abspath(cwd), "environment": environment,
                   "stdout": out.name, "stderr": errors.name}
        try:
            status = server.ask(request, timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout, out.read(), errors.read()) from None
        return subprocess.CompletedProcess([sys.executable, *command], status, out.read().decode(errors="replace"),
                                           errors.read().decode(errors="replace"))


if __name__ == "__main__":
    serve()
