-- SCRIPT DEBUG, the debugger that redis-cli --ldb speaks to: what Redis 7.0 answers, line by line, and what
-- holds here alone: nobody waits for a session, and it is one transaction.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

-- A session that has stopped at the first line of the script, on a connection of its own.
local function begin(mode, script, ...)
    local c = check.connect()
    local id = c("CLIENT", "ID")
    is(c("SCRIPT", "DEBUG", mode), "OK")
    is(c("EVAL", script, ...)[1], "* Stopped at 1, stop reason = step over")
    return c, id
end

local function over(c, answer)
    is(c:read(), answer)
    is(c:more(), false) -- the connection is closed
    c:close()
end

local script = [[
local a = 1
local function f(x)
  return x * 2
end
redis.call('set', KEYS[1], ARGV[1])
local b = redis.call('get', KEYS[1])
a = f(a)
return {a, b}

]]

case("a script is stepped through", function(c)
    local d = begin("yes", script, 1, "k", "v")
    is(d("help")[5], "[c]ontinue           Run till next breakpoint.")
    is(#d("h"), 30)
    is(d("list", "7", "1"),
        {"   6   local b = redis.call('get', KEYS[1])", "   7   a = f(a)", "   8   return {a, b}"})
    is(#d("whole"), 8)
    is(d("s"), {"* Stopped at 4, stop reason = step over", "-> 4   end"})
    is(d("n")[2], "-> 5   redis.call('set', KEYS[1], ARGV[1])")
    is(d("step"), {"<redis> set k v", '<reply> "+OK"', "* Stopped at 6, stop reason = step over",
        "-> 6   local b = redis.call('get', KEYS[1])"})
    is(c("GET", "k"), resp.null) -- nothing of it is to be seen
    is(d("b", "3", "-4", "99", "x"), {"   2   local function f(x)", "  #3     return x * 2", "   4   end",
        "No breakpoint in the specified line.", "Wrong line number.", "Invalid argument:'x'"})
    is(d("break"), {"1 breakpoints set:", "  #3     return x * 2"})
    is(d("c"), {"* Stopped at 3, stop reason = break point", "->#3     return x * 2"})
    is(d("trace"), {"In f:", "->#3     return x * 2", "From top level:", "   7   a = f(a)"})
    is(d("p"), {"<value> x = 1"})
    is(d("p", "b"), {'<value> "v"'})
    is(d("p", "ARGV"), {'<value> {"v"}'})
    is(d("p", "none"), {"No such variable."})
    is(d("b", "0"), {"All breakpoints removed."})
    is(d("s"), {"* Stopped at 8, stop reason = step over", "-> 8   return {a, b}"})
    is(d("s"), {"<endsession>"})
    over(d, {2, "v"})
    is(c("EXISTS", "k"), 0)
end)

case("values, code and commands are looked at", function()
    local d = begin("yes", "redis.breakpoint()\nredis.debug('x', {1, {2}}, nil)\nreturn 1", 0)
    is(d("e", "{1,", "{y='z'}}"), {'<retval> {1; {["y"]="z"}}'})
    is(d("e", "local", "a", "=", "1"), {"<retval> nil"})
    is(d("e", "error('no')"), {"<error> ldb_eval:1: no"})
    is(d("e", "x ="), {"<error> ldb_eval:1: unexpected symbol near '<eof>'"})
    is(d("r", "rpush", "l", "a", "b\n"), {"<redis> rpush l a b ", "<reply> 2"})
    is(d("redis", "lrange", "l", "0", "-1"), {"<redis> lrange l 0 -1", '<reply> ["a","b\\n"]'})
    local wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value"
    is(d("r", "get", "l"), {"<redis> get l", "<error> " .. wrong, '<reply> "' .. wrong .. '"'})
    is(d("r", "nope"), {"<redis> nope", "<error> Unknown Redis command called from script"})
    is(d("e", "('x'):rep(300)"), {'<retval> "' .. ("x"):rep(246) .. " ...",
        "<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming."})
    is(d("maxlen", "10"), {"<value> replies are truncated at 60 bytes."})
    is(d("m", "0"), {"<value> replies are unlimited."})
    is(d("e", "('x'):rep(300)"), {'<retval> "' .. ("x"):rep(300) .. '"'})
    is(d("what"), {"<error> Unknown Redis Lua debugger command or wrong number of arguments."})
    is(d("c"), {"* Stopped at 2, stop reason = redis.breakpoint() called",
        "-> 2   redis.debug('x', {1, {2}}, nil)"})
    is(d("c"), {'<debug> line 2: "x", {1; {2}}, nil', "<endsession>"})
    over(d, 1)
end)

case("a script is aborted, or fails", function()
    local d = begin("sync", "return 1", 0)
    is(d("abort"), {"<endsession>"})
    fails(d:read(), "ERR script aborted for user request script: e0e1f9fabfc9d4800c877a703b823ac0578ff8db, "
        .. "on @user_script:1.")
    for _, bytes in ipairs {"PING\r\n", "*0\r\n", "*1\r\n$2000\r\n", "*1\r\nPING\r\n"} do
        d = begin("yes", "return 1", 0)
        d:send(bytes)
        is(d:read(), {"<endsession>"})
        fails(d:read(), "ERR protocol error script: ")
        d:close()
    end
    d = check.connect()
    d("SCRIPT", "DEBUG", "YES")
    is(d("EVAL", "this is nothing", 0), {"<endsession>"})
    fails(d:read(), "ERR Error compiling script")
    d:close()
end)

case("requests are put together, and what comes with one is dropped", function()
    local d = begin("yes", "return 1", 0)
    for _, part in ipairs {"*2\r", "\n$1\r\n", "p\r\n$3\r\nab", "c\r", "\n"} do d:send(part) end
    is(d:read(), {"No such variable."})
    d:send(resp.encode("w") .. resp.encode("s"))
    is(d:read(), {"-> 1   return 1"})
    is(d("c"), {"<endsession>"})
    over(d, 1)
end)

case("nobody waits for a session, and SYNC is committed at its end", function(c)
    local d = begin("sync", "redis.call('set', 'a', 1)\nredis.call('set', 'b', 2)\nreturn 1", 0)
    d("s")
    for _, one in ipairs(check.spread(4)) do
        for i = 1, 20 do is(one("SET", "c", i), "OK") end
        is(one("MGET", "a", "b"), {resp.null, resp.null})
        is(one("EVAL", "return 5", 0), 5)
        fails(one("SCRIPT", "KILL"), "NOTBUSY")
        one:close()
    end
    is(d("c"), {"<endsession>"})
    over(d, 1)
    is(c("MGET", "a", "b"), {"1", "2"})
end)

case("a session whose data others change begins again", function(c)
    c("SET", "n", 1)
    local d = begin("sync", "local n = redis.call('get', 'n')\nredis.call('set', 'n', n + 1)\nreturn n", 0)
    d("s")
    c("SET", "n", 10)
    is(d("c"), {"* The data was changed by others: the script began again", "<redis> get n", '<reply> "10"',
        "* Stopped at 2, stop reason = step over", "-> 2   redis.call('set', 'n', n + 1)"})
    is(d("c"), {"<endsession>"})
    over(d, "10")
    is(c("GET", "n"), "11")
end)

case("what its client saw is as before: it is told nothing", function(c)
    c("SET", "n", 1)
    local d = begin("sync", "local n = redis.call('get', 'n')\nredis.call('set', 'n', n + 1)\nreturn n", 0)
    d("b", "2")
    is(d("c"), {"* Stopped at 2, stop reason = break point", "->#2   redis.call('set', 'n', n + 1)"})
    c("SET", "n", 10)
    is(d("b", "3"), {"->#2   redis.call('set', 'n', n + 1)", "  #3   return n"})
    is(d("c"), {"* Stopped at 3, stop reason = break point", "->#3   return n"})
    c("SET", "n", 100)
    is(d("c"), {"<endsession>"})
    over(d, "100")
    is(c("GET", "n"), "101")
end)

case("a script ends by itself when its client has gone", function(c)
    begin("sync", "redis.call('set', 'done', 1)\nreturn 1", 0):close()
    check.wait(function() return c("GET", "done") == "1" end)
    begin("yes", "redis.call('set', 'other', 1)\nreturn 1", 0):close()
    local d, id = begin("sync", "redis.call('set', 'killed', 1)\nreturn 1", 0)
    is(c("CLIENT", "KILL", "ID", id), 1)
    check.wait(function() return c("GET", "killed") == "1" end)
    is(c("EXISTS", "other"), 0)
    d:close()
end)

case("a script without end is ended by SCRIPT KILL", function(c)
    local d = begin("yes", "while true do\nlocal a = 1\nend", 0)
    d:write("c")
    check.wait(function() return c("SCRIPT", "KILL") == "OK" end)
    is(d:read(), {"<endsession>"})
    fails(d:read(), "ERR Script killed by user")
    d:close()
end)

case("a session keeps its state until its client has the last lines", function()
    local d = begin("yes", "for i = 1, 40 do redis.debug(('x'):rep(100000)) end", 0)
    d:write("c")
    is(d:more(), true) -- they are coming, more than the socket takes
    local e = begin("yes", "local a = 1\na = a + 1\nreturn a", 0)
    is(#d:read(), 41)
    over(d, resp.null)
    is(e("n")[1], "* Stopped at 2, stop reason = step over")
    is(e("c"), {"<endsession>"})
    over(e, 2)
end)

case("what can't be debugged is told", function(c)
    local d = check.connect()
    fails(d("SCRIPT", "DEBUG", "maybe"), "ERR Use SCRIPT DEBUG YES/SYNC/NO")
    is(d("SCRIPT", "DEBUG", "yes"), "OK")
    fails(d("EVALSHA", ("0"):rep(40), 0), "ERR Please use EVAL instead of EVALSHA for debugging")
    d("MULTI")
    d("EVAL", "return 1", 0)
    fails(d("EXEC")[1], "ERR a script in MULTI can't be debugged")
    is(d("SCRIPT", "DEBUG", "no"), "OK")
    is(d("EVAL", "return redis.breakpoint()", 0), resp.null)
    d:send("PING\r\nSCRIPT DEBUG YES\r\n")
    is(d:read(), "PONG")
    fails(d:read(), "ERR SCRIPT DEBUG must be called outside a pipeline")
    local workers = check.info(c, "workers")
    local open, refused = {}, false
    while not refused do
        local one = check.connect()
        one("SCRIPT", "DEBUG", "yes")
        local answer = one("EVAL", "return 1", 0)
        refused = answer.error ~= nil
        if refused then fails(answer, "ERR too many scripts are debugged") end
        open[#open + 1] = one
    end
    is(#open > 4 and #open <= 4 * workers + 1, true)
    is(c("EVAL", "return 7", 0), 7)
    for i = 1, #open - 1 do is(open[i]("c"), {"<endsession>"}) end
    for _, one in ipairs(open) do one:close() end
    d:close()
end)

-- The last one: these are there when the server is told to end.
case("a server with open sessions ends", function()
    for _ = 1, 3 do begin("sync", "return 1", 0) end
end)

check.run()
