-- CARET.M beside other clients: nobody waits for a routine, any can be ended, those of one worker stand in
-- line, and nothing is left of one.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails

ffi.cdef "int kill(int, int);"

local folder = os.getenv "SERVE_FOLDER"

local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
end

write("tb.m", [[
tb q
for f  s n=$g(n)+1
goto g goto
trap n $et s $et="s $ec="""" g trap" f  s x=1/0
fib(n) q:n<2 n q $$fib(n-1)+$$fib(n-2)
hang h 1000 q
lock l ^tb("held") q
read o "p":(command="cat")::"pipe" u "p" r x q
sys zsy "exec sleep 1000" q
wrote s ^tb("plain")=1 ts  s ^tb("open")=1 l ^tb("lock") h 1000 q
wait(go) f  q:$d(^tb(go))  h 0.005
 q $i(^tb("n"))
left() n x,d,l s x=$d(a)_$d(b)_$et_$zd_$zro_$io_$tl_$v("undef")_$ze_$zs zsh "D":d zsh "L":l
 q x_$g(l("L",2))_$g(d("D",1))_$d(d("D",2))
leave(how) s a=1,b(1)=2,$et="s c=1",$zd=$zro_"/..",$zro="/" v "noundef"
 u 0:width=5 o "/dev/null" u "/dev/null" l ^tb("left") za ^tb("zleft")
 ts:how="open"  s:how="error" x=1/0 h:how="halt"  h:how="hang" 1000 q
one() q 1
fds() n x,n o "p":(command="read x; ls -l /proc/"_$j_"/fd | grep -vc socket")::"pipe" u "p" w ! r n q n
break b  q 1
]])

local first = check.connect()
local answer = first("CARET.M", "$$one^tb")
if type(answer) == "table" and answer.error:find("can't be loaded", 1, true) then
    print("skipped: " .. answer.error) -- builds for sanitizers have no M
    os.exit(77)
end

local bytes, ended = resp.encode, "ERR M was ended by SCRIPT KILL"

-- Have a connection of its own call something, or one that there is.
local function call(c, ...)
    c:send(bytes("CARET.M", ...))
    return c
end

local function start(...) return call(check.connect(), ...) end

-- Wait until a routine is said to run.
local function runs(c, routine)
    check.wait(function()
        local stats = c("FUNCTION", "STATS")[2]
        return stats ~= resp.null and stats[4][2] == routine
    end)
end

local function kill(c)
    local killed
    repeat killed = c("SCRIPT", "KILL") until killed == "OK"
end

local everybody = check.spread(#check.workers())

-- Every worker answers, whatever runs.
local function nobody_waits()
    for i, c in ipairs(everybody) do
        for k = 1, 20 do is(c("SET", "other" .. i, k), "OK") end
        is(c("CARET.INCR", "^tb", "other", "0"), "0")
    end
end

local function set(c, ...) is(c("CARET.SET", "^tb", ...), "OK") end

case("nobody waits for a routine, and it can be ended, whatever it does", function(c)
    local holder = check.connect()
    is(holder("CARET.LOCK", "^tb", "held"), 1)
    for _, routine in ipairs{"for^tb", "goto^tb", "trap^tb", "$$fib^tb", "hang^tb", "lock^tb", "read^tb",
        "sys^tb"} do
        local one = start(routine, unpack(routine:find "fib" and {"60"} or {}))
        runs(c, routine)
        nobody_waits()
        runs(c, routine)
        kill(c)
        fails(one:read(), ended)
        is(one("CARET.M", "$$one^tb"), "1")
        one:close()
    end
    fails(c("SCRIPT", "KILL"), "NOTBUSY")
    holder:close()
end)

case("what an ended one has written stays, but for its transaction; its locks are free", function(c)
    c("CARET.KILL", "^tb")
    c("CONFIG", "SET", "busy-reply-threshold", "1")
    local one = start("wrote^tb")
    check.wait(function() return type(c("CARET.GET", "^tb", "plain")) == "table" end) -- BUSY
    kill(c)
    c("CONFIG", "SET", "busy-reply-threshold", "5000")
    fails(one:read(), ended)
    is(one("CARET.GET", "^tb", "plain"), "1")
    is(one("CARET.DATA", "^tb", "open"), 0)
    is(one("CARET.LOCK", "WITHIN", "60", "^tb", "lock"), 1)
    one:close()
end)

case("those of one worker stand in line", function(c)
    c("CARET.KILL", "^tb")
    local workers, list = #check.workers(), {}
    for i = 1, 4 * workers do
        list[i] = start("$$wait^tb", "go")
        list[i]:send(bytes("INCR", "after") .. bytes("CARET.M", "$$one^tb") .. bytes("PING"))
        is(c("PING"), "PONG")
    end
    runs(c, "$$wait^tb")
    nobody_waits()
    local function blocked() return tonumber(c("INFO", "clients"):match "blocked_clients:(%d+)") end
    check.wait(function() return blocked() < #list and blocked() >= #list - workers end)
    set(c, "go", "1")
    local sum = 0
    for i, one in ipairs(list) do
        local n = tonumber(one:read())
        if workers == 1 then is(n, i) end
        sum = sum + n
        is(type(one:read()), "number")
        is({one:read(), one:read()}, {"1", "PONG"})
        one:close()
    end
    is(sum, #list * (#list + 1) / 2)
    is(blocked(), 0)
    is(c("GET", "after"), tostring(#list))
end)

case("clients that leave, or are ended, while they run or stand in line", function(c)
    c("CARET.KILL", "^tb")
    local list = {}
    for i = 1, 4 * #check.workers() do
        list[i] = check.connect()
        list[i].id = list[i]("CLIENT", "ID")
        call(list[i], "$$wait^tb", "go")
    end
    runs(c, "$$wait^tb")
    for i, one in ipairs(list) do
        if i % 4 == 1 then one:close() end
        if i % 4 == 2 then is(c("CLIENT", "KILL", "ID", one.id), 1) end
    end
    nobody_waits()
    set(c, "go", "1")
    for i, one in ipairs(list) do
        if i % 4 == 3 or i % 4 == 0 then is(one("PING") ~= nil, true) end
    end
    check.wait(function() return c("FUNCTION", "STATS")[2] == resp.null end)
    is(c("CARET.M", "$$one^tb"), "1")
end)

case("one in line whose right is taken away lets the next one go on", function(c)
    c("CARET.KILL", "^tb")
    is(c("ACL", "SETUSER", "tb", "on", "nopass", "~*", "&*", "+@all"), "OK")
    local list = {}
    for i = 1, 3 * #check.workers() do
        list[i] = check.connect()
        if i > #check.workers() then list[i]("AUTH", "tb", "x") end
        call(list[i], "$$wait^tb", "go")
        is(c("PING"), "PONG")
    end
    local last = start("$$one^tb")
    runs(c, "$$wait^tb")
    is(c("ACL", "SETUSER", "tb", "-caret.m"), "OK")
    set(c, "go", "1")
    local refused = 0
    for _, one in ipairs(list) do
        local v = one:read()
        if type(v) == "table" then
            fails(v, "NOPERM")
            refused = refused + 1
        end
    end
    is(refused <= 2 * #check.workers(), true)
    if #check.workers() == 1 then is(refused, 2) end
    is(last:read(), "1")
    c("ACL", "DELUSER", "tb")
end)

case("not in MULTI, CARET.TP, nor in scripts", function(c)
    is(c("MULTI"), "OK")
    fails(c("CARET.M", "$$one^tb"), "ERR Command not allowed inside a transaction")
    fails(c("EXEC"), "EXECABORT")
    fails(c("CARET.TP", 2, "M", "$$one^tb"), "ERR 'M' can't be a part of CARET.TP")
    fails(c("EVAL", "return redis.call('caret.m', '$$one^tb')", 0), "ERR This Redis command is not allowed")
    fails(c("EVAL", "return redis.call('caret.tp', 2, 'm', '$$one^tb')", 0), "ERR 'm' can't be a part")
end)

case("beside scripts that have all other threads", function(c)
    if #check.workers() > 1 then return end
    c("CARET.KILL", "^tb")
    local scripts = {}
    for i = 1, 15 do
        scripts[i] = check.connect()
        scripts[i]:send(bytes("EVAL", "repeat until redis.call('get', 'go')", 0))
        is(c("PING"), "PONG")
    end
    local one = start("hang^tb")
    nobody_waits()
    c("SET", "go", "1")
    for _, script in ipairs(scripts) do
        is(script:read(), resp.null)
        script:close()
    end
    runs(c, "hang^tb")
    kill(c)
    fails(one:read(), ended)
end)

case("nothing is left of a call", function(c)
    local clean, fds = {}, {}
    local all = everybody
    for i, one in ipairs(all) do
        clean[i], fds[i] = one("CARET.M", "$$left^tb"), one("CARET.M", "$$fds^tb")
    end
    for _, how in ipairs{"", "open", "error", "halt", "hang"} do
        for i, one in ipairs(all) do
            call(one, "leave^tb", how)
            if how == "hang" then
                runs(c, "leave^tb")
                kill(c)
            end
            is(one:read() == "OK", how == "" or how == "halt")
            is(one("CARET.M", "$$left^tb"), clean[i])
            is(one("CARET.M", "$$fds^tb"), fds[i])
            is(c("CARET.LOCK", "WITHIN", "60", "^tb"), 1)
            is(c("CARET.UNLOCK"), 1)
        end
    end
end)

case("a routine whose file was changed", function(c)
    for n = 1, 2 do
        write("tc.m", ("tc q\nn() q %d\n"):format(n) .. (" ;"):rep(n))
        for _, one in ipairs(everybody) do
            check.wait(function() return one("CARET.M", "$$n^tc") == tostring(n) end)
        end
    end
    fails(c("CARET.M", "$$n^td"), "ERR 150373978,(Call-In),%YDB-E-ZLINKFILE")
    write("td.m", "td q\nn() q 1\n")
    is(c("CARET.M", "$$n^td"), "1")
    fails(c("CARET.M", "$$n+1^td"), "ERR 150373186,(Call-In),%YDB-E-LABELEXPECTED")
end)

case("BREAK has nobody to ask, and ends the call", function(c)
    is(type(c("CARET.M", "break^tb")), "string")
    is(c("CARET.M", "$$one^tb"), "1")
end)

case("a worker that is killed in the middle", function(c)
    c("CARET.KILL", "^tb")
    local workers, list, died = check.workers(), {}, check.info(c, "worker_restarts")
    for i, one in ipairs(everybody) do list[i] = call(one, "wrote^tb") end
    check.wait(function() return c("CARET.GET", "^tb", "plain") == "1" end)
    for _, pid in ipairs(workers) do ffi.C.kill(pid, 9) end
    for _, one in ipairs(list) do is(pcall(one.read, one), false) end
    local again
    check.wait(function()
        local fine, got = pcall(function()
            again = check.connect()
            return again("CARET.M", "$$one^tb")
        end)
        return fine and got == "1" and check.info(again, "worker_restarts") == died + #workers
    end)
    is(again("CARET.DATA", "^tb", "open"), 0)
    is(again("CARET.LOCK", "WITHIN", "60", "^tb", "lock"), 1)
end)

case("the server stops while routines run, and stand in line", function() -- which run.sh does
    for _ = 1, 2 * #check.workers() do start("for^tb") end
    for _ = 1, 2 * #check.workers() do start("hang^tb") end
end)

check.run()
