"""Trees as JSON and back, as Lua has them."""

import os
import subprocess

import caret
from support import Case, main

TEXTS = ['{"age":42,"home":{"city":"Ulm","zip":"0815"},"langs":["Lua","C"],"name":"Ann"}', "5", '"x"', "null", "[]", "{}",
         '["1",1,true,"true",null]', '{"a":[],"b":{},"c":{"1":"x"}}', '{"__":"both","child":1}', '{"__":"1","x":[{}]}',
         "[[[]],[1,[2]]]", '{"___":2,"__json":1,"x":{"__":true}}', '"\\udcff\\u007f\\"\\\\"', '{"":0}', "[0.5,-0.5]",
         '{"1":1,"3":2}', '{"__":"5"}', '["é"]', '{"2":1,"x":{"1":2,"2":3}}', '{"___json":{"____":1}}']


class Json(Case):
    def test_way_and_back(self):
        for text in TEXTS:
            with self.subTest(text=text):
                self.n.setjson(text)
                self.assertEqual(self.n.json(), text)

    def test_exact(self):
        self.n.setjson("[12345678901234567890, 1.10, 1e400, -0, 1E+2, -0.0]")
        self.assertEqual(self.n.json(), "[12345678901234567890,1.1,1E400,0,100,0]")
        self.assertEqual(self.n[1].value, "12345678901234567890")

    def test_indent(self):
        self.n.setjson('{"a":[1,{}],"b":"x"}')
        self.assertEqual(self.n.json(indent=2), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "x"\n}')
        self.assertIsNone(self.db["^none"].json())

    def test_what_is_wrong_changes_nothing(self):
        self.n.setjson('{"a":1}')
        for text in ('{"a":1,\n "b": tru}', '{"a":1,"a":2}', '{"__":[]}', '["\\ud800"]', "NaN", "", "[1,]",
                     "[" * 40 + "]" * 40):
            with self.assertRaises(ValueError):
                self.n.setjson(text)
            self.assertEqual(self.n.json(), '{"a":1}')
        with self.assertRaisesRegex(caret.BadSyntax, "line 2, column 7"):
            self.n.setjson('{"a":1,\n "b": tru}')

    def test_changed_trees(self):
        self.n.setjson("[]")
        self.n[3].value = "x"
        self.assertEqual(self.n.json(), '[null,null,"x"]')
        self.n["__json"].value = "nonsense"
        with self.assertRaises(caret.InvalidError):
            self.n.json()

    def test_the_tool_reads_the_same(self):
        tool = os.path.join(os.environ.get("CARET_BUILD", ""), "caret")
        if not os.access(tool, os.X_OK):
            self.skipTest("the tool is not built")
        for i, text in enumerate(TEXTS):
            self.n[i].setjson(text)
        program = os.path.join(self.folder, "print.lua")
        with open(program, "w") as f:
            f.write("for i = 0, %d do print(db.node('^n')(i):json()) end" % (len(TEXTS) - 1))
        done = subprocess.run([tool, "run", "--db", self.path, program], capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), TEXTS, done.stderr)


if __name__ == "__main__":
    main()
