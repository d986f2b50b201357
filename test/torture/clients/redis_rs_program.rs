// redis-rs, as programs use it: typed answers, pipelines, transactions that are tried again, scripts that are loaded by
// themselves, messages, streams with groups, scans, connections of many threads.
use redis::streams::{StreamReadOptions, StreamReadReply};
use redis::{Commands, ConnectionLike, Script};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

type Outcome = redis::RedisResult<()>;

fn data(c: &mut redis::Connection) -> Outcome {
    let _: () = c.set_ex("a", 1, 60)?;
    println!(
        "string: {:?} {:?} {:?}",
        c.get::<_, i64>("a")?,
        c.get::<_, Option<String>>("none")?,
        c.incr::<_, _, i64>("a", 5)?
    );
    println!("ttl: {}", c.ttl::<_, i64>("a")? > 50);
    let _: () = c.hset_multiple("h", &[("x", "1"), ("y", "2")])?;
    println!(
        "hash: {:?} {:?}",
        c.hgetall::<_, BTreeMap<String, i64>>("h")?,
        c.hget::<_, _, Option<i64>>("h", "z")?
    );
    let _: () = c.rpush("l", &[1, 2, 3])?;
    println!(
        "list: {:?} {:?}",
        c.lrange::<_, Vec<i64>>("l", 0, -1)?,
        c.lpop::<_, Vec<i64>>("l", std::num::NonZeroUsize::new(2))?
    );
    let _: () = c.sadd("s", &["p", "q"])?;
    println!(
        "set: {:?} {}",
        c.smembers::<_, BTreeSet<String>>("s")?,
        c.sismember::<_, _, bool>("s", "z")?
    );
    let _: () = c.zadd_multiple("z", &[(1.5, "a"), (2.0, "b")])?;
    println!(
        "zset: {:?} {:?}",
        c.zrange_withscores::<_, Vec<(String, f64)>>("z", 0, -1)?,
        c.zrank::<_, _, Option<i64>>("z", "b")?
    );
    println!("wrong type: {:?}", c.lpush::<_, _, i64>("h", "x").unwrap_err().code());
    println!(
        "unknown: {:?}",
        redis::cmd("NOSUCH").query::<i64>(c).unwrap_err().to_string()
    );
    Ok(())
}

fn many(c: &mut redis::Connection) -> Outcome {
    let mut p = redis::pipe();
    for i in 0..3000 {
        p.incr("n", i);
    }
    println!("pipeline: {:?}", p.query::<Vec<i64>>(c)?.last());
    let both: (i64, Vec<String>) = redis::pipe()
        .atomic()
        .incr("n", 1)
        .set("m", "v")
        .ignore()
        .keys("h")
        .query(c)?;
    println!("atomic: {:?}", both);
    let wrong = redis::pipe()
        .atomic()
        .set("m", 1)
        .lpush("m", 1)
        .query::<redis::Value>(c);
    println!("atomic with an error: {:?} {:?}", wrong.is_err(), c.get::<_, i64>("m")?);
    let new: (i64,) = redis::transaction(c, &["n"], |c, p| {
        let was: i64 = c.get("n")?;
        p.set("n", was + 1).ignore().get("n").query(c)
    })?;
    println!("transaction: {:?}", new);
    let s = Script::new("return {KEYS[1], ARGV[1] + redis.call('INCR', KEYS[1])}");
    println!("script: {:?}", s.key("k").arg(40).invoke::<(String, i64)>(c)?);
    println!("script again: {:?}", s.key("k").arg(40).invoke::<(String, i64)>(c)?);
    let found: BTreeSet<String> = c.scan_match("*")?.collect();
    println!("scan: {:?}", found);
    Ok(())
}

fn streams(c: &mut redis::Connection) -> Outcome {
    let _: String = c.xadd("x", "1-1", &[("f", "v")])?;
    let _: String = c.xadd("x", "1-2", &[("f", "w")])?;
    let _: () = c.xgroup_create("x", "g", "0")?;
    let o = StreamReadOptions::default().group("g", "c").count(1);
    let r: StreamReadReply = c.xread_options(&["x"], &[">"], &o)?;
    for key in &r.keys {
        for id in &key.ids {
            println!("stream: {} {} {:?}", key.key, id.id, id.get::<String>("f"));
        }
    }
    println!(
        "ack: {} of {}",
        c.xack::<_, _, _, i64>("x", "g", &["1-1"])?,
        c.xlen::<_, i64>("x")?
    );
    Ok(())
}

fn messages(client: &redis::Client, c: &mut redis::Connection) -> Outcome {
    let mut listener = client.get_connection()?;
    let mut l = listener.as_pubsub();
    l.set_read_timeout(Some(Duration::from_secs(20)))?;
    l.subscribe("news")?;
    l.psubscribe("n*")?;
    // With RESP3 it does not wait for the answers, and the other connection may be served by another worker.
    while redis::cmd("PUBSUB").arg("NUMPAT").query::<i64>(c)? == 0
        || redis::cmd("PUBSUB").arg("NUMSUB").arg("news").query::<(String, i64)>(c)?.1 == 0
    {}
    println!("published: {}", c.publish::<_, _, i64>("news", "hello")?);
    for _ in 0..2 {
        let m = l.get_message()?;
        println!(
            "message: {} {} {}",
            m.get_channel_name(),
            m.get_payload::<String>()?,
            m.from_pattern()
        );
    }
    Ok(())
}

fn threads(client: &redis::Client, c: &mut redis::Connection) -> Outcome {
    let all: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            std::thread::spawn(move || -> Outcome {
                let mut c = client.get_connection()?;
                for _ in 0..50 {
                    let _: (i64,) = redis::transaction(&mut c, &["shared"], |c, p| {
                        let n: Option<i64> = c.get("shared")?;
                        p.set("shared", n.unwrap_or(0) + 1).ignore().get("shared").query(c)
                    })?;
                }
                let _: () = c.rpush("jobs", 1)?;
                Ok(())
            })
        })
        .collect();
    for _ in 0..4 {
        let _: (String, i64) = c.blpop("jobs", 20.0)?;
    }
    for one in all {
        one.join().unwrap()?;
    }
    println!("threads: {}", c.get::<_, i64>("shared")?);
    Ok(())
}

fn main() -> Outcome {
    let url = std::env::var("REDIS_URL").expect("REDIS_URL");
    for protocol in ["", "?protocol=resp3"] {
        let client = redis::Client::open(format!("{}{}", url.trim_end_matches('/'), protocol))?;
        let mut c = client.get_connection()?;
        let _: () = redis::cmd("FLUSHALL").query(&mut c)?;
        println!("{}: {}", protocol, c.check_connection());
        data(&mut c)?;
        many(&mut c)?;
        streams(&mut c)?;
        messages(&client, &mut c)?;
        threads(&client, &mut c)?;
    }
    Ok(())
}
