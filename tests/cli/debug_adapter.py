#!/usr/bin/env python3
"""Does what VS Code does with a configuration of .vscode/launch.json, by the Debug Adapter Protocol.

usage: debug_adapter.py ADAPTER TYPE SOURCE:LINE CONDITION [CONSOLE_COMMAND]...

Starts ADAPTER (a program such as lldb-dap), sets one breakpoint with a condition, runs to it, prints the place, the
locals and what each command of the debug console says, and goes on to the end. Exit status 1 if that takes a minute.
"""
import json
import os
import re
import signal
import subprocess
import sys


class Adapter:
    def __init__(self, program: str):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0
        self.events: list[dict] = []
        self.answers: dict[int, dict] = {}

    def read(self) -> None:
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the adapter has ended")
        message = json.loads(self.process.stdout.read(length))
        if message["type"] == "event":
            self.events.append(message)
            if message["event"] == "output":
                sys.stdout.write(message["body"]["output"])
        elif message["type"] == "response":
            self.answers[message["request_seq"]] = message

    def send(self, command: str, **arguments) -> int:
        self.count += 1
        text = json.dumps({"seq": self.count, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        return self.count

    def answer(self, number: int) -> dict:
        while number not in self.answers:
            self.read()
        message = self.answers.pop(number)
        if not message["success"]:
            raise RuntimeError(f"{message['command']}: {message.get('message') or message.get('body')}")
        return message.get("body", {})

    def ask(self, command: str, **arguments) -> dict:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> dict:
        while True:
            for at, message in enumerate(self.events):
                if message["event"] == name:
                    del self.events[at]
                    return message.get("body", {})
            self.read()


def configuration(kind: str) -> dict:
    with open(".vscode/launch.json") as file:
        text = file.read().replace("${workspaceFolder}", os.getcwd())
    (found,) = [one for one in json.loads(text)["configurations"] if one["type"] == kind]
    return found


def main() -> None:
    program, kind, place, condition, *commands = sys.argv[1:]
    source, _, line = place.rpartition(":")
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the adapter took more than a minute"))
    signal.alarm(60)
    adapter = Adapter(program)
    adapter.ask("initialize", adapterID=kind, pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
    launched = adapter.send("launch", **configuration(kind))
    adapter.event("initialized")
    adapter.ask("setBreakpoints", source={"name": os.path.basename(source), "path": os.path.abspath(source)},
                breakpoints=[{"line": int(line), "condition": condition}])
    done = adapter.send("configurationDone")
    adapter.answer(launched)
    adapter.answer(done)
    stop = adapter.event("stopped")
    frame = adapter.ask("stackTrace", threadId=stop["threadId"], levels=1)["stackFrames"][0]
    print(f"\nstopped: {stop['reason']} at {frame['source']['name']}:{frame['line']}")
    for scope in adapter.ask("scopes", frameId=frame["id"])["scopes"]:
        if scope["name"] == "Locals":
            for variable in adapter.ask("variables", variablesReference=scope["variablesReference"])["variables"]:
                if variable["name"].startswith("<null>"):
                    sys.exit(f"a variable without a name: {variable}")
                print(f"{variable['name']} = {re.sub(r' @ 0x[0-9a-f]+', '', variable['value'])}")
    for command in commands:
        print(adapter.ask("evaluate", expression=command, context="repl", frameId=frame["id"])["result"])
    adapter.ask("continue", threadId=stop["threadId"])
    print(f"exited with {adapter.event('exited')['exitCode']}")
    adapter.send("disconnect", terminateDebuggee=True)
    adapter.process.wait()


if __name__ == "__main__":
    main()
