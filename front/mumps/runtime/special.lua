-- mumps.runtime.special: special variables by name: how they are read, how they are set.
--
--     readers.NAME()        its value; NAME without $, in full and in capitals
--     writers.NAME(value)   SET; what has none can't be set
--     news.NAME             what NEW keeps: {get = function, set = function}; what has none can't be NEWed
--
-- Here are those of the process and of routines; errors, levels, transactions and devices add theirs.

local C = require "mumps.host"
local ffi = require "ffi"
local search = require "mumps.runtime.search"
local routine = require "mumps.runtime.routine"

local special = {readers = {}, writers = {}, news = {}}
local readers, writers = special.readers, special.writers

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local function fail_with(...)
    return require("mumps.runtime.error").fail_with(...)
end

local function number_of()
    return require "mumps.values.number"
end

local function str(v)
    return number_of().str(v)
end

function special.get(name)
    local f = readers[name]
    if not f then return fail "INVSVN" end
    return f()
end

function special.set(name, value)
    local f = writers[name]
    if not f then return fail(readers[name] and "SVNOSET" or "INVSVN") end
    return f(value)
end

-- ------------------------------------------------------- simple variables

local values = {}

-- One that keeps what it is set to, after `change` (text by default).
local function variable(name, value, change)
    values[name] = value
    readers[name] = function() return values[name] end
    writers[name] = function(v) values[name] = (change or str)(v) end
end

local function constant(name, value)
    readers[name] = function() return value end
end

-- Its integer part, from 0 on.
local function count(v)
    return math.max(0, number_of().int(v))
end

local function from_environment(name, ...)
    if not name then return nil end
    local value = os.getenv(name)
    if value and value ~= "" then return value end
    return from_environment(...)
end

local function truth_of(value)
    local v = (value or ""):upper()
    return (v == "1" or v ~= "" and (("TRUE"):sub(1, #v) == v or ("YES"):sub(1, #v) == v)) and 1 or 0
end

constant("ZYRELEASE", "YottaDB r2.06 Linux x86_64")
constant("ZVERSION", "GT.M V7.0-005 Linux x86_64")
constant("ZRELDATE", "20260101 00:00")
constant("ZCHSET", C.caret_m__utf8() and "UTF-8" or "M")
constant("ZPATNUMERIC", C.caret_m__utf8() and from_environment("ydb_patnumeric", "gtm_patnumeric") == "UTF-8"
    and "UTF-8" or "M")
constant("STORAGE", 2147483647)
constant("ZICUVER", "")
constant("ZYINTRSIG", "")
constant("ZYSQLNULL", "")
for _, name in ipairs {"ZAUDIT", "ZCLOSE", "ZEDITOR", "ZININTERRUPT", "ZMLKHASH", "ZONLNRLBK", "ZTLEVEL"} do
    constant(name, 0)
end
for _, name in ipairs {"ZTDATA", "ZTDELIM", "ZTNAME", "ZTOLDVAL", "ZTRIGGEROP", "ZTUPDATE"} do
    constant(name, "")
end
variable("ZTVALUE", "")
variable("ZTSLATE", "")
variable("ZTWORMHOLE", "")
variable("ZCOMPILE", from_environment("ydb_compile", "gtmcompile") or "")
variable("ZDATEFORM", tonumber(from_environment("ydb_zdate_form", "gtm_zdate_form") or "") or 0, count)
variable("ZINTERRUPT", from_environment("ydb_zinterrupt", "gtm_zinterrupt") or "IF $ZJOBEXAM()")
variable("ZMALLOCLIM", 0, function(v)
    v = number_of().int(v)
    return v > 0 and math.max(v, 2500000) or v
end)
variable("ZSTRPLLIM", 0, function(v)
    v = number_of().int(v)
    return v > 0 and math.max(v, 150000) or v
end)
variable("ZPROMPT", from_environment("ydb_prompt", "gtm_prompt") or "YDB>", function(v)
    return str(v):sub(1, 16)
end)
variable("ZQUIT", truth_of(from_environment("ydb_zquit_anyway", "gtm_zquit_anyway")), function(v)
    return number_of().truth(v) and 1 or 0
end)
variable("ZSTEP", from_environment("ydb_zstep", "gtm_zstep") or "B", function(v)
    require("mumps.runtime.trap").compile(str(v))
    return v
end)
variable("ZTEXIT", "")
variable("ZYERROR", "")
variable("ZYJOBPARENT", 0)
writers.ZYJOBPARENT = nil
variable("SYSTEM", "47," .. (from_environment("ydb_sysid", "gtm_sysid") or "gtm_sysid"))
writers.SYSTEM = function(v) values.SYSTEM = values.SYSTEM .. str(v) end

--- What programs will have set is put back by the function that this returns.
function special.keep()
    local was = {}
    for name, value in pairs(values) do was[name] = value end
    return function()
        for name, value in pairs(was) do values[name] = value end
    end
end

-- For start.lua and io: what no program sets.
function special.put(name, value)
    values[name] = value
    readers[name] = readers[name] or function() return values[name] end
end

special.put("ZCMDLINE", "")
special.put("ZMODE", "OTHER")

-- ----------------------------------------------------------------- memory

local function bytes()
    return math.floor(collectgarbage "count" * 1024)
end

readers.ZALLOCSTOR, readers.ZUSEDSTOR, readers.ZREALSTOR = bytes, bytes, bytes

-- ---------------------------------------------------------------- the timer

function readers.ZTIMEOUT()
    return require("mumps.runtime.timeout").text()
end

function writers.ZTIMEOUT(v)
    return require("mumps.runtime.timeout").set(v)
end

-- --------------------------------------------------------------- routines

function readers.ZROUTINES()
    return search.text()
end

function writers.ZROUTINES(v)
    search.set(str(v))
end

function readers.ZSOURCE()
    return routine.zsource
end

function writers.ZSOURCE(v)
    routine.zsource = str(v)
end

function readers.ZCSTATUS()
    return routine.status
end

-- ----------------------------------------------------------------- levels

function readers.ZLEVEL()
    return require("mumps.runtime.level").L.n + 1
end

function readers.ZPOSITION()
    return require("mumps.runtime.level").place()
end

-- ------------------------------------------------------ folder, database

function readers.ZDIRECTORY()
    return routine.folder()
end

function writers.ZDIRECTORY(v)
    local path = str(v)
    local number = path == "" and 2 or C.caret_mumps__chdir(path)
    if number ~= 0 then
        fail_with(",%YDB-I-TEXT, " .. ffi.string(C.strerror(number)), "SETZDIR", path)
    end
end

function readers.ZGBLDIR()
    return ffi.string(C.caret_mumps__gbldir())
end

-- The database is opened at once, so that a name that leads nowhere changes nothing.
function writers.ZGBLDIR(v)
    local name = str(v)
    if not C.caret_mumps__select(name, #name) then
        local why, now = ffi.string(C.caret_mumps__why()), ffi.string(C.caret_mumps__gbldir())
        fail_with("," .. why, "ZGBLDIRACC", name, ".  Retaining ", now)
    end
    local globals = package.loaded["mumps.data.globals"]
    if not globals or not globals.use then return end
    if C.caret_mumps__gbldir_outside() then return globals.reselect() end
    globals.use(name)
end

function readers.ZMAXTPTIME()
    return tonumber(C.caret_m__maxtptime())
end

--- For the transactions of this machine; a call from a host may find another.
function special.look_at_maxtptime() special.maxtptime = readers.ZMAXTPTIME() end
special.look_at_maxtptime()

function writers.ZMAXTPTIME(v)
    local text = str(v)
    C.caret_m__maxtptime_set(text, #text)
    special.look_at_maxtptime()
end

special.from_environment, special.truth_of = from_environment, truth_of

return special
