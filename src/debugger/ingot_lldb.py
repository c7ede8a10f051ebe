"""Commands of lldb for kernels that run with INGOT_DEBUG=1: `ingot help` lists them.

`ingot debug --debugger lldb` loads this file; `command script import .../share/ingot/debugger/ingot_lldb.py` does too.
The variables that it reads are those of prelude/ingot_debug.h.
"""

import re
import shlex
import struct

import lldb

NOT_THERE, MAY_RUN, AT_BARRIER, WAITS, ENDED = range(5)
LANES = 32
LANE_BYTES = 40
MOST_LANES = 1024
STORAGE = re.compile(r"__ingot_storage<([\w ]+)>::type, (\d)")

wanted = {"thread": None, "threadgroup": None}
watched = {}


class Failed(Exception):
    pass


# ---- what the kernel's object knows --------------------------------------------------------------


def module_of(frame):
    """The kernel's object: each kernel has variables of its own."""
    thread = frame.GetThread()
    for i in range(thread.GetNumFrames()):
        module = thread.GetFrameAtIndex(i).GetModule()
        if module.FindSymbol("ingot_thread").IsValid():
            return module
    raise Failed("this is not inside a kernel that was compiled with INGOT_DEBUG=1")


def read(frame, name, size):
    symbol = module_of(frame).FindSymbol(name)
    target = frame.GetThread().GetProcess().GetTarget()
    address = symbol.GetStartAddress().GetLoadAddress(target)
    error = lldb.SBError()
    data = target.GetProcess().ReadMemory(address, size, error)
    if error.Fail():
        raise Failed(f"{name} cannot be read: {error}")
    return data


def current(frame):
    """(position in the grid, threadgroup, SIMD-group, lane) of the thread that runs."""
    words = struct.unpack_from("<2I3I3I3I", read(frame, "ingot_thread", 56), 8)
    return words[2:5], words[8:11], words[0], words[1]


def spelled(triple):
    return ",".join(str(number) for number in triple)


def parse_position(text):
    words = text.split(",")
    if not 1 <= len(words) <= 3 or not all(re.fullmatch(r"\d+", word) for word in words):
        raise Failed(f'expected X[,Y[,Z]], not "{text}"')
    return tuple(int(word) for word in words) + (0,) * (3 - len(words))


def where(frame):
    place, group, simdgroup, lane = current(frame)
    return f"thread {spelled(place)} (threadgroup {spelled(group)}, SIMD-group {simdgroup}, lane {lane})"


# ---- who stops -----------------------------------------------------------------------------------

chosen_by_breakpoint = {}


def is_wanted(frame, chosen):
    place, group, _, _ = current(frame)
    thread, threadgroup = chosen["thread"], chosen["threadgroup"]
    return (thread is None or thread == place) and (threadgroup is None or threadgroup == group)


def stops(frame, location, internal_dict):
    """Called at a breakpoint; False: the process goes on."""
    chosen = chosen_by_breakpoint.get(location.GetBreakpoint().GetID(), wanted)
    return is_wanted(frame, chosen) and is_wanted(frame, wanted)


def text_of(target, address, type):
    value = target.CreateValueFromAddress("element", lldb.SBAddress(address, target), type)
    return value.GetSummary() or value.GetValue() or "?"


def says_who(frame, watchpoint, internal_dict):
    """The instruction that wrote is the one before."""
    target = frame.GetThread().GetProcess().GetTarget()
    name, address, type, before = watched[watchpoint.GetID()]
    after = text_of(target, address, type)
    if before == after:
        return False
    watched[watchpoint.GetID()] = name, address, type, after
    lines = (target.ResolveLoadAddress(f.GetPC() - 1).GetLineEntry() for f in frame.GetThread())
    line = next((line for line in lines if line.IsValid() and line.GetLine()), None)
    place = f" at {line.GetFileSpec().GetFilename()}:{line.GetLine()}" if line else ""
    print(f"{name}: {before} -> {after}, written by {where(frame)}{place}")
    return True


def command_break(debugger, words):
    chosen = {"thread": None, "threadgroup": None}
    while len(words) > 2 and words[-2] in chosen:
        chosen[words[-2]] = parse_position(words[-1])
        del words[-2:]
    if not words:
        raise Failed("expected PLACE [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]")
    target, place = debugger.GetSelectedTarget(), " ".join(words)  # a file's name may have spaces
    match = re.fullmatch(r"(.*):(\d+)", place)
    if match:
        breakpoint = target.BreakpointCreateByLocation(match.group(1), int(match.group(2)))
    else:
        breakpoint = target.BreakpointCreateByName(place)
    chosen_by_breakpoint[breakpoint.GetID()] = chosen
    breakpoint.SetScriptCallbackFunction(f"{__name__}.stops")
    count = breakpoint.GetNumLocations()
    print(f"breakpoint {breakpoint.GetID()}: {place}" + ("" if count else " (when the kernel is loaded)"))


def command_only(debugger, words):
    if len(words) % 2 or any(word not in wanted for word in words[::2]):
        raise Failed("expected [thread X[,Y[,Z]]] [threadgroup X[,Y[,Z]]]")
    chosen = {word: parse_position(value) for word, value in zip(words[::2], words[1::2], strict=True)}
    for word in wanted:
        wanted[word] = chosen.get(word)


def selected_frame(debugger):
    frame = debugger.GetSelectedTarget().GetProcess().GetSelectedThread().GetSelectedFrame()
    if not frame.IsValid():
        raise Failed("no kernel is running")
    return frame


def command_watch(debugger, words):
    frame, name = selected_frame(debugger), " ".join(words)
    value = frame.EvaluateExpression(name)
    address, size = value.GetLoadAddress(), value.GetByteSize()
    if value.GetError().Fail() or address == lldb.LLDB_INVALID_ADDRESS:
        raise Failed(f'"{name}" is not in memory: {value.GetError()}')
    error, target = lldb.SBError(), debugger.GetSelectedTarget()
    watchpoint = target.WatchAddress(address, size, False, True, error)
    if error.Fail():
        raise Failed(f"the processor cannot watch it: {error}")
    watched[watchpoint.GetID()] = name, address, value.GetType(), text_of(target, address, value.GetType())
    debugger.HandleCommand(f"watchpoint command add -F {__name__}.says_who {watchpoint.GetID()}")
    print(f"watchpoint {watchpoint.GetID()}: {name}")


# ---- lanes ---------------------------------------------------------------------------------------


def line_at(frame, pointer, address):
    """FILE:LINE of the first caller that has one, by frame pointers, which kernels keep."""
    process = frame.GetThread().GetProcess()
    for _ in range(64):
        place = process.GetTarget().ResolveLoadAddress(address - 1)
        entry = place.GetLineEntry()
        if entry.IsValid() and entry.GetLine():
            return f"{entry.GetFileSpec().GetFilename()}:{entry.GetLine()}"
        error = lldb.SBError()
        data = process.ReadMemory(pointer, 16, error) if pointer else None
        if not data or error.Fail():
            break
        pointer, address = struct.unpack("<QQ", data)
    return "?"


def state_of(frame, state, pointer, resumes, runs):
    if runs:
        entry = frame.GetLineEntry()
        return f"running, {entry.GetFileSpec().GetFilename()}:{entry.GetLine()}"
    if state == MAY_RUN:
        return "may go on" if pointer else "not begun"
    if state == ENDED:
        return "ended"
    verb = "at a barrier" if state == AT_BARRIER else "waiting for other lanes"
    return f"{verb}, {line_at(frame, pointer, resumes)}"


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


def command_threads(debugger, words):
    frame = selected_frame(debugger)
    data = read(frame, "ingot_lanes", MOST_LANES * LANE_BYTES)
    lanes = [struct.unpack_from("<IIIIQQQ", data, i * LANE_BYTES) for i in range(MOST_LANES)]
    _, group, simdgroup, lane = current(frame)
    running = simdgroup * LANES + lane
    print(f"threadgroup {spelled(group)}: {sum(1 for item in lanes if item[0] != NOT_THERE)} threads")
    for start in range(0, MOST_LANES, LANES):
        by_state = {}
        for i in range(start, start + LANES):
            state, _, _, _, pointer, resumes, _ = lanes[i]
            if state != NOT_THERE:
                by_state.setdefault(state_of(frame, state, pointer, resumes, i == running), []).append(i - start)
        if by_state:
            print(f"{'*' if start // LANES == simdgroup else ' '} SIMD-group {start // LANES}")
        for state, numbers in by_state.items():
            print(f"    {'lanes' if len(numbers) > 1 else 'lane'} {ranges(numbers)}: {state}")


def command_where(debugger, words):
    print(where(selected_frame(debugger)))


COMMANDS = {
    "threads": (command_threads, "the SIMD-groups of the threadgroup that runs, and where their lanes are"),
    "where": (command_where, "the thread that runs"),
    "break": (command_break, "PLACE [thread X,Y,Z] [threadgroup X,Y,Z]: a breakpoint for one thread or threadgroup"),
    "only": (command_only, "[thread X,Y,Z] [threadgroup X,Y,Z]: `ingot break` stops nobody else"),
    "watch": (command_watch, "ELEMENT: stops when it is written, and says by which thread"),
}


def ingot(debugger, command, result, internal_dict):
    """Commands for kernels that run with INGOT_DEBUG=1; `ingot help` lists them."""
    words = shlex.split(command)
    if not words or words[0] == "help" or words[0] not in COMMANDS:
        for name, (_, about) in COMMANDS.items():
            print(f"ingot {name}: {about}")
        return
    try:
        COMMANDS[words[0]][0](debugger, words[1:])
    except Failed as failure:
        result.SetError(str(failure))


# ---- values --------------------------------------------------------------------------------------


def shown(value, element):
    """A number as text; lldb takes bfloat for half."""
    if element in ("__bf16", "bfloat"):
        error = lldb.SBError()
        bits = value.GetData().ReadRawData(error, 0, 2)
        return "?" if error.Fail() else f"{struct.unpack('<f', bytes(2) + bits)[0]:.6g}"
    if element in ("char", "signed char", "unsigned char"):
        return str(value.GetValueAsSigned() if element != "unsigned char" else value.GetValueAsUnsigned())
    return value.GetValue()


def vector_summary(value, internal_dict):
    """float4 as {1, 2, 3, 4}. Its union has the members v, whose type says of what it is made, and a struct x, y, …"""
    union = value.GetNonSyntheticValue().GetChildAtIndex(0)
    storage = STORAGE.search(union.GetChildAtIndex(0).GetType().GetName() or "")
    members = union.GetChildAtIndex(1)
    if not storage or not members.IsValid():
        return ""
    numbers = (members.GetChildAtIndex(i) for i in range(int(storage.group(2))))
    return "{" + ", ".join(shown(number, storage.group(1)) for number in numbers) + "}"


def packed_summary(value, internal_dict):
    value = value.GetNonSyntheticValue()
    element = "bfloat" if "bfloat" in value.GetType().GetName() else ""
    numbers = (value.GetChildAtIndex(i) for i in range(value.GetNumChildren()))
    return "{" + ", ".join(shown(number, element or number.GetType().GetCanonicalType().GetName())
                           for number in numbers) + "}"


def matrix_summary(value, internal_dict):
    columns = value.GetNonSyntheticValue().GetChildAtIndex(0)
    texts = (vector_summary(columns.GetChildAtIndex(i), internal_dict) for i in range(columns.GetNumChildren()))
    return "{" + ", ".join(texts) + "}"


def bfloat_summary(value, internal_dict):
    return shown(value, "bfloat")


def __lldb_init_module(debugger, internal_dict):
    debugger.HandleCommand(f"command script add -o -f {__name__}.ingot ingot")
    for names, summary in ((r"^metal::__ingot_vec<.*>$", "vector"), (r"^metal::packed_vec<.*>$", "packed"),
                           (r"^metal::matrix<.*>$", "matrix"), (r"^(metal::)?bfloat$", "bfloat")):
        function = f"{__name__}.{summary}_summary"
        debugger.HandleCommand(f"type summary add --no-value --skip-pointers -x '{names}' -F {function}")
    debugger.HandleCommand("settings set target.process.thread.step-avoid-regexp ^metal::")
