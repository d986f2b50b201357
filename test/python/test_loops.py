"""Loops over children, ranges, prefixes, subtrees and names."""

import caret
from support import Case, main


class Loops(Case):
    def setUp(self):
        super().setUp()
        self.n.settree({"": "e", -1: "m", 2: "two", 10: "ten", "a": "A", "ab": {"x": 1}, "b": "B"})

    def test_as_over_a_dict(self):
        subs = ["", -1, 2, 10, "a", "ab", "b"]
        values = ["e", "m", "two", "ten", "A", None, "B"]
        self.assertEqual(list(self.n), subs)
        self.assertEqual(list(self.n.keys()), subs)
        self.assertEqual(list(self.n.values()), values)
        self.assertEqual(list(self.n.items()), list(zip(subs, values)))
        self.assertEqual([n.sub for n in self.n.nodes()], subs)
        self.assertEqual(list(reversed(self.n)), subs[::-1])
        self.assertEqual(list(self.db["^none"].items()), [])

    def test_ranges(self):
        n = self.n
        self.assertEqual(list(n[2:10]), [2])
        self.assertEqual(list(n[2:11]), [2, 10])
        self.assertEqual(list(n[2:]), [2, 10, "a", "ab", "b"])
        self.assertEqual(list(n[:2]), ["", -1])
        self.assertEqual(list(n[:]), list(n))
        self.assertEqual(list(n["a":"b"]), ["a", "ab"])
        self.assertEqual(list(n[10:2]), [])
        self.assertEqual(list(n[2:"b":-1]), ["ab", "a", 10, 2])
        self.assertEqual(list(n[2:].items()), [(2, "two"), (10, "ten"), ("a", "A"), ("ab", None), ("b", "B")])
        self.assertEqual(list(n[:].reversed(limit=3)), ["b", "ab", "a"])
        self.assertEqual(list(n[:].limit(2).values()), ["e", "m"])
        self.assertEqual(list(reversed(n[2:11])), [10, 2])
        self.assertEqual(n["a":].count(), 3)
        self.assertEqual([x.value for x in n[2:11].nodes()], ["two", "ten"])
        for bad in (slice(1, 2, 3), slice(1, 2, 0)):
            with self.assertRaises(ValueError):
                n[bad]
        with self.assertRaises(TypeError):
            n[None:[]]
        with self.assertRaises(ValueError):
            n[:].limit(-1)

    def test_prefix(self):
        self.assertEqual(list(self.n.prefix("a")), ["a", "ab"])
        self.assertEqual(list(self.n.prefix(b"ab").items()), [("ab", None)])
        self.assertEqual(list(self.n.prefix("a").reversed()), ["ab", "a"])
        self.assertEqual(list(self.n.prefix("")), ["a", "ab", "b"])
        with self.assertRaises(TypeError):
            self.n.prefix(1)

    def test_a_step_that_fails_is_taken_again(self):
        """A conflict, at the first step or a later one, moves nothing."""
        self.n["ab"].settree({1: {"x": 1}, 2: "two", 3: "three"})
        self.db["^o"].value = "after"
        ways = [lambda: iter(self.n["ab"]), self.n["ab"].keys, self.n["ab"].values, self.n["ab"].items, self.n["ab"].nodes,
                self.n["ab"].walk, lambda: self.n["ab"].walk(1), lambda: iter(self.n["ab"][1:]), lambda: iter(self.n["ab"][:].reversed()),
                lambda: iter(self.db)]
        for way in ways:
            whole = list(way())
            for taken in range(len(whole) + 1):
                with self.subTest(whole=whole, taken=taken), self.db.session() as other:
                    self.assertEqual(self.broken_off(way, taken, other), whole)

    def broken_off(self, way, taken, other):
        it = got = None
        end = object()

        def body():
            nonlocal it, got
            if it is None:
                self.n.value
                it, got = way(), []
                got.extend(next(it) for _ in range(taken))
                other["^n"].incr()
                got.append(next(it, end))  # raises Restart, unless it needs to read nothing
            got.extend(x for x in it)

        self.db.run(body)
        return [x for x in got if x is not end]

    def test_killing_a_range(self):
        del self.n[2:"ab"]
        self.assertEqual(list(self.n), ["", -1, "ab", "b"])
        self.n.prefix("a").kill()
        self.assertEqual(list(self.n), ["", -1, "b"])
        with self.assertRaises(ValueError):
            self.n[:].limit(1).kill()
        del self.n[:]
        self.assertEqual(self.n.data, 0)

    def test_changing_what_is_walked(self):
        seen = []
        for sub in self.n:
            seen.append(sub)
            del self.n[sub]
        self.assertEqual(seen, ["", -1, 2, 10, "a", "ab", "b"])
        self.assertEqual(list(self.n), [])

    def test_fresh_nodes(self):
        nodes = list(self.n.nodes())
        self.assertEqual(len(set(nodes)), 7)

    def test_an_iterator_that_is_over_stays_so(self):
        it = iter(self.n["b":])
        self.assertEqual(next(it), "b")
        self.assertRaises(StopIteration, next, it)
        self.n["c"].value = 1
        self.assertRaises(StopIteration, next, it)


class Walks(Case):
    def test_depth_first(self):
        self.n.settree({"__": 0, 1: {"__": "a", 1: {1: {1: "deep"}}, 2: "c"}, 2: {9: {9: "d"}}, 3: "e"})
        self.db["^o"].value = 1
        self.assertEqual([str(n) for n in self.n.walk()],
                         ["^n(1)", "^n(1,1,1,1)", "^n(1,2)", "^n(2,9,9)", "^n(3)"])
        self.assertEqual([n.subs for n in self.n.walk(depth=1)], [(1,), (3,)])
        self.assertEqual([n.subs for n in self.n.walk(2)], [(1,), (1, 2), (3,)])
        self.assertEqual([n.subs for n in self.n.walk(3)], [(1,), (1, 2), (2, 9, 9), (3,)])
        self.assertEqual(list(self.n.walk(0)), [])
        self.assertEqual([n.subs for n in self.n[1].walk()], [(1, 1, 1, 1), (1, 2)])
        self.assertEqual(list(self.n[3].walk()), [])
        self.assertEqual(list(self.n[2][9].walk(5)), [self.n[2, 9, 9]])
        with self.assertRaises(ValueError):
            self.n.walk(-1)

    def test_names(self):
        for name in ("^a", "^n", "loc"):
            self.db[name].value = 1
        self.assertEqual(list(self.db), ["^a", "^n"])
        self.assertEqual(list(self.db.names(local=True)), ["loc"])
        tree = caret.local()
        tree["x"][1].value = 2
        self.assertEqual(tree["x"][1].value, "2")
        self.assertRaises(caret.Error, tree["^x"].set, 1)


class Pairs(Case):
    def test_are_kept_as_they_were(self):
        """items() fills a pair again that nobody has; what somebody has stays."""
        self.n.settree({i: str(i) for i in range(200)})
        expected = [(i, str(i)) for i in range(200)]
        self.assertEqual(list(self.n.items()), expected)
        kept, odd = [], {}
        for i, pair in enumerate(self.n.items()):
            self.assertEqual(pair, expected[i])
            if i % 3 == 0:
                kept.append(pair)
            if i % 2:
                odd[pair] = i  # by its hash
        self.assertEqual(kept, expected[::3])
        self.assertEqual(odd, {pair: pair[0] for pair in expected[1::2]})

    def test_with_a_view(self):
        n = self.n.view((repr, lambda data: [data]))
        n.settree({1: "a", 2: "b"})
        got = [(pair, id(pair[1])) for pair in n.items()]
        self.assertEqual([len({i for _, i in got}), [sub for (sub, _), _ in got]], [2, [1, 2]])


if __name__ == "__main__":
    main()
