-- mumps.runtime.view: VIEW and $VIEW(): settings of the process, and questions about it and the database.
--
-- What is about files of another database system, its journals and regions, is accepted and has no effect.

local commands = require "mumps.runtime.commands"
local functions = require "mumps.runtime.functions"
local host = require "mumps.host"
local number = require "mumps.values.number"

local view = {}
local rules = require "mumps.runtime.array".rules
local symbols = require "mumps.runtime.symbols"

local state = {BADCHAR = 1, UNDEF = 1, LINK = "NORECURSIVE", LABELS = 1, GVDUPSETNOOP = 1, STATSHARE = 0,
    PATCODE = "M", FULL_BOOLEAN = "Standard Boolean evaluation side effects"}

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local str = number.str

-- ------------------------------------------------------------------- VIEW

local set = {} -- by keyword: how many arguments, and what it does

local function keyword(name, most, f)
    set[name] = {most = most, f = f or function() end}
end

local function switch(name, key, value)
    keyword(name, 0, function() state[key] = value end)
end

switch("BADCHAR", "BADCHAR", 1)
switch("NOBADCHAR", "BADCHAR", 0)
switch("GVDUPSETNOOP", "GVDUPSETNOOP", 1)
switch("NOGVDUPSETNOOP", "GVDUPSETNOOP", 0)
switch("FULL_BOOLEAN", "FULL_BOOLEAN", state.FULL_BOOLEAN)
switch("FULL_BOOLWARN", "FULL_BOOLEAN", "Standard Boolean with side-effect warning")
keyword("NOFULL_BOOLEAN", 0, function() return fail "SEFCTNEEDSFULLB" end)
keyword("UNDEF", 0, function() state.UNDEF, symbols.lenient = 1, false end)
keyword("NOUNDEF", 0, function() state.UNDEF, symbols.lenient = 0, true end)
keyword("LVNULLSUBS", 0, function() rules.empty = 1 end)
keyword("NOLVNULLSUBS", 0, function() rules.empty = 0 end)
keyword("NEVERLVNULLSUBS", 0, function() rules.empty = 2 end)
keyword("LINK", 1, function(how)
    how = how and str(how):upper() or ""
    if how == "RECURSIVE" or how == "NORECURSIVE" then state.LINK = how end
end)
keyword("LABELS", 1, function(how) state.LABELS = how and str(how):upper() == "UPPER" and 0 or 1 end)
keyword("STATSHARE", 1, function() state.STATSHARE = 1 end)
keyword("NOSTATSHARE", 1, function() state.STATSHARE = 0 end)
keyword("PATCODE", 1, function(name) state.PATCODE = name and str(name):upper() or "M" end)
keyword("ZDATE_FORM", 1, function(v) require("mumps.runtime.special").set("ZDATEFORM", v or 0) end)
keyword("TRACE", 3, function() end) -- taken, and nothing is counted
local EMPTY = [[BREAKMSG DBFLUSH DBSYNC DEBUG1 DEBUG2 DEBUG3 DEBUG4 DMTERM NODMTERM EPOCH FLUSH GDSCERT
    GVSRESET JNLERROR JNLFLUSH JNLWAIT JOBPID LOGNONTP LOGTPRESTART NOLOGNONTP
    NOLOGTPRESTART LV_GCOL LV_REHASH LV_STPGCOL NOISOLATION PATLOAD POOLLIMIT RCTLDUMP
    RESETGVSTATS RESETRELAXED STP_GCOL STORDUMP YCHKCOLL YDIRTAGE YDIRTREE YLCT]]
for name in EMPTY:gmatch "[%w_]+" do
    keyword(name, 4)
end

-- What the environment says at the beginning.
local special = require "mumps.runtime.special"
if special.truth_of(special.from_environment("ydb_noundef", "gtm_noundef")) == 1 then set.NOUNDEF.f() end
local empty = tonumber(special.from_environment("ydb_lvnullsubs", "gtm_lvnullsubs"))
if empty == 0 or empty == 2 then rules.empty = empty end

function commands.VIEW(name, ...)
    local given = str(name)
    local k = set[given:upper()]
    if not k then return fail("VIEWNOTFOUND", given) end
    if select("#", ...) > k.most then return fail("VIEWARGCNT", given) end
    return k.f(...)
end

-- ------------------------------------------------------------------ $VIEW

local ask = {}

for name in pairs(state) do ask[name] = function() return state[name] end end

function ask.LVNULLSUBS() return rules.empty end
ask.NOISOLATION = function() return 0 end
ask.REGION = function() return "DEFAULT" end
ask.GVFIRST = ask.REGION
ask.GVNEXT = function() return "" end
ask.GVACCESS_METHOD = function() return "MM" end
ask.GVFILE = function() return require("mumps.runtime.special").get "ZGBLDIR" end
ask.YCOLLATE = function() return 0 end
ask.YLCT = function() return -1 end
ask.ZDATE_FORM = function() return require("mumps.runtime.special").get "ZDATEFORM" end
ask.ENVIRONMENT = function() return "MUMPS" end
ask.STKSIZ = function() return require("mumps.runtime.level").L.n end
local function none() return 0 end
function ask.TOTALBLOCKS() return host.caret_mumps__pages(0) end
function ask.FREEBLOCKS() return host.caret_mumps__pages(1) end
ask.BLOCKSIZE = function() return 4096 end
ask.GDSBLOCKSIZE, ask.FREEZE, ask.JNLACTIVE = ask.BLOCKSIZE, none, none
ask.JNLFILE, ask.JNLTRANSACTION, ask.BREAKMSG = ask.GVNEXT, none, function() return 31 end
ask.GVSTAT, ask.GVSTATS = ask.GVNEXT, ask.GVNEXT
ask.RTNCHECKSUM = ask.GVNEXT

function ask.SPSIZE()
    local n = math.floor(collectgarbage "count" * 1024)
    return ("%d,%d,%d"):format(n, n, 0)
end

-- The loaded routine after that one.
function ask.RTNNEXT(name)
    local after = name and str(name) or ""
    local found = ""
    for other in pairs(require("mumps.runtime.routine").loaded()) do
        if other > after and (found == "" or other < found) then found = other end
    end
    return found
end

-- How many references a local variable has: names that share it.
local function references(name)
    local slot = rawget(require("mumps.runtime.symbols").table, str(name))
    local c = slot and slot.c
    if not c or c.v == nil and not c.a and not c.b then return fail("VIEWLVN", str(name)) end
    return 1 + (c.n or 0)
end

ask.LV_REF = references

function ask.LV_CREF(name)
    return references(name) * 0
end

function functions.VIEW(name, ...)
    local given = str(name)
    local f = ask[given:upper()]
    if f then return f(...) end
    return fail(set[given:upper()] and "VIEWFN" or "VIEWNOTFOUND", given)
end

return view
