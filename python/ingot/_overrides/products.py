"""Products of few rows with a large matrix, as in decoding. From Python they would cost more than they gain."""

from __future__ import annotations

from ingot._overrides.dispatch import native

native("matmul", "mm")
native("matmul", "linear")
