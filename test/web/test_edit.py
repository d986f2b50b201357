"""Changes by HTTP: one transaction, conflicts, undo, previews, and no change without --write."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from client import Server, run  # noqa: E402

CARET = os.environ["CARET"]
FOLDER = os.environ["TMPDIR"]


class Edit(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(FOLDER, self.id().split(".")[-1] + ".caret")
        text = 'set ^a(1) one, ^a(2) two, ^a(2,"x") deep'
        for word in text[4:].split(", "):
            self.by_another(*word.split(" "))
        self.server = Server(CARET, self.path, "--write")
        self.server.sign_in()

    def tearDown(self):
        self.assertEqual(self.server.stop(), "")

    def by_another(self, node, value):
        self.assertEqual(run(CARET, "set", "--db", self.path, node, value).returncode, 0)

    def all(self):
        return [line for line in run(CARET, "dump", "--db", self.path).stdout.splitlines()[2:]]

    def tag(self, node):
        value = self.server.get("value", node=node)["value"]
        return value and value["tag"]

    def commit(self, *changes):
        return self.server.post("commit", {"changes": changes})

    def test_several_at_once(self):
        before = self.all()
        status, answer = self.commit(
            {"op": "set", "node": "^a(1)", "value": {"text": "ONE\u00e4"}, "was": self.tag("^a(1)")},
            {"op": "set", "node": "^b", "value": {"b64": "/wA="}, "was": None},
            {"op": "delete", "node": "^a(2)", "was": self.tag("^a(2)")},
            {"op": "merge", "node": "^a", "to": "^c"})
        self.assertEqual((status, answer["changed"]), (200, 4))
        self.assertEqual(self.all(), ['^a(1)="ONEä"', '^a(2,"x")="deep"', '^b=$ZCH(255)_$C(0)', '^c(1)="ONEä"',
                                      '^c(2,"x")="deep"'])
        status, _ = self.server.post("undo", {"undo": answer["undo"]})
        self.assertEqual((status, self.all()), (200, before))
        self.assertEqual(self.server.post("undo", {"undo": answer["undo"]})[0], 409)

    def test_two_who_edit_one_node(self):
        shown = self.tag("^a(1)")
        self.by_another("^a(1)", "other")
        status, answer = self.commit({"op": "set", "node": "^a(2)", "value": {"text": "mine"}},
                                     {"op": "set", "node": "^a(1)", "value": {"text": "mine"}, "was": shown})
        self.assertEqual((status, answer["error"]["name"]), (409, "CONFLICT"))
        (conflict,) = answer["conflicts"]
        self.assertEqual((conflict["i"], conflict["node"], conflict["now"]["text"]), (1, "^a(1)", "other"))
        self.assertEqual(self.all()[1], '^a(2)="two"')  # all or nothing
        status, _ = self.commit({"op": "set", "node": "^a(1)", "value": {"text": "mine"},
                                 "was": conflict["now"]["tag"]})
        self.assertEqual((status, self.all()[0]), (200, '^a(1)="mine"'))

    def test_a_kill_takes_what_was_shown(self):
        shown = self.server.get("count", node="^a(2)")
        self.assertEqual((shown["nodes"], shown["complete"]), (2, True))
        self.by_another('^a(2,"y")', "new")
        kill = {"op": "kill", "node": "^a(2)", "nodes": shown["nodes"], "place": shown["place"]}
        status, answer = self.commit(kill)
        self.assertEqual((status, answer["conflicts"][0]["nodes"]), (409, 3))
        shown = self.server.get("count", node="^a(2)")
        status, answer = self.commit({**kill, "nodes": shown["nodes"], "place": shown["place"]})
        self.assertEqual((status, self.all()), (200, ['^a(1)="one"']))

    def test_a_value_below_that_was_changed_stops_a_kill(self):
        shown = self.server.get("count", node="^a(2)")
        self.by_another('^a(2,"x")', "changed")
        status, answer = self.commit({"op": "kill", "node": "^a(2)", "nodes": shown["nodes"], "place": shown["place"]})
        self.assertEqual((status, len(self.all())), (409, 3))
        self.assertEqual(answer["conflicts"][0]["changed"], ['^a(2,"x")'])

    def test_what_is_below_is_compared(self):
        """A value below that was changed, with as many nodes as before and no log to look it up."""
        for change in ({"op": "kill"}, {"op": "rename", "to": "^z"}, {"op": "merge", "to": "^z"}):
            shown = self.server.get("count", node="^a(2)")
            kept = {"node": "^a(2)", "nodes": shown["nodes"], "mark": shown["mark"], **change}
            self.by_another('^a(2,"x")', change["op"])
            status, answer = self.commit(kept)
            self.assertEqual((status, answer["conflicts"][0]["nodes"]), (409, 2), change)
        status, _ = self.commit({**kept, "mark": answer["conflicts"][0]["mark"]})
        self.assertEqual((status, self.all()[-1]), (200, '^z("x")="merge"'))

    def test_where_a_merge_goes_is_compared(self):
        """What was there has another value, is more, or is gone: nothing is written over it unseen."""
        self.by_another("^m(1)", "theirs")
        for shown_is_kept in ("mark", "place"):
            for node, value in (("^m(1)", "changed"), ("^m(2)", "more")):
                shown = self.server.get("count", node="^m")
                there = {"nodes": shown["nodes"], shown_is_kept: shown[shown_is_kept]}
                merge = {"op": "merge", "node": "^a", "to": "^m", "there": there}
                self.by_another(node, value + shown_is_kept)
                status, answer = self.commit(merge)
                conflict = answer["conflicts"][0]
                self.assertEqual((status, conflict["node"], conflict["target"]), (409, "^m", True))
                self.assertIn(f'{node}="{value + shown_is_kept}"', self.all())
        status, _ = self.commit({**merge, "there": {"nodes": conflict["nodes"], "mark": conflict.get("mark")}})
        self.assertEqual((status, self.all()[-3:]), (200, ['^m(1)="one"', '^m(2)="two"', '^m(2,"x")="deep"']))

    def test_what_can_not_be_compared_is_told(self):
        """More nodes than are compared, and a log that does not reach back."""
        program = os.path.join(FOLDER, "unknown.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 6000 do '
                    'db:set("^l", i, i) end end)' % self.path)
        run(CARET, "run", program)
        shown = self.server.get("count", node="^l")
        self.assertEqual((shown["nodes"], shown["complete"], shown["mark"]), (6000, True, None))
        kill = {"op": "kill", "node": "^l", "nodes": 6000}
        self.by_another("^l(7)", "changed")
        self.assertEqual(self.commit({**kill, "place": shown["place"]})[1]["conflicts"][0]["changed"], ["^l(7)"])
        self.all()  # which makes a checkpoint
        status, answer = self.commit({**kill, "place": shown["place"]})
        self.assertEqual((status, answer["conflicts"][0].get("unknown")), (409, True))
        self.assertEqual(self.commit(kill)[0], 200)

    def test_rename(self):
        status, answer = self.commit({"op": "rename", "node": "^a(2)", "to": "^a(1)"})
        conflict = answer["conflicts"][0]
        self.assertEqual((status, conflict["node"], conflict["nodes"]), (409, "^a(1)", 1))
        over = {"op": "rename", "node": "^a(2)", "to": "^a(1)", "over": conflict["mark"]}
        self.by_another("^a(1)", "changed once more")
        self.assertEqual(self.commit(over)[0], 409)
        status, answer = self.commit({"op": "rename", "node": "^a(2)", "to": "^z(9)"})
        self.assertEqual((status, self.all()), (200, ['^a(1)="changed once more"', '^z(9)="two"', '^z(9,"x")="deep"']))
        self.server.post("undo", {"undo": answer["undo"]})
        status, _ = self.commit({"op": "rename", "node": "^a(2)", "to": "^a(1)", "over": True})
        self.assertEqual((status, self.all()), (200, ['^a(1)="two"', '^a(1,"x")="deep"']))

    def test_a_range(self):
        status, answer = self.commit({"op": "killrange", "node": "^a", "from": "2", "to": "3"})
        self.assertEqual((status, self.all()), (200, ['^a(1)="one"']))
        self.assertEqual(self.server.post("undo", {"undo": answer["undo"]})[0], 200)
        self.assertEqual(len(self.all()), 3)
        self.assertEqual(self.commit({"op": "killrange", "node": "^a"})[0], 400)

    def test_no_undo_over_the_work_of_others(self):
        _, answer = self.commit({"op": "kill", "node": "^a(2)"})
        self.by_another('^a(2,"z")', "since")
        status, wrong = self.server.post("undo", {"undo": answer["undo"]})
        self.assertEqual((status, wrong["error"]["name"]), (409, "CONFLICT"))
        self.assertEqual(self.all(), ['^a(1)="one"', '^a(2,"z")="since"'])

    def test_what_is_too_large_is_not_undone(self):
        program = os.path.join(FOLDER, "large.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 20001 do '
                    'db:set("^l", i, i) end end)' % self.path)
        run(CARET, "run", program)
        status, answer = self.commit({"op": "kill", "node": "^l"})
        self.assertEqual((status, answer["undo"], len(self.all())), (200, None, 3))

    def test_bad_requests_change_nothing(self):
        before = self.all()
        for body in ({}, {"changes": []}, {"changes": 1}, {"changes": [1]}, {"changes": [{"op": "drop"}]},
                     {"changes": [{"op": "kill"}]}, {"changes": [{"op": "kill", "node": "a"}]},
                     {"changes": [{"op": "kill", "node": "^a", "place": -7}]},
                     {"changes": [{"op": "merge", "node": "^a", "to": "^b", "there": {"place": -7}}]},
                     {"changes": [{"op": "set", "node": "^a", "value": "x"}]},
                     {"changes": [{"op": "set", "node": "^a", "value": {"b64": "?"}}]},
                     {"changes": [{"op": "set", "node": "^a", "value": {"text": "x"}}, {"op": "kill", "node": "^"}]},
                     {"changes": [{"op": "merge", "node": "^a", "to": "^a(1)"}]},
                     {"changes": [{"op": "kill", "node": "^a"}] * 1001}):
            status, answer = self.server.post("commit", body)
            self.assertEqual((status, "error" in answer), (400, True), body)
        big = json.dumps({"changes": [{"op": "set", "node": "^a", "value": {"text": "x" * (17 << 20)}}]})
        status, _, data = self.server.request("POST", "/api/commit", big)
        self.assertIn(b"VALUE2BIG", data)
        self.assertEqual(self.all(), before)

    def test_the_file_is_replaced(self):
        """What was open is still shown, but nothing more goes into a file that is lost, nor into another one."""
        other = self.path + ".other"
        run(CARET, "set", "--db", other, "^b", "theirs")
        os.remove(self.path)
        change = {"op": "set", "node": "^a(1)", "value": {"text": "lost"}}
        for _ in ("removed", "replaced"):
            self.assertEqual((self.commit(change)[0], self.commit(change)[1]["error"]["name"]), (503, "REPLACED"))
            self.assertIn(b"removed or replaced", self.server.request("GET", "/api/info")[2])
            self.assertEqual(self.server.get("value", node="^a(1)")["value"]["text"], "one")
            if os.path.exists(other):
                os.rename(other, self.path)
        self.assertEqual(self.server.stop(), "")
        self.assertEqual(self.all(), ['^b="theirs"'])
        self.server = Server(CARET, self.path, "--write")
        self.server.sign_in()
        self.assertEqual(self.commit(change)[0], 200)

    def test_looking_only(self):
        server = Server(CARET, self.path)
        server.sign_in()
        for path, body in (("commit", {"changes": [{"op": "kill", "node": "^a"}]}), ("undo", {}),
                           ("locks/clear", {})):
            status, answer = server.post(path, body)
            self.assertEqual((status, answer["error"]["name"]), (403, "READONLY"), path)
        self.assertEqual(server.stop(), "")
        self.assertEqual(len(self.all()), 3)


if __name__ == "__main__":
    unittest.main()
