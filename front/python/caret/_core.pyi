from . import (
    Database as Database,
    Error as Error,
    Node as Node,
    Range as Range,
    Session as Session,
    open as open,
    parse as parse,
    str2zwr as str2zwr,
    zwr2str as zwr2str,
)

VERSION: str
