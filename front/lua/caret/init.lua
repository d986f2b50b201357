--- Caret from Lua: a hierarchical key-value database as objects.
--
--     local caret = require "caret"
--     local db = assert(caret.open("trees.caret"))
--     local oaks = db.node("^oaks")
--     oaks[1].shadow.__ = 10
--     for i in oaks:subscripts() do print(i, oaks[i].shadow.__) end
--
-- The quick paths are in C (caret.core); this file holds what is comfortable
-- rather than hot: trees to tables and back, dumps, subclasses, the default
-- database.

local core = require "caret.core"
-- LuaJIT compiles calls through its FFI; $CARET_FFI "off", or no compiler, means the C module alone.
local function has_ffi()
    if not rawget(_G, "jit") or not require("jit").status() or os.getenv "CARET_FFI" == "off" then
        return false
    end
    local ok, ffi = pcall(require, "ffi")
    return ok and type(ffi) == "table" and ffi.abi "64bit" and ffi.abi "le"
end

if core.ffi and has_ffi() then
    core = require "caret.ffi"(core)
    package.loaded["caret.core"] = core -- for the other files
end

local trees = require "caret.trees"

local caret = {_VERSION = core._VERSION, isnode = core.isnode, restore = core.restore}
local methods, misuse = core.methods, core.misuse
local unpack = table.unpack or unpack -- luacheck: ignore

-- ------------------------------------------------------------------ trees

local get, walk = methods.get, methods.walk

caret.DELETE, methods.settree, methods.gettree = trees.DELETE, trees.settree, trees.gettree
methods.merge, methods.copy_to, methods.move_to = trees.merge, trees.copy_to, trees.move_to
methods.count = core.count

function methods.exists(node) return methods.data(node) ~= 0 end

--- The first subscript of the children, and the last.
function methods.first(node) return methods.next(node) end
function methods.last(node) return methods.previous(node) end

--- ZWR text of the node and everything below it, maxlines lines at most (30).
function methods.dump(node, maxlines)
    local lines, own = {}, get(node)
    maxlines = maxlines or 30
    if type(maxlines) ~= "number" then
        misuse("dump: maxlines is a number, not a " .. core.typename(maxlines))
    end
    local function add(n, value)
        if value ~= nil then
            if #lines >= maxlines then
                lines[#lines + 1] = ("...etc.   -- stopped at %d lines; dump(n) gives n"):format(#lines)
                return false
            end
            lines[#lines + 1] = tostring(n) .. "=" .. core.zwr(value, n)
        end
        return true
    end
    if add(node, own) then
        for child, value in walk(node) do
            if not add(child, value) then break end
        end
    end
    return table.concat(lines, "\n")
end

-- JSON is loaded when it is first used.
for _, name in ipairs {"json", "setjson"} do
    methods[name] = function(...) return require("caret.json")[name](...) end
end

-- ------------------------------------------------------------------ classes

-- What Lua would say of a node that is taken for its value helps nobody, so nodes say it themselves: event ->
-- what raises.  Lua 5.1 and LuaJIT do not ask a table for its length, nor any Lua from 5.3 on for ipairs.
local function adviser(text)
    return function() misuse("a node is an address, not what is there: " .. text) end
end

local advice = {
    __len = adviser "node:count() counts what is there, #node.__ are the bytes of its value",
    __ipairs = adviser "for child, value, subscript in node:pairs() do",
    __concat = adviser "node.__ is its value, tostring(node) its name",
}
for _, event in ipairs {"__lt", "__le"} do
    advice[event] = adviser "compare node.__, a string, or node:number()"
end
for _, event in ipairs {"__unm", "__mul", "__div", "__mod", "__pow", "__idiv"} do
    advice[event] = adviser "calculate with node.__ or node:number()"
end

-- A class record: own = its methods, found through the parent's; bits = userdata with what is overridden;
-- overridden = the same by name; metatable = fields its users want in the metatables; made = the
-- metatables, one for each database; subs = records of subclasses.  Users see `class`, an empty front of
-- `own`, so that every assignment is noticed.
local weak = {__mode = "k"}

local function record_of(own, metatable)
    return {own = own, metatable = metatable, bits = core.bits(), overridden = {},
        made = setmetatable({}, weak), subs = setmetatable({}, weak)}
end

-- n.__ and n.__ = v where `own` overrides get or set.  Lua calls Lua: a quarter quicker than by way of C.
local function reader(overriding, index)
    return function(node, key)
        if key == "__" then return overriding(node) end
        return index(node, key)
    end
end

local function writer(overriding, newindex)
    return function(node, key, value)
        if key == "__" and value ~= nil then return overriding(node, value) end
        return newindex(node, key, value)
    end
end

-- The field of that name that users want in the metatable: of the class, else of those above it.
local function wanted(record, name)
    if record then
        local field = record.metatable[name]
        if field ~= nil then return field end
        return wanted(record.parent, name)
    end
end

-- Put all of these into a metatable.
local function add_wanted(record, mt)
    if record.parent then add_wanted(record.parent, mt) end
    for name, field in pairs(record.metatable) do mt[name] = field end
end

local function negative(by)
    if type(by) == "number" and by ~= math.mininteger then return -by end -- luacheck: ignore 143
    by = tostring(by)
    return by:find "^%-" and by:sub(2) or "-" .. by:gsub("^%+", "")
end

-- node + 5, or node - 5: by the incr of the class, as it is then.  Some nodes have a metatable of their own,
-- a copy of the class's.
local function adder(own, plain, sign)
    return function(node, by)
        local incr, usable = own.incr, type(by) == "number" or type(by) == "string" -- else plain raises
        if incr == methods.incr or not usable then return plain(node, by) end
        incr(node, sign < 0 and negative(by) or by)
        return node
    end
end

local function add_adders(record, mt)
    for event, sign in pairs {__add = 1, __sub = -1} do
        if not wanted(record, event) then mt[event] = adder(record.own, mt[event], sign) end
    end
end

-- Give a metatable its reader and writer.
local function hook(record, mt)
    if record.overridden.set and not wanted(record, "__newindex") then
        mt.__newindex = writer(record.own.set, mt[core.NEWINDEX])
    end
    if record.overridden.get and not wanted(record, "__index") then
        local parent = mt[core.PARENT] or {} -- nodes that are asked for children change to this one, and stay
        for key, value in pairs(mt) do parent[key] = value end
        parent.__index, parent[core.PARENT] = mt[core.INDEX], nil
        mt[core.PARENT] = parent
        mt.__index = reader(record.own.get, mt[core.INDEX])
    end
end

local function overridden(record, name)
    local number, method = core.numbers[name], record.own[name]
    if number then
        core.override(record.bits, number)
        record.overridden[name] = true
    end
    for mt in pairs(record.made) do
        core.changed(mt, "__" .. tostring(name), number, method)
        if name == "get" or name == "set" then hook(record, mt) end
    end
    for sub in pairs(record.subs) do
        overridden(sub, name)
    end
end

-- The metatable of the class's nodes in db.
local function node_metatable(record, db)
    local own = record.own
    local mt = core.class(own, core.numbers, core.equal, record.bits, db)
    mt[core.SUBS], mt.__metatable = setmetatable({}, weak), "caret.node"
    mt.__pairs = function(node) return own.pairs(node) end
    for event, advise in pairs(advice) do mt[event] = advise end
    add_wanted(record, mt)
    if record.parent then add_adders(record, mt) end
    hook(record, mt)
    record.made[mt] = true
    return mt
end

local base = record_of(methods, {})

-- What inherit() gives as superclass: to be called, not to be changed.
local superclass = setmetatable({}, {
    __index = methods,
    __newindex = function(_, name)
        name = core.shown(tostring(name))
        misuse(("nodes' own method %s can't be changed: use caret.inherit"):format(name))
    end,
})

local made = setmetatable({}, {__mode = "k"}) -- class record by constructor

--- new, class, superclass = caret.inherit(caret.node or db.node or another new [, metatable])
-- Methods set on `class` override; get and set also under `.__`.  Children are of the
-- subclass, and classes made of it have its metamethods too.
function caret.inherit(constructor, metatable)
    if type(constructor) ~= "function" then
        misuse("inherit needs a function that makes nodes, not a " .. core.typename(constructor))
    end
    if metatable ~= nil and core.typename(metatable) ~= "table" then
        misuse("the metatable of inherit is a table, not a " .. core.typename(metatable))
    end
    local parent = made[constructor] or base
    local own = setmetatable({}, {__index = parent.own})
    local record = record_of(own, metatable or {})
    record.parent = parent
    record.class = setmetatable({}, {
        __index = own,
        __newindex = function(_, name, method)
            own[name] = method
            overridden(record, name)
        end,
        __pairs = function() return pairs(own) end,
    })
    local ancestor = parent
    while ancestor ~= base do -- what the parents override is overridden here
        for name in pairs(ancestor.own) do overridden(record, name) end
        ancestor = ancestor.parent
    end
    parent.subs[record] = true
    local function new(...)
        return core.retype(constructor(...), record, node_metatable)
    end
    made[new] = record
    return new, record.class, parent == base and superclass or parent.class
end

--- f, calls = caret.counted(f): a function that does what f does and counts how often it was called, and
-- one that says it.  For methods of classes; nodes' own methods are counted in C, for 2 ns.
function caret.counted(f)
    if type(f) ~= "function" then
        misuse("counted needs a function, not a " .. core.typename(f))
    end
    local counted, calls = core.counted(f)
    if counted then return counted, calls end
    local n = 0
    return function(...)
        n = n + 1
        return f(...)
    end, function() return n end
end

-- ------------------------------------------------------------------ databases

local database = {node = true} -- a function for each database: db.node(...) works as db:node(...) does

--- db:sync() makes everything durable; db:durable() tells how far it is: two places in the log, of what
-- is on the disk and of the last commit.  db:usage() walks all of a snapshot: {levels = {{pages, entries,
-- used, size}, ...} from the leaves up, globals = {{name, nodes, leaves, bytes, ...}, ...}} by name.
for _, name in ipairs {
    "close", "sync", "durable", "checkpoint", "check", "path", "stat", "transaction", "tp", "snapshot",
    "backup", "usage", "batch", "place",
} do
    database[name] = core[name]
end
for _, name in ipairs {"get", "set", "incr", "kill", "delete", "data"} do
    --- db:get(name, subs...), db:set(name, subs..., value), db:incr(name[, subs..., by])
    database[name] = core["db_" .. name]
end

-- Waiting and the feed of changes are loaded when they are first used.
for _, name in ipairs {"wait", "changes"} do
    database[name] = function(...) return require("caret.changes")[name](...) end
end

--- db:ci(entry, ...), db:require(prototypes): routines written in M.
for _, name in ipairs {"ci", "require"} do
    database[name] = function(...) return require("caret.callin")[name](...) end
end

--- db:lock{ node or {name, subs...}, ... }[, timeout]: release all, take all of these or none.
database.lock = core.lock_list

--- db:variables([locals]): iterator over the names of all global variables that have something, in order;
-- true: of the local ones.
function database.variables(db, locals)
    core.path(db) -- raises if it is none, or closed
    return core.variables(db.node(locals and "a" or "^a"))
end

local open = core.open_function(database)
local open_typed -- the same for databases whose values have types: made when the first is opened

-- What their methods know of types; nodes know for themselves.
local function typed_database()
    local typed, known = require "caret.typed", {}
    for name, method in pairs(database) do known[name] = method end
    function known.get(...) return typed.decode(database.get(...)) end
    function known.set(...)
        local n = select("#", ...)
        if n < 3 then return database.set(...) end
        local value, all = (select(n, ...)), {...}
        all[n] = typed.encode(value)
        database.set(unpack(all, 1, n))
        return value
    end
    function known.incr(...)
        local n, all = select("#", ...), {...}
        if n >= 2 then core.check_countable(database.get(unpack(all, 1, n > 2 and n - 1 or n))) end
        return database.incr(...)
    end
    function known.changes(...)
        local feed, text, name = database.changes(...)
        if feed then feed.decode = typed.decode end
        return feed, text, name
    end
    return known
end

local function opener(_, options)
    if core.typename(options) ~= "table" or options.values ~= "typed" then return open end
    open_typed = open_typed or core.open_function(typed_database())
    return open_typed
end

--- Open or create a database: db, or nil, "NAME: text", "NAME".
-- caret.open([path[, options]]); options, all of them optional:
--   create = true         false: a missing file is an error
--   readonly = false      true: nothing is written and no file is made; db:stat().view tells what is seen:
--                         "live" each commit of those who have it open, "file" what is in the files
--   sync = "interval"     "commit", "interval" or "off": what a loss of power may take
--   sync_interval = 1     seconds between syncs
--   log_size = 64 MiB     bytes of the log; three quarters of one that is given, and 768 MiB, are
--                         the limit of one transaction
--   arena_limit           bytes of changed pages kept in shared memory
--   shm_dir = "/dev/shm"  where shared memory is
--   progress              function(part): called once a second while a recovery takes longer than that, with
--                         0 to 1; it must not use caret
--   huge_pages = true     false: not in huge pages either where the system has them
--   any_fs = false        true: also on a network or FUSE file system (see caret.h)
--   memory_limit          bytes that ":memory:" may take: a path that is a new database in memory, without
--                         a file, of this process and its forks
--   values = "text"       "typed": all nodes of the database are of the class of caret.typed, and db:get,
--                         db:set and db:changes know types too
function caret.open(...)
    local opening = opener(...)
    local db, text, name = opening(...)
    if not db then
        return nil, text, name
    end
    local mt = node_metatable(base, db)
    core.adopt(db, mt)
    return opening == open and db or core.adopt(db, mt, (require("caret.typed").new(db)))
end

--- Write what can still be read of a damaged database to a new file of ZWR text (caret.h: caret_salvage).
-- caret.salvage(path, out[, sure]): counts, whether something is lost, what; or nil, "NAME: text", "NAME".
caret.salvage = core.salvage
caret.trollback, caret.trestart = core.trollback, core.trestart

-- The default database, opened at first use: caret.node(...) and every method of databases.
local default
local function default_db()
    if not default then
        local text
        default, text = caret.open()
        if not default then misuse(text) end
    end
    return default
end

for name in pairs(database) do
    caret[name] = function(...)
        local db = default_db()
        return db[name](db, ...)
    end
end

function caret.close()
    local db = default
    default = nil
    return db == nil or db:close()
end

return caret
