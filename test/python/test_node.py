"""Addresses: subscripts in and out, identity, order, text, neighbours, classes."""

import gc
import sys
from decimal import Decimal
from enum import IntEnum

import caret
from support import Case, main


class Subscripts(Case):
    def test_come_back_as_they_are_told(self):
        for sub, out in [(1, 1), ("1", 1), (-7, -7), ("07", "07"), ("", ""), (0.5, ".5"), (3.0, 3), ("x", "x"),
                         (b"x", "x"), ("\0", "\0"), ("é", "é"), (b"\xff", "\udcff"), (10**17, 10**17),
                         (10**18 + 1, str(10**18 + 1)), (2**63, str(2**63)), (10**46, 10**46),
                         (Decimal("1.50"), "1.5"), (Decimal("1E+3"), 1000), (Decimal("-0.0250"), "-.025"),
                         (Decimal("0"), 0), (1e47, "1E47"), (-2**63, str(-2**63))]:
            with self.subTest(sub=sub):
                self.assertEqual(self.n[sub].subs, (out,))
                self.assertEqual(type(self.n[sub].sub), type(out))
                self.assertEqual(self.n[self.n[sub].sub], self.n[sub])

    def test_of_other_types_are_refused(self):
        for sub in (None, True, [], {}, object(), 1j):
            with self.assertRaisesRegex(TypeError, "subscript"):
                self.n[sub]
        for sub in (float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")):
            with self.assertRaises(ValueError):
                self.n[sub]
        with self.assertRaises(UnicodeEncodeError):
            self.n["\ud800"]

    def test_an_int_enum_is_an_int(self):
        class Color(IntEnum):
            RED = 3

        self.assertEqual(self.n[Color.RED], self.n[3])

    def test_tuples_are_paths(self):
        self.assertEqual(self.n[1, "x", 2], self.n[1]["x"][2])
        self.assertEqual(self.db["^n", 1, "x"], self.n[1]["x"])
        self.assertEqual(self.n[()], self.n)

    def test_long_ones(self):
        long = "x" * 1000
        self.n[long].value = 1
        self.assertEqual(list(self.n), [long])
        self.n["\0" * 400].value = 2
        self.assertEqual(list(self.n), ["\0" * 400, long])
        with self.assertRaises(caret.Key2Big):
            self.n["x" * 1016]
        with self.assertRaises(caret.MaxSubs):
            self.n[(1,) * 32]
        self.assertEqual(self.n[(1,) * 31].depth, 31)

    def test_names(self):
        for name in ("^", "^1", "a b", "", "^a(1)", "^" + "a" * 32):
            with self.assertRaises(caret.BadName):
                self.db[name]
        for name in (1, None, ("^a",) * 0, 1.5):
            with self.assertRaises(TypeError):
                self.db[name]
        self.assertEqual(self.db["^%x"].name, "^%x")


class Identity(Case):
    def test_equal_by_address(self):
        self.assertEqual(self.n[1], self.n["1"])
        self.assertEqual(hash(self.n[1]), hash(self.n["1"]))
        self.assertNotEqual(self.n[1], self.n["01"])
        self.assertNotEqual(self.n, "^n")
        self.assertEqual(len({self.n[1], self.n[1], self.n[2]}), 2)

    def test_of_two_handles_of_one_file(self):
        with caret.open(self.path) as other:
            self.assertEqual(other["^n"], self.n)
        with caret.open(self.path + "2") as other:
            self.assertNotEqual(other["^n"], self.n)
            with self.assertRaises(TypeError):
                other["^n"] < self.n

    def test_order_is_the_database_s(self):
        subs = ["", -7, -0.5, 0, 0.5, 2, 10, " ", "01", "A", "a", "é"]
        nodes = [self.n[s] for s in subs]
        self.assertEqual(sorted(reversed(nodes)), nodes)
        self.assertTrue(self.n < self.n[""] <= self.n[""] and self.n[1] > self.n and self.n[1] >= self.n[1])

    def test_text(self):
        node = self.n[1]["it's \"x\""]
        self.assertEqual(str(node), '^n(1,"it\'s ""x""")')
        self.assertEqual(eval(repr(node), {"caret": type("M", (), {"Node": str})}), str(node))
        self.assertEqual(caret.parse(self.db, str(node)), node)
        with self.assertRaises(caret.BadSyntax):
            caret.parse(self.db, "^n(")
        for text in ("", "plain", "\0\x85é", "say \"x\""):
            self.assertEqual(caret.zwr2str(caret.str2zwr(text)), text)
        self.assertEqual(caret.zwr2str(caret.str2zwr(b"\x85\xff")), b"\x85\xff")

    def test_neighbours(self):
        for i in (1, 2, 4):
            self.n[i].value = i
        self.assertEqual((self.n.first, self.n.last), (self.n[1], self.n[4]))
        self.assertEqual((self.n[2].next, self.n[3].next, self.n[2].previous), (self.n[4], self.n[4], self.n[1]))
        self.assertIsNone(self.n[4].next)
        self.assertIsNone(self.n[1].first)
        self.assertEqual(self.n[1]["a"].parent, self.n[1])
        self.assertIsNone(self.n.parent)
        self.assertEqual(self.n[1]["a"].variable, self.n)
        self.assertEqual(self.n.next_node, self.n[1])

    def test_is_always_true_and_has_no_length(self):
        self.assertTrue(self.n[99])
        with self.assertRaises(TypeError):
            len(self.n)

    def test_is_immutable(self):
        for name in ("x", "name", "subs", "parent"):
            with self.assertRaises(AttributeError):
                setattr(self.n, name, 1)
        with self.assertRaisesRegex(AttributeError, r"its child is node\['shadow'\]"):
            self.n.shadow = 15
        with self.assertRaisesRegex(AttributeError, "not writable"):
            self.n.subs = ()


class Classes(Case):
    class Oak(caret.Node):
        @property
        def shadow(self):
            return self["shadow"].int(0)

    class Shy(caret.Node):
        @property
        def age(self):
            return 1

        @age.setter
        def age(self, value):
            raise AttributeError("mine")

    class Loud(caret.Node):
        @property
        def value(self):
            return super().value.upper()

    def test_types_of_values_can_be_named(self):
        """As the stubs say them: annotations are evaluated."""

        def first(node: caret.Node[str], below: caret.Range[str]) -> "caret.Node[bytes] | None":
            return None

        self.assertEqual(first.__annotations__["node"].__origin__, caret.Node)
        self.assertEqual(caret.Range[int].__args__, (int,))

        class Typed(caret.Node[str]):
            pass

        self.assertIs(type(Typed(self.n)[1]), Typed)

    def test_an_error_of_a_setter_is_told(self):
        with self.assertRaisesRegex(AttributeError, "^mine$"):
            self.Shy(self.n).age = 2

    def test_children_are_of_the_class(self):
        oak = self.Oak(self.n)
        oak[1]["shadow"].value = 15
        self.assertEqual(oak[1].shadow, 15)
        for node in (oak[1], oak[1, "x"], oak[1].parent, oak.first, next(oak.nodes()), oak[1]["shadow"].variable):
            self.assertIs(type(node), self.Oak)
        self.assertEqual(oak, self.n)

    def test_value_can_be_overridden(self):
        self.n.value = "x"
        self.assertEqual(self.Loud(self.n).value, "X")

    def test_they_are_collected_with_their_cycles(self):
        class Tracked(caret.Node):
            pass

        node = Tracked(self.n)
        node.me = node
        before = sys.getrefcount(Tracked)
        del node
        gc.collect()
        self.assertEqual(sys.getrefcount(Tracked), before - 1)

    def test_of_what_is_not_a_node(self):
        for bad in (1, "x", None, self.db):
            with self.assertRaises(TypeError):
                self.Oak(bad)

    def test_memory(self):
        head = sys.getsizeof(object()) - 16  # what builds without a GIL have more
        self.assertLessEqual(sys.getsizeof(self.n["x" * 16]), 112 + head)


if __name__ == "__main__":
    main()
