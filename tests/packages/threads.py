"""The package without NumPy, by many threads at once: in a free-threaded Python they run at the same time.

Ends with a line that says which Python it was, and whether it has a GIL after all of it.
"""
import ctypes
import sys
import sysconfig
import threading

import ingot

THREADS, ROUNDS, COUNT = 8, 40, 256
SOURCE = """
#include <metal_stdlib>
constant int by [[function_constant(0)]];
kernel void add(device int *x, constant int &y, uint i [[thread_position_in_grid]]) { x[i] += y; }
kernel void times(device int *x, uint i [[thread_position_in_grid]]) { x[i] *= by; }
"""


class Numbers:
    """Whole numbers in memory of their own, for kernels by the array interface."""

    def __init__(self) -> None:
        self.memory = (ctypes.c_int * COUNT)()
        self.__array_interface__ = {"version": 3, "shape": (COUNT,), "typestr": "<i4",
                                    "data": (ctypes.addressof(self.memory), False)}


def use(shared: ingot.ShaderLibrary, number: int) -> None:
    """Kernels of a library that all threads have, and of one that this thread makes and closes."""
    expected = 0
    x = Numbers()
    for turn in range(ROUNDS):
        shared.add(x, number, wait=turn % 2 == 0)
        ingot.synchronize()
        shared.times.specialize(by=1 + turn % 3)(x)
        expected = (expected + number) * (1 + turn % 3) % 2**32
        assert {value % 2**32 for value in x.memory} == {expected}, (number, turn, expected, x.memory[0])
        shared.add([x, x][0], 0, threads=COUNT)
        assert dir(shared) == ["add", "times"] and shared.warnings == "" and len(shared.constants) == 1
        try:
            shared.add("not memory", 1)
        except ingot.ArgumentError as error:
            assert "argument 0" in str(error)
        else:
            raise AssertionError("a text went in as memory")
    with ingot.compile_shader(SOURCE) as own:
        kernel = own.add
        kernel(x, 1)
    try:
        kernel(x, 1)
    except ingot.Error as error:
        assert "closed" in str(error)
    else:
        raise AssertionError("a closed library was used")


def close_under_others() -> None:
    """A library that is closed while others call its kernels: they end with a result or with its error."""
    library = ingot.compile_shader(SOURCE)
    start = threading.Barrier(4)

    def call() -> None:
        x, done = Numbers(), 0
        start.wait()
        for _ in range(50):
            try:
                library.add(x, 1)
                done += 1
            except ingot.Error as error:
                assert "closed" in str(error), error
        assert set(x.memory) == {done}

    run_all([call, call, call, lambda: (start.wait(), library.close())])


def run_all(functions: list) -> None:
    failures = []

    def guarded(function) -> None:
        try:
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main() -> None:
    shared = ingot.compile_shader(SOURCE)
    run_all([lambda number=number: use(shared, number) for number in range(THREADS)])
    for _ in range(5):
        close_under_others()
    assert "numpy" not in sys.modules
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    assert gil is not free, "the GIL was taken back by a module that does not say that it works without"
    print(f"threads: Python {sys.version.split()[0]}, {'no GIL' if free else 'with the GIL'}, {THREADS} threads: ok")


main()
