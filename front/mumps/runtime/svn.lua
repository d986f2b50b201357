-- svn.lua - special variables of calls and errors: $ECODE $ETRAP $ZTRAP $ESTACK $STACK $QUIT $TEST $ZSTATUS
-- $ZERROR $ZLEVEL $ZPOSITION, the function $STACK, and what trap.lua needs of code.

local errors = require "mumps.runtime.error"
local functions = require "mumps.runtime.functions"
local level = require "mumps.runtime.level"
local load = require "mumps.runtime.load"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"
local symbols = require "mumps.runtime.symbols"
local T = require "mumps.runtime.test"
local trap = require "mumps.runtime.trap"
local L = level.L
local fail = errors.fail

local readers, writers = special.readers, special.writers
special.news = special.news or {}
local news = special.news

function readers.ECODE()
    return trap.ecode
end

writers.ECODE = trap.set_ecode

function readers.ETRAP()
    return trap.etrap
end

writers.ETRAP = trap.set_etrap
news.ETRAP = trap.new_etrap

function readers.ZTRAP()
    return trap.ztrap
end

writers.ZTRAP = trap.set_ztrap
news.ZTRAP = trap.new_ztrap

function readers.ESTACK()
    return L.n - trap.estack
end

news.ESTACK = trap.new_estack

function readers.STACK()
    return L.n
end

function readers.ZLEVEL()
    return L.n + 1
end

function readers.QUIT()
    return L.kind[L.n] == 2 and 1 or 0
end

function readers.ZSTATUS()
    return trap.zstatus
end

function writers.ZSTATUS(v)
    trap.zstatus = v
end

function readers.ZERROR()
    return trap.zerror
end

function writers.ZERROR(v)
    trap.zerror = v
end

function readers.ZPOSITION()
    return level.place()
end

function readers.REFERENCE()
    return require("mumps.data.globals").reference()
end

function writers.REFERENCE(v)
    return require("mumps.data.globals").set_reference(v)
end

function readers.TEST()
    return T.t
end

-- NEW of another one: its value comes back.
for _, name in ipairs{"ZGBLDIR", "ZYERROR", "ZCMDLINE"} do
    local item = {restore = function(_, v)
        writers[name](v)
    end}
    news[name] = function()
        if not writers[name] then
            return fail("SVNONEW")
        end
        symbols.push_special(item, readers[name](), false)
    end
end

-- ---- $STACK(n, item)

local items = {PLACE = true, MCODE = true, ECODE = true}

function functions.STACK(n, item)
    n = number.int(n)
    if item == nil then
        if n == -1 then
            return level.top()
        elseif n < -1 or n > level.top() then
            return ""
        end
        return level.kind(n)
    end
    local upper = string.upper(number.str(item))
    if not items[upper] then
        return fail("INVSTACODE", item)
    end
    return level.info(n, upper)
end

-- ---- traps as code

local function home_of(e)
    local seen = level.failed[L.n]
    local code = seen and seen.code.kind == "routine" and seen.code or e.code_at or load.empty
    return code.whole or code
end

local function line_again(code, line)
    return load.at_line(code.whole or code, line)
end

-- The way to the line of a routine that the innermost level below the one of now is in, which begins again.
local function line_below()
    for _, l in ipairs(level.live(2, L.n - 1)) do
        if l.code.kind == "routine" then
            return errors.control{control = "goto", level = l.n, fn = line_again(l.code, l.line)}
        end
    end
end

-- The line that failed, once more; of an error that a level above this one passed on, nothing. Where an
-- XECUTE failed, the line of the routine that has it, by the level of that (e.below).
function trap.retry(e)
    local seen = level.failed[L.n]
    local code = e.at_level == L.n and e.code_at
    local again = code and line_again(code, e.line_at) or trap.nothing
    e.below = code and seen and seen.code.kind ~= "routine" and line_below()
    return function()
        local _ = e.below and errors.rethrow(e.below)
        e.again = true
        return again()
    end
end

function trap.handler(text, by_ztrap, e)
    local home = home_of(e)
    local f, code = load.line(text, home, "x", by_ztrap and "return F.again()"
        or "return KD[L.n]==2 and \"\" or nil,nil,true")
    code.trap = true
    local seen = level.failed[L.n]
    if seen then
        code.at, code.at_line = seen.code, seen.line
    end
    if not by_ztrap then
        return f
    end
    code.again, code.about = trap.retry(e), e
    return not e.below and f or function()
        local v, p = f()
        if v == nil then
            return errors.rethrow(e.below)
        end
        return v, p
    end
end

trap.zyerror = readers.ZYERROR

-- It is NEW, and empty, while its entry runs.
function trap.do_zyerror(e)
    local entry = readers.ZYERROR()
    if entry:find "[^%w%%+^]" then
        return fail("LABELEXPECTED")
    end
    writers.ZYERROR("")
    local ok, wrong = pcall(function()
        return load.line("D " .. entry, home_of(e), "x")()
    end)
    writers.ZYERROR(entry)
    return ok or require("mumps.runtime.error").rethrow(wrong)
end

function trap.compile(text)
    require "mumps.runtime.indirect".within_length(text)
    local ast = load.parse.line(text)
    local e = ast.errors and ast.errors[1]
    if e then
        return fail(e.mnemonic, unpack(e))
    end
end

return special
