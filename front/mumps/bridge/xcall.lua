-- mumps.bridge.xcall: external calls, $&package.name(...) and DO &package.name(...).
--
--     xcall.external(package, name, kind, n, ...)      the value; kind 1: of DO, 2: of $&
--
-- An argument is an M value, a slot (.X), or nil where it was left out.  The package "" is the one without a
-- name.  The package mlua is inside (mlua.lua); all others are C, by their tables (package.lua).

local heed = require "mumps.runtime.interrupt".heed

local xcall = {}

local packages = {}

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local function package_of(name)
    local p = packages[name]
    if not p then
        p = name == "mlua" and require "mumps.bridge.mlua" or require("mumps.bridge.package").open(name)
        packages[name] = p
    end
    return p
end

-- $ZSTATUS is that of the last error, in C as in M.
local function hear()
    local text = xcall.said()
    if text then require("mumps.runtime.trap").zstatus = text end
end

-- A status that is not zero is false: an error where a value is wanted; DO goes on, as GT.M's does.
function xcall.external(package, name, kind, n, ...)
    local p = package_of(package)
    local f = p.functions[name]
    if not f then return fail("ZCRTENOTF", name) end
    local v = f(n, ...)
    heed() -- M that it called may have been ended, and this is to end, too
    if xcall.said then hear() end
    if kind == 2 and v == nil then
        return fail("XCVOIDRET", p.routines and p.routines[name] or name, p.path or "")
    end
    if kind == 2 and v == false then return fail "ZCSTATUSRET" end
    return v
end

-- A package written in Lua: functions[name] = function(n, ...).
function xcall.define(name, functions)
    packages[name] = {functions = functions}
end

-- The program ends: libraries that asked for it are told.
function xcall.finish()
    for _, p in pairs(packages) do
        if p.close then p.close() end
    end
    packages = {}
end

-- ------------------------------------------------- arguments, for packages

local symbols

-- The value of an argument: of a slot its value; nil if there is none.
function xcall.value(argument)
    if type(argument) ~= "table" then return argument end
    local c = argument.c
    local v = c.v
    if v == nil and c.b then
        symbols = symbols or require "mumps.runtime.symbols"
        v = symbols.value_of(c)
    end
    return v
end

-- It has none.
function xcall.undefined(argument)
    return require("mumps.runtime.symbols").undefined(argument)
end

-- Set what was passed by reference; nothing else can be.
function xcall.set(argument, value)
    if type(argument) == "table" then argument.c.v = value end
end

return xcall
