"""What clangd offers in an editor: completion of a word of Metal's library, and what hovering over it shows.
usage: clangd_session.py CLANGD FILE LINE COLUMN (the word's end, from 0)"""

import itertools
import json
import pathlib
import subprocess
import sys
import time

clangd, file, line, column = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3]), int(sys.argv[4])
server = subprocess.Popen([clangd, "--log=error"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
numbers = itertools.count(1)


def send(method: str, parameters: dict, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({"id": number} if number else {})
    body = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def ask(method: str, parameters: dict) -> dict:
    number = next(numbers)
    send(method, parameters, number)
    while True:
        length = 0
        while header := server.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            sys.exit("clangd has ended")
        answer = json.loads(server.stdout.read(length))
        if answer.get("id") == number:
            return answer.get("result") or {}


ask("initialize", {"processId": None, "rootUri": file.parent.as_uri(), "capabilities": {}})
document = {"uri": file.as_uri()}
send("textDocument/didOpen", {"textDocument": document | {"languageId": "cpp", "version": 1, "text": file.read_text()}})
place = {"textDocument": document, "position": {"line": line, "character": column}}
hover = ask("textDocument/hover", place | {"position": {"line": line, "character": column - 1}})
print("hover:", hover.get("contents", {}).get("value"))
items: list[dict] = []
for _ in range(100):  # the library's headers become known in the background
    items = items or ask("textDocument/completion", place).get("items", [])
    time.sleep(0 if items else 0.2)
print("completion:", *(item["label"].strip() for item in items), sep="\n")
ask("shutdown", {})
send("exit", {})
server.wait()
