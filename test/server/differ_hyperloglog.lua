-- Commands of HyperLogLog; their values are the same bytes.
return {
    "pfadd key[element]...", "pfadd key element element element element element element element element",
    "pfadd key", "pfcount key[key]...", "pfcount key", "pfmerge key key[key]...", "pfmerge key",
    "pfdebug {ENCODING|DECODE|TODENSE|value} key", "pfdebug GETREG key", "pfselftest value",
    "set key value", "set key {HYLL|HYLL0000000000000000}", "get key", "strlen key",
    "setrange key position {0|1|2}", "del key", "expire key seconds", "hset key field value",
    "rename key key",
    "copy key key REPLACE", "config set hll-sparse-max-bytes {0|30|100|3000}",
    makers = {
        element = function() return "e" .. math.random(3000) end,
        position = function() return tostring(math.random(0, 15)) end,
    },
    probes = {"GET KEY", "PFCOUNT KEY", "EXISTS KEY"},
    alike = function(words, _, b)
        return words[1]:lower() == "config" and b:find("must be between", 1, true) -- bytes of 2^63 and more
    end,
}
