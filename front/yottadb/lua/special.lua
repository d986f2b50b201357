--- M's special variables: $ZSTATUS, $ZGBLDIR and so on, by name and as nodes.

local core = require "caret.core"
local database = require "yottadb.database"
local errors = require "yottadb.errors"

local special = {}

local byte = string.byte
local maxtptime = 0

local function level()
    local db = database.peek()
    if not db then return 0, 0 end
    return core.text.level(db)
end

local DAYS_TO_1970 = 47117 -- from the last day of 1840, M's day 0

-- Days as differences between noons, rounded: no change of clocks matters.
local function horolog()
    local now = os.date("*t")
    local noon = os.time {year = now.year, month = now.month, day = now.day, hour = 12}
    local days = math.floor((noon - os.time {year = 1970, month = 1, day = 1, hour = 12}) / 86400 + 0.5)
    return ("%d,%d"):format(DAYS_TO_1970 + days, now.hour * 3600 + now.min * 60 + now.sec)
end

-- Functions that give the value, and those that set it.
local getters = {
    ["$HOROLOG"] = horolog,
    ["$JOB"] = function() return core.text.pid() end,
    ["$TLEVEL"] = function() return ("%d"):format((level())) end,
    ["$TRESTART"] = function()
        local _, restarts = level()
        return ("%d"):format(restarts)
    end,
    ["$ZGBLDIR"] = function() return database.name() end,
    ["$ZMAXTPTIME"] = function() return ("%d"):format(maxtptime) end,
    ["$ZSTATUS"] = function() return errors.zstatus end,
    ["$ZUT"] = function() return ("%d%06d"):format(core.text.time()) end,
    ["$ZVERSION"] = function() return "GT.M V7.0-005 Linux x86_64" end,
    ["$ZYRELEASE"] = function() return "YottaDB r2.06 Linux x86_64" end,
}

local setters = {
    ["$ZGBLDIR"] = database.select,
    ["$ZMAXTPTIME"] = function(value)
        maxtptime = math.floor(math.min(math.max(tonumber(value) or 0, 0), 0x7fffffff))
    end,
    ["$ZSTATUS"] = function(value) errors.zstatus = tostring(value) end,
}

-- ------------------------------------------------------------------- by name

local class = {} -- of nodes: {variable = "$NAME"}
local methods = {}

--- The special variable that a name or node stands for, or nil if it is another one.
function special.of(name)
    if type(name) == "string" then
        return byte(name) == 36 and name:upper() or nil
    end
    return type(name) == "table" and getmetatable(name) == class and rawget(name, "variable") or nil
end

local function check(variable, ...)
    if not getters[variable] then
        errors.raise("INVSVN", "there is no special variable " .. variable)
    end
    local subs = ...
    if subs ~= nil and not (type(subs) == "table" and next(subs) == nil and select("#", ...) == 1) then
        errors.raise("UNIMPLOP", variable .. " has no subscripts")
    end
end

function special.get(variable, ...)
    check(variable, ...)
    return getters[variable]()
end

function special.set(variable, value)
    check(variable)
    if not setters[variable] then
        errors.raise("SVNOSET", variable .. " can't be set")
    end
    if type(value) ~= "string" and type(value) ~= "number" then
        core.misuse("a value must be a string or a number, not a " .. type(value))
    end
    setters[variable](value)
    return value
end

--- Anything else can't be done with them.
function special.refuse(variable, operation)
    check(variable)
    errors.raise("UNIMPLOP", ("%s can't be done with %s"):format(operation, variable))
end

--- Seconds that a transaction may take, 0: any.
function special.maxtptime()
    return maxtptime
end

-- ------------------------------------------------------------------ as nodes

function special.node(variable, ...)
    check(variable, ...)
    return setmetatable({variable = variable}, class)
end

function methods.get(node) return special.get(special.of(node)) end
function methods.set(node, value) return special.set(special.of(node), value) end
function methods.name(node) return special.of(node) end
methods.varname, methods.repr = methods.name, methods.name
function methods.depth() return 0 end
function methods.subsarray() return {} end
function methods.ismutable() return false end

function class.__index(node, key)
    if key == "__" then return methods.get(node) end
    local method = type(key) == "string" and (methods[key] or methods[key:match("^__(.+)")])
    return method or special.refuse(special.of(node), "'" .. tostring(key) .. "'")
end

function class.__newindex(node, key, value)
    if key ~= "__" then special.refuse(special.of(node), "'" .. tostring(key) .. "'") end
    special.set(special.of(node), value)
end

class.__tostring = methods.name
function class.__eq(a, b) return rawget(a, "variable") == rawget(b, "variable") end

return special
