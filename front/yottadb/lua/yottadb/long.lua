--- Local variables at addresses that are too long for a key of the engine: up to 1 MiB for each subscript.
--
-- Their values are in one list, sorted as the engine sorts.  C asks here about an address that it can't make
-- a key of (too_long), and gets a place: the name, a table of subscripts, and the node, if there can be one.
-- What looks at more than one node of a local, at siblings or what is below, asks here as soon as there are
-- any such values (long.any), and then what the engine has and what the list has is merged.

local core = require "caret.core"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local misuse = require "yottadb.misuse"
local node = require "yottadb.node"

local text, super, class = core.text, node.superclass, node.class
local type, select = type, select
local unpack = table.unpack or unpack

local long = {any = false}
local list = {}   -- {name =, value =, [1] = subscript, ...}
local places = {} -- the metatable of places
local NAME, SUBS, SHORT = {}, {}, {} -- their fields; any string is a subscript
local methods = {}
local SCRATCH = "%" .. ("z"):rep(30) -- a local variable for a moment, for arithmetic

-- --------------------------------------------------------------------- order

-- Empty, numbers, other strings.
local function kind(s)
    if s == "" then return 0 end
    return #s < 64 and text.str2zwr(s, false) == s and 1 or 2
end

-- Of numbers in canonical form, without their signs.
local function smaller(a, b)
    local whole_a, part_a = a:match "^%-?(%d*)%.?(%d*)$"
    local whole_b, part_b = b:match "^%-?(%d*)%.?(%d*)$"
    if #whole_a ~= #whole_b then return #whole_a < #whole_b end
    if whole_a ~= whole_b then return whole_a < whole_b end
    return part_a < part_b
end

-- Does subscript a come before b?
local function before(a, b)
    local kind_a, kind_b = kind(a), kind(b)
    if kind_a ~= kind_b then return kind_a < kind_b end
    if kind_a ~= 1 then return a < b end
    local negative_a, negative_b = a:sub(1, 1) == "-", b:sub(1, 1) == "-"
    if negative_a ~= negative_b then return negative_a end
    if negative_a then a, b = b, a end
    return smaller(a, b)
end

-- Of lists of subscripts, the first n of them at most: -1, 0, 1.  A node comes before what is below.
local function compare(a, b, n)
    for i = 1, math.min(n, math.max(#a, #b)) do
        if a[i] == nil then return -1 end
        if b[i] == nil then return 1 end
        if a[i] ~= b[i] then return before(a[i], b[i]) and -1 or 1 end
    end
    return 0
end

-- The first of the list that is at or after (or only after) the place, seen by its first n subscripts: what
-- is below is at the place then.
local function position(place, n, after)
    local low, high = 1, #list + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        local entry = list[middle]
        local order = entry.name == place[NAME] and compare(entry, place[SUBS], n) or
            entry.name < place[NAME] and -1 or 1
        if order < 0 or after and order == 0 then low = middle + 1 else high = middle end
    end
    return low
end

-- Is it at the place or below, as far as the first n subscripts tell?
local function under(entry, place, n)
    return entry ~= nil and entry.name == place[NAME] and #entry >= n and compare(entry, place[SUBS], n) == 0
end

local function entry_of(place)
    local i = position(place, math.huge, false)
    local entry = list[i]
    local found = entry and entry.name == place[NAME] and compare(entry, place[SUBS], math.huge) == 0
    return found and entry or nil, i
end

-- -------------------------------------------------------------------- places

local function is_place(value) return type(value) == "table" and getmetatable(value) == places end
long.is_place = is_place

local function new(name, subs, short)
    return setmetatable({[NAME] = name, [SUBS] = subs, [SHORT] = short}, places)
end

-- A node of it, or what C makes of an address too long: a place.
local function node_of(name, subs) return (node.new(name, subs or {})) end

-- A subscript as text.
local function add(subs, sub, i)
    if type(sub) == "number" then
        sub = text.name(node_of("x", {sub}))
    elseif type(sub) ~= "string" then
        misuse.argument(i, "node", "string", sub)
    end
    if #sub > errors.constants.YDB_MAX_STR then
        errors.raise_filled("INVSTRLEN", #sub, errors.constants.YDB_MAX_STR)
    end
    subs[#subs + 1] = sub
end

local function place_of(name, ...)
    local subs = {}
    if core.isnode(name) then
        name, subs = super.varname(name), text.subsarray(name)
    elseif is_place(name) then
        name, subs = name[NAME], {unpack(name[SUBS])}
    end
    for i = 1, select("#", ...) do
        local arg = select(i, ...)
        if type(arg) == "table" and not core.isnode(arg) then
            for _, sub in ipairs(arg) do add(subs, sub, i + 1) end
        else
            add(subs, arg, i + 1)
        end
    end
    if #subs > errors.constants.YDB_MAX_SUBS then errors.raise_filled "MAXNRSUBSCRIPTS" end
    return new(name, subs)
end

--- What is to be done at that node by us: its place, or nil.
function long.at(at)
    if is_place(at) then return at end
    if not long.any then return nil end
    local name = super.varname(at)
    return name:sub(1, 1) ~= "^" and new(name, text.subsarray(at), at) or nil
end

-- -------------------------------------------------------------------- values

function methods.get(place, default)
    if place[SHORT] then return super.get(place[SHORT], default) end
    local entry = entry_of(place)
    if entry then return entry.value end
    return default
end

function methods.delete(place)
    if place[SHORT] then return super.delete(place[SHORT]) end
    local entry, i = entry_of(place)
    if entry then table.remove(list, i) end
end
methods.delete_node = methods.delete

-- What is asked of other nodes of locals, too, from now on.
local function begin()
    long.any = true
    for _, name in ipairs {"kill", "delete_tree", "data", "has_tree", "subscripts", "pairs"} do
        local plain, ours = class[name], methods[name]
        class[name] = function(n, ...)
            local place = long.at(n)
            if place then return ours(place, ...) end
            return plain(n, ...)
        end
    end
end

local function put(place, value)
    local entry, i = entry_of(place)
    if not entry then
        entry = {name = place[NAME], unpack(place[SUBS])}
        table.insert(list, i, entry)
        if not long.any then begin() end
    end
    entry.value = value
end

-- f(a local variable for a moment)
local function by_scratch(value, f)
    local scratch = node_of(SCRATCH)
    if value ~= nil then super.set(scratch, value) end
    local result = f(scratch)
    super.kill(scratch)
    return result
end

function methods.set(place, value)
    if place[SHORT] then return super.set(place[SHORT], value) end
    if value == nil then
        methods.delete(place)
    else
        put(place, by_scratch(value, super.get))
    end
    return value
end

function methods.incr(place, by)
    if place[SHORT] then return text.incr(place[SHORT], by) end
    local sum = by_scratch(methods.get(place), function(scratch) return text.incr(scratch, by) end)
    put(place, sum)
    return sum
end

function methods.data(place)
    local depth, got = #place[SUBS], place[SHORT] and super.data(place[SHORT]) or 0
    local i = position(place, math.huge, true)
    if entry_of(place) then got = got + 1 end
    return got < 10 and under(list[i], place, depth) and got + 10 or got
end

function methods.has_value(place) return methods.data(place) % 10 == 1 end
function methods.has_tree(place) return methods.data(place) >= 10 end

function methods.kill(place)
    if place[SHORT] then super.kill(place[SHORT]) end
    local i = position(place, #place[SUBS], false)
    while under(list[i], place, #place[SUBS]) do table.remove(list, i) end
end
methods.delete_tree = methods.kill

-- -------------------------------------------------------------------- moving

-- The node at the longest beginning of the address for which there is one; its last subscript is cut where
-- it has to be.
local function cut(place, most)
    local subs = {}
    for i = 1, most do
        subs[i] = place[SUBS][i]
        local at = node_of(place[NAME], subs)
        while is_place(at) do
            subs[i] = subs[i]:sub(1, math.floor(#subs[i] / 2))
            at = node_of(place[NAME], subs)
        end
        if subs[i] ~= place[SUBS][i] then break end
    end
    return node_of(place[NAME], subs)
end

-- What step(node, back) finds from the cut address on, this side of the place: not_yet(what) tells.
local function beyond(start, own, back, step, next_of, not_yet)
    if not back then
        local found = step(start, false)
        while found and not_yet(found) do found = step(next_of(found), false) end
        return found
    end
    local last, found = own, step(start, false)
    while found and not_yet(found) do last, found = found, step(next_of(found), false) end
    if last == nil then last = step(start, true) end
    return last
end

local function engine_sibling(place, back)
    if place[SHORT] then return (text.sibling(place[SHORT], back)) end
    local n, start = #place[SUBS], cut(place, #place[SUBS])
    if super.depth(start) < n then return nil end -- the parent is too long, too
    local last, parent = place[SUBS][n], text.subsarray(start)
    return beyond(start, super.data(start) > 0 and text.name(start) or nil, back, text.sibling, function(sub)
        parent[n] = sub
        return node_of(place[NAME], parent)
    end, function(sub) return before(sub, last) end)
end

local function listed_sibling(place, back)
    local n = #place[SUBS]
    local from_end = back and place[SUBS][n] == ""
    local i = position(place, from_end and n - 1 or n, not back or from_end) - (back and 1 or 0)
    local entry = list[i]
    if n == 0 then return entry and entry.name end
    local sub = under(entry, place, n - 1) and #entry >= n and entry[n] or nil
    return (sub ~= "" or not back) and sub or nil -- the empty one is the end of the way back
end

--- The subscript after (before) the place's own among its siblings, or the name of a variable.
function long.sibling(place, back)
    local a, b = engine_sibling(place, back), listed_sibling(place, back)
    if a == nil or b == nil or a == b then return a or b end
    if #place[SUBS] == 0 then return (a < b) == not back and a or b end
    return before(a, b) == not back and a or b
end

local function engine_node(place, back)
    local function step(at, towards) return ((towards and text.node_previous or text.node_next)(at)) end
    if place[SHORT] then return step(place[SHORT], back) end
    local start = cut(place, #place[SUBS])
    return beyond(start, super.has_value(start) and text.subsarray(start) or nil, back, step, function(subs)
        return node_of(place[NAME], subs)
    end, function(subs) return compare(subs, place[SUBS], math.huge) < 0 end)
end

--- The subscripts of the node with a value after (before) the place, or nil.
function long.node(place, back)
    local a = engine_node(place, back)
    local entry = list[position(place, math.huge, not back) - (back and 1 or 0)]
    local b = entry and entry.name == place[NAME] and {unpack(entry)} or nil
    if a == nil or b == nil then return a or b end
    return (compare(a, b, math.huge) < 0) == not back and a or b
end

--- Iterator over the siblings; over the children.
function long.siblings(place, back)
    local at = place
    return function()
        local sub = long.sibling(at, back)
        if sub == nil then return nil end
        at = at:beside(sub)
        return sub
    end
end

function methods.subscripts(place, back)
    local subs = {unpack(place[SUBS])}
    subs[#subs + 1] = ""
    return long.siblings(long.at(node_of(place[NAME], subs)), back)
end

function methods.pairs(place, back)
    local sibling, subs = methods.subscripts(place, back), methods.subsarray(place)
    return function()
        local sub = sibling()
        if sub == nil then return nil end
        subs[#place[SUBS] + 1] = sub
        local found = node_of(place[NAME], subs)
        return found, node.at.get(found), sub
    end
end

-- Iterator over the nodes below that have values: the node, its value.
local function walk(place)
    local at = place
    return function()
        local subs = long.node(at, false)
        if not subs or compare(subs, place[SUBS], #place[SUBS]) ~= 0 then return nil end
        local found = node_of(place[NAME], subs)
        at = long.at(found)
        return found, methods.get(at)
    end
end

-- What methods of trees and locks ask, of any node (node.at).
local function asked_of_places(name, ours)
    local plain = node.at[name]
    node.at[name] = function(n, ...)
        if is_place(n) then return ours(n, ...) end
        return plain(n, ...)
    end
end

-- The same of what is below a node, as soon as something long may be.
local function asked_below(name, ours)
    local plain = node.at[name]
    node.at[name] = function(n, ...)
        local place = long.at(n)
        if place then return ours(place, ...) end
        return plain(n, ...)
    end
end

-- ----------------------------------------------------------------- addresses

function methods.name(place) return place[SUBS][#place[SUBS]] end
function methods.varname(place) return place[NAME] end
function methods.depth(place) return #place[SUBS] end
function methods.subsarray(place) return {unpack(place[SUBS])} end
function methods.ismutable() return false end
function methods.repr(place)
    local words = {}
    for i, sub in ipairs(place[SUBS]) do words[i] = text.str2zwr(sub, false) end
    return place[NAME] .. "(" .. table.concat(words, ",") .. ")"
end

for _, name in ipairs {"get", "set", "delete", "name", "varname"} do asked_of_places(name, methods[name]) end
asked_of_places("lockable", function(place)
    node.check_lock(place[SUBS])
    errors.raise_too_long(place[NAME])
end)
asked_below("data", methods.data)
asked_below("pairs", methods.pairs)
asked_below("walk", walk)
for _, name in ipairs {"settree", "gettree", "dump", "lock", "lock_incr", "grab", "lock_decr", "release"} do
    methods[name] = class[name]
end

-- Its sibling of that name.
function methods.beside(place, sub)
    if #place[SUBS] == 0 then return long.at(node_of(sub)) end
    local subs = methods.subsarray(place)
    subs[#subs] = sub
    return long.at(node_of(place[NAME], subs))
end

local function child(place, ...) return (place_of(place[NAME], place[SUBS], ...)) end

function places.__index(place, key)
    if key == "__" then return methods.get(place) end
    if key == SHORT then return nil end
    local method = type(key) == "string" and (methods[key] or methods[key:match "^__(.+)"])
    return method or child(place, key)
end

function places.__newindex(place, key, value)
    if key ~= "__" then core.refuse_assignment(place, key) end
    methods.set(place, value)
end

places["caret.place"] = true -- it may be where a node is expected (core.retype)
places.__call, places.__tostring = child, methods.repr
function places.__pairs(place) return methods.pairs(place) end
function places.__eq(a, b) return a[NAME] == b[NAME] and compare(a[SUBS], b[SUBS], math.huge) == 0 end

-- ------------------------------------------------------------- the program's

--- What C asks: what a function answers about an address too long for a key.  Its name may be a place.
function long.too_long(name, ...)
    if name == "node" then return place_of(...) end
    if name ~= "set" then return methods[name](place_of(...)) end
    local args, n = {...}, select("#", ...)
    return methods.set(place_of(unpack(args, 1, n - 1)), args[n])
end

--- Delete those of all variables but that set of names.
function long.delete_others(stay)
    for i = #list, 1, -1 do
        if not stay[list[i].name] then table.remove(list, i) end
    end
end

--- fn, beginning with what those variables are now: "*" for all.
function long.keeping(names, fn)
    local named, saved = {}, {}
    for _, name in ipairs(names) do named[name] = true end
    local function is_named(entry) return named["*"] or named[entry.name] end
    for i, entry in ipairs(list) do
        if is_named(entry) then saved[#saved + 1] = {entry, list[i].value} end
    end
    return function(...)
        for i = #list, 1, -1 do
            if is_named(list[i]) then table.remove(list, i) end
        end
        for _, pair in ipairs(saved) do put(new(pair[1].name, pair[1]), pair[2]) end
        return fn(...)
    end
end

database.asked.too_long = long.too_long
misuse.ours(place_of)

return long
