-- Commands of sorted sets that wait: what they answer at once, or after some milliseconds.
return {
    "zadd key 1 a 2 b 3 c", "zadd key score field", "zadd key 1 value", "set key value", "rpush key a",
    "del key", "zrange key 0 -1 WITHSCORES",
    "bzpopmin key key 0.001", "bzpopmax key key key 0.001",
    "bzpopmax key {0.001|-1|abc|1e-3|inf|1e300|18446744073709551615}",
    "bzmpop 0.001 {1|2|3|int} key key {MIN|MAX} [COUNT count]",
    "bzmpop {0.001|-1|abc} 2 key key {MIN|MAX} [COUNT int]",
    "bzmpop 0.001 {1|2|value} key {MIN|MAX|up} {COUNT|NOPE} int",
    "multi", "exec", "exec", "exec", "discard",
    exact = true,
    probes = {"EXEC", "TYPE KEY", "ZRANGE KEY 0 -1 WITHSCORES"},
}
