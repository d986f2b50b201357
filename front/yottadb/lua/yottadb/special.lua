--- M's special variables, $ZSTATUS, $ZGBLDIR and so on, by name and as nodes; front/m/special.c knows them.

local core = require "caret.core"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local misuse = require "yottadb.misuse"

local special = {}

local m = core.m
local byte = string.byte

-- ------------------------------------------------------------------- by name

local class = {} -- of nodes: {variable = "$NAME"}
local methods = {}

--- The special variable that a name or node stands for, or nil if it is another one.
function special.of(name)
    if type(name) == "string" then
        return byte(name) == 36 and name or nil
    end
    return type(name) == "table" and getmetatable(name) == class and rawget(name, "variable") or nil
end

-- How many subscripts the first n of these are: [{subs}] [, sub, ...]
local function count(n, subs)
    if n == 0 or subs == nil then return 0 end
    return type(subs) == "table" and #subs + n - 1 or n
end

-- Its name in full, if it can be used so.
local function check(variable, use, subs, called)
    local full, code, text = m.special(variable, use, subs, called)
    return full or errors.raise_text(code, text)
end

function special.get(variable, ...)
    local full = check(variable, "get", count(select("#", ...), ...))
    return (m.special_get(full, database.peek(), database.name(), errors.zstatus))
end

local setters = {
    ["$ZGBLDIR"] = database.select,
    ["$ZMAXTPTIME"] = m.maxtptime,
    ["$ZSTATUS"] = errors.set_zstatus,
}

--- set(variable [, {subs}] [, sub, ...], value), with n arguments after the variable
function special.set(variable, n, ...)
    local value = select(n, ...)
    local full = check(variable, "set", count(n - 1, ...))
    if type(value) ~= "string" and type(value) ~= "number" then
        misuse.argument(2, "set", "string", value)
    end
    setters[full](tostring(value))
    return value
end

--- Anything else can't be done with them, nor with what may be subscripts of theirs.
-- @param called the function of libyottadb that the text names; nil: "ydb_data_s()"
function special.refuse(variable, called, ...)
    check(variable, "other", count(select("#", ...), ...), called)
end

-- ------------------------------------------------------------------ as nodes

function special.node(variable, ...)
    return setmetatable({variable = check(variable, "get", count(select("#", ...), ...))}, class)
end

function methods.get(node) return special.get(special.of(node)) end
function methods.set(node, value) return special.set(special.of(node), 1, value) end
function methods.name(node) return special.of(node) end
methods.varname, methods.repr = methods.name, methods.name
function methods.depth() return 0 end
function methods.subsarray() return {} end
function methods.ismutable() return false end

function class.__index(node, key)
    if key == "__" then return methods.get(node) end
    local method = type(key) == "string" and (methods[key] or methods[key:match("^__(.+)")])
    return method or special.refuse(special.of(node))
end

function class.__newindex(node, key, value)
    if key ~= "__" then special.refuse(special.of(node)) end
    special.set(special.of(node), 1, value)
end

class.__tostring = methods.name
function class.__eq(a, b) return rawget(a, "variable") == rawget(b, "variable") end

return special
