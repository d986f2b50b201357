--- The module `_yottadb`: the functions that lua-yottadb has in C, for programs that require them.
--
-- Most are those of `yottadb`.  What is a cachearray there, a name with subscripts, is a node here: one that
-- is mutable is a cursor.

local core = require "caret.core"
local yottadb = require "yottadb"
local addresses = require "yottadb.address"
local errors = require "yottadb.errors"
local long = require "yottadb.long"
local misuse = require "yottadb.misuse"
local node = require "yottadb.node"

local address, super, text = addresses.of, node.superclass, core.text
local unpack = table.unpack or unpack

local c = {}

for name, value in pairs(errors.constants) do
    c[name] = value
end
for name in ([[get set data incr lock lock_incr lock_decr subscript_next subscript_previous node_next
    node_previous str2zwr zwr2str tp init block_M_signals ydb_eintr_handler]]):gmatch "%S+" do
    c[name] = yottadb[name]
end

-- ------------------------------------------------------------------ deleting

local deletions = {[c.YDB_DEL_TREE] = super.kill, [c.YDB_DEL_NODE] = super.delete}

--- delete(name [, {subs}] [, sub, ...] [, type]): YDB_DEL_NODE, the value alone, or YDB_DEL_TREE.
function c.delete(...)
    local at, how = addresses.and_typed("number", ...)
    local delete = deletions[how or c.YDB_DEL_NODE]
    if not delete then errors.raise_filled "UNIMPLOP" end
    local place = long.at(at)
    if not place then delete(at) else place[delete == super.kill and "kill" or "delete"](place) end
end

--- delete_excl([names]): delete all local variables but those.
function c.delete_excl(names)
    misuse.check(1, "delete_excl", "table", names)
    names = names or {}
    misuse.strings(1, "delete_excl", names)
    errors.check_locals(names, "ydb_delete_excl_s()")
    local stay, gone = {}, {}
    for _, name in ipairs(names) do stay[name] = address(name) end
    for name in core.variables(address("a")) do
        if not stay[name] then gone[#gone + 1] = name end
    end
    for _, name in ipairs(gone) do super.kill(address(name)) end
    long.delete_others(stay)
end

-- -------------------------------------------------------------------- errors

--- message(code): the text of an error.
function c.message(...)
    local code = ...
    if type(code) ~= "number" then
        misuse.argument(1, "message", "number", code, select("#", ...) == 0)
    end
    return core.m.message(code) or errors.raise_filled("UNKNOWNSYSERR", code)
end

-- ---------------------------------------------------------------- cachearrays

--- cachearray_create(name [, {subs}] [, sub, ...]), cachearray_fromtable {name, sub, ...} or (name, {subs})
function c.cachearray_create(...) return (address(...)) end
function c.cachearray_fromtable(list, ...)
    if core.typename(list) == "table" then return (address(unpack(list))) end
    return (address(list, ...))
end

--- cachearray_append(array, sub, ...): a longer one.
function c.cachearray_append(array, ...) return (address(array, ...)) end

-- The address without its last subscript, and that; nil: it has none.
local function split(array)
    local subs = text.subsarray(array)
    local last = table.remove(subs)
    return last and address(super.varname(array), subs), last
end

--- cachearray_tomutable(array): a copy whose last subscript can be substituted.
function c.cachearray_tomutable(array)
    local parent, last = split(array)
    return parent and super.cursor(parent, last) or array
end

--- cachearray_subst(array, sub): with that last subscript; the same if it is mutable, else a mutable copy.
function c.cachearray_subst(array, sub)
    if super.ismutable(array) then return (super.move(array, sub)) end
    local parent = split(array)
    if not parent then errors.raise("INSUFFSUBS", "there is no subscript to substitute") end
    return (super.cursor(parent, sub))
end

--- cachearray_flatten(array): table of its subscripts; cachearray_depth(array): how many there are.
function c.cachearray_flatten(array) return (text.subsarray(array)) end
function c.cachearray_depth(array) return (super.depth(array)) end

--- cachearray_subscript(array, i): subscript i, 0 = the name, -1 = the last one; nil: there is none.
function c.cachearray_subscript(array, i)
    if type(i) ~= "number" then misuse.argument(2, "cachearray_subscript", "number", i) end
    local subs = text.subsarray(array)
    if i == 0 then return super.varname(array) end
    return subs[i < 0 and #subs + 1 + i or i]
end

--- cachearray_tostring(array): ZWR text.
function c.cachearray_tostring(array) return tostring(address(array)) end

-- ------------------------------------------------------------------ calling M

for _, name in ipairs {"ci_tab_open", "register_routine", "cip"} do
    c[name] = function() errors.raise("UNIMPLOP", "M is called by yottadb.require") end
end

misuse.add(c)

return c
