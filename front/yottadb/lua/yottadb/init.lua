--- The module `yottadb`, for programs written for lua-yottadb 3.x: the same functions over Caret.
--
--     local ydb = require "yottadb"
--     ydb.set("^oaks", 1, "shadow", 10)
--     print(ydb.get("^oaks", {1, "shadow"}))    --> 10
--
-- docs/migrating/lua-yottadb.md says what is the same and what differs.  Arguments are
-- (name [, {subs}] [, sub, ...]), or a node instead of the name, then what the function needs besides.
-- Layers, each in a file: errors -> database -> special -> node -> key -> this one.

local caret = require "caret"
local core = require "caret.core"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local key = require "yottadb.key"
local node = require "yottadb.node"
local special = require "yottadb.special"

local text, misuse = core.text, core.misuse
local current, special_of = database.current, special.of
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
    return node.new(name, ...)
end

--- The same of the older class.
yottadb.key = key

--- new, class, superclass = inherit(yottadb.node or key or another new [, metatable]): a subclass of nodes.
function yottadb.inherit(constructor, metatable)
    return caret.inherit(constructor == yottadb.node and node.new or constructor, metatable)
end

function yottadb.isnode(value)
    return core.isnode(value) or type(value) == "table" and special_of(value) ~= nil
end

-- ----------------------------------------------------------------- arguments

-- The address (name [, {subs}] [, sub, ...]) as a node.
local function address(name, ...)
    local variable = special_of(name)
    if variable then
        special.refuse(variable)
    end
    return current().node(name, ...)
end

-- (name [, {subs}] [, sub, ...] [, last]) -> the address, last.  After plain subscripts there must be one.
local function address_and_last(name, ...)
    local n = select("#", ...)
    if n == 0 or n == 1 and type((...)) == "table" then
        return address(name, ...)
    elseif n == 1 then
        return address(name), (...)
    end
    local args = {...}
    return address(name, unpack(args, 1, n - 1)), args[n]
end

-- The same where a last one that is not of that type is a subscript.
local function address_and_typed(kind, name, ...)
    local n = select("#", ...)
    local last = n > 0 and select(n, ...) or nil
    if n > 0 and last ~= nil and type(last) ~= kind then
        return address(name, ...)
    end
    return address_and_last(name, ...)
end

-- ---------------------------------------------------------------------- data

--- The value as a string, or nil.
function yottadb.get(name, ...)
    local variable = special_of(name)
    if variable then
        return special.get(variable, ...)
    end
    return core.db_get(current(), name, ...)
end

--- set(name [, {subs}] [, sub, ...], value) -> value; nil deletes it.
function yottadb.set(name, ...)
    local n = select("#", ...)
    if n == 0 then
        misuse("set needs a value")
    end
    local variable = special_of(name)
    if variable then
        return special.set(variable, (select(n, ...)))
    end
    return core.db_set(current(), name, ...)
end

--- incr(name [, {subs}] [, by]), or with plain subscripts incr(name, sub, ..., by): the sum, a string.
function yottadb.incr(...)
    return text.incr(address_and_last(...))
end

--- 0 nothing, 1 a value, 10 a tree, 11 both.
function yottadb.data(name, ...)
    local variable = special_of(name)
    if variable then
        special.refuse(variable)
    end
    return core.db_data(current(), name, ...)
end

--- Delete a node with everything below it.
function yottadb.kill(...) node.superclass.kill(address(...)) end
yottadb.delete_tree = yottadb.kill

--- Delete a node's value.
function yottadb.delete_node(...) node.superclass.delete(address(...)) end

--- ZWR text of a tree: dump(name [, {subs}] [, sub, ...] [, maxlines]).
function yottadb.dump(...)
    return node.superclass.dump(address_and_typed("number", ...))
end

-- -------------------------------------------------------------------- moving

--- The subscript of the next sibling, or name of the next variable; nil: there is none.
-- The subscript '' stands before the first.
function yottadb.subscript_next(...) return (text.sibling(address(...), false)) end

--- The same backwards; '' stands after the last.
function yottadb.subscript_previous(...) return (text.sibling(address(...), true)) end

--- Iterator over the subscripts of siblings: subscripts(name [, {subs}] [, sub, ...] [, reverse]).
function yottadb.subscripts(...)
    return text.siblings(address_and_typed("boolean", ...))
end

--- The subscripts of the next node of the variable that has a value, as a table, or nil.
function yottadb.node_next(...) return (text.node_next(address(...))) end
function yottadb.node_previous(...) return (text.node_previous(address(...))) end

-- --------------------------------------------------------------------- locks

--- lock([{node or {name, subs...}, ...} [, timeout]]): release all, take all of these or none.
function yottadb.lock(list, timeout)
    local nodes, db = {}, current()
    if core.isnode(list) or type(list) == "string" then
        list = {list}
    elseif list ~= nil and type(list) ~= "table" then
        misuse("lock takes a table of nodes and tables, not a " .. type(list))
    end
    for i, item in ipairs(list or {}) do
        nodes[i] = type(item) == "table" and not core.isnode(item) and address(unpack(item)) or address(item)
    end
    timeout = node.timeout(timeout)
    database.release_all()
    node.got(core.lock_list(db, nodes, timeout))
end

--- lock_incr(name [, {subs}] [, timeout]), or with plain subscripts lock_incr(name, sub, ..., timeout).
function yottadb.lock_incr(...)
    local n, timeout = address_and_last(...)
    node.got(node.superclass.grab(n, node.timeout(timeout)))
end
yottadb.grab = yottadb.lock_incr

function yottadb.lock_decr(...) text.release(address(...)) end
yottadb.release = yottadb.lock_decr

-- -------------------------------------------------------------- transactions

-- What the function returned: a code to obey, all but two as an error, or what is passed on.
local function obey(...)
    local code = ...
    if code == yottadb.YDB_TP_RESTART then
        caret.trestart()
    elseif code ~= yottadb.YDB_OK and errors.is_code(code) then
        errors.raise_code(code)
    end
    return ...
end

local function body(fn, ...)
    return obey(fn(...))
end

-- Of a transaction that is over.
local function finish(...)
    local none, _, name = ...
    if none == nil and name == "ROLLBACK" then
        error(errors.outcome("YDB_TP_ROLLBACK"), 0)
    end
    return ...
end

local NONE = {}

local function run(id, locals, fn, ...)
    return finish(core.tp(current(), id or "", locals or NONE, body, fn, ...))
end

-- ([id,] [locals,] fn, ...) -> id, locals, fn, ...
local function call(id, locals, first, ...)
    local kind = type(first)
    if kind == "function" then
        return id, locals, first, ...
    elseif kind == "string" and not id and not locals then
        return call(first, nil, ...)
    elseif kind == "table" and not locals then
        return call(id, first, ...)
    elseif kind == "nil" and select("#", ...) > 0 then
        return call(id, locals, ...)
    end
    misuse("a transaction needs a function, not a " .. kind)
end

--- tp([id,] [locals,] fn, ...): run fn(...) in a transaction.
-- It commits if fn returns nothing or YDB_OK, begins again after YDB_TP_RESTART, and is rolled back, which
-- is raised, after YDB_TP_ROLLBACK, another error's code, or an error.
function yottadb.tp(...)
    return run(call(nil, nil, ...))
end

--- transaction([id,] [locals,] fn) -> function that runs fn so.
function yottadb.transaction(...)
    local id, locals, fn = call(nil, nil, ...)
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

local function convert(f, value, what)
    if type(value) ~= "string" and type(value) ~= "number" then
        misuse(what .. " needs a string, not a " .. type(value))
    end
    local result, message = f(tostring(value), database.utf8)
    return result or errors.raise("PARAMINVALID", message)
end

--- A string in ZWR form, "a"_$C(10), and back.
function yottadb.str2zwr(s) return convert(text.str2zwr, s, "str2zwr") end
function yottadb.zwr2str(s) return convert(text.zwr2str, s, "zwr2str") end

-- ------------------------------------------------- what there is no need for

function yottadb.init() end
function yottadb.block_M_signals() end
function yottadb.ydb_eintr_handler() return yottadb.YDB_OK end
function yottadb.require()
    errors.raise("UNIMPLOP", "M routines can't be called: there is no M runtime")
end

return yottadb
