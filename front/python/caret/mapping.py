"""node.mapping(): the direct children that have values, as a MutableMapping."""

from collections.abc import MutableMapping

from ._transactions import together


class Mapping(MutableMapping):
    """Keys are subscripts (int or str), values those of the children.  Children below them stay as they are."""

    __slots__ = ("node",)

    def __init__(self, node):
        self.node = node

    _missing = object()

    def _child(self, key):
        if isinstance(key, (tuple, slice)):  # which a node takes, for what is not its child
            raise TypeError("a key is one subscript, not %s" % type(key).__name__)
        return self.node[key]

    def __getitem__(self, key):
        value = self._child(key).get(self._missing)
        if value is self._missing:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        self._child(key).value = value

    def __delitem__(self, key):
        child = self._child(key)

        def delete():
            there = child.has_value
            if there:
                child.delete()
            return there

        if not together(self.node)(delete):
            raise KeyError(key)

    def __contains__(self, key):
        return self._child(key).has_value

    def _range(self):
        """All children, with values that are not read: a key is one also where the codec does not take its value."""
        return self.node.view(bytes)[:]

    @staticmethod
    def _keys(items):
        for key, value in items:
            if value is not None:
                yield key

    def __iter__(self):
        return self._keys(self._range().items())

    def __reversed__(self):
        return self._keys(self._range().reversed().items())

    def __len__(self):
        return sum(1 for _ in self)

    def __bool__(self):
        return next(iter(self), self) is not self

    def __repr__(self):
        return "%s.mapping()" % self.node

    def pop(self, key, default=_missing):
        child = self._child(key)

        def take():
            value = child.get(self._missing)
            if value is not self._missing:
                child.delete()
            return value

        value = together(self.node)(take)
        if value is not self._missing:
            return value
        if default is self._missing:
            raise KeyError(key)
        return default

    def popitem(self):
        def take():
            for key in reversed(self):
                value = self.node[key].get()
                self.node[key].delete()
                return key, value
            raise KeyError("the mapping is empty")

        return together(self.node)(take)

    def setdefault(self, key, default=None):
        child = self._child(key)

        def put():
            if not child.has_value:
                child.value = default
            return child.value

        return together(self.node)(put)

    def clear(self):
        def delete():
            for key in list(self):
                self.node[key].delete()

        together(self.node)(delete)

    def update(self, *args, **kw):
        together(self.node)(super().update, *args, **kw)

    def __or__(self, other):
        return {**self, **other}

    def __ror__(self, other):
        return {**other, **self}

    def __ior__(self, other):
        self.update(other)
        return self
