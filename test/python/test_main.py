"""python -m caret."""

import os
import pty
import subprocess
import sys

import caret
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

    def test_a_local_variable(self):
        """Would be gone with the process: nothing is said to be well."""
        self.db.close()
        for arguments in (("set", self.path, "oaks(1)", "5"), ("incr", self.path, "oaks(1)"),
                          ("load", self.path, "oaks(1)"), ("kill", self.path, "oaks(1)"), ("get", self.path, "oaks(1)"),
                          ("set", self.path + ".none", "oaks(1)", "5")):
            status, _, said = self.run_it(*arguments, stdin="{}")
            self.assertEqual((status, said), (2, "caret: oaks(1) is not a global: write '^oaks(1)', in quotes\n"))
        self.assertFalse(os.path.exists(self.path + ".none"))

    def test_no_right_to_write(self):
        """Is not needed to read; the advice to open it for reading is for programs: no command has such an option."""
        self.n.value = 1
        self.db.close()
        os.chmod(self.path, 0o444)
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}

        def run(*arguments):
            done = subprocess.run([sys.executable, "-m", "caret", *arguments], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, encoding="utf-8", **nobody)
            return done.returncode, done.stdout, done.stderr

        try:
            status, out, said = run("get", self.path, "^n")
        except PermissionError:
            self.skipTest("nobody may run this Python here")
        if "No module named" in said:
            self.skipTest("nobody may read the package here")
        self.assertEqual((status, out, said), (0, "1\n", ""))
        self.assertEqual(run("ls", self.path)[:2], (0, "^n\n"))
        self.assertEqual(run("dump", self.path)[:2], (0, '^n="1"\n'))
        self.assertEqual(run("tree", self.path, "^n")[:2], (0, "1\n"))
        self.assertEqual(run("check", self.path), (0, "", ""))
        self.assertEqual(run("stat", self.path)[0], 0)
        status, _, said = run("set", self.path, "^n", "2")
        self.assertEqual(status, 2)
        self.assertTrue(said.endswith("may not be written here: Permission denied\n"), said)

    def test_a_mistake_makes_no_database(self):
        f = self.path + ".none"
        for arguments in (("set", f, "^a((", "1"), ("kill", f, "^a"),
                          ("set", f, '^a("%s")' % ("k" * 2000), "1"), ("incr", f, "^a", "1E47"),
                          ("incr", f, "^a", "some"), ("load", f, "^a")):
            self.assertEqual(self.run_it(*arguments, stdin="{bad")[0], 2, arguments[0])
            self.assertFalse(os.path.exists(f), arguments[0])
        self.assertEqual(self.run_it("incr", f, "^a", "2")[:2], (0, "2\n"))

    def raw(self, *arguments, **options):
        return subprocess.run([sys.executable, "-m", "caret", *arguments], stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True, **options).stdout

    def test_bytes(self):
        """A dump is in the form that `caret load` and zwr2str() of str take; what is a byte goes out as it is."""
        values = {1: "\xc0\xd6\x85".encode(), 2: b"\xfe\0", b"\xff\x80": b"x", "\xe9": b"a\nb"}
        self.n.settree(values)
        lines = self.raw("dump", self.path).decode().splitlines()
        self.assertEqual(lines[:2], ['^n(1)="\xc0\xd6"_$C(133)', "^n(2)=$ZCH(254)_$C(0)"])
        for line in lines:
            node, _, value = line.partition("=")
            self.assertEqual(caret.parse(self.db, node).value, caret.zwr2str(value))
        self.assertEqual(self.raw("ls", self.path, "^n"), b"1\n2\n\xc3\xa9\n\xff\x80\n")
        self.assertEqual(self.raw("load", self.path, "^t", input=b'"\xff"'), b"")
        self.assertEqual(self.db["^t"].bytes, b"\xff")

    def test_nobody_reads_it(self):
        self.n.value = 1
        reads, writes = os.pipe()
        os.close(reads)
        for arguments, status in ((("dump", self.path), 2), (("--help",), 0)):
            done = subprocess.run([sys.executable, "-m", "caret", *arguments], stdout=writes, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (status, b""))
        os.close(writes)

    def test_completion(self):
        """The tabulator completes variables of the database, and names of Python."""
        self.db["^oaks"].value, said = 7, b""
        master, slave = pty.openpty()
        child = subprocess.Popen([sys.executable, "-m", "caret", "repl", self.path], stdin=slave, stdout=slave,
                                 stderr=slave, env={**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null"})
        os.close(slave)
        os.write(master, b'db["^oa\t].value * 3\n' b'db.readon\t, 111 * 111\nexit()\n')
        try:
            while data := os.read(master, 4096):
                said += data
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(child.wait(), 0)
        self.assertIn(b"777", said)
        self.assertIn(b"(False, 12321)", said)


if __name__ == "__main__":
    main()
