"""node.mapping(): the direct children that have values, as a MutableMapping."""

from collections.abc import MutableMapping


class Mapping(MutableMapping):
    """Keys are subscripts (int or str), values those of the children.  Children below them stay as they are."""

    __slots__ = ("node",)

    def __init__(self, node):
        self.node = node

    def __getitem__(self, key):
        value = self.node[key].value
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        self.node[key].value = value

    def __delitem__(self, key):
        if self.pop(key, self) is self:
            raise KeyError(key)

    def __contains__(self, key):
        return self.node[key].has_value

    def __iter__(self):
        for key, value in self.node.items():
            if value is not None:
                yield key

    def __reversed__(self):
        for key, value in self.node[:].reversed().items():
            if value is not None:
                yield key

    def __len__(self):
        return sum(1 for _ in self)

    def __bool__(self):
        return next(iter(self), self) is not self

    def __repr__(self):
        return "%s.mapping()" % self.node

    _missing = object()

    def pop(self, key, default=_missing):
        def take():
            child = self.node[key]
            value = child.value
            if value is not None:
                child.delete()
            return value

        value = self.node.db.run(take)
        if value is not None:
            return value
        if default is self._missing:
            raise KeyError(key)
        return default

    def popitem(self):
        def take():
            for key, value in self.node[:].reversed().items():
                if value is not None:
                    self.node[key].delete()
                    return key, value
            raise KeyError("the mapping is empty")

        return self.node.db.run(take)

    def setdefault(self, key, default=None):
        child = self.node[key]

        def put():
            value = child.value
            if value is None:
                child.value = default
                value = child.value
            return value

        return self.node.db.run(put)

    def clear(self):
        def delete():
            for key in list(self):
                self.node[key].delete()

        self.node.db.run(delete)

    def update(self, *args, **kw):
        self.node.db.run(super().update, *args, **kw)

    def __or__(self, other):
        return {**self, **other}

    def __ror__(self, other):
        return {**other, **self}

    def __ior__(self, other):
        self.update(other)
        return self
