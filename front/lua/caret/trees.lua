--- Tables to trees and back: the methods settree and gettree of nodes, and what the module yottadb makes its
-- own of.  Its DELETE deletes values only, it takes two tables for one node, and a child whose children a
-- filter left out stays a table.

local core = require "caret.core"

local methods, misuse, typename = core.methods, core.misuse, core.typename
local get, set, kill, delete = methods.get, methods.set, methods.kill, methods.delete
local check_node = methods.varname -- raises if it is none

local unpack = unpack or table.unpack -- luacheck: ignore 143

local trees = {}

-- LuaJIT 2.1 beta 3 compiles such a recursion wrong at times, where it goes on after a call of C: entries
-- get lost.  So they do on plain tables, with os.clock() for the call, and not with -Ominstitch=100000.
if rawget(_G, "jit") then require("jit").off(true, true) end

--- As a value in settree: delete what is there.
trees.DELETE = setmetatable({}, {__tostring = function() return "caret.DELETE" end})

--- fn(node, ...) as one transaction of the node's database: all of it or nothing.  A local variable has none.
-- A rollback in it is meant for the transaction around it; without one it raises NOTXN.
function trees.atomically(fn, node, ...)
    local db = core.db_of(node)
    if not db then
        fn(node, ...)
        return
    end
    local _, _, name = core.tp(db, fn, node, ...)
    if name == "ROLLBACK" then core.trollback() end
end

--- Raise what can't be the filter of that method.
function trees.check_filter(name, filter)
    if filter ~= nil and type(filter) ~= "function" then
        misuse(("%s: the filter is a function, not a %s"):format(name, typename(filter)))
    end
end

-- ------------------------------------------------------------------ settree

--- Raise what settree can't take.
function trees.check(tree, filter)
    if typename(tree) ~= "table" then
        misuse("settree needs a table, not a " .. typename(tree))
    end
    trees.check_filter("settree", filter)
end

--- put(node, key, value, filter, a, b, c) for every entry that the filter lets pass.
function trees.each(node, tree, put, filter, a, b, c)
    for key, value in pairs(tree) do
        local to, what = key, value
        if filter then
            to, what = filter(node, key, value)
        end
        if to ~= nil and type(what) ~= "nil" then -- a NULL pointer of LuaJIT equals nil, and is refused
            put(node, to, what, filter, a, b, c)
        end
    end
end

--- Is it a table, and no object of ours?
function trees.is_tree(value)
    return type(value) == "table" and not rawequal(value, trees.DELETE) and not core.isnode(value)
end

--- The value of a node is to be a table.
function trees.refuse_value(node)
    misuse("settree: the value of a node can't be a table: " .. tostring(node))
end

local function refuse_entry(child, value)
    misuse(("settree: a value must be a string or a number, not a %s: %s"):format(typename(value),
        tostring(child)))
end

local function twice(child)
    misuse("settree: two entries of a table mean " .. tostring(child))
end

-- Entries that name one node would be stored in any order: 1 and "1", or keys changed by a filter.
local function check_once(node, tree, key, child, seen)
    if seen then
        local name = key == "__" and child or child:__name() -- the parent itself stands for its own value
        if seen[name] then twice(child) end
        seen[name] = true
    elseif type(key) == "string" then
        local number = tonumber(key)
        if number and rawget(tree, number) ~= nil and node(number) == child then twice(child) end
    end
end

local settree

-- One entry of a table: a value, a subtree, or what is to be deleted.
local function put(node, key, value, filter, above, tree, seen)
    local own = key == "__"
    local child = own and node or node(key)
    check_once(node, tree, key, child, seen)
    if rawequal(value, trees.DELETE) then -- LuaJIT calls a pointer and a table equal
        if own then delete(node) else kill(child) end
    elseif type(value) == "string" or type(value) == "number" then
        set(child, value)
    elseif not trees.is_tree(value) then
        refuse_entry(child, value)
    elseif own then
        trees.refuse_value(node)
    else
        settree(child, value, filter, above)
    end
end

-- above: the tables that this one is in.
function settree(node, tree, filter, above)
    if above[tree] then
        misuse("settree: a table contains itself, at " .. tostring(node))
    end
    above[tree] = true
    trees.each(node, tree, put, filter, above, tree, filter and {})
    above[tree] = nil
end

function trees.settree(node, tree, filter)
    check_node(node)
    trees.check(tree, filter)
    if rawequal(tree, trees.DELETE) then
        kill(node)
    else
        trees.atomically(settree, node, tree, filter, {})
    end
    return node
end

-- ------------------------------------------------------- merge, copy_to, move_to

-- To another database, or between a local variable and a global one: node by node.
local function merge_nodes(to, from)
    local depth = methods.depth(from)
    local own = get(from)
    if own ~= nil then set(to, own) end
    for node, value in methods.walk(from) do
        if value ~= nil then
            set(to({unpack(methods.subsarray(node), depth + 1)}), value)
        end
    end
end

local function copy_nodes(to, from)
    kill(to)
    merge_nodes(to, from)
end

function trees.merge(to, from)
    if not core.merge(to, from) then trees.atomically(merge_nodes, to, from) end
    return to
end

-- C finds `to` first, where it takes what it names for what stands before the ':'.
local function check_target(from, to)
    if core.isnode(from) and not core.isnode(to) then
        misuse("a node was expected, not a " .. typename(to))
    end
end

function trees.copy_to(from, to)
    check_target(from, to)
    if not core.copy(to, from) then trees.atomically(copy_nodes, to, from) end
    return to
end

function trees.move_to(from, to)
    check_target(from, to)
    if not core.move(to, from) then
        trees.atomically(copy_nodes, to, from)
        kill(from)
    end
    return to
end

-- ------------------------------------------------------------------ gettree

-- how: maxdepth; filter; pairs and data of nodes; join(table, value), a child's subtree and value as one.
local function read(node, depth, how)
    local tree = {}
    for child, value, sub in how.pairs(node) do
        local recurse = depth < how.maxdepth and how.data(child) >= 10
        if how.filter then
            value, recurse = how.filter(child, sub, value, recurse, depth)
        end
        if recurse then
            value = how.join(read(node(sub), depth + 1, how), value)
        end
        if sub == "__" and value ~= nil then
            misuse("gettree: in a table __ is a node's value; a filter can leave out " .. tostring(child))
        end
        tree[sub] = value
    end
    return tree
end

--- A method gettree(node, maxdepth, filter), by that join, and `at`: varname, get, data and pairs of nodes.
function trees.reader(at, join)
    return function(node, maxdepth, filter)
        at.varname(node) -- raises if it is none
        maxdepth = maxdepth or math.huge
        if type(maxdepth) ~= "number" then
            misuse("gettree: maxdepth is a number, not a " .. typename(maxdepth))
        end
        trees.check_filter("gettree", filter)
        local value, recurse = at.get(node), maxdepth > 0
        if filter then
            value, recurse = filter(node, "", value, recurse, 0)
        end
        local how = {maxdepth = maxdepth, filter = filter, pairs = at.pairs, data = at.data, join = join}
        local tree = recurse and read(node, 1, how) or {}
        tree.__ = value
        return tree
    end
end

trees.gettree = trees.reader(methods, function(tree, value)
    if next(tree) == nil then return value end
    tree.__ = value
    return tree
end)

return trees
