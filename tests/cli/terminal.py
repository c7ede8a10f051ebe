"""Progress on a terminal of a given width: one line that is drawn anew, never wider than the terminal, with an overall
count. usage: terminal.py COLUMNS COMMAND...; prints `N redraws, widest M of COLUMNS, first "…"`, or what was wrong."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

columns = int(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ.update(TERM="xterm", NO_COLOR="1")
    os.execvp(sys.argv[2], sys.argv[2:])
read = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # what reading a terminal ends with, whose program has ended
        break
    if not part:
        break
    read += part
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
text = read.decode()
redraws = [line for line in text.split("\r\033[K") if re.match("[█░]", line)]
counts = [re.search(r"(?:file (\d+)/(\d+), )?(\d+)/(\d+)", line) for line in redraws]
widest = max((len(line.split("\r")[0].split("\n")[0]) for line in redraws), default=0)
if status:
    sys.exit(f"status {status}: {text}")
if not redraws:
    sys.exit(f"no progress was shown: {text!r}")
if widest >= columns:
    sys.exit(f"a line of {widest} columns on a terminal of {columns}: {max(redraws, key=len)!r}")
if columns >= 40 and not all(counts):
    sys.exit(f"a line without a count: {redraws!r}")
print(f'{len(redraws)} redraws, widest {widest} of {columns}, first "{redraws[0].rstrip()}"')
