-- What befalls a server, in each phase of a program's work.
--
--   sh tools/lua.sh lua5.4 test/store/phases.lua URL BEFALL FAULT...
--
-- BEFALL FAULT on: the shell command that does it; BEFALL FAULT off: all is well again.  For each fault and
-- each phase a transaction adds 1 to ^sum and to ^other (kept equal) with the fault in its midst.  The answer
-- has to be one of those below; done once or not at all, as it says; and when the fault is over, everything
-- goes on.  Prints "ok WHAT" or "bad WHAT: why" for each pair.
local caret = require "caret"
io.stdout:setvbuf "line"
local url, befall = arg[1], arg[2]

local function shell(fault, how)
    assert(os.execute(befall .. " " .. fault .. " " .. how), fault .. " " .. how)
end

-- What an answer may be: OK is "nothing was noticed, or it was begun again".
local answers = {
    ended = "OK", -- the server's processes of all connections are ended
    restarted = "OK",
    killed = "OK", -- kill -9 of one of the server's processes: all are begun again
    readonly = "OK READONLY IO OPEN", -- those that are connected go on, new ones are refused
    readonly_ended = "OK READONLY IO OPEN UNKNOWN",
    password = "OK IO OPEN UNKNOWN", -- another one, and connections are ended
    revoked = "OPEN",
    dropped = "NOTFOUND",
    locked = "OK IO", -- another session has the rows, for longer than caret_timeout
    timeout = "OK IO UNKNOWN", -- statement_timeout of the role, of a millisecond, on new connections
}

-- Faults that leave connections as they are.
local keeps = {revoked = true, dropped = true, locked = true, readonly = true}

local db
local opened -- by phases.opening

local function open() return caret.open(url) end
local function add()
    db:set("^sum", db:get "^sum" + 1)
    db:set("^other", db:get "^other" + 1)
end

-- Each is given what makes the fault happen, once; what it returns as its second value was to be added.
local phases = {}

function phases.opening(now)
    now()
    local other, why, name = open()
    opened = other ~= nil
    if not other then error(name .. ": " .. why, 0) end
    local sum = other:get "^sum"
    other:close()
    return sum, 0
end

function phases.outside(now)
    now()
    db:get "^sum"
    db:tp(add)
    return 1, 1
end

function phases.begun(now)
    db:tp(function()
        now()
        add()
    end)
    return 1, 1
end

function phases.read(now)
    db:tp(function()
        db:get "^sum"
        now()
        add()
    end)
    return 1, 1
end

function phases.buffered(now)
    db:tp(function()
        add()
        now()
    end)
    return 1, 1
end

-- Only sets: the commit is a single call.
function phases.unread(now)
    local n = db:get "^sum" + 1
    db:tp(function()
        db:set("^sum", n)
        db:set("^other", n)
        now()
    end)
    return 1, 1
end

function phases.walk(now)
    local n = 0
    for _ in db.node("^walk"):pairs() do
        n = n + 1
        if n == 700 then now() end
    end
    return assert(n == 3000 and n, "the walk told " .. n), 0
end

function phases.walk_inside(now)
    local n
    db:tp(function()
        n = 0
        for _ in db.node("^walk"):pairs() do
            n = n + 1
            if n == 700 then now() end
        end
        add()
    end)
    return assert(n == 3000 and n, "the walk told " .. n), 1
end

function phases.many(now)
    local subs = {}
    for i = 1, 500 do subs[i] = i end
    now()
    local t = db.node("^walk"):get_many(subs)
    for i = 1, 500 do assert(t[i] == tostring(i) or t[i] == i, "get_many") end
    return 1, 0
end

-- With a lock: if it was lost that is told, once, and what was done under it was done before.
function phases.locked(now)
    assert(db:lock({{"^name"}}, 5), "no lock")
    now()
    db:tp(add)
    return 1, 1
end

local order = {"opening", "outside", "begun", "read", "buffered", "unread", "walk", "walk_inside", "many",
    "locked"}

local function sums() return tonumber(db:get "^sum"), tonumber(db:get "^other") end

-- What is documented for this pair.
local function permits(fault, phase, code)
    local may = answers[fault]
    local reads = phase == "opening" or phase == "walk" or phase == "many"
    if fault == "locked" and reads then may = "OK" end
    if fault == "dropped" and phase == "opening" then may = "OK" end -- the tables are made anew
    if fault == "timeout" and phase == "opening" then may = opened and "OK IO" or "OPEN" end
    if phase == "locked" and not keeps[fault] then may = may .. " EVICTED" end
    if phase == "walk" then may = may .. " OK" end -- it has read ahead
    return (" " .. may .. " "):find(" " .. code .. " ", 1, true) ~= nil
end

-- What is wrong after it, beside the answer.
local function wrongs(ok, code, before, added)
    local sum, other = sums()
    if sum ~= other then return ("^sum is %d, ^other %d"):format(sum, other) end
    if ok and sum ~= before + added then return sum - before .. " was added" end
    if not ok and code ~= "UNKNOWN" and sum ~= before then return sum - before .. " was added" end
    db:tp(add)
    if sums() ~= sum + 1 then return "it does not go on as it should" end
end

local function try(fault, phase)
    local happened = false
    local function now()
        if not happened then
            happened = true
            shell(fault, "on")
        end
    end

    db = assert(open())
    local before = sums()
    local ok, why, added = pcall(phases[phase], now)
    local code = ok and "OK" or tostring(why):match "([A-Z][A-Z0-9]+): " or tostring(why)
    shell(fault, "off")
    if phase == "locked" then
        pcall(db.get, db, "^sum") -- that the lock was lost may be still to be told
        db:lock {}
    end
    local wrong = not permits(fault, phase, code) and "it may not be" or wrongs(ok, code, before, added)
    db:close()
    print(("%s %s, %s: %s%s"):format(wrong and "bad" or "ok", fault, phase, wrong and wrong .. ": " or "",
        ok and "OK" or tostring(why)))
end

db = assert(caret.open((url:gsub("caret_timeout=%d+", "caret_timeout=60"))))
db:set("^sum", 0)
db:set("^other", 0)
db:tp(function() for i = 1, 3000 do db:set("^walk", i, i) end end)
db:close()
for i = 3, #arg do
    for _, phase in ipairs(order) do
        local ok, why = pcall(try, arg[i], phase)
        if not ok then
            print(("bad %s, %s: %s"):format(arg[i], phase, tostring(why)))
            shell(arg[i], "off")
        end
    end
end
