// Jedis, as programs use it: a pool of connections with threads, pipelines, transactions, messages, streams, scripts.

import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.*;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.*;
import redis.clients.jedis.resps.*;

public class JedisProgram {
    static void say(String what, Object... values) {
        StringBuilder b = new StringBuilder(what).append(":");
        for (Object v : values) b.append(' ').append(v);
        System.out.println(b);
    }

    interface Asking { Object ask(); }

    static Object failure(Asking a) {
        try {
            return a.ask();
        } catch (JedisDataException e) {
            return "failed: " + e.getMessage();
        }
    }

    static void all(JedisPooled r, JedisPool pool) throws Exception {
        r.flushAll();
        say("set", r.set("a", "1", SetParams.setParams().nx().ex(100)), r.get("a"), r.get("none"), r.incrBy("a", 5));
        say("hash", r.hset("h", Map.of("x", "1")), new TreeMap<>(r.hgetAll("h")), r.hincrByFloat("h", "x", 0.5));
        say("list", r.rpush("l", "1", "2", "3"), r.lrange("l", 0, -1), r.lpos("l", "2"));
        say("set type", r.sadd("s", "1", "2"), new TreeSet<>(r.smembers("s")), r.smismember("s", "1", "9"));
        say("zset", r.zadd("z", Map.of("a", 1.5, "b", Double.POSITIVE_INFINITY)), r.zrangeWithScores("z", 0, -1),
            r.zscore("z", "b"), r.zadd("z", 2, "a", ZAddParams.zAddParams().gt().ch()), r.zpopmin("z"));
        say("geo", r.geoadd("g", 13.361389, 38.115556, "p"), r.geopos("g", "p"), r.geohash("g", "p"));
        say("wrong type", failure(() -> r.lpush("h", "x")));
        say("bytes", Arrays.toString(r.get("a".getBytes())), r.set(new byte[] {0, -1}, new byte[] {13, 10}));
        try (Pipeline p = (Pipeline) r.pipelined()) {
            List<Response<Long>> answers = new ArrayList<>();
            for (int i = 0; i < 2000; i++) answers.add(p.incr("n"));
            p.sync();
            say("pipeline", answers.get(1999).get());
        }
        try (AbstractTransaction t = r.multi()) {
            t.set("m", "1");
            t.incr("m");
            t.lpush("m", "x");
            List<Object> answers = t.exec();
            say("multi", answers.get(0), answers.get(1), ((Exception) answers.get(2)).getMessage());
        }
        try (Jedis one = pool.getResource(); Jedis other = pool.getResource()) {
            one.watch("w");
            other.set("w", "other");
            Transaction t = one.multi();
            t.set("w", "mine");
            say("watch", t.exec(), r.get("w"));
        }
        ExecutorService threads = Executors.newFixedThreadPool(8);
        for (int i = 0; i < 8; i++)
            threads.submit(() -> { for (int k = 0; k < 200; k++) r.incr("threads"); });
        threads.shutdown();
        threads.awaitTermination(60, TimeUnit.SECONDS);
        say("threads", r.get("threads"));
        say("script", r.eval("return {KEYS[1], ARGV[1], 3}", List.of("k"), List.of("v")),
            failure(() -> r.evalsha("0".repeat(40))), failure(() -> r.eval("return redis.error_reply('MY fault')")));
        for (int i = 0; i < 500; i++) r.set("scan:" + i, "x");
        Set<String> found = new HashSet<>();
        String cursor = "0";
        do {
            ScanResult<String> part = r.scan(cursor, new ScanParams().match("scan:*").count(50));
            found.addAll(part.getResult());
            cursor = part.getCursor();
        } while (!cursor.equals("0"));
        say("scan", found.size());
        say("stream", r.xadd("st", new StreamEntryID(1, 1), Map.of("a", "1")), r.xgroupCreate("st", "g", new StreamEntryID(0, 0), false),
            r.xreadGroup("g", "c", new XReadGroupParams().count(1), Map.of("st", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY)),
            r.xpending("st", "g").getTotal(), r.xack("st", "g", new StreamEntryID(1, 1)), r.xlen("st"));
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch ready = new CountDownLatch(2);
        JedisPubSub listener = new JedisPubSub() {
            @Override public void onSubscribe(String c, int n) { ready.countDown(); }
            @Override public void onMessage(String c, String m) { heard.add(c + "=" + m); if (heard.size() == 3) unsubscribe(); }
        };
        Thread listening = new Thread(() -> r.subscribe(listener, "one", "two"));
        listening.start();
        ready.await();
        say("publish", r.publish("one", "1"), r.publish("two", "2"), r.publish("none", "3"), r.publish("one", "4"));
        listening.join(60000);
        say("heard", heard);
        AtomicInteger popped = new AtomicInteger();
        Thread waiting = new Thread(() -> { while (r.blpop(20.0, "queue").getValue().equals("work")) popped.incrementAndGet(); });
        waiting.start();
        for (int i = 0; i < 50; i++) r.rpush("queue", "work");
        r.rpush("queue", "end");
        waiting.join(60000);
        say("queue", popped.get(), r.blpop(0.01, "queue"));
        say("function", r.functionLoadReplace("#!lua name=l\nredis.register_function('f', function(k, a) return #k + #a end)"),
            r.fcall("f", List.of("a"), List.of("b")));
        say("dump", r.restore("copy", 0, r.dump("h")), r.hgetAll("copy"), r.type("copy"));
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(System.getenv("REDIS_PORT"));
        for (RedisProtocol protocol : new RedisProtocol[] {RedisProtocol.RESP2, RedisProtocol.RESP3}) {
            JedisClientConfig config = DefaultJedisClientConfig.builder().protocol(protocol).build();
            say("protocol", protocol);
            try (JedisPooled r = new JedisPooled(new HostAndPort("127.0.0.1", port), config);
                 JedisPool pool = new JedisPool(new HostAndPort("127.0.0.1", port), config)) {
                all(r, pool);
            }
        }
    }
}
