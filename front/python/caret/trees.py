"""Trees as dicts and back, and as rows."""

from ._core import InvalidError


def tree(node, depth=None):
    """See Node.tree."""
    children = {}
    value = node.value
    if depth is None or depth > 0:
        below = None if depth is None else depth - 1
        for child in node.nodes():
            children[child.sub] = tree(child, below) if child.has_children else child.value
    if not children:
        return value
    if value is not None:
        children["__"] = value
    return children


def settree(node, data):
    """See Node.settree."""
    replace(node, lambda: _put(node, data))


def replace(node, put):
    """Kill it, and put something else there: all of that or, if putting it ends with an exception, nothing."""

    def body():
        node.kill()
        put()

    _undone(node, body) if node.is_local else node.db.run(body)


def _undone(node, body):
    """The transaction of local variables."""
    plain = node.view(bytes)
    before = [(one, one.bytes) for one in (plain, *plain.walk())]
    try:
        body()
    except BaseException:
        plain.kill()
        for one, value in before:
            if value is not None:
                one.value = value
        raise


def _put(node, data):
    if not isinstance(data, dict):
        if data is not None:
            node.value = data
        return
    names = set()
    for sub, below in data.items():
        if isinstance(sub, str) and sub == "__":
            node.value = below
            continue
        child = node[sub]
        if child.sub in names:
            raise InvalidError("INVALID: two keys of a dict are the child %r of %s" % (child.sub, node))
        names.add(child.sub)
        _put(child, below)


def records(node, depth=1):
    """See Node.records."""
    if not isinstance(depth, int):
        raise TypeError("records() takes a number of levels")
    if depth < 1:
        raise ValueError("records() takes a number of levels, 1 or more")
    return _records(node, depth, ())


def _records(node, depth, subs):
    for child in node.nodes():
        path = (*subs, child.sub)
        if depth > 1:
            yield from _records(child, depth - 1, path)
            continue
        row = {"sub%d" % (i + 1): sub for i, sub in enumerate(path)}
        if child.has_value:
            row["value"] = child.value
        row.update((sub, value) for sub, value in child.items() if value is not None)
        yield row
