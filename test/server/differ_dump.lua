-- DUMP and RESTORE: what either server dumped is restored by both.
local resp, check = require "resp", require "check"
local sides
local function payload()
    sides = sides or {check.connect(), assert(resp.connect(os.getenv("REDIS_SOCKET")))}
    local bytes = sides[math.random(2)]("DUMP", "key:" .. math.random(6))
    if bytes == resp.null then return "nothing" end
    if math.random(12) == 1 then -- damaged, with or without the right checksum
        local at = math.random(#bytes)
        bytes = bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + 1)
        if math.random(2) == 1 then bytes = bytes:sub(1, -9) .. ("\0"):rep(8) end
    end
    return bytes
end
local long = {"", ("x"):rep(300), ("abc"):rep(100), ("l"):rep(5000), "12",
    "-129", "40000", "70000", "5000000000"}

return {
    "set key item",
    "set key {1|-1|127|128|-32769|2147483648|12345678901234567890|007}",
    "setrange key count item",
    "rpush key item[item]...", "rpush key item item item item item item", "lpush key item",
    "sadd key item[item]...", "sadd key int[int]...", "sadd key 70000 5000000000 int",
    "hset key item item", "hset key item int item int item item",
    "hset key item 5000000000 item -5000 item 300",
    "zadd key score item", "zadd key score item score item score item", "zadd key 1e300 item -0.1 item",
    "config set zset-max-listpack-entries {2|128}",
    "restore key 0 payload REPLACE", "restore key 0 payload REPLACE",
    "restore key 0 payload", "restore key future000 payload REPLACE ABSTTL",
    "restore key 5000000 payload REPLACE",
    "restore key past payload REPLACE ABSTTL", "restore key {never|nothing|1.5} payload [REPLACE]",
    "restore key 0 payload [REPLACE] [IDLETIME value|FREQ value]", "restore key 0 value [REPLACE]",
    "restore key 0 payload {REPLACE|ABSTTL|IDLETIME|FREQ|value} [REPLACE]",
    "del key", "dump nothing", "exists key", "object ENCODING key",
    "config set hash-max-listpack-entries {2|512}", "config set set-max-intset-entries {2|512}",
    makers = {
        item = function()
            return math.random(4) == 1 and long[math.random(#long)] or "item " .. math.random(20)
        end,
        payload = payload,
    },
    hidden = {"dump", "object"},
    unordered = {"smembers", "hgetall"},
    width = function(words) return words[1]:lower() == "hgetall" and 2 or 1 end,
    probes = {"TYPE KEY", "GET KEY", "LRANGE KEY 0 -1", "SMEMBERS KEY",
        "HGETALL KEY", "ZRANGE KEY 0 -1 WITHSCORES",
        "EXPIRETIME KEY"},
    alike = function(words, a, b)
        if words[1]:lower() == "config" then return b:find("must be between", 1, true) end
        if words[1]:lower() ~= "expiretime" then return false end -- seconds pass
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
