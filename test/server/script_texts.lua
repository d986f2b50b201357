-- What `script` is in templates of differ_scripts.lua: texts of scripts, put together at random.

local function any(list) return list[math.random(#list)] end

local names = {"get", "incr", "strlen", "exists", "type", "ttl", "persist", "del", "getdel", "touch", "nope",
    "GET"}
local values = {
    "1", "-1.9", "3.0e20", "0.1", "'text'", "''", "nil", "true", "false", "{}", "{1, 2, 'x'}", "{1, nil, 3}",
    "{ok = 'fine'}", "{err = 'MY error'}", "{double = 1.5}", "{map = {a = 1}}", "{set = {a = true}}",
    "{big_number = '12345678901234567890'}", "{verbatim_string = {format = 'txt', string = 'x'}}", "KEYS",
    "ARGV", "KEYS[1]", "ARGV[2]", "#KEYS", "redis.error_reply('Oh')", "redis.error_reply('MY oh')",
    "redis.error_reply('-oh')", "redis.error_reply('-MY oh')",
    "redis.status_reply('so')", "redis.status_reply(1)", "redis.sha1hex('x')", "redis.REDIS_VERSION",
    "nothing", "tostring(nil)", "function() end", "{{{'deep'}}}", "{1, {err = 'ERR in'}, {ok = 'y'}}",
    "cjson.encode({1, 'a'})", "cmsgpack.pack({1, 2})", "bit.bxor(5, 3)", "struct.pack('>I2', 7)",
    "type(redis.call)", "tonumber('0x10')", "('x'):rep(3)", "select('#', 1, 2)", "unpack({7, 8})",
    [['\.\x41\z \n\65']], [[loadstring('return "\\-"')()]], "math.mod(7, 4)", "math.random(5, 1)",
    "{math.randomseed(7), math.random(100), math.random(-5, 5), tostring(math.random())}",
}

local function key() return any({"KEYS[1]", "KEYS[1]", "'key:2'", "ARGV[1]"}) end

local function call()
    local how = any({"redis.call", "redis.call", "redis.pcall"})
    local n = math.random(6)
    if n == 1 then
        return ("%s('set', %s, %s)"):format(how, key(), any({"1", "'x'", "ARGV[1]", "3.7", "{}", "1e15"}))
    end
    if n == 2 then return ("%s('mget', %s, 'key:3')"):format(how, key()) end
    if n == 3 then return ("%s('lcs', %s)"):format(how, key()) end
    return ("%s('%s', %s)"):format(how, any(names), key())
end

-- Commands of few hashes, one after another, on which a script's memory of one could be wrong.
local hashes = {"hset, f, 1", "hset, f, 1", "hset, g, x", "hset, h, 2.5", "hget, f", "hget, f", "hget, g",
    "hlen", "hdel, f", "hdel, f, g, h", "hincrby, f, 3", "hexists, g", "hsetnx, h, 7", "del", "type",
    "set, 1", "get", "hset, , e", "expire, 1000", "persist", "object", "hmget, f, g", "hset, f, 1, g, 2",
    "hstrlen, f", "incr"}
local function hash_calls()
    local t, one, other = {"local r = {} "}, key(), key()
    for i = 1, math.random(3, 9) do
        local name, rest = any(hashes):match("^(%a+),?(.*)$")
        local words = {("'%s', %s"):format(name, math.random(4) == 1 and other or one)}
        if name == "object" then words = {"'object', 'encoding'", one} end
        for word in rest:gmatch(" ([^,]*)") do words[#words + 1] = ("'%s'"):format(word) end
        t[#t + 1] = ("r[%d] = redis.pcall(%s) "):format(i, table.concat(words, ", "))
    end
    t[#t + 1] = any({"return r", "return r", "error('no')", "redis.call('nope')"})
    return "do " .. table.concat(t) .. " end\n"
end

local statements = {
    function() return call() .. "\n" end,
    function() return ("local v = %s\n"):format(call()) end,
    function() return ("if %s then %s end\n"):format(call(), call()) end,
    function() return any({"redis.setresp(3)\n", "redis.setresp(2)\n", "x = 1\n", "error('no')\n",
        "error({err = 'MY no'})\n", "redis.call()\n", "redis.call({})\n", "redis.call('select', 1)\n"})
    end,
    function()
        return ("local fine, e = pcall(redis.call, 'nope') if %s then return e end\n"):format(call())
    end,
    function() return ("for i = 1, 3 do %s end\n"):format(call()) end,
}

local function script()
    local t = {any({"", "", "", "", "#!lua\n", "#!lua flags=no-writes\n", "#!lua flags=nope\n", "#!x\n"})}
    for _ = 1, math.random(0, 2) do t[#t + 1] = any(statements)() end
    t[#t + 1] = any({
        function() return hash_calls() end,
        function() return ("local r = %s return r"):format(call()) end,
        function() return ("local r = %s return {r, 1}"):format(call()) end,
        function() return ("local r = %s return r"):format(any(values)) end,
        function() return "" end,
        function() return "return 1 +" end,
    })()
    return table.concat(t)
end

return script
