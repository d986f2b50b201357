--- Caret from Lua: a hierarchical key-value database as objects.
--
--     local caret = require "caret"
--     local db = assert(caret.open("trees.caret"))
--     local oaks = db.node("^oaks")
--     oaks[1].shadow.__ = 10
--     for i in oaks:subscripts() do print(i, oaks[i].shadow.__) end
--
-- The quick paths are in C (caret.core); this file holds what is comfortable
-- rather than hot: databases as objects, trees to tables and back, dumps,
-- transactions, subclasses.

local core = require "caret.core"

local caret = {_VERSION = core._VERSION}

--- As a value in settree: delete what is there.
caret.DELETE = setmetatable({}, {__tostring = function() return "caret.DELETE" end})
local unpack = table.unpack or unpack

-- ------------------------------------------------------------------ nodes

local methods = {}
for _, name in ipairs {"get", "set", "number", "incr", "kill", "delete", "data", "name", "varname", "depth",
    "subsarray", "ismutable", "subscripts", "pairs", "next", "previous", "grab", "release", "lock"} do
    methods[name] = core[name]
end
methods.lock_incr, methods.lock_decr, methods.repr = core.grab, core.release, core.repr

function methods:has_value()
    return self:__data() % 10 == 1
end

function methods:has_tree()
    return self:__data() >= 10
end

--- Store a table as the tree below the node; `__` holds a node's own value.
-- filter(node, key, value) -> key, value may change both; a nil key leaves the entry out.
function methods:settree(tree, filter)
    if type(tree) ~= "table" then
        error("settree needs a table, not a " .. type(tree), 2)
    end
    for key, value in pairs(tree) do
        if filter then
            key, value = filter(self, key, value)
        end
        if key ~= nil then
            local node = key == "__" and self or self(key)
            if value == caret.DELETE then
                if key == "__" then node:__delete() else node:__kill() end
            elseif type(value) == "table" then
                if key == "__" then error("the value of a node can't be a table", 2) end
                node:__settree(value, filter)
            else
                node:__set(value)
            end
        end
    end
    return self
end

--- The tree below the node as a table.
-- filter(node, sub, value, recurse, depth) -> value, recurse may change both.
function methods:gettree(maxdepth, filter, depth)
    local tree = {}
    depth = depth or 0
    if depth == 0 then
        tree.__ = self.__
    end
    if maxdepth and depth >= maxdepth then
        return tree
    end
    for child, value, sub in self:__pairs() do
        local recurse = child:__data() >= 10
        if filter then
            value, recurse = filter(child, sub, value, recurse, depth + 1)
        end
        if recurse then
            local below = self(sub):__gettree(maxdepth, filter, depth + 1)
            below.__ = value
            if next(below) ~= nil then
                tree[sub] = below
            end
        else
            tree[sub] = value
        end
    end
    return tree
end

local function zwr(s)
    return '"' .. s:gsub('"', '""'):gsub("%c+", function(ctrl)
        return '"_$C(' .. table.concat({ctrl:byte(1, -1)}, ",") .. ')_"'
    end) .. '"'
end

--- ZWR text of the node and everything below it, maxlines lines at most (30).
function methods:dump(maxlines)
    local lines, more = {}, false
    maxlines = maxlines or 30
    local function add(node, value)
        if #lines >= maxlines then
            more = true
        elseif value ~= nil then
            lines[#lines + 1] = tostring(node) .. "=" .. zwr(value)
        end
        return not more
    end
    local function walk(node)
        for child, value, sub in node:__pairs() do
            if not add(child, value) then return end
            if child:__data() >= 10 then walk(node(sub)) end
            if more then return end
        end
    end
    if add(self, self.__) then walk(self) end
    if more then
        lines[#lines + 1] = ("...etc.   -- stopped at %d lines; node:dump(n) shows more"):format(maxlines)
    end
    return table.concat(lines, "\n")
end

local function class_metatable(class, get, set)
    local mt = {__pairs = function(node) return class.pairs(node) end}
    return core.class(class, get, set, mt)
end

local node_metatable = class_metatable(methods, false, false)

-- ------------------------------------------------------------------ databases

local database = {}
local raw = setmetatable({}, {__mode = "k"}) -- the methods' database by object: db itself is the userdata

local function make_node(db, metatable, name, ...)
    local node = core.node(db, metatable, name)
    if select("#", ...) > 0 then
        node = node(...)
    end
    return node
end

--- db:node(name or node, ...) or db.node(name or node, ...)
local function node_function(db)
    return function(first, ...)
        if first == db then
            return make_node(db, node_metatable, ...)
        end
        return make_node(db, node_metatable, first, ...)
    end
end

local meta = core.db_meta
function meta.__index(db, key)
    if key == "node" then
        local f = raw[db]
        if not f then
            f = node_function(db)
            raw[db] = f
        end
        return f
    end
    return database[key]
end
function meta.__tostring(db)
    local ok, path = pcall(core.path, db)
    return "caret database: " .. (ok and path or "closed")
end

for _, name in ipairs {"close", "sync", "checkpoint", "check", "path", "stat"} do
    database[name] = core[name]
end

for _, name in ipairs {"get", "set", "incr", "kill", "delete", "data"} do
    --- db:get(name, ...subscripts), db:set(name, ...subscripts, value), db:incr(name, ...subscripts, by)
    local takes_value = name == "set" or name == "incr"
    database[name] = function(db, var, ...)
        if not takes_value then
            return methods[name](make_node(db, node_metatable, var, ...))
        end
        local n = select("#", ...)
        if n == 0 then
            return methods[name](make_node(db, node_metatable, var))
        end
        local subs = {...}
        local value = table.remove(subs, n)
        return methods[name](make_node(db, node_metatable, var, unpack(subs, 1, n - 1)), value)
    end
end

-- ------------------------------------------------------------------ transactions

local ROLLBACK = setmetatable({message = "ROLLBACK: the transaction was rolled back", name = "ROLLBACK"},
    {__tostring = function(e) return e.message end})
local current -- the database whose transaction runs

--- Roll the running transaction back: its call returns nil, "ROLLBACK: ...", "ROLLBACK".
function caret.trollback()
    error(ROLLBACK, 0)
end

--- Start the running transaction again.
function caret.trestart()
    error(core.RESTART, 0)
end

local settle

-- Run the body in the transaction that was begun at `level`.
local function attempt(db, level, fn, ...)
    local before = current
    current = db
    return settle(db, level, before, pcall(fn, ...))
end

-- The body ran: true and its results when it is over, false when it must run again.
function settle(db, level, before, ok, ...)
    current = before
    if ok then
        if core.commit(db) then
            return true, ...
        end
        return false
    end
    local err = ...
    if err == core.RESTART then
        return false
    end
    core.rollback(db, level)
    if err == ROLLBACK then
        return true, nil, ROLLBACK.message, ROLLBACK.name
    end
    error(err, 0)
end

local again

local function results(db, level, fn, args, over, ...)
    if over then
        return ...
    end
    return again(db, level, fn, args)
end

-- A conflict: the outermost transaction starts anew, an inner one hands it on.
function again(db, level, fn, args)
    if level > 1 then
        error(core.RESTART, 0)
    end
    core.restart(db)
    return results(db, level, fn, args, attempt(db, level, fn, unpack(args, 1, args.n)))
end

local function run(db, batch, locals, fn, ...)
    if current and current ~= db then
        error("a transaction of another database is running: one database at a time", 3)
    end
    local level = core.begin(db, batch, locals)
    if select("#", ...) == 0 then
        return results(db, level, fn, {n = 0}, attempt(db, level, fn))
    end
    return results(db, level, fn, {n = select("#", ...), ...}, attempt(db, level, fn, ...))
end

local function options(...)
    local first, second, third = ...
    local skip, batch, locals = 0, false, false
    if type(first) == "string" then
        batch = first == "BATCH" or first == "BA"
        skip = 1
        first, second = second, third
    end
    if type(first) == "table" then
        locals = #first > 0
        skip = skip + 1
        first = second
    end
    if type(first) ~= "function" then
        error("a transaction needs a function, not a " .. type(first), 3)
    end
    return skip, batch, locals, first
end

--- db:transaction([id,] [locals,] fn) returns a function that runs fn in a transaction.
-- fn can run more than once: no I/O, no sleeping in it.
function database.transaction(db, ...)
    local _, batch, locals, fn = options(...)
    return function(...)
        return run(db, batch, locals, fn, ...)
    end
end

--- db:tp([id,] [locals,] fn, ...): runs it at once.
function database.tp(db, ...)
    local skip, batch, locals, fn = options(...)
    return run(db, batch, locals, fn, select(skip + 2, ...))
end

--- db:lock{ node or {name, subs...}, ... }[, timeout]: release all, take all of these or none.
function database.lock(db, list, timeout)
    local nodes = {}
    for i, item in ipairs(list or {}) do
        nodes[i] = core.isnode(item) and item or make_node(db, node_metatable, unpack(item))
    end
    return core.lock_all(db, nodes, timeout)
end

-- ------------------------------------------------------------------ module

--- Open or create a database: db, or nil, "NAME: text", "NAME".
function caret.open(path, opts)
    return core.open(path, opts)
end

caret.isnode = core.isnode

local default
local function default_db()
    if not default then
        default = assert(core.open())
    end
    return default
end

--- caret.node(...) and every db method exist for the default database, opened at first use.
function caret.node(...)
    return default_db().node(...)
end
for name, f in pairs(database) do
    if caret[name] == nil and name ~= "close" then
        caret[name] = function(...) return f(default_db(), ...) end
    end
end

--- new, class, superclass = caret.inherit(caret.node or db.node or new [, metatable])
-- Methods set on `class` override, get and set also behind `.__`; children are of the subclass.
local classes = setmetatable({}, {__mode = "k"}) -- class by constructor
function caret.inherit(base, metatable)
    local parent = classes[base] or {class = methods, node = base}
    local class = setmetatable({}, {__index = parent.class})
    local mt = metatable or {}
    local built
    local function new(...)
        local made = parent.node(...)
        if not built then -- what the class overrides is looked up when the first object is made
            built = true
            local get, set = class.get ~= methods.get, class.set ~= methods.set
            local keep = {}
            for k, v in pairs(mt) do keep[k] = v end
            core.class(class, get, set, mt)
            for k, v in pairs(keep) do mt[k] = v end
            mt.__pairs = mt.__pairs or function(node) return class.pairs(node) end
        end
        return core.retype(made, mt)
    end
    classes[new] = {class = class, node = parent.node}
    return new, class, parent.class
end

return caret
