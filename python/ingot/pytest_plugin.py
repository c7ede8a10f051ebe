"""`pytest --ingot-mps`: a test suite for device mps runs on a machine without it.

The emulation starts before any test file is imported, as suites decide then what to skip.
"""
from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ingot")
    group.addoption(
        "--ingot-mps",
        action="store_true",
        default=False,
        help="emulate device mps: tensors in host memory, Metal kernels compiled and run by ingot",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--ingot-mps"):
        _start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser, args) -> None:
    """Before conftest.py files, which may import torch and look at it."""
    if early_config.known_args_namespace.ingot_mps:
        _start(early_config)


def _start(config: pytest.Config) -> None:
    try:
        import ingot.mps

        ingot.mps.enable()
    except (ImportError, RuntimeError) as error:
        raise pytest.UsageError(f"--ingot-mps: {error}") from error


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--ingot-mps"):
        return None
    import torch

    return f"ingot: device mps is emulated (torch {torch.__version__})"
