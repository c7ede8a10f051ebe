"""Commands of gdb for kernels that run with INGOT_DEBUG=1: `help ingot` lists them.

`ingot debug` loads this file; `source .../share/ingot/debugger/ingot_gdb.py` does too, in any gdb that has Python.
The variables that it reads are those of prelude/ingot_debug.h.
"""

import re
import struct

import gdb

NOT_THERE, MAY_RUN, AT_BARRIER, WAITS, ENDED = range(5)
LANES = 32
MOST_LANES = 1024
REGISTERS = {"x86-64": ("rip", "rsp", "rbp"), "aarch64": ("pc", "sp", "x29")}


class Missing(gdb.GdbError):
    pass


# ---- what the kernel's object knows --------------------------------------------------------------


def variable(name):
    """A variable of the object that the selected frame belongs to: each kernel has its own."""
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        raise Missing("no kernel is running") from None
    while frame is not None:
        symtab = frame.find_sal().symtab
        if symtab is not None and symtab.objfile is not None:
            symbol = symtab.objfile.lookup_global_symbol(name) or symtab.objfile.lookup_static_symbol(name)
            if symbol is not None:
                return symbol.value()
        frame = frame.older()
    try:
        return gdb.parse_and_eval(name)
    except gdb.error:
        raise Missing("this is not inside a kernel that was compiled with INGOT_DEBUG=1") from None


def position(value):
    return tuple(int(value[axis]) for axis in "xyz")


def current():
    """(position in the grid, threadgroup, SIMD-group, lane) of the thread that runs."""
    thread = variable("ingot_thread")
    return position(thread["position"]), position(thread["threadgroup"]), int(thread["simdgroup"]), int(thread["lane"])


def spelled(triple):
    return ",".join(str(number) for number in triple)


def parse_position(text):
    words = text.split(",")
    if not 1 <= len(words) <= 3 or not all(re.fullmatch(r"\s*\d+\s*", word) for word in words):
        raise gdb.GdbError(f'expected X[,Y[,Z]], not "{text}"')
    return tuple(int(word) for word in words) + (0,) * (3 - len(words))


def where():
    place, group, simdgroup, lane = current()
    return f"thread {spelled(place)} (threadgroup {spelled(group)}, SIMD-group {simdgroup}, lane {lane})"


# ---- who stops -----------------------------------------------------------------------------------

wanted = {"thread": None, "threadgroup": None}


def is_wanted(thread=None, threadgroup=None):
    try:
        place, group, _, _ = current()
    except gdb.GdbError:
        return True
    return (thread is None or thread == place) and (threadgroup is None or threadgroup == group)


class Only(gdb.Function):
    """$ingot_only(): is this one of the threads that `ingot only` chose?"""

    def __init__(self):
        super().__init__("ingot_only")

    def invoke(self):
        return is_wanted(**wanted)


class ThreadIs(gdb.Function):
    """$ingot_thread_is(X, Y, Z): does the thread at this position in the grid run?"""

    def __init__(self):
        super().__init__("ingot_thread_is")

    def invoke(self, x, y=0, z=0):
        return is_wanted(thread=(int(x), int(y), int(z)))


class ThreadgroupIs(gdb.Function):
    """$ingot_threadgroup_is(X, Y, Z): does the threadgroup at this position run?"""

    def __init__(self):
        super().__init__("ingot_threadgroup_is")

    def invoke(self, x, y=0, z=0):
        return is_wanted(threadgroup=(int(x), int(y), int(z)))


def limit(breakpoint):
    """A breakpoint stops only those that `ingot only` chose. A pending one is left alone: gdb would disable it."""
    is_plain = breakpoint.type == gdb.BP_BREAKPOINT and not isinstance(breakpoint, IngotBreakpoint)
    if any(wanted.values()) and is_plain and not breakpoint.pending and breakpoint.condition is None:
        breakpoint.condition = "$ingot_only()"


def limit_all(event=None):
    for breakpoint in gdb.breakpoints():
        limit(breakpoint)


# ---- lanes ---------------------------------------------------------------------------------------


def line_at(frame, innermost):
    """FILE:LINE of the first caller that has one, by frame pointers, which kernels keep."""
    address, pointer = innermost, frame
    word = gdb.lookup_type("unsigned long").pointer()
    for _ in range(64):
        found = gdb.find_pc_line(address - 1)
        if found.symtab is not None:
            return f"{found.symtab.filename}:{found.line}"
        if not pointer:
            break
        words = gdb.Value(pointer).cast(word)
        address, pointer = int(words[1]), int(words[0])
    return "?"


def state_of(lane, runs):
    state = int(lane["state"])
    if runs:
        frame = user_frame()
        found = frame.find_sal() if frame else None
        return f"running, {found.symtab.filename}:{found.line}" if found and found.symtab else "running"
    if state == MAY_RUN:
        return "may go on" if int(lane["frame"]) else "not begun"
    if state == ENDED:
        return "ended"
    verb = "at a barrier" if state == AT_BARRIER else "waiting for other lanes"
    return f"{verb}, {line_at(int(lane['frame']), int(lane['resumes']))}"


def ranges(numbers):
    parts, first, last = [], None, None
    for number in [*numbers, None]:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None:
            parts.append(str(first) if first == last else f"{first}-{last}")
        first = last = number
    return ",".join(parts)


def user_frame():
    frame = gdb.newest_frame()
    while frame is not None and frame.find_sal().symtab is None:
        frame = frame.older()
    return frame


class Ingot(gdb.Command):
    """Commands for kernels that run with INGOT_DEBUG=1."""

    def __init__(self):
        super().__init__("ingot", gdb.COMMAND_RUNNING, prefix=True)


class Threads(gdb.Command):
    """The SIMD-groups of the threadgroup that runs, and where their lanes are."""

    def __init__(self):
        super().__init__("ingot threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        lanes = variable("ingot_lanes")
        _, group, simdgroup, lane = current()
        running = simdgroup * LANES + lane
        count = sum(1 for i in range(MOST_LANES) if int(lanes[i]["state"]) != NOT_THERE)
        print(f"threadgroup {spelled(group)}: {count} threads")
        for start in range(0, MOST_LANES, LANES):
            by_state = {}
            for i in range(start, start + LANES):
                if int(lanes[i]["state"]) != NOT_THERE:
                    by_state.setdefault(state_of(lanes[i], i == running), []).append(i - start)
            if not by_state:
                continue
            mark = "*" if start // LANES == simdgroup else " "
            print(f"{mark} SIMD-group {start // LANES}")
            for state, numbers in by_state.items():
                word = "lanes" if len(numbers) > 1 else "lane"
                print(f"    {word} {ranges(numbers)}: {state}")


class Where(gdb.Command):
    """The thread that runs: its position in the grid, threadgroup, SIMD-group and lane."""

    def __init__(self):
        super().__init__("ingot where", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        print(where())


class OnlyCommand(gdb.Command):
    """ingot only [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]: breakpoints from now on stop nobody else.

    Positions are thread_position_in_grid and threadgroup_position_in_grid. Without arguments everybody stops again."""

    def __init__(self):
        super().__init__("ingot only", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if len(words) % 2 or any(word not in wanted for word in words[::2]):
            raise gdb.GdbError("expected [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]")
        chosen = {word: parse_position(value) for word, value in zip(words[::2], words[1::2], strict=True)}
        for word in wanted:
            wanted[word] = chosen.get(word)
        limit_all()


class IngotBreakpoint(gdb.Breakpoint):
    def __init__(self, place, thread, threadgroup):
        self.of = {"thread": thread, "threadgroup": threadgroup}
        super().__init__(place)

    def stop(self):
        return is_wanted(**self.of) and is_wanted(**wanted)


class Break(gdb.Command):
    """ingot break PLACE [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]: a breakpoint for one thread, or one threadgroup.

    PLACE is what `break` takes: file.metal:12, 12 or a function."""

    def __init__(self):
        super().__init__("ingot break", gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_LOCATION)

    def invoke(self, argument, from_tty):
        words = argument.split()
        chosen = {"thread": None, "threadgroup": None}
        while len(words) > 2 and words[-2] in chosen:
            chosen[words[-2]] = parse_position(words[-1])
            del words[-2:]
        if not words:
            raise gdb.GdbError("expected PLACE [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]")
        IngotBreakpoint(" ".join(words), **chosen)


class IngotWatchpoint(gdb.Breakpoint):
    def __init__(self, name, value):
        self.name, self.element = name, value.type.strip_typedefs()
        self.address = int(value.address)
        super().__init__(f"*({self.element}*){self.address:#x}", gdb.BP_WATCHPOINT, gdb.WP_WRITE)
        self.before = self.read()

    def read(self):
        return gdb.Value(self.address).cast(self.element.pointer()).dereference().format_string()

    def stop(self):
        after = self.read()
        frame = user_frame()
        found = frame.find_sal() if frame else None
        if found is not None and frame == gdb.newest_frame():  # the instruction that wrote is the one before
            before = gdb.find_pc_line(frame.pc() - 1)
            found = before if before.symtab else found
        line = f" at {found.symtab.filename}:{found.line}" if found and found.symtab else ""
        print(f"{self.name}: {self.before} -> {after}, written by {where()}{line}")
        self.before = after
        return True


class Watch(gdb.Command):
    """ingot watch ELEMENT: stops when it changes, and says which thread wrote it. ELEMENT: out[5], tile[3].

    The processor watches the address: a few elements of at most 8 bytes at a time."""

    def __init__(self):
        super().__init__("ingot watch", gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(argument)
        if value.address is None:
            raise gdb.GdbError(f'"{argument}" is not in memory')
        IngotWatchpoint(argument, value)


class Apply(gdb.Command):
    """ingot apply X[,Y[,Z]] COMMAND: a command in the frame of another thread of the threadgroup.

    The position is thread_position_in_grid; the thread has to be on its way, and wait."""

    def __init__(self):
        super().__init__("ingot apply", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        words = argument.split(None, 1)
        if len(words) != 2:
            raise gdb.GdbError("expected X[,Y[,Z]] COMMAND")
        place = parse_position(words[0])
        if current()[0] == place:
            gdb.execute(words[1], from_tty)
            return
        lane = self.find(place)
        pc, sp, fp = REGISTERS["aarch64" if "aarch64" in gdb.newest_frame().architecture().name() else "x86-64"]
        values = {fp: int(lane["frame"]), sp: int(lane["stack"]), pc: int(lane["resumes"])}
        kept = {name: int(gdb.newest_frame().read_register(name)) for name in values}
        try:
            self.set_registers(values)
            user_frame().select()
            gdb.execute(words[1], from_tty)
        finally:
            self.set_registers(kept)

    @staticmethod
    def set_registers(values):
        for name, value in values.items():
            gdb.newest_frame().select()
            gdb.execute(f"set ${name} = {value:#x}", to_string=True)

    @staticmethod
    def find(place):
        lanes = variable("ingot_lanes")
        here, group, _, _ = current()
        own = position(variable("ingot_thread")["position_in_threadgroup"])
        inside = tuple(p - h + o for p, h, o in zip(place, here, own, strict=True))
        for i in range(MOST_LANES):
            if int(lanes[i]["state"]) != NOT_THERE and position(lanes[i]) == inside:
                state = int(lanes[i]["state"])
                if state == ENDED or not int(lanes[i]["frame"]):
                    what = "has ended" if state == ENDED else "has not begun"
                    raise gdb.GdbError(f"thread {spelled(place)} {what}: it has no frame to look at")
                return lanes[i]
        raise gdb.GdbError(f"thread {spelled(place)} is not in threadgroup {spelled(group)}")


# ---- values --------------------------------------------------------------------------------------


class Vector:
    """float4 as {1, 2, 3, 4}."""

    def __init__(self, value, members):
        self.value, self.members = value, members

    def to_string(self):
        return "{" + ", ".join(self.value[name].format_string() for name in self.members) + "}"


class BFloat:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        address = self.value.address
        if address is None:
            return f"{float(self.value):.6g}"
        bits = bytes(gdb.selected_inferior().read_memory(int(address), 2))
        return f"{struct.unpack('<f', bytes(2) + bits)[0]:.6g}"


def printer(value):
    type = value.type.strip_typedefs().unqualified()
    if type.code == gdb.TYPE_CODE_REF:
        type = type.target().strip_typedefs().unqualified()
    if type.code == gdb.TYPE_CODE_FLT and type.name in ("__bf16", "bfloat"):
        return BFloat(value)
    if type.code == gdb.TYPE_CODE_STRUCT and re.match(r"metal::(__ingot_vec|packed_vec)<", type.name or ""):
        members = []
        for name in "xyzw":
            try:
                value[name]
            except gdb.error:
                break
            members.append(name)
        return Vector(value, members) if members else None
    return None


def start():
    for command in (Ingot, Threads, Where, OnlyCommand, Break, Watch, Apply, Only, ThreadIs, ThreadgroupIs):
        command()
    gdb.pretty_printers.append(printer)
    gdb.events.breakpoint_created.connect(limit)
    gdb.events.new_objfile.connect(limit_all)
    for setting in (
        "breakpoint pending on",  # kernels are loaded when they first run
        "debuginfod enabled off",
        "print thread-events off",
        "step-mode off",  # the prelude has no lines: step goes over its functions
    ):
        try:
            gdb.execute(f"set {setting}", to_string=True)
        except gdb.error:
            pass  # an older gdb


start()
