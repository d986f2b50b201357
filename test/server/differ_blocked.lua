-- Commands of lists that wait: what they answer at once, or after some milliseconds.
return {
    "rpush key a b c", "rpush key a", "rpush key value", "set key value",
    "del key", "lrange key 0 -1",
    "blpop key key 0.001",
    "brpop key key key 0.001", "blpop key {0.001|-1|abc|1e-3|inf|1e300|18446744073709551615}",
    "blmove key key {left|right} {left|right} 0.001", "brpoplpush key key 0.001",
    "blmove key key {left|up} {left|right} {0.001|abc}", "brpoplpush key key {0.001|-1|nan|-inf|-1e300}",
    "blmpop 0.001 {1|2|3|int} key key {left|right} [COUNT count]",
    "blmpop {0.001|-1|abc} 2 key key {left|right} [COUNT int]",
    "blmpop 0.001 {1|2|value} key {left|right|up} {COUNT|NOPE} int",
    "multi", "exec", "exec", "exec", "discard",
    "client unblock {0|999999|value} [TIMEOUT|ERROR|value]",
    exact = true,
    probes = {"EXEC", "LRANGE KEY 0 -1", "TYPE KEY"},
}
