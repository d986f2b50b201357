-- mumps.runtime.view: VIEW and $VIEW(): settings of the process, and questions about it and the database.
--
-- What is about files of another database system, its journals and statistics, is accepted and has no effect;
-- there is one region, DEFAULT.
--
--     keys.NAME = {takes = what its parameters are, run = VIEW's function, ask = $VIEW()'s}
--
-- A keyword may be as short as it is the only one that begins so.

local commands = require "mumps.runtime.commands"
local functions = require "mumps.runtime.functions"
local host = require "mumps.host"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"
local symbols = require "mumps.runtime.symbols"

local view = {}
local rules = require "mumps.runtime.array".rules

local state = {BADCHAR = 1, UNDEF = 1, LINK = "NORECURSIVE", LABELS = 1, GVDUPSETNOOP = 1, STATSHARE = 0,
    PATCODE = "M", FULL_BOOLEAN = "Standard Boolean evaluation side effects", BREAKMSG = 31, DMTERM = 0,
    GDSCERT = 0, JNLERROR = 0, LOGTPRESTART = 0, LOGNONTP = 0, POOLLIMIT = 0, ZTRIGGER_OUTPUT = 1,
    FLUSHONCALLOUT = 0, STP_GCOL_NOSORT = 0, JOBPID = 0}
view.state = state

local str, int = number.str, number.int

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

-- -------------------------------------------------------------- parameters

-- What a keyword takes: check(name, count, ...) fails if that is not right.  {least, most, check}
local function region(text)
    for one in text:gmatch "[^,]+" do
        if one:upper() ~= "DEFAULT" then return fail("NOREGION", '"' .. one:upper() .. '"') end
    end
end

local function global(text)
    if text:sub(1, 1) ~= "^" then return fail("NOTGBL", text) end
    return require("mumps.values.names").parse(text)
end

local function globals(text)
    for one in text:gmatch "[^,]+" do
        local name = one:gsub("^[+-]", "")
        if not name:find "^%^%%?%a?%w*$" or name == "^" then return fail("VIEWGVN", '"' .. one .. '"') end
    end
end

local NONE, VALUE, NEEDED = {0, 0}, {0, math.huge}, {1, math.huge}
local REGION, REGIONS = {1, math.huge, region}, {0, math.huge, region}
local GLOBAL, GLOBALS = {1, math.huge, global}, {0, math.huge, globals}

local keys = {}

local function key(name, takes, run, ask)
    keys[name] = {takes = takes, run = run, ask = ask}
end

local function nothing() end
local function zero() return 0 end
local function empty() return "" end

local function value_of(name)
    return function() return state[name] end
end

-- NAME and NONAME, which $VIEW(NAME) tells.
local function switch(name, on, off)
    key(name, NONE, function() state[name] = 1 return on and on() end, value_of(name))
    key("NO" .. name, NONE, function() state[name] = 0 return off and off() end)
end

-- A number that is 1 where none is given.
local function counter(name, ask)
    key(name, VALUE, function(v) state[name] = v == nil and 1 or int(v) end, ask ~= false and value_of(name))
end

-- ------------------------------------------------------------ the process

local function check_characters(on)
    return function() require("mumps.values.utf8").checking = on end
end

switch("BADCHAR", check_characters(true), check_characters(false))
switch("DMTERM")
switch("FLUSHONCALLOUT")
switch("UNDEF", function() symbols.lenient = false end, function() symbols.lenient = true end)
counter("BREAKMSG")
counter("GVDUPSETNOOP")
counter("JNLERROR")
counter("JOBPID", false)
counter("LOGNONTP")
counter("LOGTPRESTART")
counter("STP_GCOL_NOSORT")
counter("ZTRIGGER_OUTPUT")
key("NOLOGNONTP", NONE, function() state.LOGNONTP = 0 end)
key("NOLOGTPRESTART", NONE, function() state.LOGTPRESTART = 0 end)

for name, how in pairs {FULL_BOOLEAN = state.FULL_BOOLEAN,
    FULL_BOOLWARN = "Standard Boolean with side-effect warning"} do
    key(name, NONE, function() state.FULL_BOOLEAN = how end)
end
keys.FULL_BOOLEAN.ask = value_of "FULL_BOOLEAN"
key("NOFULL_BOOLEAN", NONE, function() return fail "SEFCTNEEDSFULLB" end)

for name, empties in pairs {LVNULLSUBS = 1, NOLVNULLSUBS = 0, NEVERLVNULLSUBS = 2} do
    key(name, NONE, function() rules.empty = empties end)
end
keys.LVNULLSUBS.ask = function() return rules.empty end

key("LINK", VALUE, function(how)
    how = how and str(how):upper() or ""
    if how == "RECURSIVE" or how == "NORECURSIVE" then state.LINK = how end
end, value_of "LINK")
key("LABELS", VALUE, function(how)
    state.LABELS = how and str(how):upper() == "UPPER" and 0 or 1
end, value_of "LABELS")
key("ZDATE_FORM", VALUE, function(v) special.set("ZDATEFORM", v or 1) end,
    function() return special.get "ZDATEFORM" end)

key("PATCODE", VALUE, function(name)
    local wanted = name and str(name):upper() or "M"
    if wanted ~= "M" then return fail("PATTABNOTFND", str(name)) end
end, value_of "PATCODE")
key("PATLOAD", NEEDED, function(name) return fail("PATLOAD", str(name)) end)

key("GDSCERT", VALUE, function(v)
    state.GDSCERT = (v == nil or int(v) ~= 0) and 1 or 0
    local device = require "mumps.io.device"
    device.newline()
    device.write("Caution: Database Block Certification Has Been "
        .. (state.GDSCERT == 1 and "Enabled" or "Disabled"))
    return device.newline()
end, value_of "GDSCERT")

local function setenv(name, value)
    return host.caret_mumps__setenv(str(name), value and str(value) or "", value and 1 or 0)
end

key("SETENV", NEEDED, function(name, value) setenv(name, value or "") end)
key("UNSETENV", NEEDED, function(name) setenv(name) end)

for _, name in ipairs {"LV_GCOL", "LV_REHASH", "STP_GCOL", "STORDUMP", "RCTLDUMP"} do
    key(name, NONE, nothing)
end
keys.LV_GCOL.ask = zero
for _, name in ipairs {"DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4"} do key(name, VALUE, nothing) end

key("TRACE", {1, 2}, function(...) return require("mumps.tools.profile").view(...) end)

key("SPSIZE", NONE, nil, function()
    local n = math.floor(collectgarbage "count" * 1024)
    return ("%d,%d,%d"):format(n, n, 0)
end)
key("STKSIZ", NONE, nil, function() return require("mumps.runtime.level").L.n end)
key("MAX_SOCKETS", NONE, nil, function() return 64 end)
key("ICHITS", NONE, nil, zero)
key("ICMISS", NONE, nil, zero)

-- ----------------------------------------------------- variables, routines

-- How many references a local variable has: names that share it.
local function references(name)
    local slot = rawget(symbols.table, str(name))
    local c = slot and slot.c
    if not c or c.v == nil and not c.a and not c.b then return fail("VIEWLVN", str(name)) end
    return 1 + (c.n or 0)
end

local function variable(text)
    if not text:find "^%%?%a%w*$" then return fail("VIEWLVN", '"' .. text .. '"') end
    return references(text)
end

key("LV_REF", {1, math.huge, variable}, nil, references)
key("LV_CREF", {1, math.huge, variable}, nil, zero)
key("RTNCHECKSUM", NEEDED, nil, empty)

-- The loaded routine after that one.
key("RTNNEXT", NEEDED, nil, function(name)
    local after, found = str(name), ""
    for other in pairs(require("mumps.runtime.routine").loaded()) do
        if other > after and (found == "" or other < found) then found = other end
    end
    return found
end)

key("DEVICE", NEEDED, nil, function(name) return require("mumps.io.zshow").kind_of(str(name)) end)

-- ------------------------------------------------------------ the database

local function pages(which)
    return function() return host.caret_mumps__pages(which) end
end

-- The names of a region's statistics, each of which is 0 here.
local STATISTICS = [[SET KIL GET DTA ORD ZPR QRY LKS LKF CTN DRD DWT NTW NTR NBW NBR NR0 NR1 NR2 NR3 TTW TTR
    TRB TBW TBR TR0 TR1 TR2 TR3 TR4 TC0 TC1 TC2 TC3 TC4 ZTR DFL DFS JFL JFS JBB JFB JFW JRL JRP JRE JRI JRO
    JEX DEX CAT CFE CFS CFT CQS CQT CYS CYT BTD WFR BUS BTS STG KTG ZTG DEXA GLB JNL MLK PRC TRX ZAD JOPA AFRA
    BREA MLBA TRGA WRL PRG WFL WHE]]

function view.statistics()
    return (STATISTICS:gsub("%s+", ":0,") .. ":0")
end

for _, name in ipairs {"DBFLUSH", "DBSYNC", "EPOCH", "FLUSH", "JNLFLUSH", "GVSRESET"} do
    key(name, REGIONS, nothing)
    keys[name].asked = REGION
end
key("JNLWAIT", NONE, nothing)
key("RESETGVSTATS", NONE, nothing)
key("STATSHARE", REGIONS, function(of) state.STATSHARE = of and 2 or 1 end, function(of)
    return of and math.min(state.STATSHARE, 1) or state.STATSHARE
end)
key("NOSTATSHARE", REGIONS, function() state.STATSHARE = 0 end)
keys.NOSTATSHARE.asked = REGION
key("POOLLIMIT", REGIONS, function(_, most)
    state.POOLLIMIT = most and int(most) or 0
end, value_of "POOLLIMIT")
keys.POOLLIMIT.asked = REGION

key("GVFIRST", NONE, nil, function() return "DEFAULT" end)
key("GVNEXT", REGION, nil, function(of) return str(of) == "" and "DEFAULT" or "" end)
key("GVFILE", REGION, nil, function() return special.get "ZGBLDIR" end)
key("GVACCESS_METHOD", REGION, nil, function() return "MM" end)
key("GVSTATS", REGION, nil, view.statistics)
key("PROBECRIT", REGION, nil, function() return "CPT:0,CFN:0,CQN:0,CYN:0,CQF:0,CQE:0,CAT:0" end)
key("TOTALBLOCKS", REGION, nil, pages(0))
key("FREEBLOCKS", REGION, nil, pages(1))
key("FREEZE", REGION, nil, zero)
key("JNLACTIVE", REGION, nil, zero)
key("JNLFILE", REGION, nil, empty)
key("JNLPOOL", NONE, nil, function() return "No replication instance defined" end)
key("JNLTRANSACTION", NONE, nil, zero)
key("REGION", GLOBAL, nil, function() return "DEFAULT" end)
key("GBLDIRLOAD", NEEDED, function(name) special.set("ZGBLDIR", name) end)

local isolated = {} -- the globals that NOISOLATION has: conflicts are those of M all the same

local function isolate(text)
    if not text:find "^[+-]" then isolated = {} end
    local adds = true
    for one in text:gmatch "[^,]+" do
        local sign, name = one:match "^([+-]?)(.*)$"
        if sign ~= "" then adds = sign == "+" end
        isolated[name] = adds or nil
    end
end

key("NOISOLATION", GLOBALS, function(list) return isolate(list and str(list) or "") end, function(name)
    if not name then return fail("VIEWFN", "NOISOLATION") end
    return isolated[str(name)] and 1 or 0
end)

local function normal() return require "mumps.values.normal" end

key("YCOLLATE", NEEDED, nil, function(n) return int(n) == 0 and 0 or -1 end)
key("YLCT", VALUE, function(n)
    if n == nil then return fail "REQDVIEWPARM" end
    return normal().collation(n)
end, function(of)
    local which = of and str(of) or ""
    return (which == "" or which == "nct") and 0 or which == "ncol" and 1 or -1
end)
key("YCHKCOLL", VALUE, keys.YLCT.run)
key("YDIRTREE", NEEDED, function() return fail("YDIRTSZ", 0) end)
key("YDIRTVAL", NEEDED, nothing)
key("YGVN2GDS", NEEDED, nil, function(name, n) return normal().zcollate(name, n or 0) end)
key("YGDS2GVN", NEEDED, nil, function(text, n) return normal().zcollate(text, n or 0, 1) end)

-- What the environment says at the beginning.
if special.truth_of(special.from_environment("ydb_noundef", "gtm_noundef")) == 1 then keys.NOUNDEF.run() end
local empties = tonumber(special.from_environment("ydb_lvnullsubs", "gtm_lvnullsubs"))
if empties == 0 or empties == 2 then rules.empty = empties end

--- What programs will have set is put back by the function that this returns.
function view.keep()
    local was, subscripts, lenient = {}, rules.empty, symbols.lenient
    for name, value in pairs(state) do was[name] = value end
    return function()
        for name, value in pairs(was) do state[name] = value end
        rules.empty, symbols.lenient = subscripts, lenient
        isolated = {}
    end
end

-- ---------------------------------------------------------------- VIEW, $VIEW

local function shortened(name, given)
    local found
    if name == "" then return fail("VIEWNOTFOUND", given) end
    for full in pairs(keys) do
        if full:sub(1, #name) == name then
            if found then return fail("VIEWAMBIG", given) end
            found = full
        end
    end
    if not found then return fail("VIEWNOTFOUND", given) end
    return keys[found], found
end

-- The keyword, its parameters found right.
local function look(given, asked, ...)
    local name = given:upper()
    local k = keys[name]
    if not k then k, name = shortened(name, given) end
    local takes = asked and k.asked or k.takes
    local n = select("#", ...)
    if n < takes[1] or n > takes[2] then return fail("VIEWARGCNT", name) end
    if takes[3] and n > 0 then takes[3](str((...))) end
    return k, name
end

-- What does it: `run` or `ask` of the keyword, or the error that it has not one.
local function doer(what, asked, refused)
    return function(name, ...)
        local k, full = look(str(name), asked, ...)
        if not k[what] then return fail(refused, full) end
        return k[what](...)
    end
end

commands.VIEW = doer("run", false, "VIEWCMD")
functions.VIEW = doer("ask", true, "VIEWFN")

return view
