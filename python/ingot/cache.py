"""The cache of compiled kernels on disk: what is there, and making it smaller.

It keeps itself below its limit, $INGOT_CACHE_LIMIT (1 GiB): what was used longest ago goes first. What is removed is
compiled again when it is asked for; other processes, and kernels in use, are not disturbed.
"""
from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

from ingot import _C

__all__ = ["Info", "clear", "info", "trim"]


class Info(NamedTuple):
    """What the cache holds. Bytes are those of whole blocks of 4 KiB; the limit is None where there is none; oldest is
    the last use of what was used longest ago."""

    folder: str
    limit: int | None
    bytes: int
    files: int
    kernels: int
    oldest: datetime | None


def info() -> Info:
    """Looks through the cache's folder."""
    folder, limit, size, files, kernels, oldest, _ = _C.cache()
    return Info(folder, limit, size, files, kernels, oldest and datetime.fromtimestamp(oldest, timezone.utc))


def trim(size: int | str) -> int:
    """Removes what was used longest ago until `size` is left: bytes, or a text such as "100M".

    Returns how many bytes were removed.
    """
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise TypeError(f"size has to be a number of bytes or a text such as '100M', not {type(size).__name__}")
    return _C.cache(str(size))[-1]


def clear() -> int:
    """Removes everything that ingot keeps there. Returns how many bytes that were."""
    return trim(0)
