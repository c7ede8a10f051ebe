"""The extension module: what compile_shader returns, and the operators in C."""
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple

version: str

class Error(RuntimeError):
    status: str

class ArgumentError(Error, TypeError): ...

class Argument(NamedTuple):
    index: int
    name: str
    type: str
    size: int
    kind: Literal["buffer", "threadgroup"]
    space: Literal["device", "constant", "threadgroup"]
    writable: bool
    reference: bool
    active: bool

class Kernel:
    @property
    def name(self) -> str: ...
    @property
    def max_threads_per_threadgroup(self) -> int: ...
    @property
    def thread_execution_width(self) -> int: ...
    @property
    def static_thread_group_memory_length(self) -> int: ...
    @property
    def arguments(self) -> list[Argument]: ...
    def __call__(
        self,
        *args: Any,
        threads: int | Sequence[int] | None = None,
        group_size: int | Sequence[int] | None = None,
        arg_casts: str | Mapping[int, str] | None = None,
        error_buf_idx: int | None = None,
        threadgroup_memory: int | Sequence[int] | None = None,
        contiguous: Literal["ignore", "refuse", "copy"] | None = None,
        wait: bool = True,
        time_limit: float | None = None,
    ) -> None: ...
    def specialize(self, constants: Mapping[int | str, Any] | None = None, /, **by_name: Any) -> Kernel: ...

class ShaderLibrary:
    @property
    def closed(self) -> bool: ...
    @property
    def warnings(self) -> str: ...
    @property
    def constants(self) -> list[tuple[int, str, int, bool]]: ...
    def close(self) -> None: ...
    def __getattr__(self, name: str) -> Kernel: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def __enter__(self) -> ShaderLibrary: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def compile(
    source: str,
    name: str | None = None,
    include_dirs: list[str] | None = None,
    defines: list[str] | None = None,
    fast_math: bool = False,
    msl_version: int = 0,
    use_cache: bool = True,
    strict: bool = False,
    contiguous: str = "ignore",
    mps: bool = False,
) -> ShaderLibrary: ...
def load(
    bytes: bytes | None, path: str | None, strict: bool = False, contiguous: str = "ignore", mps: bool = False
) -> ShaderLibrary: ...
def synchronize() -> None: ...
def thread_count() -> int: ...
def take_reports() -> list[tuple[str, int, str, str]]: ...

# ingot.ops: the operators in C.
def torch_register(path: str) -> None: ...
def torch_schemas() -> dict[str, str]: ...
def torch_unimplemented() -> list[str]: ...
def torch_has_cuda() -> bool: ...
def torch_call(name: str, *arguments: Any) -> Any: ...
