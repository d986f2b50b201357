--- The class of nodes of the module yottadb: Caret's nodes, but values and subscripts come back as text, and
-- errors are YottaDB's.

local caret = require "caret"
local core = require "caret.core"
local trees = require "caret.trees"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local misuse = require "yottadb.misuse"

local text = core.text
local DELETE = caret.DELETE

local new, class, superclass = caret.inherit(function(...) return database.current().node(...) end)

local node = {new = new, class = class, superclass = superclass}

local delete, kill = superclass.delete, superclass.kill

--- What the methods of trees and locks ask of nodes; long.lua answers for those that can have no key.
local at = {get = superclass.get, set = superclass.set, delete = delete, data = superclass.data,
    name = text.name, varname = superclass.varname, pairs = text.pairs, walk = superclass.walk}
node.at = at

class.incr = text.incr
class.name, class.subsarray = text.name, text.subsarray
class.subscripts, class.pairs = text.subscripts, text.pairs
class.delete_node, class.delete_tree = delete, kill

-- --------------------------------------------------------------------- locks

local MAX_TIMEOUT = errors.constants.YDB_MAX_TIME_NSEC / 1e9
local LONGEST = 255 -- bytes of a subscript of a lock

local function too_long(sub)
    local words = errors.words(errors.constants.YDB_ERR_LOCKSUB2LONG, #sub)
    errors.raise("LOCKSUB2LONG", words .. ",%YDB-I-TEXT, " .. sub)
end

local function is_long(sub) return type(sub) == "string" and #sub > LONGEST end

-- The first of these that is too long for a lock; nil: none is.
local function long_one(subs)
    for _, sub in ipairs(subs) do
        if is_long(sub) then return sub end
    end
end

local function without_long(subs)
    local short = {}
    for i, sub in ipairs(subs) do short[i] = is_long(sub) and "" or sub end
    return short
end

--- Raise if one of these is.
function node.check_lock(subs)
    local sub = long_one(subs)
    if sub then too_long(sub) end
end

--- The same of the address of a lock, which may have no key for that; what else is wrong with it comes first.
function node.check_lock_address(name, ...)
    local list = {...}
    if type(list[1]) == "table" and not list[2] then list = list[1] end
    local sub = long_one(list)
    if not sub then return end
    database.current().node(name, without_long(list))
    too_long(sub)
end

function at.lockable(n)
    local sub = text.over(n, LONGEST)
    if sub then too_long(sub) end
    return n
end

--- A timeout that can be: nil or seconds.
function node.timeout(seconds)
    if type(seconds) == "number" and seconds > MAX_TIMEOUT then
        errors.raise_filled("TIME2LONG", ("%.0f"):format(errors.constants.YDB_MAX_TIME_NSEC))
    end
    return seconds
end

--- Pass on that a lock was got, or raise that it was not.
function node.got(got, message, name)
    if not got then
        error(errors.outcome("YDB_LOCK_TIMEOUT", name == "DEADLOCK" and message or nil), 0)
    end
end

local timeout, got, grab = node.timeout, node.got, superclass.grab

function class.lock_incr(n, seconds)
    misuse.check(1, "lock_incr", "number", seconds)
    got(grab(at.lockable(n), timeout(seconds)))
end
function class.lock(n, seconds)
    misuse.check(1, "lock", "number", seconds)
    at.lockable(n)
    database.release_all()
    got(grab(n, timeout(seconds)))
end
class.grab = class.lock_incr
function class.lock_decr(n) text.release(at.lockable(n)) end
class.release = class.lock_decr

-- --------------------------------------------------------------------- trees

-- What was stored is noted in tables like the tree: {subscript = the table of that child, [SET] = true}.
local SET = {}

local function put(n, value, seen)
    if seen[SET] then
        core.misuse("settree: two entries of the table are the node " .. tostring(n))
    elseif trees.is_tree(value) then
        trees.refuse_value(n)
    end
    seen[SET] = true
    if value == DELETE then at.delete(n) else at.set(n, value) end
end

-- One entry of a table.
local function enter(n, key, value, filter, seen)
    if key == "__" then
        return put(n, value, seen)
    end
    local child = n(key)
    local sub = at.name(child)
    seen[sub] = seen[sub] or {}
    if trees.is_tree(value) then
        trees.each(child, value, enter, filter, seen[sub])
    else
        put(child, value, seen[sub])
    end
end

--- Store a table as the tree below the node; `__` holds a node's own value, DELETE deletes a value.
-- filter(node, key, value) -> key, value may change both; nil leaves the entry out.  A node that would be
-- set twice, as 1 and as "1" or by the filter, is an error.
function class.settree(n, tree, filter)
    at.varname(n) -- raises if it is none
    if core.typename(tree) ~= "table" then misuse.argument(1, "settree", "table", tree) end
    misuse.check(2, "settree", "function", filter)
    trees.each(n, tree, enter, filter, {})
    return n
end

local read = trees.reader(at, function(tree, value)
    tree.__ = value
    return next(tree) ~= nil and tree or nil
end)

-- What a filter says.  One that returns nothing at all, as print, leaves the way as it is.
local function said(recurse, ...)
    if select("#", ...) == 0 then return nil, recurse end
    return ...
end

--- The tree below the node as a table: its children, and maxdepth levels below them.
-- A node with a tree is a table with its value in `__`.
-- filter(node, sub, value, recurse, depth) -> value, recurse may change both; first it is called for the
-- node itself, with depth 0 and "" for a subscript.  One that returns nothing at all sees the whole tree.
function class.gettree(n, maxdepth, filter)
    misuse.check(1, "gettree", "number", maxdepth)
    misuse.check(2, "gettree", "function", filter)
    local ask = filter and function(child, sub, value, recurse, depth)
        return said(recurse, filter(child, sub, value, recurse, depth))
    end
    return read(n, maxdepth and maxdepth + 1, ask)
end

--- ZWR text of the node and everything below it, maxlines lines at most (30); nil: there is nothing.
function class.dump(n, maxlines)
    misuse.check(1, "dump", "number", maxlines)
    local lines = {}
    local function add(child, value)
        if value == nil then return true end
        local more = #lines < (maxlines or 30)
        lines[#lines + 1] = more and tostring(child) .. "=" .. text.str2zwr(value, database.utf8) or
            ("...etc.   -- stopped at %d lines; dump(n) gives n"):format(#lines)
        return more
    end
    if add(n, at.get(n)) then
        for child, value in at.walk(n) do
            if not add(child, value) then break end
        end
    end
    return lines[1] and table.concat(lines, "\n")
end

--- All methods by name, as the program may call them: name and __name.
node.methods = {}
for _, named in ipairs {core.numbers, core.methods, class} do
    for name in (named == class and getmetatable(class).__pairs or pairs)(named) do
        node.methods[name], node.methods["__" .. name] = class[name], class[name]
    end
end
misuse.add(node.methods, true)
misuse.ours(caret.inherit)
misuse.ours(trees.each)

return node
