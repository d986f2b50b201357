-- Commands of sorted sets.
local function any(list) return list[math.random(#list)] end
local function member() return any({"[", "("}) .. any({"", "f", "f1", "f3", "f5", "g", "\255", "10", "9"}) end
local function end_or_member(ends) return math.random(3) == 1 and any(ends) or member() end

-- In any order.
local function lines(answer)
    local t = {}
    for line in answer:gmatch("[^\r\n]*\r\n") do t[#t + 1] = line end
    table.sort(t)
    return table.concat(t)
end

return {
    makers = {
        -- Members are in order only in a set of one score; in a small one of several, as there is one walk.
        lexkey = function() return "lex:" .. math.random(3) end,
        mixed = function() return "mixed:" .. math.random(2) end,
        least = function() return end_or_member({"-", "-", "-", "+"}) end,
        most = function() return end_or_member({"+", "+", "+", "-"}) end,
        bound = function()
            return any({"", "", "("}) .. any({"inf", "-inf", "+inf", "0", "-1", "1.5", "3", "-4.5", "1e400"})
        end,
    },
    "zadd key score value[score value]...",
    "zadd key score field[score field]...", "zadd key score field score field score field",
    "zadd key [NX|XX] [GT|LT] [CH] score field[score field]...",
    "zadd key [NX|XX] [GT|LT] [CH] INCR score field",
    "zadd key 0 field 0 value 0 field 0 field",
    "zadd key NX XX score field", "zadd key GT LT score field",
    "zincrby key score field", "zincrby key float value",
    "zscore key field", "zmscore key field[value]...", "zcard key",
    "zrank key field", "zrevrank key field",
    "zcount key bound bound", "zcount key -inf +inf",
    "zlexcount {lexkey|mixed} least most",
    "zrange key index index [WITHSCORES]", "zrevrange key index index [WITHSCORES]",
    "zrange key bound bound BYSCORE [REV] [LIMIT index int] [WITHSCORES]",
    "zrange {lexkey|mixed} least most BYLEX [REV] [LIMIT index int]",
    "zrange {lexkey|mixed} most least BYLEX REV [LIMIT count int] [WITHSCORES]",
    "zrange key index index REV [LIMIT count count] [WITHSCORES]",
    "zrangebyscore key bound bound [WITHSCORES] [LIMIT count int]",
    "zrevrangebyscore key bound bound [WITHSCORES] [LIMIT count int]",
    "zrangebylex {lexkey|mixed} least most [LIMIT count int]",
    "zrevrangebylex {lexkey|mixed} most least [LIMIT count int]",
    "zrangestore key key index index", "zrangestore key key score score BYSCORE [REV] [LIMIT count int]",
    "zadd lexkey 0 field 0 value 0 field[0 field]...", "zadd mixed score least score most score least",
    "zrem {lexkey|mixed} field field field",
    "zrangestore key {lexkey|mixed} - + BYLEX [LIMIT count int] [WITHSCORES]",
    "zrem key field[value]...", "zremrangebyrank key index index",
    "zremrangebyscore key bound bound",
    "zremrangebylex {lexkey|mixed} least most",
    "zpopmin key [count]", "zpopmax key [count]", "zpopmin key",
    "zrandmember key", "zrandmember key int [WITHSCORES]", "zrandmember key 100 [WITHSCORES]",
    "zrandmember mixed 1", "zscan key 0 COUNT 1000 [MATCH f*]",
    "zmpop 1 key {MIN|MAX} [COUNT count]", "zmpop 2 key key {MIN|MAX} [COUNT count]",
    "zmpop int key {MIN|MAX}",
    "zunion 2 key key [WEIGHTS score float] [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]",
    "zunion 3 key key key [WEIGHTS 1 2 3] [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]",
    "zinter 2 key key [WEIGHTS float score] [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]",
    "zinter count key key key [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]",
    "zdiff 2 key key [WITHSCORES]", "zdiff 3 key key key [WITHSCORES]", "zdiff 2 key key WEIGHTS 1 2",
    "zunionstore key 2 key key [WEIGHTS float float] [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]",
    "zunionstore key int key key", "zinterstore key 2 key key [AGGREGATE {SUM|MIN|MAX}] [WEIGHTS 2 float]",
    "zdiffstore key 2 key key", "zdiffstore key int key key",
    "zintercard 2 key key [LIMIT count]", "zintercard int key key LIMIT int",
    "object encoding key", "type key", "del key", "expire key seconds", "set key value", "rename key key",
    "copy key key REPLACE",
    probes = {"TYPE KEY", "OBJECT ENCODING KEY", "EXPIRETIME KEY", "ZRANGE KEY 0 -1 WITHSCORES", "ZCARD KEY",
              "ZRANGE lex:1 0 -1", "ZRANGE mixed:1 0 -1 WITHSCORES",
              "ZREVRANGE KEY 0 -1"},
    alike = function(words, a, b) -- seconds pass
        local name = words[1]:lower()
        if name == "zscan" then return lines(a) == lines(b) end
        if name == "zrandmember" then -- as many of them
            if words[3] == "100" then return lines(a) == lines(b) end
            local kind = a:sub(1, 1)
            return kind == b:sub(1, 1) and (kind == "$" or a:match("^[^\r]*") == b:match("^[^\r]*"))
        end
        -- Where scores differ, Redis' skiplist finds a range of names by way of random levels.
        if words[2]:match("^mixed") and table.concat(words, " "):lower():find("lex") then
            return name ~= "zremrangebylex" or "end"
        end
        if words[1]:lower() ~= "expiretime" then return false end
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
