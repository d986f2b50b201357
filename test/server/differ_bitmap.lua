-- Commands of bits and fields of bits, and what OBJECT ENCODING says of a string that was changed in place.
local types = {"u1", "u2", "u4", "u7", "u8", "u13", "u16", "u32", "u63", "i1", "i2", "i8", "i15", "i33",
    "i63", "i64", "u64", "i65", "u0", "i", "8"}
return {
    "setbit key position {0|1}", "setbit key position {0|1}", "setbit key value value",
    "getbit key position", "getbit key value",
    "bitcount key", "bitcount key edge edge [BYTE|BIT|value]", "bitcount key edge",
    "bitpos key {0|1} [edge]", "bitpos key {0|1} edge edge [BYTE|BIT|value]", "bitpos key value",
    "bitop {AND|OR|XOR|NOT|value} key key[key]...", "bitop NOT key key",
    "bitfield key [GET type offset]... [OVERFLOW {WRAP|SAT|FAIL}] [SET type offset int]...",
    "bitfield key [GET type offset]... [INCRBY type offset big]... [GET type offset]...",
    "bitfield key OVERFLOW {WRAP|SAT|FAIL|value} INCRBY type offset big SET type offset big",
    "bitfield key INCRBY type offset big", "bitfield key SET type offset int",
    "bitfield key {SET|GET|INCRBY} value",
    "bitfield_ro key [GET type offset]...", "bitfield_ro key SET u8 0 1",
    "set key value", "set key 12", "get key", "append key value", "setrange key count value", "strlen key",
    "del key",
    "incr key", "expire key seconds", "ttl key", "object ENCODING key", "hset key field value",
    "rename key key", "copy key key REPLACE",
    makers = {
        position = function() return tostring(math.random(0, 90)) end,
        edge = function() return tostring(math.random(-40, 40)) end,
        offset = function() return (math.random(3) == 1 and "#" or "") .. math.random(0, 40) end,
        type = function() return types[math.random(#types)] end,
        big = function()
            return math.random(2) == 1 and tostring(math.random(-300, 300))
                or ({"9223372036854775807", "-9223372036854775808", "4294967296", "-65536"})[math.random(4)]
        end,
    },
    probes = {"GET KEY", "OBJECT ENCODING KEY", "EXISTS KEY"},
    alike = function(words, a, b)
        if words[1]:lower() ~= "ttl" then return false end -- seconds pass
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
