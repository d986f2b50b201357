"""What programs write, as mypy --strict reads it; not run."""

import copy
import json

import caret
from caret import Node, aio


def program() -> None:
    db = caret.open("forest.caret", sync="off")
    oaks = db["^oaks"]
    oaks[1]["shadow"].value = 15
    text: str | None = oaks[1]["shadow"].value
    number: int = oaks[1].int(0)
    raw: bytes | None = oaks.view(bytes)[1].value
    n: Node[int] = oaks.view(int)
    oaks[1]["shadow"] += 0.5
    for sub, value in oaks[2:10].items():
        print(sub, value, text, number, raw, n)
    for node in oaks.walk():
        node.view(json).value = {"a": 1}
    del oaks[1], oaks[2].value

    @db.transactional
    def transfer(a: str, b: str) -> int:
        return len(a + b)

    @db.transactional(retries=3)
    def other(a: int) -> int:
        return a

    total: int = transfer("a", "b") + other(1) + db.run(other, 5)
    for attempt in db.attempts():
        with attempt:
            total += 1
    with db.snapshot(), oaks.lock(timeout=1) as locked:
        locked.set(1)
    with db.session() as session:
        session["^x"].incr()


def remembered(db: caret.Database) -> int:
    @db.memoize(expire=60, node=db["^squares"])
    def square(x: int) -> int:
        return x * x

    return db.memoize(square)(3) if square.forget(7) else square(7)


def told(db: caret.Database) -> list[str]:
    with db.changes(below=db["^oaks"], wait=1.5) as feed:
        place: int = feed.place
        last = feed.next(timeout=0)
        told = [change.kind + str(change.node) for change in feed if change.of > change.number]
    return told if last is None else [last.kind, str(place)]


async def watched(db: caret.Database) -> int:
    async for change in aio.watch(db["^oaks"], place=0):
        return change.length
    async for change in aio.watch(db):
        return change.place
    return 0


class Oak(caret.Node[str]):
    @property
    def shadow(self) -> int:
        return self["shadow"].int(0)


def family(oak: Oak) -> list[Oak]:
    return [oak[1], *oak.nodes(), copy.copy(oak), copy.deepcopy(oak)]
