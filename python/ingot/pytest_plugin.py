"""`pytest --ingot-mps`: a test suite for device mps runs on a machine without it.

The emulation starts before any test file is imported, as suites decide then what to skip. Accesses outside of tensors
are always looked for: they fail the test, not the process.
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
        help="emulate device mps: tensors in host memory, Metal kernels compiled and run by ingot, bounds checked",
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
    _start_checks(config.getoption("--ingot-sanitize"), config.getoption("--ingot-mps"))
    if config.getoption("--ingot-mps"):
        _start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser, args) -> None:
    """Before conftest.py files, which may import torch and look at it."""
    options = early_config.known_args_namespace
    _start_checks(options.ingot_sanitize, options.ingot_mps)
    if options.ingot_mps:
        _start(early_config)


_ALWAYS = "bounds,sources"  # under --ingot-mps, unless other kinds are asked for
_checks: str | None = None  # what is checked


def _start_checks(kinds: str | None, is_mps: bool) -> None:
    global _checks
    if _checks or not (kinds or is_mps):
        return
    kinds = kinds or os.environ.get("INGOT_SANITIZE") or _ALWAYS
    try:
        import ingot

        ingot.sanitize(kinds)
    except (ImportError, RuntimeError, ValueError) as error:
        if kinds == _ALWAYS:
            return  # kernels have run already; or this is a Mac; or _start says what is wrong
        raise pytest.UsageError(f"--ingot-sanitize: {error}") from error
    os.environ["INGOT_SANITIZE"] = kinds  # of processes that tests start
    _checks = kinds


def _reports() -> str:
    from ingot import _C

    if not _checks:
        return ""
    reports = [finding["report"] for finding in _C.findings()]
    try:
        _C.mps_settle()  # kernels of extensions, which run on a device of their own
    except RuntimeError as error:
        reports.append(str(error))
    return "\n".join(reports)


def _fail_with_findings(item: pytest.Item, when: str):
    """What a test's kernels did wrong belongs to that test, also where it fails for another reason."""
    try:
        result = yield
    except BaseException:
        reports = _reports()
        if reports:
            item.add_report_section(when, "sanitizer", reports)
        raise
    reports = _reports()
    if reports:
        pytest.fail("the sanitizer found:\n" + reports, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item):
    return (yield from _fail_with_findings(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    return (yield from _fail_with_findings(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item):
    return (yield from _fail_with_findings(item, "teardown"))


def _start(config: pytest.Config) -> None:
    try:
        import ingot.mps

        ingot.mps.enable()
        from ingot.mps.environment import tell_children

        tell_children()
    except (ImportError, RuntimeError) as error:
        raise pytest.UsageError(f"--ingot-mps: {error}") from error


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--ingot-mps"):
        return None
    import torch

    checked = f"checked: {_checks.removesuffix(',sources')}" if _checks else "bounds are not checked"
    return f"ingot: device mps is emulated (torch {torch.__version__}), {checked}"
