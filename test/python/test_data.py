"""Values: what goes in, what comes out; counting; what is there; killing; views."""

import json
import pickle
import re
import sys
from decimal import Decimal

import caret
from support import Case, main


class Values(Case):
    def test_in_and_out(self):
        for value, text in [("x", "x"), (15, "15"), (-3, "-3"), (0.5, ".5"), (2.0, "2"), (b"\xff\0", "\udcff\0"),
                            ("é\udcff", "é\udcff"), ("", ""), (2**100, str(2**100)), (Decimal("1.10"), "1.1"),
                            (1e300, "1E300"), (Decimal("1E-50"), "1E-50")]:
            with self.subTest(value=value):
                self.n.value = value
                self.assertEqual(self.n.value, text)
                self.assertEqual(self.n.bytes, text.encode("utf-8", "surrogateescape"))
                self.assertEqual(self.n.get(), text)

    def test_none_is_told_what_to_write(self):
        with self.assertRaisesRegex(TypeError, "del node.value"):
            self.n.value = None

    def test_other_types_are_refused(self):
        for value in (True, [], {}, object(), self.n):
            with self.assertRaises(TypeError):
                self.n.value = value
            with self.assertRaises(TypeError):
                self.n.set(value)
        with self.assertRaises(ValueError):
            self.n.value = float("nan")
        self.assertIsNone(self.n.value)

    def test_none_and_defaults(self):
        self.assertIsNone(self.n.value)
        self.assertIsNone(self.n.bytes)
        self.assertEqual((self.n.get(), self.n.get("0"), self.n.int(), self.n.int(3)), (None, "0", None, 3))
        self.assertEqual((self.n.number(1), self.n.float(2.5)), (1, 2.5))
        self.n.value = ""
        self.assertEqual((self.n.value, self.n.bytes, self.n.get("x")), ("", b"", ""))

    def test_numbers(self):
        for text, number in [("15", 15), ("-.5", Decimal("-0.5")), ("1700000000000000001", 1700000000000000001),
                             ("2.0", 2), ("1E3", 1000), ("123456789012345678901", 123456789012345678901)]:
            self.n.value = text
            self.assertEqual((self.n.number(), type(self.n.number())), (number, type(number)))
        self.n.value = "12 oaks"
        for read in (self.n.number, self.n.int, self.n.float):
            self.assertRaises(ValueError, read)
        self.n.value = "\u0663"  # a digit, but not one that the engine counts with
        self.assertRaises(ValueError, self.n.number)
        self.n.value = "2.5"
        self.assertEqual(self.n.float(), 2.5)

    def test_large_ones(self):
        big = "x" * (16 << 20)
        self.n.value = big
        self.assertEqual(self.n.value, big)
        with self.assertRaises(caret.Value2Big):
            self.n.value = big + "x"
        self.assertEqual(len(self.n.bytes), 16 << 20)

    def test_short_ones_that_come_again(self):
        """They are given out again as they are, so each must be told from all that share bytes with it."""
        texts = {""}
        for length in range(1, 21):
            for i in range(length):
                for odd in b"b", b"\0", b"\xff", b"\x01":
                    texts.add((b"a" * i + odd + b"a" * (length - i - 1)).decode("utf-8", "surrogateescape"))
            texts.add("a" * length)
            texts.add("\0" * length)
        rare = sorted(texts)
        often = rare[::17] + ["15", "0", "\u00e4\u00f6", "enabled"]
        for text in rare + often * 8 + rare[::-1] + often * 8:
            self.n.value = text
            self.assertEqual([self.n.value, self.n.value, self.n.get()], [text] * 3)
            self.assertEqual(self.n.bytes, text.encode("utf-8", "surrogateescape"))

    def test_short_ones_leave_nothing_behind(self):
        """A str that is known again goes when others need its place."""
        self.n.value = "state-1"
        for _ in range(3):
            text = self.n.value
        self.assertLessEqual(sys.getrefcount(text), 4)
        for i in range(100000):
            self.n["k"].value = "v%d" % (i // 3)
            for _ in range(3):
                self.n["k"].value
            if sys.getrefcount(text) == 2:
                return
        self.fail("still held after %d other values" % i)

    def test_deleting_and_killing(self):
        self.n.value = 1
        self.n[1].value = 2
        del self.n.value
        self.assertEqual((self.n.value, self.n.data), (None, 10))
        self.n.value = 1
        self.n.delete()
        self.assertEqual(self.n[1].value, "2")
        del self.n[1]
        self.assertEqual(self.n.data, 0)
        self.n[1, 2, 3] = "x"
        self.assertEqual(self.n[1][2][3].value, "x")
        del self.n[1, 2]
        self.assertEqual(self.n.data, 0)
        del self.n[7]
        self.db["^m"] = 5
        self.assertIn("^m", self.db)
        del self.db["^m"]
        self.assertNotIn("^m", self.db)

    def test_what_is_there(self):
        self.n[1]["x"].value = 1
        self.assertEqual((self.n.data, self.n.has_value, self.n.has_children), (10, False, True))
        self.assertEqual((self.n[1]["x"].data, self.n[1]["x"].has_value), (1, True))
        self.assertTrue(1 in self.n and "1" in self.n and 2 not in self.n)
        self.n[1, "x", 3].value = "deep"
        self.assertTrue((1, "x") in self.n and ("1", b"x", 3) in self.n and () in self.n)
        self.assertFalse((1, "y") in self.n or (2,) in self.n or () in self.n[1, "y"])
        self.n[1, "x", 3].kill()
        for bad in ((1, None), (1, (2,)), slice(1), None, 1j):
            with self.assertRaises(TypeError):
                bad in self.n
        self.assertEqual(self.n.count(), 1)


class Counting(Case):
    def test_incr(self):
        self.assertEqual(self.n.incr(), 1)
        self.assertEqual(self.n.incr(41), 42)
        self.assertEqual(self.n.incr("0.1"), Decimal("42.1"))
        self.assertEqual(self.n.incr(-0.1), 42)
        self.assertIs(type(self.n.incr(1)), int)

    def test_in_place(self):
        n = self.n
        n += 5
        self.assertIs(n, self.n)
        n -= 2
        n -= "-1.5"
        n -= "+.5"
        self.assertEqual(n.value, "4")
        self.n[1]["x"] += 0.5
        self.n[1, "y"] += 1
        self.db["^k"] += 3
        self.assertEqual((self.n[1]["x"].value, self.n[1]["y"].value, self.db["^k"].value), (".5", "1", "3"))

    def test_is_exact(self):
        for _ in range(10):
            self.n.incr(".1")
        self.assertEqual(self.n.value, "1")
        self.n.value = 2**63 - 1
        self.assertEqual(self.n.incr(), 2**63)
        self.assertEqual(self.n.incr(2**70), 2**63 + 2**70)
        self.assertEqual(self.n.incr(-2**63), 2**70)

    def test_long_texts(self):
        """Also those that are subtracted."""
        for text in ("0" * 200 + "5", "+" + "0" * 200 + "5", "5." + "0" * 200, b"-" + b"0" * 200 + b"5"):
            for sign in (1, -1):
                self.n.value = 10
                try:
                    sum_of_both = self.n.incr(text)
                except caret.Error as e:
                    sum_of_both = type(e)
                self.n.value = 10
                node = self.n
                if isinstance(sum_of_both, int):
                    node -= text
                    self.assertEqual(node.int(), 20 - sum_of_both)
                else:
                    with self.assertRaises(sum_of_both):
                        node -= text

    def test_what_is_not_a_number(self):
        for bad in ("five", "", " 5", "1e3", "12 oaks"):
            with self.assertRaises(caret.InvalidError):
                self.n.incr(bad)
        for bad in ("--5", "+-5", "five", "-five", "5x", "-", ""):
            node = self.n
            with self.assertRaisesRegex(caret.InvalidError, re.escape(f"'{bad}' is not a number" if bad else "")):
                node -= bad  # the message has it as it was written
        with self.assertRaises(caret.NumericOverflow):
            self.n.incr("1E47")
        with self.assertRaises(OverflowError):
            self.n.incr(10**50)
        for bad in (None, True, []):
            with self.assertRaises(TypeError):
                self.n.incr(bad)
        self.assertIsNone(self.n.value)

    def test_nor_is_one_of_another_database(self):
        with caret.open(":memory:") as other:
            for db in (other, self.db):
                with self.assertRaises(TypeError):
                    self.db["^n"] = other["^n"]
                with self.assertRaises(TypeError):
                    self.n[1] = other["^n"][1]
        with self.db.session() as session:
            session["^n"][1] += 1
            session["^n"] += 1
        self.assertEqual((self.n.value, self.n[1].value), ("1", "1"))

    def test_a_node_is_not_a_value(self):
        with self.assertRaisesRegex(TypeError, r"\.value"):
            self.n[1] = self.n[2]
        with self.assertRaisesRegex(TypeError, r"\.value"):
            self.db["^x"] = self.n
        with self.assertRaises(TypeError):
            self.n[1:2] = 5


class Together(Case):
    def test_add_swap_replace(self):
        self.assertTrue(self.n.add("a"))
        self.assertFalse(self.n.add("b"))
        self.assertEqual(self.n.swap("c"), "a")
        self.assertFalse(self.n.replace("a", "d"))
        self.assertTrue(self.n.replace("c", "d"))
        self.assertTrue(self.n[1].replace(None, "e"))
        self.assertFalse(self.n[1].replace(None, "f"))
        self.assertEqual((self.n.value, self.n[1].value), ("d", "e"))

    def test_subtrees(self):
        self.n.settree({1: {"a": "x"}, 2: "y"})
        self.n.copy_to(self.db["^m"])
        self.assertEqual(self.db["^m"].tree(), {1: {"a": "x"}, 2: "y"})
        self.db["^m"][2].move_to(self.db["^m"][3])
        self.n.merge(self.db["^m"])
        self.assertEqual(self.n.tree(), {1: {"a": "x"}, 2: "y", 3: "y"})
        with self.assertRaises(caret.InvalidError):
            self.n.copy_to(self.n[1])
        with self.assertRaises(TypeError):
            self.n.merge("x")
        with self.assertRaises(TypeError):
            self.n.copy_to("x")

    def test_random(self):
        self.assertIsNone(self.n.random())
        self.n.settree({i: "x" for i in range(5)})
        self.assertEqual({self.n.random().sub for _ in range(300)}, set(range(5)))

    def test_trees(self):
        tree = {"__": "both", 1: {"x": "1", "y": {"z": "2"}}, "a": "3"}
        self.n.settree(tree)
        self.assertEqual(self.n.tree(), tree)
        self.assertEqual(self.n.tree(1), {"__": "both", 1: None, "a": "3"})
        self.assertEqual(self.n[1]["x"].tree(), "1")
        self.n.settree("only")
        self.assertEqual(self.n.tree(), "only")
        self.n.settree({1: {"a": 1, "b": 2}, 2: {"a": 3}})
        self.assertEqual(list(self.n.records()), [{"sub1": 1, "a": "1", "b": "2"}, {"sub1": 2, "a": "3"}])
        with self.assertRaisesRegex(TypeError, "levels"):
            self.n.records("x")

    def test_two_keys_of_one_child_are_refused(self):
        self.n.settree({"before": 1})
        trees = [{7: "a", "7": "b"}, {"x": {"2": 1, 2: 2}}, {1.5: {}, "1.5": {}}]
        if not sys.flags.bytes_warning:
            trees.append({"x": dict([(b"k", 1), ("k", 2)])})
        for tree in trees:
            with self.assertRaisesRegex(caret.InvalidError, "two keys"):
                self.n.settree(tree)
        self.assertEqual(self.n.tree(), {"before": "1"})


class Locals(Case):
    """Local variables, of a database's session and of caret.local(), which has no transactions."""

    def both(self):
        return caret.local()["n"], self.db["n"]

    def test_trees(self):
        for n in self.both():
            n.settree({"a": {1: "x"}, "__": "own"})
            self.assertEqual(n.tree(), {"a": {1: "x"}, "__": "own"})
            n.setjson('{"list": [1, "b"], "__": 3}')
            self.assertEqual(json.loads(n.json()), {"list": [1, "b"], "__": 3})
            self.assertEqual(list(n.records(2)), [{"sub1": "list", "sub2": 1, "value": "1"},
                                                  {"sub1": "list", "sub2": 2, "value": "b"}])

    def test_a_tree_that_is_refused_changes_nothing(self):
        for n in self.both():
            n.value = b"\xff"
            n["k", b"\x00"].value = "kept"
            before = [(node, node.bytes) for node in n.walk()]
            for bad in {1: 1, "1": 2}, {"x": 1, "y": object()}:
                self.assertRaises((caret.InvalidError, TypeError), n.settree, bad)
                self.assertRaises((caret.InvalidError, TypeError), n.view(json).settree, {1: "x", "1": "y"})
            self.assertRaises(caret.BadSyntax, n.setjson, '{"a": 1, "b": {"__": []}}')
            self.assertEqual([(node, node.bytes) for node in n.walk()], before)
            self.assertEqual(n.bytes, b"\xff")

    def test_mappings(self):
        for n in self.both():
            m = n.mapping()
            self.assertEqual([m.setdefault("a", 1), m.setdefault("a", 2), m.pop("a"), m.pop("a", None)], ["1", "1", "1", None])
            m.update({"b": 1}, c=2)
            m |= {"d": 3}
            self.assertEqual(dict(m), {"b": "1", "c": "2", "d": "3"})
            self.assertEqual(m.popitem(), ("d", "3"))
            m.clear()
            self.assertEqual((len(m), n.data), (0, 0))

    def test_memoize(self):
        for n in self.both():
            calls = []
            twice = n.db.memoize(node=n)(lambda x: calls.append(x) or 2 * x)
            self.assertEqual([twice(4), twice(4), calls], [8, 8, [4]])

    def test_what_needs_a_database(self):
        tree = caret.local()
        tree["b"].value = tree["a"].value = 1
        self.assertEqual(list(tree), ["a", "b"])
        for call in tree.sync, tree.stat, tree.check, tree.durable, lambda: tree.run(int), lambda: tree["^g"].value:
            with self.assertRaisesRegex(caret.Closed, "database"):
                call()
        tree.close()
        with self.assertRaisesRegex(caret.Closed, "was closed"):
            tree.sync()


class Views(Case):
    def test_bytes(self):
        n = self.n.view(bytes)
        n[1].value = b"\xff"
        self.assertEqual(n[1].value, b"\xff")
        self.assertEqual(dict(n.items()), {1: b"\xff"})
        self.assertEqual(self.db.view(values=bytes)["^n", 1].value, b"\xff")
        self.assertEqual(n[1].view().value, "\udcff")
        self.assertEqual(n[2].get(b"no"), b"no")

    def test_codecs(self):
        for codec in (json, pickle, "json", (lambda v: json.dumps(v).encode(), json.loads)):
            n = self.n.view(codec)
            n[1].value = {"a": [1, None]}
            self.assertEqual(n[1].value, {"a": [1, None]})
            self.assertEqual(list(n.values()), [{"a": [1, None]}])
        self.assertEqual(self.n.view(int)[2].swap(7), None)
        self.assertEqual(self.n.view(int)[2].value, 7)
        self.assertEqual(self.n.view(Decimal)[2].value, Decimal(7))
        with self.assertRaisesRegex(TypeError, "a type, a module with dumps and loads, its name, or a pair"):
            self.n.view(5)

    def test_what_a_codec_raises_changes_nothing(self):
        n = self.n.view(json)
        n.value = 1
        with self.assertRaises(TypeError):
            n.value = object()
        self.assertEqual(n.value, 1)
        self.n.value = "{"
        with self.assertRaises(ValueError):
            n.value


class Mappings(Case):
    def test_is_a_mapping(self):
        m = self.n.mapping()
        m["a"] = "x"
        m[1] = 2
        self.n["deep"]["er"].value = 1
        self.assertEqual(dict(m), {1: "2", "a": "x"})
        self.assertEqual((len(m), list(m), list(reversed(m)), bool(m)), (2, [1, "a"], ["a", 1], True))
        self.assertEqual((m["a"], m.get("z"), "a" in m, "deep" in m), ("x", None, True, False))
        for key in ("z", "deep"):
            with self.assertRaises(KeyError):
                m[key]
            with self.assertRaises(KeyError):
                del m[key]
        self.assertEqual((m.pop("a"), m.pop("a", 5), m.setdefault("s", "t"), m.setdefault("s", "u")),
                         ("x", 5, "t", "t"))
        m |= {"k": "v"}
        self.assertEqual(m | {"q": 1}, {1: "2", "s": "t", "k": "v", "q": 1})
        self.assertEqual(m.popitem(), ("s", "t"))
        m.clear()
        self.assertFalse(m)
        self.assertRaises(KeyError, m.popitem)
        self.assertEqual(self.n["deep"]["er"].value, "1")

    def test_a_value_that_is_read_as_none(self):
        import json

        m = self.n.mapping(json)
        m["null"] = None
        m[1] = 1
        self.n["deep"]["er"].value = 1
        self.assertEqual((m["null"], m.get("null", "?"), "null" in m, len(m)), (None, None, True, 2))
        self.assertEqual((dict(m), list(reversed(m))), ({1: 1, "null": None}, ["null", 1]))
        self.assertEqual((m.setdefault("null", 5), m.pop("null", 5), m.pop("null", 5)), (None, None, 5))
        m["null"] = None
        self.assertEqual((m.popitem(), m.setdefault("x"), m["x"]), (("null", None), None, None))
        del m["x"]
        self.assertEqual(list(m), [1])

    def test_a_value_that_the_codec_does_not_take(self):
        m = self.n.mapping(int)
        m[1] = 7
        self.n["odd"].value = "x"
        self.n["deep"]["er"].value = 1
        self.assertEqual((list(m), list(reversed(m)), len(m), bool(m), "odd" in m), ([1, "odd"], ["odd", 1], 2, True, True))
        for f in (m.__getitem__, m.pop):
            self.assertRaises(ValueError, f, "odd")
        self.assertRaises(ValueError, m.popitem)
        self.assertEqual(self.n["odd"].value, "x")
        del m["odd"]
        self.assertEqual(dict(m), {1: 7})
        self.n["odd"].value = "x"
        m.clear()
        self.assertEqual((dict(m), self.n["deep"]["er"].value), ({}, "1"))

    def test_a_key_is_one_subscript(self):
        m = self.n.mapping()
        self.n[1, "x"].value = self.n.value = "not of the mapping"
        for key in ((1, "x"), (), slice(None), slice(1, 2), None, True):
            for f in (m.__getitem__, m.__contains__, m.__delitem__, m.get, m.pop, m.setdefault):
                self.assertRaises(TypeError, f, key)
            self.assertRaises(TypeError, m.__setitem__, key, "x")
        self.assertEqual((self.n.count(), list(m)), (2, []))


if __name__ == "__main__":
    main()
