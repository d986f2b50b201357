"""rq: queues with workers, results, retries, dependencies, schedules, and a worker that is killed with its job."""
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import redis  # noqa: E402
from rq import Queue, Retry, Worker  # noqa: E402
from rq.job import Job  # noqa: E402
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry  # noqa: E402

connection = redis.Redis.from_url(os.environ["REDIS_URL"])


def say(what, *value):
    print(what + ":", *value, flush=True)


def add(a, b):
    return a + b


def fail():
    raise ValueError("always")


def flaky():
    if connection.incr("tries") < 3:
        raise ValueError("not yet")
    return "at last"


def sleep_long():
    connection.rpush("running", os.getppid())
    time.sleep(60)


def wait_for(test):
    limit = time.time() + 60
    while not test():
        if time.time() > limit:
            raise RuntimeError("it did not happen")
        time.sleep(0.02)


def main():
    sys.modules["python_rq"] = sys.modules["__main__"]
    import importlib
    here = importlib.import_module("python_rq")
    connection.flushall()
    for module in (here,):
        for f in (add, fail, flaky, sleep_long):
            f.__module__ = "python_rq"
    high, low = Queue("high", connection=connection), Queue("low", connection=connection)
    jobs = [low.enqueue(add, i, 1) for i in range(20)]
    first = high.enqueue(add, 100, 1)
    failing = low.enqueue(fail)
    trying = low.enqueue(flaky, retry=Retry(max=5))
    after = low.enqueue(add, 5, 5, depends_on=jobs)
    never = low.enqueue(add, 1, 1, depends_on=failing)
    say("queued", len(high), len(low), after.get_status().value, low.get_job_ids() == [j.id for j in jobs] + [failing.id, trying.id])
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    command = [os.path.join(os.path.dirname(sys.executable), "rq"), "worker", "--quiet", "--url", os.environ["REDIS_URL"]]
    subprocess.run(command + ["--burst", "high", "low"], env=environment, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    say("results", sum(j.return_value() for j in jobs), first.return_value(), after.return_value())
    say("failed", failing.get_status().value, never.get_status().value, "ValueError: always" in failing.latest_result().exc_string)
    say("tried", trying.return_value(), int(connection.get("tries")))
    say("registries", len(FailedJobRegistry(queue=low)), len(FinishedJobRegistry(queue=low)))
    FailedJobRegistry(queue=low).requeue(failing)
    say("requeued", low.get_job_ids() == [failing.id])
    low.empty()
    low.enqueue_in(timedelta(seconds=1), add, 7, 7, job_id="later")
    say("scheduled", len(ScheduledJobRegistry(queue=low)))
    worker = subprocess.Popen(command + ["--with-scheduler", "low"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: Job.fetch("later", connection=connection).is_finished)
    say("later", Job.fetch("later", connection=connection).return_value())
    wait_for(lambda: len(Worker.all(connection=connection)) == 1)
    say("workers", [w.state for w in Worker.all(connection=connection)] != [])
    long = low.enqueue(sleep_long, job_timeout=300)
    connection.blpop("running", 60)
    from rq.command import send_stop_job_command
    send_stop_job_command(connection, long.id)
    wait_for(lambda: long.get_status(refresh=True).value == "stopped")
    say("stopped", long.get_status().value)
    worker.send_signal(signal.SIGTERM)
    say("worker ended", worker.wait(60))


if __name__ == "__main__":
    main()
