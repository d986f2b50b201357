--- The module `yottadb`, for programs written for lua-yottadb 3.x: the same functions over Caret.
--
--     local ydb = require "yottadb"
--     ydb.set("^oaks", 1, "shadow", 10)
--     print(ydb.get("^oaks", {1, "shadow"}))    --> 10
--
-- docs/migrating/lua-yottadb.md says what is the same and what differs.  Arguments are
-- (name [, {subs}] [, sub, ...]), or a node instead of the name, then what the function needs besides.
-- Layers, each in a file: errors, misuse -> database -> special -> node -> long, key,
-- address, callin -> this one -> _yottadb.
--
-- What can go wrong with arguments is worded by misuse.lua, which finds the function that the program called
-- on the stack: so none of them leaves it by a tail call where C looks at its arguments, but for those that C
-- has by that name, too.

local caret = require "caret"
local core = require "caret.core"
local addresses = require "yottadb.address"
local callin = require "yottadb.callin"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local key = require "yottadb.key"
local long = require "yottadb.long"
local misuse = require "yottadb.misuse"
local node = require "yottadb.node"
local special = require "yottadb.special"

local text = core.text
local current, special_of = database.current, special.of
local address = addresses.of
local function naming(called)
    return addresses.naming("ydb_" .. called .. "_s()", called:find "lock" and node.check_lock_address)
end
local to_delete, to_add = naming "delete".of, naming "incr".and_last
local next_of, previous_of = naming "subscript_next", naming "subscript_previous"
local node_next_of, node_previous_of = naming "node_next".of, naming "node_previous".of
local to_lock_all, to_unlock = naming "lock".of, naming "lock_decr".of
local to_lock_more = naming "lock_incr".and_last
local select, type = select, type
local unpack = table.unpack or unpack

local yottadb = {_VERSION = "3.0", DELETE = caret.DELETE, get_error_code = errors.code_of}
for name, value in pairs(errors.constants) do
    yottadb[name] = value
end

-- --------------------------------------------------------------------- nodes

--- node(name [, {subs}] [, sub, ...]): an object for that node.
function yottadb.node(name, ...)
    local variable = special_of(name)
    if variable then
        return special.node(variable, ...)
    end
    if long.is_place(name) then return long.too_long("node", name, ...) end
    return (node.new(name, ...))
end

--- The same of the older class.
yottadb.key = key

--- new, class, superclass = inherit(yottadb.node or key or another new [, metatable]): a subclass of nodes.
function yottadb.inherit(constructor, metatable)
    return caret.inherit(constructor == yottadb.node and node.new or constructor, metatable)
end

function yottadb.isnode(value)
    return core.isnode(value) or type(value) == "table" and (special_of(value) ~= nil or long.is_place(value))
end

-- ---------------------------------------------------------------------- data

--- The value as a string, or nil.
function yottadb.get(name, ...)
    local variable = special_of(name)
    if variable then
        return special.get(variable, ...)
    end
    if long.is_place(name) then return long.too_long("get", name, ...) end
    return core.db_get(current(), name, ...)
end

--- set(name [, {subs}] [, sub, ...], value) -> value; nil deletes it.
function yottadb.set(name, ...)
    local n = select("#", ...)
    if n == 0 then
        misuse.argument(2, "set", "string", nil, true)
    end
    local variable = special_of(name)
    if variable then
        return special.set(variable, n, ...)
    end
    if long.is_place(name) then return long.too_long("set", name, ...) end
    return core.db_set(current(), name, ...)
end

--- incr(name [, {subs}] [, by]), or with plain subscripts incr(name, sub, ..., by): the sum, a string.
function yottadb.incr(...)
    local at, by = to_add(...)
    if by ~= nil and type(by) ~= "number" and type(by) ~= "string" then
        misuse.argument(select("#", ...), "incr", "number", by)
    end
    local place = (long.any or type(at) == "table") and long.at(at) -- LuaJIT's nodes are tables, too
    if place then return place:incr(by) end
    return text.incr(at, by)
end

--- 0 nothing, 1 a value, 10 a tree, 11 both.
function yottadb.data(name, ...)
    local variable = special_of(name)
    if variable then
        special.refuse(variable, nil, ...)
    end
    if long.any or long.is_place(name) then return node.class.data(address(name, ...)) end
    return core.db_data(current(), name, ...)
end

-- The method of nodes, or of places that are too long, of that name: kill, delete.
local function removed(name, at)
    local place = long.at(at)
    if place then place[name](place) else node.superclass[name](at) end
end

--- Delete a node with everything below it.
function yottadb.kill(...) removed("kill", to_delete(...)) end
yottadb.delete_tree = yottadb.kill

--- Delete a node's value.
function yottadb.delete_node(...) removed("delete", to_delete(...)) end

--- ZWR text of a tree: dump(name [, {subs}] [, sub, ...] [, maxlines]).
function yottadb.dump(...)
    return node.class.dump(addresses.and_typed("number", ...))
end

-- -------------------------------------------------------------------- moving

local function sibling(at, back)
    local place = long.at(at)
    if place then return long.sibling(place, back) end
    return (text.sibling(at, back))
end

local function siblings(at, back)
    local place = long.at(at)
    if place then return long.siblings(place, back) end
    return text.siblings(at, back)
end

local function next_node(at, back)
    local place = long.at(at)
    if place then return long.node(place, back) end
    return ((back and text.node_previous or text.node_next)(at))
end

--- The subscript of the next sibling, or name of the next variable; nil: there is none.
-- The subscript '' stands before the first.
function yottadb.subscript_next(...) return (sibling(next_of.of(...), false)) end

--- The same backwards; '' stands after the last.
function yottadb.subscript_previous(...) return (sibling(previous_of.of(...), true)) end

--- Iterator over the subscripts of siblings: subscripts(name [, {subs}] [, sub, ...] [, reverse]).
function yottadb.subscripts(...)
    local n = select("#", ...)
    local addressed = n > 1 and (select(n, ...)) == true and previous_of or next_of
    return siblings(addressed.and_typed("boolean", ...))
end

--- The subscripts of the next node of the variable that has a value, as a table, or nil.
function yottadb.node_next(...) return (next_node(node_next_of(...), false)) end
function yottadb.node_previous(...) return (next_node(node_previous_of(...), true)) end

-- --------------------------------------------------------------------- locks

local function lockable(n) return (node.at.lockable(n)) end

-- One of the things to lock, as a node.
local function to_lock(i, item)
    if long.is_place(item) then
        return lockable(item)
    elseif type(item) == "string" or yottadb.isnode(item) then
        return lockable((to_lock_all(item)))
    elseif type(item) == "table" then
        return lockable((to_lock_all(unpack(item))))
    end
    core.misuse(("bad argument #1 to 'lock' (they must all be cachearrays, nodes, tables or names; number %d"
        .. " is a %s)"):format(i, core.typename(item)))
end

local function is_among(n, nodes)
    for _, other in ipairs(nodes) do
        if n == other then return true end
    end
    return false
end

--- lock([{node or {name, subs...}, ...} [, timeout]]): release all, take all of these or none.
-- One that is there twice is taken once.
function yottadb.lock(list, timeout)
    local nodes, db = {}, current()
    if type(list) == "string" or yottadb.isnode(list) then
        list = {list}
    end
    misuse.check(1, "lock", "table", list)
    misuse.check(2, "lock", "number", timeout)
    for i, item in ipairs(list or {}) do
        local n = to_lock(i, item)
        if not is_among(n, nodes) then nodes[#nodes + 1] = n end
    end
    timeout = node.timeout(timeout)
    database.release_all()
    node.got(core.lock_list(db, nodes, timeout))
end

--- lock_incr(name [, {subs}] [, timeout]), or with plain subscripts lock_incr(name, sub, ..., timeout).
function yottadb.lock_incr(...)
    local n, timeout = to_lock_more(...)
    misuse.check(select("#", ...), "lock_incr", "number", timeout)
    node.got(node.superclass.grab(lockable(n), node.timeout(timeout)))
end
yottadb.grab = yottadb.lock_incr

function yottadb.lock_decr(...) text.release(lockable((to_unlock(...)))) end
yottadb.release = yottadb.lock_decr

-- -------------------------------------------------------------- transactions

local NONE = {}

-- core.tp() calls fn directly, so that an error of its own has no position of ours, and obeys what it returns
-- (errors.obey).
local function run(id, locals, fn, ...)
    if long.any and locals then fn = long.keeping(locals, fn) end
    return core.tp(current(), id or "", locals or NONE, fn, ...)
end

local function check_names(names, called, n)
    misuse.strings(n, called, names)
    errors.check_locals(names, "ydb_tp_s()", true)
end

-- ([id,] [locals,] fn, ...) -> id, locals, fn, ...; called as that, and n arguments in front of first
local function call(called, n, id, locals, first, ...)
    local kind = type(first)
    if kind == "function" then
        return id, locals, first, ...
    elseif kind == "string" and not id and not locals then
        return call(called, n + 1, first, nil, ...)
    elseif kind == "table" and not locals and not core.isnode(first) then
        check_names(first, called, n + 1)
        return call(called, n + 1, id, first, ...)
    elseif kind == "nil" and select("#", ...) > 0 then
        return call(called, n + 1, id, locals, ...)
    end
    misuse.argument(n + 1, called, "function", first, kind == "nil" and select("#", ...) == 0)
end

--- tp([id,] [locals,] fn, ...): run fn(...) in a transaction.
-- It commits if fn returns nothing or YDB_OK, begins again after YDB_TP_RESTART, and is rolled back, which
-- is raised, after YDB_TP_ROLLBACK, another error's code, or an error.
function yottadb.tp(...)
    return run(call("tp", 0, nil, nil, ...))
end

--- transaction([id,] [locals,] fn) -> function that runs fn so.
function yottadb.transaction(...)
    local id, locals, fn = call("transaction", 0, nil, nil, ...)
    return function(...) return run(id, locals, fn, ...) end
end

local function leave(how, outcome)
    if not database.peek() or text.level(database.peek()) == 0 then
        error(errors.outcome(outcome), 0)
    end
    how()
end

--- Begin the transaction that runs again; roll it back.
function yottadb.trestart() leave(caret.trestart, "YDB_TP_RESTART") end
function yottadb.trollback() leave(caret.trollback, "YDB_TP_ROLLBACK") end

-- ---------------------------------------------------------------------- text

local function convert(name, f, value, ...)
    if type(value) ~= "string" and type(value) ~= "number" then
        misuse.argument(1, name, "string", value, select("#", ...) == 0)
    end
    return f(tostring(value), database.utf8)
end

--- A string in ZWR form, "a"_$C(10) or a number as it is, and back; what is not in that form is "".
function yottadb.str2zwr(...) return convert("str2zwr", text.str2zwr, (...), ...) end
function yottadb.zwr2str(...) return convert("zwr2str", text.zwr2str, (...), ...) or "" end

-- ------------------------------------------------- what there is no need for

function yottadb.init() end
function yottadb.block_M_signals() end
function yottadb.ydb_eintr_handler() return yottadb.YDB_OK end

-- ------------------------------------------------------------------ calls of M

yottadb.require, yottadb.ci = callin.require, callin.ci

--- The methods of nodes, for programs that look into the module.
yottadb._node = node.methods

misuse.add(yottadb)
misuse.add {get = core.db_get, set = core.db_set, data = core.db_data}

return yottadb
