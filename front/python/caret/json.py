"""Trees as JSON and back, exactly, as Lua's n:json() and n:setjson() have them.  Loaded when first used.

    JSON            in the tree
    number          a value that is a number in canonical form: 5, -1.5, .5 (0.5 in JSON), 1.5E300
    true false null the values true, false and null
    string          any other value; one that reads as something above has the mark "string"
    array           children 1..n and no value; an empty one is the mark "array" alone
    object          other children; an empty one, or one whose members are named "1".."n", has the mark "object"

A mark is the value of the child "__json" of what it marks.  The member "__" of an object is the node's own value.  A
member "__json" is the subscript "___json", one more "_" each time, and the subscript "__" is the member "___".
Numbers never pass through floating point; bytes that are not UTF-8 are lone surrogates, as surrogateescape has them.
"""

import json as _json
import re
from decimal import Decimal

from ._core import BadSyntax, InvalidError
from ._numbers import text_of_decimal
from .trees import replace

MARK = "__json"
_MARKS = ("array", "object", "string", "object string")
_WORDS = {"true": True, "false": False, "null": None}
_TEXTS = {True: "true", False: "false", None: "null"}
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:E-?\d+)?\Z")
_ODD = re.compile("[\x7f\ud800-\udfff]")


class _Number(str):
    """The text of a number, on its way."""


def _reads_as_number(text):
    return _NUMBER.match(text) is not None and text_of_decimal(Decimal(text), "value") == text


# ------------------------------------------------------------------ from a tree


def _quoted(text):
    return _ODD.sub(lambda m: "\\u%04x" % ord(m[0]), _json.dumps(text, ensure_ascii=False))


def _scalar(text, is_string=False):
    if is_string or not (text in _WORDS or _reads_as_number(text)):
        return _quoted(text)
    return text.replace(".", "0.", 1) if text.startswith((".", "-.")) else text


def _key(sub):
    """The member that a subscript is."""
    text = str(sub)
    if re.match(r"__+\Z", text):
        return text + "_"
    return text[1:] if re.match(r"___+json\Z", text) else text


def _length(subs, marked):
    """How many elements an array of these has: they are 1 to n, or nearly if it is marked as one.  None: it is none."""
    for count, sub in enumerate(subs):
        if type(sub) is not int or sub < 1 or not marked and sub != count + 1:
            return None
    highest = subs[-1] if subs else 0
    return None if highest > 2 * len(subs) + 8 else highest


def _mark(node):
    mark = node[MARK]
    if mark.data >= 10 or mark.value not in (None, *_MARKS):
        raise InvalidError("INVALID: json: %s is kept for marks: %s" % (mark, ", ".join(_MARKS)))
    return mark.value or ""


def _joined(ends, parts, gap, indent):
    if not indent or not parts:
        return ends[0] + ",".join(parts) + ends[1]
    inner = "\n" + gap + indent
    return ends[0] + inner + ("," + inner).join(parts) + "\n" + gap + ends[1]


def _text(node, gap, indent):
    value = node.value
    if not node.has_children:
        return _scalar(value) if value is not None else "null"
    mark = _mark(node)
    own = None if value is None else _scalar(value, "string" in mark)
    subs = [sub for sub in node if sub != MARK]
    length = _length(subs, mark == "array")
    if length == 0 and "object" not in mark and (own is not None or mark != "array"):
        return own or "null"
    inner = gap + indent
    if length is not None and own is None and "object" not in mark:
        present = set(subs)
        parts = [_text(node[i], inner, indent) if i in present else "null" for i in range(1, length + 1)]
        return _joined("[]", parts, gap, indent)
    colon = ": " if indent else ":"
    parts = [] if own is None else ['"__"' + colon + own]
    parts += [_quoted(_key(sub)) + colon + _text(node[sub], inner, indent) for sub in subs]
    return _joined("{}", parts, gap, indent)


def dumps(node, indent=None):
    """See Node.json."""
    if indent is not None and not isinstance(indent, (int, str)):
        raise TypeError("indent is a number of blanks, or text")
    node = node.view(str)
    if node.data == 0:
        return None
    return _text(node, "", " " * indent if isinstance(indent, int) else indent or "")


# ------------------------------------------------------------------ to a tree


def _constant(name):
    raise BadSyntax("SYNTAX: the JSON text: no such value: '%s'" % name)


def _members(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadSyntax("SYNTAX: the JSON text: the second member %a of one object" % twice)
    return members


def _parsed(text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    try:
        return _json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_constant,
                           object_pairs_hook=_members)
    except _json.JSONDecodeError as error:
        raise BadSyntax("SYNTAX: the JSON text at line %d, column %d: %s"
                        % (error.lineno, error.colno, error.msg)) from None
    except RecursionError:
        raise InvalidError("INVALID: the JSON text is nested too deep") from None


def _sub(name):
    """The subscript for the name of a member."""
    if re.match(r"___+\Z", name):
        return name[:-1]
    return "_" + name if re.match(r"__+json\Z", name) else name


def _put_scalar(node, data):
    """The value; does it have to be marked as a string?"""
    if data is None or data is True or data is False:
        node.value = _TEXTS[data]
    elif isinstance(data, _Number):
        node.value = text_of_decimal(Decimal(data), "value")
    else:
        node.value = data
        return data in _WORDS or _reads_as_number(data)
    return False


def _put(node, data):
    if isinstance(data, dict):
        mark = _put_object(node, data)
    elif isinstance(data, list):
        for i, item in enumerate(data, 1):
            _put(node[i], item)
        mark = "" if data else "array"
    else:
        mark = "string" if _put_scalar(node, data) else ""
    if mark:
        node[MARK].value = mark


def _put_object(node, members):
    own = "__" in members
    names = [name for name in members if name != "__"]
    highest = 0
    for name in names:
        small = re.match(r"[1-9]\d{0,14}\Z", name)
        highest = max(highest, int(name)) if small and highest is not None else None
        _put(node[_sub(name)], members[name])
    mark = "object" if not names or not own and highest == len(names) else ""
    if own:
        if isinstance(members["__"], (dict, list)):
            raise BadSyntax("SYNTAX: the JSON text: '__' is the node's own value, no array or object")
        if _put_scalar(node, members["__"]):
            mark = "object string" if mark else "string"
    return mark


def load(node, text):
    """See Node.setjson."""
    data, node = _parsed(text), node.view(str)

    def put():
        try:
            _put(node, data)
        except UnicodeEncodeError as error:
            raise BadSyntax("SYNTAX: the JSON text: a lone surrogate: %s" % error) from None

    replace(node, put)
