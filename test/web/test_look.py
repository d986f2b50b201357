"""The tree by HTTP: rows by cursor and by number, hostile keys and values, pieces, and what is refused."""
import base64
import gzip
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from client import Server, run  # noqa: E402

CARET = os.environ["CARET"]
FOLDER = os.environ["TMPDIR"]
HOSTILE = ["<img src=x onerror=alert(1)>", "'\"`\\", "\x00\x01\x1b[31m", "\u202e\u2028\ufeff", "ä" * 300,
           "</script><script>alert(1)</script>", "%00%2e%2e/", "{{7*7}}", "a\r\nSet-Cookie: x=y"]

FILL = r"""
local caret = require "caret"
local db = caret.open(arg and arg[1] or "%s")
local n, s = db.node("^n"), db.node("^s")
db:tp(function() for i = 1, 30000 do n(i * 2).__ = "value " .. i end end)
db:tp(function() for i = 1, 300 do s("key" .. i).__ = i; s("key" .. i, "below").__ = 1 end end)
db:set("^odd", 1.5, "half") db:set("^odd", "", "empty") db:set("^odd", -3, "minus")
db:set("^odd", "bytes", "\255\254\0") db:set("^odd", "long", ("abcdefg\195\164"):rep(100000))
"""


class Look(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(FOLDER, "look.caret")
        program = os.path.join(FOLDER, "fill.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write(FILL % cls.path)
        subprocess.run([CARET, "run", program], check=True)
        for i, text in enumerate(HOSTILE):
            lua = "".join(f"\\{b:03d}" for b in text.encode())
            with open(program, "w", encoding="ascii") as f:
                f.write(f'require("caret").open("{cls.path}"):set("^hostile", "{lua}", {i}, "{lua}")')
            subprocess.run([CARET, "run", program], check=True)
        cls.server = Server(CARET, cls.path)
        cls.server.sign_in()

    @classmethod
    def tearDownClass(cls):
        errors = cls.server.stop()
        assert errors == "", errors

    def rows(self, **query):
        return self.server.get("children", **query)

    def subs(self, **query):
        return [r["sub"] for r in self.rows(**query)["rows"]]

    def test_globals(self):
        self.assertEqual(self.subs(limit=4), ["^hostile", "^n", "^odd", "^s"])
        self.assertEqual(self.subs(after="^n", limit=1), ["^odd"])
        self.assertEqual(self.subs(after="^odd", reverse=1, limit=1), ["^n"])
        self.assertEqual(self.subs(after="^n", reverse=1, limit=4), ["^hostile"])
        self.assertEqual(self.subs(from_="^o", reverse=1, limit=1), ["^n"])
        self.assertEqual(self.subs(from_="^i", to="^o"), ["^n"])
        self.assertEqual(self.subs(from_="^o", to="^i", reverse=1), ["^n"])
        self.assertEqual(self.subs(prefix="^o"), ["^odd"])
        self.assertEqual(len(self.subs(at=1)), 1)
        for query, ends in (({"after": "^hostile", "limit": 1}, (True, True)), ({"after": "^n", "reverse": 1}, (False, True)),
                            ({"prefix": "^o"}, (False, False)), ({"after": "^zz"}, (True, False))):
            answer = self.rows(**query)
            self.assertEqual((answer["before"], answer["more"]), ends, query)

    def test_cursors(self):
        self.assertEqual(self.subs(node="^n", limit=2), ["2", "4"])
        self.assertEqual(self.subs(node="^n", after="4", limit=2), ["6", "8"])
        self.assertEqual(self.subs(node="^n", from_="5", limit=2), ["6", "8"])
        self.assertEqual(self.subs(node="^n", after="6", reverse=1, limit=9), ["4", "2"])
        self.assertEqual(self.subs(node="^n", end=1, limit=2), ["59998", "60000"])
        self.assertEqual(self.subs(node="^s", prefix="key29", limit=3), ['"key29"', '"key290"', '"key291"'])
        self.assertEqual(self.subs(node="^s", prefix="key29", after='"key298"'), ['"key299"'])
        self.assertEqual(self.subs(node="^s", prefix="key29", after='"key291"', reverse=1), ['"key290"', '"key29"'])
        self.assertEqual(self.subs(node="^s", prefix="key29", reverse=1, limit=1), ['"key299"'])
        answer = self.rows(node="^s", prefix="key29", limit=20)
        self.assertEqual((len(answer["rows"]), answer["before"], answer["more"]), (11, False, False))
        answer = self.rows(node="^n", limit=2)
        self.assertEqual((answer["before"], answer["more"], answer["index"]), (False, True, 0))

    def test_all_rows_come_once_by_cursor(self):
        got, after = [], None
        while True:
            query = {"after": after} if after else {}
            answer = self.rows(node="^n", limit=499, **query)
            got += [int(r["sub"]) for r in answer["rows"]]
            if not answer["more"]:
                break
            after = answer["rows"][-1]["sub"]
        self.assertEqual(got, list(range(2, 60001, 2)))

    def test_numbers(self):
        while not self.server.get("total", node="^n")["exact"]:
            pass
        for index in (0, 1, 14999, 15000, 29999):
            answer = self.rows(node="^n", index=index, limit=1)
            self.assertEqual((answer["rows"][0]["sub"], answer["index"], answer["exact"]),
                             (str(2 * (index + 1)), index, True))
        self.assertEqual(self.rows(node="^n", at=0.5, limit=1)["index"], 14999)
        self.assertEqual(self.rows(node="^n", index=10**9, limit=1)["index"], 29999)

    def test_odd_subscripts_and_values(self):
        rows = {r["sub"]: r for r in self.rows(node="^odd")["rows"]}
        self.assertEqual(list(rows), ['""', "-3", "1.5", '"bytes"', '"long"'])
        self.assertEqual(base64.b64decode(rows['"bytes"']["value"]["b64"]), b"\xff\xfe\0")
        self.assertTrue(rows['"long"']["value"]["cut"])
        self.assertEqual(self.server.get("value", node="^odd(1.5)")["value"]["text"], "half")
        at, text = 0, ""
        while at < 900000:
            piece = self.server.get("value", node='^odd("long")', at=at, n=65536)
            text += piece["value"]["text"]
            at += piece["n"]
        self.assertEqual(text, "abcdefgä" * 100000)
        status, headers, data = self.server.request("GET", "/api/raw?node=^odd(%22bytes%22)")
        self.assertEqual((status, data), (200, b"\xff\xfe\0"))
        self.assertIn("attachment", headers["Content-Disposition"])

    def test_a_value_that_changes_between_its_pieces(self):
        """Each piece says of which value it is: the largest there is, in pieces, and a shorter one after it."""
        size, piece = 16 << 20, 1 << 20
        for text, length in (("x", size), ("y", 5)):
            with open(os.path.join(FOLDER, "fill.lua"), "w", encoding="ascii") as f:
                f.write(f'require("caret").open("{self.path}"):set("^wide", ("{text}"):rep({length}))')
            self.assertEqual(run(CARET, "run", os.path.join(FOLDER, "fill.lua")).stderr, "")
            if text == "x":
                last = self.server.get("value", node="^wide", at=size - piece, n=piece)
                self.assertEqual((last["value"]["text"], last["n"]), ("x" * piece, piece))
                self.assertEqual(len(self.server.request("GET", "/api/raw?node=^wide")[2]), size)
        after = self.server.get("value", node="^wide", at=piece, n=piece)
        self.assertEqual((after["n"], after["value"]["len"]), (0, 5))
        self.assertNotEqual(after["value"]["tag"], last["value"]["tag"])

    def test_hostile_texts_come_as_they_are(self):
        zwrs = [r["sub"] for r in self.rows(node="^hostile")["rows"]]
        seen = set()
        for sub in zwrs:
            child = self.rows(node=f"^hostile({sub})")["rows"][0]
            value = self.server.get("value", node=f"^hostile({sub},{child['sub']})")["value"]["text"]
            self.assertEqual(value, HOSTILE[int(child["sub"])])
            seen.add(value)
        self.assertEqual(seen, set(HOSTILE))

    def test_paths(self):
        answer = self.server.get("path", text=' s("key1","below") ')
        self.assertEqual((answer["node"], answer["parents"], answer["d"]),
                         ('^s("key1","below")', ["^s", '^s("key1")'], 1))
        for bad in ("^s(", "1", "^s)", "", "^s(1)x"):
            status, _, data = self.server.request("GET", "/api/path?text=" + bad)
            self.assertEqual(status, 400, (bad, data))
        status, _, data = self.server.request("GET", "/api/children?node=^n&limit=0")
        self.assertEqual(status, 400)
        self.assertIn("limit is a whole number from 1 up", str(data))
        self.assertEqual(self.server.get("complete", text="o")["list"], ["^odd"])
        self.assertEqual(self.server.get("complete", text='s("key30')["list"], ['^s("key30"', '^s("key300"'])

    def test_counts(self):
        answer = self.server.get("count", node="^s")
        self.assertEqual((answer["nodes"], answer["complete"], len(answer["sample"])), (600, True, 20))

    def test_nothing_is_there(self):
        self.assertEqual(self.rows(node="^none")["rows"], [])
        self.assertEqual(self.rows(node="^none", index=5)["rows"], [])
        self.assertEqual(self.rows(node="^none", end=1)["rows"], [])
        self.assertIsNone(self.server.get("value", node="^none")["value"])

    def test_the_page(self):
        status, headers, data = self.server.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn(b"<!doctype html>", gzip.decompress(data).lower())
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        again, _, data = self.server.request("GET", "/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((again, data), (304, b""))

    def test_looking_changes_nothing(self):
        status, answer = self.server.post("commit", {"changes": []})
        self.assertIn(status, (403, 404), answer)
        self.assertEqual(run(CARET, "get", "--db", self.path, "^n(2)").stdout, "value 1\n")


if __name__ == "__main__":
    unittest.main()
