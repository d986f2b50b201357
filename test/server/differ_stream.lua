-- Commands of streams. Entries have few ids, so that requests meet; "*" is the time, which differs.
local resp, check = require "resp", require "check"

local odd = {"*", "-", "+", "(1", "(0-0", "(-", "1-", "-1", "1-x", "01-02", "1-2-3", "18446744073709551615-3",
    "18446744073709551615-18446744073709551615", "(18446744073709551615-18446744073709551615",
    "18446744073709551616-1", "999999999999999999-1", "1000000000000000000-1", "7-1000000000000000000",
    "7-999999999999999999", "7-18446744073709551615", "9223372036854775808", "$", ">"}

local function id()
    if math.random(25) == 1 then return odd[math.random(#odd)] end
    local ms = math.random(0, 9)
    return math.random(3) == 1 and tostring(ms) or ms .. "-" .. math.random(0, 4)
end

local last = 10 -- so that most are greater than what is there
local function nextid()
    last = last > 40 and 5 or last + math.random(0, 2)
    return last .. "-" .. math.random(0, 2)
end

-- How Redis' tree of blocks looks is not compared, and times are not.
local masks = {"(radix%-tree%-nodes\r\n):%d+", "(idle\r\n):%d%d?%d?%d?\r", "(seen%-time\r\n):%d+",
    "(c%d\r\n):%d%d?%d?\r", "(%$0\r\n\r\n):%d%d?%d?\r",
    "(%*4\r\n%$%d+\r\n%d+%-%d+\r\n%$%d+\r\n[^\r]*\r\n):%d%d?%d?\r", -- of a consumer with an odd name
    "(%$15\r\n)1" .. ("%d"):rep(12) .. "%-%d\r", "():1" .. ("%d"):rep(12) .. "\r"}
local function masked(answer)
    for _, mask in ipairs(masks) do answer = answer:gsub(mask, "%1:0\r") end
    return answer
end

-- Ids by the clock, where the entries differed by them, are in the digest of all data, too.
local by_the_clock
local function alike(words, a, b)
    if words[1] == "DEBUG" then return by_the_clock end
    if words[1] == "XRANGE" then by_the_clock = true end -- a probe
    return masked(a) == masked(b)
end

-- What either server dumped is restored by both.
local sides
local function payload()
    sides = sides or {check.connect(), assert(resp.connect(os.getenv("REDIS_SOCKET")))}
    local bytes = sides[math.random(2)]("DUMP", "key:" .. math.random(6))
    return type(bytes) == "string" and bytes or "nothing"
end

return {
    makers = {
        payload = payload,
        id = id, nextid = nextid,
        group = function() return "g" .. math.random(2) end,
        consumer = function() return "c" .. math.random(3) end,
        lowid = function() return math.random(3) == 1 and "-" or id() end,
        highid = function() return math.random(3) == 1 and "+" or nextid() end,
    },
    hidden = {"config"},
    alike = alike, before = function() by_the_clock = false end,
    "xadd key nextid field value[field value]...", "xadd key nextid field value[field value]...",
    "xadd key id f1 value", "xadd key nextid f1 value f2 value", "xadd key nextid f1 int",
    "xadd key {1-*|2-*|3-*|9-*} field value",
    "xadd key [NOMKSTREAM] [{MAXLEN|MINID} [=|~] {count|id} [LIMIT int]] {id|nextid} field value",
    "xadd key MAXLEN = count nextid f1 value", "xadd key MAXLEN ~ count LIMIT count nextid f1 value",
    "xlen key", "xdel key id[id]...", "xdel key id id",
    "xtrim key MAXLEN [=|~] count [LIMIT int]", "xtrim key MINID [=|~] id [LIMIT int]",
    "xtrim key {MAXLEN|MINID} ~ count LIMIT count",
    "xrange key lowid highid [COUNT int]", "xrange key - + [COUNT count]",
    "xrevrange key highid lowid [COUNT int]", "xrevrange key + - [COUNT count]",
    "xsetid key {id|nextid} [ENTRIESADDED count MAXDELETEDID id|ENTRIESADDED count|MAXDELETEDID id]",
    "xread [COUNT int] STREAMS key key {id|$} {id|$}", "xread STREAMS key id",
    "xread BLOCK {1|-1|x} STREAMS key {id|$}", "xreadgroup GROUP group consumer BLOCK 1 STREAMS key {>|id}",
    "xinfo STREAM key", "xinfo STREAM key FULL [COUNT int]", "xinfo GROUPS key", "xinfo CONSUMERS key group",
    "xgroup CREATE key group {id|$|0} [MKSTREAM] [ENTRIESREAD int]", "xgroup CREATE key group 0",
    "xgroup SETID key group {id|$|0|-|+} [ENTRIESREAD int]", "xgroup DESTROY key group",
    "xgroup CREATECONSUMER key group consumer", "xgroup DELCONSUMER key group consumer",
    "xreadgroup GROUP group consumer [COUNT int] [NOACK] STREAMS key {>|id}",
    "xreadgroup GROUP group consumer COUNT count STREAMS key >",
    "xreadgroup GROUP group consumer STREAMS key >",
    "xreadgroup GROUP group consumer [COUNT count] STREAMS key key {>|id} {>|id}",
    "xack key group id[id]...", "xpending key group", "xpending key group - + 10 [consumer]",
    "xpending key group [IDLE {0|-5|99999}] lowid highid count [consumer]",
    "xclaim key group consumer {0|9999999|-3} id[id]... [IDLE {0|5000000|-5}|TIME {5|-1|99999999999999}] "
        .. "[RETRYCOUNT int] [FORCE] [JUSTID] [LASTID id]",
    "xclaim key group consumer 0 id id id", "xclaim key group consumer 0 id FORCE",
    "xautoclaim key group consumer {0|9999999} lowid [COUNT int] [JUSTID]",
    "xautoclaim key group consumer 0 0",
    "set key value", "del key", "exists key", "expire key seconds", "type key", "object ENCODING key",
    "copy key key [REPLACE]", "rename key key",
    "restore key 0 payload REPLACE", "restore key 0 payload [REPLACE]",
    "config SET stream-node-max-entries {1|2|3|100}", "config SET stream-node-max-bytes {200|4096}",
    probes = {"XLEN KEY", "TYPE KEY", "XRANGE KEY - +", "XINFO STREAM KEY", "XINFO STREAM KEY FULL COUNT 0",
        "XINFO GROUPS KEY", "XINFO CONSUMERS KEY g1", "XINFO CONSUMERS KEY g2", "XPENDING KEY g1",
        "XPENDING KEY g2 - + 20", "EXISTS KEY"},
}
