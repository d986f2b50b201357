-- report.lua - what the functions on data say when they fail: the M error of an answer of the engine's.

local ffi = require "ffi"
local C = require "mumps.host"

local report = {}

-- Outcomes and errors of caret.h.
local RESTART, MAXSUBS, KEY2BIG, VALUE2BIG, NUMOFLOW = 2, -3, -4, -5, -6
local READONLY, TOO_DEEP, TOO_BIG = -9, -11, -12
local NOMEM = -42
local NULSUBSC = 103
local MOST = "16777216" -- bytes of a value

-- Thrown where a transaction is to begin again: the driver of transactions catches it.
report.RESTART = require("mumps.runtime.error").control{control = "restart"}

local function errors() return require "mumps.runtime.error" end

function report.fail(...) return errors().fail(...) end
function report.object(...) return errors().object(...) end
function report.raise(e) return errors().raise(e) end

function report.text(v)
    if type(v) == "number" then return ("%.0f"):format(v) end
    return v
end

function report.name(name, n, subs, env)
    local text = require "mumps.values.names".name(name, n, subs)
    if not env then return text end
    return "^|" .. require "mumps.values.names".quote(env) .. "|" .. text:sub(2)
end

-- An error that also tells which global it was.
local function with_global(name, mnemonic, ...)
    local e = errors().object(mnemonic, ...)
    e.text = e.text .. ",%YDB-I-GVIS, \t\tGlobal variable: " .. name
    return errors().raise(e)
end

function report.message() return ffi.string(C.caret_mumps__message()) end

-- An answer of C's that is an error.  name(): what it was about.  what: "Update failed because".
function report.failed(rc, name, what)
    if rc == RESTART then return report.conflict() end
    if rc == NULSUBSC then return with_global(name(), "NULSUBSC", what, report.database()) end
    if rc == KEY2BIG then return with_global(name(), "GVSUBOFLOW") end
    if rc == MAXSUBS then return report.fail("MAXNRSUBSCRIPTS") end
    if rc == VALUE2BIG then return with_global(name(), "REC2BIG", MOST, MOST, report.database()) end
    if rc == NUMOFLOW then return report.fail("NUMOFLOW") end
    if rc == READONLY then return report.fail("DBPRIVERR", report.database()) end
    if rc == TOO_DEEP then return report.fail("TPTOODEEP") end
    if rc == NOMEM then return report.fail("MEMORY", "0", "0") end
    if rc == TOO_BIG then return report.fail("TRANS2BIG", report.database()) end
    return report.fail("DBFILERR", report.database() .. ": " .. report.message())
end

function report.long_in_lock(sub)
    return errors().fail_with(",%YDB-I-TEXT, " .. sub, "LOCKSUB2LONG", #sub)
end

function report.locked_too_often(name, most)
    return errors().fail_with(",%YDB-I-LOCKIS, \t\tResource name: " .. name, "LOCKINCR2HIGH", most)
end

function report.empty_merged(name)
    return with_global(name, "NULSUBSC", "MERGE failed because", report.database())
end

-- A subscript among those was refused; ...: those after them.
function report.bad_subscript(rc, name, subs, ...)
    local all, n = {unpack(subs)}, #subs
    for i = 1, select("#", ...) do all[n + i] = select(i, ...) end
    n = n + select("#", ...)
    local function whole() return report.name(name, n, all) end
    return report.failed(rc, whole, "Access or update failed because")
end

function report.database() return ffi.string(C.caret_mumps__gbldir()) end

-- A database can't be opened: `env`, or that of the process if it is "".
-- why: a text, or a number of the system's.
function report.no_database(env, why)
    local e
    if env == "" then
        e = errors().object("ZGBLDIRACC", report.database(), ".  Cannot continue", "")
    else
        local path = require("mumps.io.files").zparse(env, nil, nil, nil, "SYNTAX_ONLY")
        e = errors().object("ZGBLDIRACC", path, ".  Retaining ", report.database())
    end
    e.text = e.text .. (type(why) == "number" and
        (",%%SYSTEM-E-ENO%d, %s"):format(why, ffi.string(C.strerror(why))) or ",%YDB-I-TEXT, " .. why)
    return errors().raise(e)
end

return report
