"""python -m caret."""

import subprocess
import sys

from support import Case, main


class Commands(Case):
    def run_it(self, *arguments, stdin=""):
        done = subprocess.run([sys.executable, "-m", "caret", *arguments], input=stdin, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_each(self):
        self.db.close()
        f = self.path
        self.assertEqual(self.run_it("set", f, '^oaks(1,"shadow")', "15")[:2], (0, ""))
        self.assertEqual(self.run_it("get", f, '^oaks(1,"shadow")')[:2], (0, "15\n"))
        self.assertEqual(self.run_it("get", f, "^oaks")[0], 1)
        self.assertEqual(self.run_it("incr", f, '^oaks(1,"shadow")', ".5")[:2], (0, "15.5\n"))
        self.assertEqual(self.run_it("ls", f)[:2], (0, "^oaks\n"))
        self.assertEqual(self.run_it("ls", f, "^oaks")[:2], (0, "1\n"))
        self.assertEqual(self.run_it("dump", f)[:2], (0, '^oaks(1,"shadow")="15.5"\n'))
        self.assertEqual(self.run_it("check", f)[:2], (0, ""))
        self.assertEqual(self.run_it("backup", f, f + ".copy")[0], 0)
        self.assertEqual(self.run_it("kill", f, "^oaks")[0], 0)
        self.assertEqual(self.run_it("ls", f)[:2], (1, ""))
        self.assertEqual(self.run_it("tree", f, "^oaks")[:2], (1, ""))
        self.assertEqual(self.run_it("dump", f)[:2], (0, ""))
        self.assertEqual(self.run_it("get", f + ".copy", '^oaks(1,"shadow")')[:2], (0, "15.5\n"))

    def test_misuse(self):
        self.db.close()
        for arguments in ((), ("no", self.path), ("get", self.path), ("get", self.path, "^a(("),
                          ("get", self.path + ".none", "^a")):
            status, _, said = self.run_it(*arguments)
            self.assertEqual(status, 2)
            self.assertTrue(said.startswith("caret: ") or not arguments)


if __name__ == "__main__":
    main()
