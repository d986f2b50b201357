"""Trees of nodes as dicts and JSON, in the form that YDBPython 2 gives them.

JSON: a list is the children 1, 2, ...; strings have a child "\\s", the empty list "\\l" and the empty object "\\d", as
does an object that could be taken for a list.
"""

from __future__ import annotations

from typing import Any

LIST, OBJECT, STRING = b"\\l", b"\\d", b"\\s"


def load_tree(node: Any) -> dict[str, Any]:
    """The values of a tree: {"value": text, subscript: {...}}; values and subscripts are UTF-8."""
    made: dict[str, Any] = {}
    value = node.value
    if value is not None:
        made["value"] = value.decode()
    for sub in node.subscripts:
        made[sub.decode()] = load_tree(node[sub])
    return made


def save_tree(tree: dict[Any, Any], node: Any) -> None:
    """Set what such a dict says; what it says nothing of stays."""
    for sub, below in tree.items():
        if isinstance(sub, str) and sub == "value" and not isinstance(below, dict):
            node.value = below
        elif isinstance(below, dict):
            save_tree(below, node[sub])
        else:
            raise TypeError("a tree is dicts, with the value of each node at 'value'")


def replace_tree(tree: dict[Any, Any], node: Any) -> None:
    """Delete the tree, then save_tree()."""
    node.delete_tree()
    save_tree(tree, node)


def save_json(data: Any, node: Any) -> None:
    """Store what json.loads() gave."""
    if isinstance(data, dict):
        for key, value in data.items():
            save_json(value, node[key])
        if not data or _numbered([str(key).encode() for key in data]):
            node[OBJECT].value = b""
    elif isinstance(data, (list, tuple)):
        for i, value in enumerate(data, 1):
            save_json(value, node[str(i)])
        if not data:
            node[LIST].value = b""
    elif isinstance(data, str):
        node.value = data
        node[STRING].value = b""
    elif data is None or isinstance(data, (bool, int, float)):
        node.value = str(data)
    else:
        raise TypeError("Object of type %s is not JSON serializable" % type(data).__name__)


def _numbered(keys: list[bytes]) -> bool:
    return bool(keys) and keys == [str(i).encode() for i in range(1, len(keys) + 1)]


def load_json(node: Any) -> Any:
    """What save_json() stored."""
    keys = list(node.subscripts)
    marks = {LIST, OBJECT, STRING}.intersection(keys)
    keys = [key for key in keys if key not in marks]
    if not keys and not (marks - {STRING}):
        return _scalar(node.value, STRING in marks)
    if OBJECT in marks or not (LIST in marks or _numbered(keys)):
        return {key.decode(): load_json(node[key]) for key in keys}
    return [load_json(node[key]) for key in keys]


def _scalar(value: Any, is_string: bool) -> Any:
    if value is None:
        return {}
    text = value.decode()
    if is_string:
        return text
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
