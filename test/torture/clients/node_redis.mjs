// node-redis (the package redis), as programs use it, in RESP2 and RESP3.
import {createClient} from "redis";

const failure = (promise) => promise.then((v) => v, (e) => "failed: " + e.message);
const until = async (test) => { while (!(await test())) await new Promise((r) => setTimeout(r, 5)); };

async function all(RESP) {
    const say = (what, value) => console.log(`RESP${RESP} ${what}: ` + JSON.stringify(value));
    const connect = async () => {
        const c = createClient({url: process.env.REDIS_URL, RESP, socket: {reconnectStrategy: () => 20}});
        c.on("error", () => {});
        return c.connect();
    };
    const r = await connect(), other = await connect();
    await r.flushAll();
    say("set", [await r.set("a", "1", {EX: 100, NX: true}), await r.get("a"), await r.get("none"), await r.getDel("a")]);
    say("hash", [await r.hSet("h", {x: 1, y: 2}), await r.hGetAll("h"), await r.hIncrByFloat("h", "x", 0.5)]);
    say("list", [await r.rPush("l", ["1", "2", "3"]), await r.lRange("l", 0, -1), await r.lPopCount("l", 2)]);
    say("set type", [await r.sAdd("s", ["1", "2"]), (await r.sMembers("s")).sort(), await r.sIsMember("s", "1")]);
    say("zset", [await r.zAdd("z", [{score: 1, value: "a"}, {score: Infinity, value: "b"}]),
        await r.zRangeWithScores("z", 0, -1), await r.zScore("z", "a"), await r.zIncrBy("z", 2.5, "a"),
        await r.zPopMin("z")]);
    say("geo", [await r.geoAdd("g", {longitude: 13.361389, latitude: 38.115556, member: "Palermo"}),
        await r.geoPos("g", "Palermo"), await r.geoSearch("g", {longitude: 13, latitude: 38}, {radius: 200, unit: "km"})]);
    say("wrong type", await failure(r.lPush("h", "x")));
    say("multi", await r.multi().set("m", "1").incr("m").hGetAll("h").zRange("z", 0, -1).exec());
    say("multi with an error", await failure(r.multi().set("m", "x").incr("m").exec().then(() => "fine", (e) => { throw new Error(e.errorIndexes ?? e.message); })));
    say("pipeline", (await Promise.all(Array.from({length: 1000}, () => r.incr("n")))).at(-1));
    say("script", [await r.eval("return {KEYS[1], ARGV[1], 3, false}", {keys: ["k"], arguments: ["v"]}),
        await failure(r.evalSha("0".repeat(40))), await r.scriptLoad("return 1")]);
    say("double", await r.eval("redis.setresp(3); return redis.call('ZSCORE', KEYS[1], 'b')", {keys: ["z"]}));
    await r.mSet(Object.fromEntries(Array.from({length: 300}, (_, i) => ["scan:" + i, "" + i])));
    const found = new Set();
    for await (const keys of r.scanIterator({MATCH: "scan:*", COUNT: 30})) [keys].flat().forEach((k) => found.add(k));
    say("scan", found.size);

    const listener = await connect(), heard = [];
    await listener.subscribe("one", (m, c) => heard.push([c, m]));
    await listener.pSubscribe("t*", (m, c) => heard.push(["t*", c, m]));
    await listener.sSubscribe("shard", (m, c) => heard.push(["shard", c, m]));
    say("publish", [await r.publish("one", "1"), await r.publish("two", "2"), await r.sPublish("shard", "3")]);
    await until(() => heard.length === 3);
    say("heard", heard);
    await listener.unsubscribe("one");
    say("after", await r.publish("one", "1"));

    const popped = other.blPop("queue", 10);
    await until(async () => (await r.info("clients")).includes("blocked_clients:1"));
    await r.rPush("queue", "work");
    say("blPop", await popped);
    say("stream", [await r.xAdd("st", "1-1", {a: "1"}), await r.xGroupCreate("st", "g", "0"),
        await r.xReadGroup("g", "c", {key: "st", id: ">"}, {COUNT: 1}), await r.xPending("st", "g"),
        await r.xAck("st", "g", "1-1"), await r.xAutoClaim("st", "g", "c", 0, "0")]);
    say("watch", await failure((async () => {
        await r.watch("w");
        await other.set("w", "other");
        return r.multi().set("w", "mine").exec();
    })()));
    const id = await other.clientId();
    say("kill", await r.clientKill({filter: "ID", id}));
    say("again", [await other.set("back", "1"), await r.get("back")]);
    say("function", [await r.functionLoad("#!lua name=l\nredis.register_function{function_name='f', callback=function(k, a) return #k + #a end, flags={'no-writes'}}", {REPLACE: true}),
        await r.fCall("f", {keys: ["a"], arguments: ["b"]}), await r.fCallRo("f", {keys: [], arguments: []})]);
    say("config", [await r.configSet("maxmemory-policy", "allkeys-lru"), await r.configGet("maxmemory-policy"), await r.configSet("maxmemory-policy", "noeviction")]);
    say("acl", [await r.aclSetUser("u", ["on", ">p", "~k*", "+get"]), await r.aclGetUser("u"), await r.aclDelUser("u")]);
    for (const c of [r, other, listener]) await c.close();
}

await all(2);
await all(3);

// A cache on the client's side: the server tells what has changed.
const cached = await createClient({url: process.env.REDIS_URL, RESP: 3, clientSideCache: {ttl: 0, maxEntries: 0}}).connect();
const writer = await createClient({url: process.env.REDIS_URL}).connect();
await writer.set("c", "1");
const first = await cached.get("c");
await writer.set("c", "2");
await until(async () => (await cached.get("c")) === "2");
console.log("cache: " + first);
await cached.close();
await writer.close();
