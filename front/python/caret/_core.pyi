from typing import Any, Self, final

from . import (
    BadName as BadName,
    BadSyntax as BadSyntax,
    BufferTooSmall as BufferTooSmall,
    Busy as Busy,
    Closed as Closed,
    Corrupt as Corrupt,
    Database as Database,
    Deadlock as Deadlock,
    DiskFull as DiskFull,
    Error as Error,
    Evicted as Evicted,
    Exists as Exists,
    Foreign as Foreign,
    IOFailure as IOFailure,
    InTransaction as InTransaction,
    Interrupted as Interrupted,
    InvalidError as InvalidError,
    Key2Big as Key2Big,
    Limit as Limit,
    LockTimeout as LockTimeout,
    MaxSubs as MaxSubs,
    Misuse as Misuse,
    NetFS as NetFS,
    NoTransaction as NoTransaction,
    Node as Node,
    NotFound as NotFound,
    NotLocked as NotLocked,
    NumericOverflow as NumericOverflow,
    OpenError as OpenError,
    Range as Range,
    ReadOnly as ReadOnly,
    Restart as Restart,
    Rollback as Rollback,
    Session as Session,
    SharedMemoryError as SharedMemoryError,
    StorageError as StorageError,
    SystemFailure as SystemFailure,
    TooBig as TooBig,
    TooDeep as TooDeep,
    UnknownOutcome as UnknownOutcome,
    Unsupported as Unsupported,
    Value2Big as Value2Big,
    Version as Version,
    WritesRefused as WritesRefused,
    open as open,
    parse as parse,
    str2zwr as str2zwr,
    zwr2str as zwr2str,
)

VERSION: str

class Frame:
    _over: bool
    _begun: bool
    def __new__(cls, owner: Any, flags: int, retries: int, nested: bool, again: bool, locals: bool, /) -> Self: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, trace: Any, /) -> bool | None: ...

@final
class Held:
    def __new__(cls, of: Any, nodes: Any, timeout: Any, /) -> Held: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, trace: Any, /) -> None: ...

@final
class View:
    how: Any
    def __new__(cls, how: Any, encode: Any, decode: Any, /) -> View: ...

def local() -> Database: ...
def find(path: str, /) -> Database | None: ...
def symbol(code: int, /) -> str: ...
def at_exit() -> None: ...
def after_fork() -> None: ...
