// ioredis, as programs use it: every way to send commands, scripts, streams, pub/sub, reconnecting.
import Redis from "ioredis";

const url = process.env.REDIS_URL;
const say = (what, value) => console.log(what + ": " + JSON.stringify(value));
const failure = (promise) => promise.then((v) => v, (e) => "failed: " + e.message);
const until = async (test) => { while (!(await test())) await new Promise((r) => setTimeout(r, 5)); };
const r = new Redis(url, {retryStrategy: () => 20});
await r.flushall();

// Commands, their errors, bytes, numbers
say("set", [await r.set("a", "1"), await r.get("a"), await r.get("none"), await r.set("a", "2", "EX", 100, "NX")]);
say("wrong type", await failure(r.lpush("a", "x")));
say("unknown", await failure(r.call("NOPE", "a", "b")));
say("bytes", (await r.set("b", Buffer.from([0, 255, 13, 10])), (await r.getBuffer("b")).toString("hex")));
say("hash", [await r.hset("h", {x: 1, y: "ü"}), await r.hgetall("h"), await r.hmget("h", "x", "z")]);
say("list", [await r.rpush("l", 1, 2, 3), await r.lrange("l", 0, -1), await r.lpos("l", 2), await r.lmove("l", "m", "LEFT", "RIGHT")]);
say("set type", [await r.sadd("s", 3, 1, 2), (await r.smembers("s")).sort(), await r.smismember("s", 1, 9)]);
say("zset", [await r.zadd("z", 1, "a", 2.5, "b"), await r.zrange("z", 0, -1, "WITHSCORES"), await r.zincrby("z", 1e10, "a"), await r.zrangebyscore("z", "-inf", "(3")]);
say("expire", [await r.expire("a", 100), await r.ttl("a"), await r.persist("a"), await r.pttl("a")]);
say("json", (await r.set("j", JSON.stringify({deep: [1, {x: null}]})), JSON.parse(await r.get("j"))));
say("large", (await r.set("large", "x".repeat(3e6)), (await r.get("large")).length));

// Pipelines and transactions
say("pipeline", await r.pipeline().set("p", 1).incr("p").lpush("p", 1).get("p").exec().then((x) => x.map(([e, v]) => e ? e.message : v)));
say("many", (await Promise.all(Array.from({length: 2000}, (_, i) => r.incr("n")))).at(-1));
const auto = new Redis(url, {enableAutoPipelining: true});
say("automatic", (await Promise.all(Array.from({length: 500}, (_, i) => auto.set("k" + i, i).then(() => auto.get("k" + i))))).reduce((a, b) => a + +b, 0));
say("multi", await r.multi().set("q", 5).incrby("q", 3).get("q").exec());
say("multi with an error", await failure(r.multi().set("q", 5).call("NOPE").exec()));
await r.watch("q");
await auto.set("q", "other");
say("watch", await r.multi().set("q", "mine").exec());
say("discard", [await r.multi({pipeline: false}), await r.set("q", 1), await r.discard(), await r.get("q")]);

// Scripts
r.defineCommand("add", {numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])"});
say("script", [await r.add("n", 5), await r.add("n", 5), await r.pipeline().add("n", 1).add("n", 1).exec()]);
say("script flush", [await r.script("FLUSH"), await r.add("n", 1)]);
say("script error", (await failure(r.eval("return redis.error_reply('MY fault')", 0))));
say("table", await r.eval("return {1, 'two', {3}, false, 4.9, redis.status_reply('S')}", 0));
say("function", [await failure(r.function("LOAD", "REPLACE", "#!lua name=mine\nredis.register_function('f', function(k, a) return a end)")), await r.fcall("f", 0, "x", "y")]);

// Cursors
await r.mset(Object.fromEntries(Array.from({length: 1000}, (_, i) => ["scan:" + i, i])));
const found = new Set();
for await (const keys of r.scanStream({match: "scan:*", count: 50})) keys.forEach((k) => found.add(k));
say("scanStream", found.size);
await r.hset("big", Object.fromEntries(Array.from({length: 700}, (_, i) => ["f" + i, i])));
let fields = 0;
for await (const part of r.hscanStream("big")) fields += part.length / 2;
say("hscanStream", fields);

// Messages
const listener = new Redis(url), heard = [];
listener.on("message", (c, m) => heard.push([c, m]));
listener.on("pmessage", (p, c, m) => heard.push([p, c, m]));
listener.on("messageBuffer", () => {});
say("subscribe", [await listener.subscribe("one", "two"), await listener.psubscribe("t*")]);
for (const c of ["one", "two", "three"]) await r.publish(c, "to " + c);
await until(() => heard.length === 4);
say("heard", heard);
say("receivers", [await r.publish("two", "x"), await r.pubsub("NUMSUB", "one", "two"), await r.pubsub("NUMPAT")]);
say("unsubscribe", [await listener.unsubscribe("one", "two"), await listener.punsubscribe("t*"), await listener.get("none")]);

// Blocking
const waiter = new Redis(url);
const popped = waiter.blpop("queue", 10);
await until(async () => (await r.info("clients")).includes("blocked_clients:1"));
await r.rpush("queue", "work");
say("blpop", await popped);
say("timeout", [await waiter.blpop("queue", 0.01), await waiter.bzpopmin("zz", 0.01), await waiter.blmove("queue", "x", "LEFT", "LEFT", 0.01)]);

// Streams with groups
say("stream", [await r.xadd("st", "1-1", "a", 1), await r.xadd("st", "1-2", "b", 2), await r.xlen("st"), await r.xrange("st", "-", "+")]);
say("group", [await r.xgroup("CREATE", "st", "g", "0"), await r.xreadgroup("GROUP", "g", "c", "COUNT", 1, "STREAMS", "st", ">"), await r.xack("st", "g", "1-1"), await failure(r.xgroup("CREATE", "st", "g", "0"))]);
const reading = waiter.xread("BLOCK", 10000, "STREAMS", "st", "$");
await until(async () => (await r.info("clients")).includes("blocked_clients:1"));
await r.xadd("st", "2-1", "c", 3);
say("xread", await reading);

// Reconnecting: commands that wait are sent again, subscriptions come back
const id = await listener.client("ID");
await listener.subscribe("again");
heard.length = 0;
const back = new Promise((done) => listener.once("ready", done));
say("kill", await r.client("KILL", "ID", id));
await back;
await until(async () => (await r.publish("again", "still here")) === 1);
await until(() => heard.length > 0);
say("subscribed again", heard[0]);
const pid = await waiter.client("ID");
const later = waiter.blpop("after", 10);
await until(async () => (await r.info("clients")).includes("blocked_clients:1"));
await r.client("KILL", "ID", pid);
await until(async () => (await r.info("clients")).includes("blocked_clients:1"));
await r.rpush("after", "reconnect");
say("blocked again", await later);

// Monitor
const monitor = await new Redis(url).monitor();
const seen = new Promise((done) => monitor.on("monitor", (time, args) => args[0] === "set" && done(args)));
await r.set("monitored", "\x00\"quoted\"");
say("monitor", await seen);
monitor.disconnect();
say("quit", await r.quit());
for (const c of [auto, listener, waiter]) c.disconnect();
process.exit(0);
