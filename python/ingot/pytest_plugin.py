"""`pytest --ingot-mps`: a test suite for device mps runs on a machine without it.

The emulation starts before any test file is imported, as suites decide then what to skip.
"""
from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ingot")
    group.addoption(
        "--ingot-mps",
        action="store_true",
        default=False,
        help="emulate device mps: tensors in host memory, Metal kernels compiled and run by ingot",
    )


    group.addoption(
        "--ingot-sanitize",
        nargs="?",
        const="default",
        default=None,
        metavar="KINDS",
        help="check kernels for mistakes (bounds, race, ...); a finding fails its test with the report",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    _start_checks(config.getoption("--ingot-sanitize"))
    if config.getoption("--ingot-mps"):
        _start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser, args) -> None:
    """Before conftest.py files, which may import torch and look at it."""
    _start_checks(early_config.known_args_namespace.ingot_sanitize)
    if early_config.known_args_namespace.ingot_mps:
        _start(early_config)


def _start_checks(kinds: str | None) -> None:
    if not kinds:
        return
    try:
        import ingot

        ingot.sanitize(kinds)
        os.environ["INGOT_SANITIZE"] = kinds  # of processes that tests start
    except (ImportError, RuntimeError, ValueError) as error:
        raise pytest.UsageError(f"--ingot-sanitize: {error}") from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """A test whose kernels have findings fails with the report; the others go on."""
    result = yield
    if item.config.getoption("--ingot-sanitize"):
        from ingot import _C

        reports = [finding["report"] for finding in _C.findings()]
        if reports:
            pytest.fail("the sanitizer found:\n" + "\n".join(reports), pytrace=False)
    return result


def _start(config: pytest.Config) -> None:
    try:
        import ingot.mps

        ingot.mps.enable()
        _tell_children(os.path.dirname(ingot.mps.__file__))
    except (ImportError, RuntimeError) as error:
        raise pytest.UsageError(f"--ingot-mps: {error}") from error


def _tell_children(folder: str) -> None:
    """Python processes that tests start find the emulation too: by a sitecustomize in their path."""
    entries = [os.path.join(folder, "children"), os.path.dirname(os.path.dirname(folder))]
    present = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    others = [entry for entry in present if entry not in entries]
    os.environ["PYTHONPATH"] = os.pathsep.join([entries[0], *others, entries[1]])
    os.environ["INGOT_MPS"] = "1"


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--ingot-mps"):
        return None
    import torch

    return f"ingot: device mps is emulated (torch {torch.__version__})"
