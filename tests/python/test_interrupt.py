"""Ctrl-C while a kernel runs: KeyboardInterrupt at once, the kernel is stopped, and everything works afterwards."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ingot

SOURCE = """
kernel void wait_for(device metal::atomic_uint* flag) {
    while (metal::atomic_load_explicit(flag, metal::memory_order_relaxed) == 0u) {}
}
kernel void scale(device float* y, constant float& a, uint i [[thread_position_in_grid]]) { y[i] *= a; }
"""
SOON = 2.0  # seconds; some tens of milliseconds on an idle machine
TICK = 0.02  # a handler that is set counts from the next tick of the system's clock on


@pytest.fixture(scope="module")
def lib():
    """With both kernels compiled: that may take longer than it takes to press Ctrl-C."""
    lib = ingot.compile_shader(SOURCE)
    lib.wait_for(np.ones(1, np.uint32), threads=1)
    check_that_kernels_work(lib)
    return lib


@pytest.fixture
def press_soon():
    """Presses Ctrl-C from another thread after a while; `at` is when. It is started where KeyboardInterrupt is
    expected: on a busy machine the while may be over before the next line."""

    class Presser(threading.Thread):
        at = None

        def run(self) -> None:
            time.sleep(0.1)
            self.at = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    presser = Presser()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    time.sleep(TICK)
    yield presser
    if presser.is_alive():
        presser.join()
    signal.signal(signal.SIGINT, before)


def check_that_kernels_work(lib) -> None:
    y = np.ones(100, np.float32)
    lib.scale(y, 2.0)
    assert (y == 2).all()


@pytest.mark.parametrize("threads", [1, 100_000], ids=["one thread", "many groups"])
def test_ctrl_c_stops_a_kernel_that_never_ends(lib, press_soon, threads):
    flag = np.zeros(1, np.uint32)
    check_that_kernels_work(lib)
    with pytest.raises(KeyboardInterrupt):
        press_soon.start()
        lib.wait_for(flag, threads=threads, time_limit=float("inf"))
    assert time.monotonic() - press_soon.at < SOON
    check_that_kernels_work(lib)


def test_ctrl_c_drops_what_is_queued(lib, press_soon):
    flag, y = np.zeros(1, np.uint32), np.ones(4, np.float32)
    lib.wait_for(flag, threads=1, time_limit=float("inf"), wait=False)
    lib.scale(y, 3.0, wait=False)
    with pytest.raises(KeyboardInterrupt):
        press_soon.start()
        ingot.synchronize()
        time.sleep(SOON)  # where Ctrl-C came before the wait
    assert time.monotonic() - press_soon.at < SOON
    ingot.synchronize()
    assert y.tolist() == [1] * 4
    check_that_kernels_work(lib)


def test_a_handler_that_does_not_raise_lets_the_kernel_end(lib, press_soon):
    flag, seen = np.zeros(1, np.uint32), []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    time.sleep(TICK)
    check_that_kernels_work(lib)

    def press_and_let_go() -> None:
        press_soon.start()
        press_soon.join()
        time.sleep(0.3)
        assert not seen  # Python's handlers run on the main thread, which is in the kernel
        flag[0] = 1

    helper = threading.Thread(target=press_and_let_go)
    helper.start()
    lib.wait_for(flag, threads=1, time_limit=60)
    helper.join()
    assert flag[0] == 1 and seen == [signal.SIGINT]


def test_work_of_other_threads_goes_on(lib, press_soon):
    flag, other_flag, failures = np.zeros(1, np.uint32), np.zeros(1, np.uint32), []

    def work() -> None:
        try:
            lib.wait_for(other_flag, threads=1, time_limit=60)
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    with pytest.raises(KeyboardInterrupt):
        press_soon.start()
        lib.wait_for(flag, threads=1, time_limit=float("inf"))
    assert worker.is_alive()
    other_flag[0] = 1
    worker.join()
    assert not failures


PROGRAM = f"""
import os, signal, sys
import numpy as np
import ingot
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
lib = ingot.compile_shader('''{SOURCE}''')
lib.scale(np.ones(4, np.float32), 2.0)
lib.wait_for(np.ones(1, np.uint32), threads=1)
child = os.fork() if "fork" in sys.argv else 0
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    print("ready", flush=True)
    lib.wait_for(np.zeros(1, np.uint32), threads=1, time_limit=float("inf"))
except KeyboardInterrupt as error:
    print("interrupted", error.__context__, flush=True)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_the_whole_process_group_gets_it_as_from_a_terminal(how):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        if how == "plain":
            os.killpg(process.pid, signal.SIGINT)
        else:  # the parent only waits
            children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
            os.kill(int(children[0]), signal.SIGINT)
        assert process.stdout.readline() == "interrupted None\n"
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("way", ["ingot.ops", "torch.ops", "an override"])
def test_ctrl_c_stops_an_operator(lib, press_soon, way):
    import torch

    import ingot.ops

    matrices = torch.randn(24, 768, 768)
    calls = {"ingot.ops": ingot.ops.svdvals, "torch.ops": torch.ops.ingot.svdvals, "an override": torch.linalg.svdvals}
    with pytest.raises(KeyboardInterrupt), ingot.overrides(linalg="always"):
        try:
            press_soon.start()
            calls[way](matrices)
            pytest.fail("it ended by itself")
        except RuntimeError:  # of the operator, which was stopped: torch has no other way to say so
            for _ in range(100):  # the handler of the signal runs between two steps
                time.sleep(SOON / 100)
    assert time.monotonic() - press_soon.at < SOON
    assert ingot.ops.silu(torch.zeros(3)).tolist() == [0] * 3
    check_that_kernels_work(lib)
