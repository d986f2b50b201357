-- CARET.M: routines written in M, their values, what they write, and their errors.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

local function fails(answer, text)
    is(type(answer) == "table" and answer.error:find(text, 1, true) and text or answer, text)
end

local folder = os.getenv "SERVE_FOLDER"
local file = assert(io.open(folder .. "/tm.m", "w"))
file:write [[
tm q
sum(a,b) q a+b
echo(a) w "one ",a,! w ?4,"two",*33,!
 q
quiet s ^tm=1 q
tab w ?4,"tab" q
both() w "dropped" q "kept"
read() n x s x="none" r x q "["_x_"]"_$zeof_$io
reads() n n,x f n=1:1:9 r x w "." q:$zeof
 q n
much f i=1:1:20000 w "0123456789"
 q
long w $j("",1000000) q
halt w "before" h
 q
wrong w "lost" s x=1/0
 q
nested u $p w $$sum(1,2) d quiet w ^tm
 q
endless f  w $j("",1000000)
 q
for(n) s ^tm("for")=$h f  s n=n+1
 q
goto(n) ts  s ^tm("goto")=n
again s n=n+1 g again
trap n $et s $et="s $ec="""" g trap" f i=1:1 d  s x=i\7
 . n j s j=i
 q
deep d deep2 q
hang h 1000 q
deep2 n $et s $et="g deep" x "f i=1:1 s a(i#10)=i"
 q
level() q $tl
job(n) j jobbed(n):(output="/dev/null":error="/dev/null"):30 q $t_($zj>0)
jobbed(n) s ^tm("job")=n_$j l ^tm("jobbed") s ^tm("job")=n q
open(how) ts  s ^tm("open")=how s:how x=1/0 h:how=""  q
]]
file:close()
local first = check.connect()
local answer = first("CARET.M", "$$sum^tm", "1.5", "2")
if type(answer) == "table" and answer.error:find("can't be loaded", 1, true) then
    print("skipped: " .. answer.error) -- builds for sanitizers have no M
    os.exit(77)
end

case("values", function(c)
    is(c("CARET.M", "$$sum^tm", "1.5", "2"), "3.5")
    is(c("CARET.M", "quiet^tm"), "OK")
    is(c("CARET.GET", "^tm"), "1")
end)

case("what a routine writes is the answer", function(c)
    is(c("CARET.M", "echo^tm", "x"), "one x\n    two!\n")
    is(c("CARET.M", "echo^tm", ""), "one \n    two!\n")
    is(c("CARET.M", "nested^tm"), "31")
    is(#c("CARET.M", "much^tm"), 200000)
    is(#c("CARET.M", "long^tm"), 1000000)
    is(c("CARET.M", "halt^tm"), "before")
    is(c("CARET.M", "quiet^tm"), "OK")
end)

case("beside a value it is dropped, and there is nothing to read", function(c)
    is(c("CARET.M", "$$both^tm"), "kept")
    is(c("CARET.M", "quiet^tm"), "OK")
    is(c("CARET.M", "$$read^tm"), "[]10")
    is(c("CARET.M", "$$reads^tm"), "1") -- the end stays where something is written after it
end)

case("errors are M's, and what was written before is not in the next answer", function(c)
    fails(c("CARET.M", "wrong^tm"), "DIVZERO")
    is(c("CARET.M", "tab^tm"), "    tab")
    is(c("CARET.M", "echo^tm", "y"), "one y\n    two!\n")
    fails(c("CARET.M", "nothing^tm"), "LABEL")
    fails(c("CARET.M", "endless^tm"), "No space left on device")
    is(c("CARET.M", "quiet^tm"), "OK")
end)

case("no transaction outlives its call", function(c)
    fails(c("CARET.M", "open^tm", "1"), "DIVZERO")
    is(c("CARET.M", "$$level^tm"), "0")
    is(c("CARET.M", "open^tm", ""), "OK")
    is(c("CARET.M", "$$level^tm"), "0")
    fails(c("CARET.M", "open^tm", "0"), "TPQUIT")
    is(c("CARET.M", "$$level^tm"), "0")
    is(c("CARET.GET", "^tm", "open"), resp.null)
    is(c("SET", "k", "kept"), "OK")
    for _, other in ipairs(check.spread(#check.workers())) do
        is(other("GET", "k"), "kept")
        is(other("SET", "k", "kept"), "OK")
    end
end)

case("JOB begins a process beside the server, on its database", function(c)
    is(c("CARET.LOCK", "WITHIN", "60", "^tm", "jobbed"), 1)
    is(c("CARET.M", "$$job^tm", "a job "), "11")
    local said
    check.wait(function()
        said = c("CARET.GET", "^tm", "job")
        return said ~= resp.null
    end)
    local pid = said:match "^a job (%d+)$"
    is(os.execute("test -d /proc/" .. pid), 0)
    is(c("CARET.UNLOCK"), 1)
    check.wait(function() return c("CARET.GET", "^tm", "job") == "a job " end)
    check.wait(function() -- it is gone once another call has looked
        c("CARET.M", "$$sum^tm", "1", "2")
        return os.execute("test -d /proc/" .. pid) ~= 0
    end)
end)

case("what runs for long is ended by SCRIPT KILL", function(c)
    if #check.workers() == 1 then return end -- which is in M, and hears nobody
    local one, other = unpack(check.spread(2))
    for _, routine in ipairs{"for", "goto", "trap", "deep", "hang"} do
        one:send(resp.encode("CARET.M", routine .. "^tm", unpack(routine:find "o" and {"1"} or {})))
        local stats
        repeat stats = other("FUNCTION", "STATS") until stats[2] ~= resp.null
        is(stats[2][2], "CARET.M")
        is(stats[2][4][2], routine .. "^tm")
        is(other("SCRIPT", "KILL"), "OK")
        fails(one:read(), "ERR M was ended by SCRIPT KILL")
        is(one("CARET.M", "$$level^tm"), "0")
        is(one("CARET.M", "$$sum^tm", "1", "2"), "3")
        fails(other("SCRIPT", "KILL"), "NOTBUSY")
    end
    is(c("CARET.GET", "^tm", "goto"), resp.null)
    is(c("CARET.DATA", "^tm", "for"), 1)
end)

check.run()
