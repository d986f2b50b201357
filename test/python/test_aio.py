"""asyncio: locks, syncs, changes."""

import asyncio

import caret
from caret import aio
from support import Case, main


class Aio(Case):
    def test_locks_are_of_tasks(self):
        inside, most = 0, 0

        async def work():
            nonlocal inside, most
            async with aio.lock(self.n) as node:
                self.assertEqual(node, self.n)
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        async def all_of_them():
            await asyncio.gather(*(work() for _ in range(5)))

        asyncio.run(all_of_them())
        self.assertEqual((most, inside), (1, 0))
        self.assertTrue(self.n.acquire(0))

    def test_a_timeout(self):
        async def wait():
            async with aio.lock(self.n, 0.01):
                self.fail()

        self.n.acquire()
        with self.assertRaises(caret.LockTimeout):
            asyncio.run(wait())

    def test_cancelling(self):
        async def wait():
            async with aio.lock(self.n):
                self.fail()

        async def cancel():
            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        self.n.acquire()
        asyncio.run(cancel())
        self.n.release()
        self.assertTrue(self.db.session()["^n"].acquire(60))

    def test_in_a_child(self):
        """The threads that waited for tasks of the parent are not there."""
        def contend():
            async def work():
                other["^n"].acquire()
                task = asyncio.create_task(take())
                await asyncio.sleep(0.01)
                other.release_all()
                await asyncio.wait_for(task, 60)

            async def take():
                async with aio.lock(self.n):
                    pass

            with self.db.session() as other:
                asyncio.run(work())

        contend()
        self.assertEqual(self.in_child(contend), 0)

    def test_the_disk(self):
        async def work():
            self.n.value = 1
            await aio.sync(self.db)
            await aio.checkpoint(self.db)
            await aio.backup(self.db, self.path + "-copy", compact=True)

        asyncio.run(work())
        self.assertEqual(*self.db.durable())
        with caret.open(self.path + "-copy") as copy:
            self.assertEqual(copy["^n"].value, "1")

    def test_changes(self):
        seen = []

        async def watch():
            async for place in aio.changes(self.n):
                seen.append(self.n[1].value)
                if seen[-1] == "3":
                    return

        async def work():
            task = asyncio.create_task(watch())
            await asyncio.sleep(0)
            for i in range(1, 4):
                self.n[1].value = i
                while not seen or seen[-1] != str(i):
                    await asyncio.sleep(0.001)
            await task

        asyncio.run(work())
        self.assertEqual(seen, ["1", "2", "3"])


if __name__ == "__main__":
    main()
