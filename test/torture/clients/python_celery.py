"""Celery: broker and results on the server: groups, chains, chords, retries, countdowns, priorities, revoking."""
import os
import subprocess
import sys
import time

from celery import Celery, chain, chord, group

url = os.environ["REDIS_URL"]
app = Celery("python_celery", broker=url + "/1", backend=url + "/2")
app.conf.update(task_track_started=True, result_extended=True, worker_hijack_root_logger=False,
                broker_connection_retry_on_startup=True, result_expires=1000)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=5)
def flaky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries


@app.task
def fail():
    raise ValueError("always")


@app.task(bind=True)
def report(self):
    self.update_state(state="HALF", meta={"done": 50})
    time.sleep(0.2)
    return "done"


def say(what, *value):
    print(what + ":", *value, flush=True)


def main():
    import redis
    redis.Redis.from_url(url).flushall()
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "python_celery", "worker", "-c", "4", "-P", "threads",
                               "-l", "CRITICAL", "-n", "w1@here"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    import python_celery as p
    try:
        say("one", p.add.delay(2, 3).get(timeout=60))
        say("many", sum(r.get(timeout=60) for r in [p.add.delay(i, 1) for i in range(100)]))
        say("group", group(p.add.s(i, i) for i in range(10))().get(timeout=60))
        say("chain", chain(p.add.s(1, 2), p.add.s(3), p.add.s(4))().get(timeout=60))
        say("chord", chord((p.add.s(i, 1) for i in range(20)), p.total.s())().get(timeout=60))
        say("chord of chains", chord([chain(p.add.s(i, 1), p.add.s(1)) for i in range(5)], p.total.s())().get(timeout=60))
        say("flaky", p.flaky.delay().get(timeout=60))
        failed = p.fail.delay()
        try:
            failed.get(timeout=60)
        except ValueError as e:
            say("failed", failed.state, e)
        half = p.report.delay()
        say("report", half.get(timeout=60), half.state)
        begin = time.time()
        say("countdown", p.add.apply_async((1, 1), countdown=0.5).get(timeout=60), time.time() - begin >= 0.4)
        say("expired", p.add.apply_async((1, 1), expires=1000).get(timeout=60))
        say("ping", [list(r.values()) for r in app.control.ping(timeout=5)])
        stats = app.control.inspect(timeout=5).registered()
        say("registered", sorted(t for t in stats["w1@here"] if t.startswith("python_celery")))
        later = p.add.apply_async((1, 1), countdown=100)
        later.revoke()
        app.control.shutdown()
        say("worker ended", worker.wait(60))
    finally:
        worker.kill()


if __name__ == "__main__":
    main()
