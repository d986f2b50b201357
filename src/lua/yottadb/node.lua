--- The class of nodes of the module yottadb: Caret's nodes, but values and subscripts come back as text, and
-- errors are YottaDB's.

local caret = require "caret"
local core = require "caret.core"
local database = require "yottadb.database"
local errors = require "yottadb.errors"

local text, misuse = core.text, core.misuse
local DELETE = caret.DELETE

local new, class, superclass = caret.inherit(function(...) return database.current().node(...) end)

local node = {new = new, class = class, superclass = superclass}

local get, set, delete, kill = superclass.get, superclass.set, superclass.delete, superclass.kill
local data = superclass.data

class.incr = text.incr
class.name, class.subsarray = text.name, text.subsarray
class.subscripts, class.pairs = text.subscripts, text.pairs
class.delete_node, class.delete_tree = delete, kill

-- --------------------------------------------------------------------- locks

local MAX_TIMEOUT = errors.constants.YDB_MAX_TIME_NSEC / 1e9

--- A timeout that can be: nil or seconds.
function node.timeout(seconds)
    if type(seconds) == "number" and seconds > MAX_TIMEOUT then
        errors.raise("TIME2LONG", ("a timeout of %s seconds is over %s"):format(seconds, MAX_TIMEOUT))
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

function class.lock_incr(n, seconds) got(grab(n, timeout(seconds))) end
function class.lock(n, seconds)
    database.release_all()
    got(grab(n, timeout(seconds)))
end
class.grab = class.lock_incr
class.lock_decr, class.release = text.release, text.release

-- --------------------------------------------------------------------- trees

local function check_filter(name, filter)
    if filter ~= nil and type(filter) ~= "function" then
        misuse(("%s: the filter is a function, not a %s"):format(name, type(filter)))
    end
end

-- What was stored is noted in tables like the tree: {subscript = the table of that child, [SET] = true}.
local SET = {}

local function put(n, value, seen)
    if seen[SET] then
        misuse("settree: two entries of the table are the node " .. tostring(n))
    elseif type(value) == "table" and value ~= DELETE then
        misuse("settree: the value of a node can't be a table: " .. tostring(n))
    end
    seen[SET] = true
    if value == DELETE then delete(n) else set(n, value) end
end

local enter

local function settree(n, tree, filter, seen)
    for key, value in pairs(tree) do
        if filter then
            key, value = filter(n, key, value)
        end
        if key ~= nil and value ~= nil then
            enter(n, key, value, filter, seen)
        end
    end
end

-- One entry of a table.
function enter(n, key, value, filter, seen)
    if key == "__" then
        return put(n, value, seen)
    end
    local child = n(key)
    local sub = text.name(child)
    seen[sub] = seen[sub] or {}
    if type(value) == "table" and value ~= DELETE then
        settree(child, value, filter, seen[sub])
    else
        put(child, value, seen[sub])
    end
end

--- Store a table as the tree below the node; `__` holds a node's own value, DELETE deletes a value.
-- filter(node, key, value) -> key, value may change both; nil leaves the entry out.  A node that would be
-- set twice, as 1 and as "1" or by the filter, is an error.
function class.settree(n, tree, filter)
    if type(tree) ~= "table" then
        misuse("settree needs a table, not a " .. type(tree))
    end
    check_filter("settree", filter)
    settree(n, tree, filter, {})
    return n
end

local function gettree(n, maxdepth, filter, depth, value)
    local tree = {__ = value}
    for child, below, sub in text.pairs(n) do
        local recurse = depth < maxdepth and data(child) >= 10
        if filter then
            below, recurse = filter(child, sub, below, recurse, depth)
        end
        if recurse then
            below = gettree(n(sub), maxdepth, filter, depth + 1, below)
            below = next(below) ~= nil and below or nil
        end
        if sub == "__" and below ~= nil then
            misuse("gettree: in a table __ is a node's value; a filter can leave out " .. tostring(child))
        end
        tree[sub] = below
    end
    return tree
end

--- The tree below the node, maxdepth levels of it, as a table.
-- A node with a tree is a table with its value in `__`.
-- filter(node, sub, value, recurse, depth) -> value, recurse may change both; first it is called for the
-- node itself, with depth 0 and "" for a subscript.
function class.gettree(n, maxdepth, filter)
    maxdepth = maxdepth or math.huge
    if type(maxdepth) ~= "number" then
        misuse("gettree: maxdepth is a number, not a " .. type(maxdepth))
    end
    check_filter("gettree", filter)
    local value, recurse = get(n), maxdepth > 0
    if filter then
        value, recurse = filter(n, "", value, recurse, 0)
    end
    return recurse and gettree(n, maxdepth, filter, 1, value) or {__ = value}
end

return node
