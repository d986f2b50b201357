// BullMQ: queues with workers, retries, delays, priorities, flows, repeated jobs, events, and a worker that dies.
import {Queue, Worker, QueueEvents, FlowProducer} from "bullmq";
import {fork} from "node:child_process";
import {fileURLToPath} from "node:url";

const connection = {host: "127.0.0.1", port: +process.env.REDIS_PORT, maxRetriesPerRequest: null};
const say = (what, value) => console.log(what + ": " + JSON.stringify(value));
const until = async (test) => { while (!(await test())) await new Promise((r) => setTimeout(r, 10)); };

if (process.argv[2] === "die") { // a worker that takes a job and is killed with it
    new Worker("fragile", async () => { process.send("taken"); await new Promise(() => {}); },
        {connection, lockDuration: 1000, stalledInterval: 500});
} else {
    const queue = new Queue("work", {connection}), events = new QueueEvents("work", {connection});
    await queue.obliterate({force: true});
    await events.waitUntilReady();
    const tried = {};
    const worker = new Worker("work", async (job) => {
        tried[job.id] = (tried[job.id] ?? 0) + 1;
        if (job.name === "fails") throw new Error("always");
        if (job.name === "flaky" && tried[job.id] < 3) throw new Error("not yet");
        await job.updateProgress(50);
        return {sum: job.data.a + job.data.b};
    }, {connection, concurrency: 8});
    const results = [];
    const jobs = await queue.addBulk(Array.from({length: 200}, (_, i) => ({name: "add", data: {a: i, b: 1}})));
    for (const job of jobs) results.push((await job.waitUntilFinished(events)).sum);
    say("200 jobs", results.reduce((a, b) => a + b));
    const flaky = await queue.add("flaky", {a: 1, b: 2}, {attempts: 5, backoff: {type: "fixed", delay: 20}});
    say("flaky", [await flaky.waitUntilFinished(events), tried[flaky.id]]);
    const fails = await queue.add("fails", {}, {attempts: 2, backoff: {type: "exponential", delay: 10}});
    say("fails", [await fails.waitUntilFinished(events).catch((e) => e.message), tried[fails.id], await fails.getState()]);
    const delayed = await queue.add("add", {a: 1, b: 1}, {delay: 100});
    say("delayed", [await delayed.getState(), await delayed.waitUntilFinished(events)]);
    say("counts", await queue.getJobCounts("completed", "failed", "delayed", "active", "wait"));
    say("same id twice", [(await queue.add("add", {a: 1, b: 1}, {jobId: "mine"})).id, (await queue.add("add", {a: 2, b: 2}, {jobId: "mine"})).id]);
    await worker.close();

    // Priorities, and pausing: in which order they are done
    const sorted = new Queue("sorted", {connection}), order = [];
    await sorted.obliterate({force: true});
    await sorted.pause();
    for (const priority of [3, 1, 2, 0]) await sorted.add("p" + priority, {}, {priority});
    say("paused", [await sorted.isPaused(), await sorted.getJobCounts("paused", "prioritized", "wait")]);
    const one = new Worker("sorted", async (job) => { order.push(job.name); }, {connection});
    await sorted.resume();
    await until(() => order.length === 4);
    say("priorities", order);
    await one.close();

    // A parent that waits for its children
    const flow = new FlowProducer({connection});
    const steps = new Worker("steps", async (job) => job.name === "parent" ? Object.values(await job.getChildrenValues()).sort() : job.name, {connection});
    const stepEvents = new QueueEvents("steps", {connection});
    await stepEvents.waitUntilReady();
    const tree = await flow.add({name: "parent", queueName: "steps",
        children: [{name: "left", queueName: "steps"}, {name: "right", queueName: "steps"}]});
    say("flow", await tree.job.waitUntilFinished(stepEvents));

    // A job that comes again and again
    const clock = new Queue("clock", {connection});
    let ticks = 0;
    await clock.upsertJobScheduler("tick", {every: 50}, {name: "tick"});
    const ticking = new Worker("clock", async () => { ticks++; }, {connection});
    await until(() => ticks >= 3);
    say("scheduler", [(await clock.getJobSchedulers()).length, await clock.removeJobScheduler("tick")]);

    // A worker that is killed: another one gets its job
    const fragile = new Queue("fragile", {connection});
    const child = fork(fileURLToPath(import.meta.url), ["die"]);
    const taken = new Promise((done) => child.once("message", done));
    await fragile.add("job", {});
    await taken;
    child.kill("SIGKILL");
    const rescued = new Promise((done) => {
        const w = new Worker("fragile", async (job) => { done([job.name, job.stalledCounter ?? 0, w]); }, {connection, lockDuration: 1000, stalledInterval: 500});
    });
    const [name, , rescuer] = await rescued;
    say("rescued", name);
    for (const c of [rescuer, ticking, steps]) await c.close(true);
    for (const c of [queue, events, sorted, flow, stepEvents, clock, fragile]) await c.close();
    process.exit(0);
}
