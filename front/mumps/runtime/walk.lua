-- walk.lua - through the tree of a local array: $QUERY, copies, MERGE of two locals.

local A = require "mumps.runtime.array"
local order = require "mumps.runtime.order"
local family, list = require "mumps.runtime.arity".family, require "mumps.runtime.arity".list

local walk = {}

local type, pairs = type, pairs
local first_of, following, before_in_tree = A.first_of, A.following, A.before_in_tree
local key = order.key

-- ------------------------------------------------------------------- $QUERY

-- The first node with a value in array a, below n subscripts: how many it has; subs get them.
-- false: a is empty, which none is.
function walk.first_value(a, subs, n)
    while a do
        local s = first_of(a)
        n = n + 1
        subs[n] = s
        if a.k[s] ~= nil then return n end
        a = a.c[s]
    end
    return false
end

-- The last node of a: the last child of the last child, or that one itself.
function walk.last_value(a, subs, n)
    while true do
        local s = before_in_tree(a, nil)
        n = n + 1
        subs[n] = s
        local below = a.c and a.c[s]
        if not below then return n end
        a = below
    end
end

local first_value, last_value = walk.first_value, walk.last_value

-- The arrays on the way to n subscripts, as far as there are any: t[i] has subs[i] as a key, perhaps.
local function arrays_of(a, subs, n)
    local t = {a}
    for i = 1, n do
        local c = t[i] and t[i].c
        t[i + 1] = c and c[subs[i]] or false
        if not t[i + 1] then break end
    end
    return t
end

local function keys_of(n, subs)
    for i = 1, n do
        if type(subs[i]) == "string" then subs[i] = (i < n and A.read_key or key)(subs[i]) end
    end
    return subs
end

-- How many subscripts the node after that one has, which are in subs then; nil: there is none.
function walk.after(a, subs, n)
    if not a then return nil end
    local t = arrays_of(a, subs, n)
    if t[n + 1] then return first_value(t[n + 1], subs, n) end
    for i = n, 1, -1 do
        local s = t[i] and following(t[i], subs[i])
        if s ~= nil and s ~= false then
            subs[i] = s
            if t[i].k[s] ~= nil then return i end
            return first_value(t[i].c[s], subs, i)
        end
    end
    return nil
end

-- The same of the node before; 0: the variable itself, if that has a value.  On the way back from the empty
-- subscript: the last of all.
function walk.before(a, subs, n)
    local t = arrays_of(a, subs, n)
    if subs[n] == "" and t[n] then return last_value(t[n], subs, n - 1) end
    for i = n, 1, -1 do
        local array = t[i]
        local s
        if array then s = before_in_tree(array, subs[i]) end
        if s ~= nil then
            subs[i] = s
            local below = array.c and array.c[s]
            if below then return last_value(below, subs, i) end
            return i
        end
        if i > 1 and t[i - 1] and t[i - 1].k[subs[i - 1]] ~= nil then return i - 1 end
    end
    return 0
end

local function name_of(X, n, subs)
    local names = require "mumps.values.names"
    return names.checked(names.name(X.name, n, subs))
end

local function query(X, n, ...)
    local subs = keys_of(n, {...})
    local found = walk.after(X.c.a, subs, n)
    return found and name_of(X, found, subs) or ""
end

local function queryback(X, n, ...)
    local subs, container = keys_of(n, {...}), X.c
    if n == 0 then return "" end
    local found = container.a and walk.before(container.a, subs, n) or 0
    if found == 0 and container.v == nil and not container.b then return "" end
    return name_of(X, found, subs)
end

local function caller(n)
    return "function(" .. list(n, "s", "X") .. ") return _call(" .. list(n, "s", "X, " .. n) .. ") end"
end
A.query = family(caller, {call = query})
A.queryback = family(caller, {call = queryback})

-- ------------------------------------------------------------------- copies

local function copy(a)
    if not a then return false end
    local k, c = {}, false
    for s, v in pairs(a.k) do k[s] = v end
    if a.c then
        c = {}
        for s, below in pairs(a.c) do c[s] = copy(below) end
    end
    return {k = k, c = c, lo = a.lo, hi = a.hi, nums = a.nums and true, strs = a.strs and true, n = a.n}
end
A.copy = copy

-- Add all of `from` to `to`, which is another array and no part of it.
local function merge(to, from)
    for s, v in pairs(from.k) do
        if to.alias then A.forget_alias(to, s) end
        A.put(to, s, v)
    end
    if not from.c then return end
    for s, below in pairs(from.c) do
        local there = to.c and to.c[s]
        if there then
            merge(there, below)
        else
            A.put_array(to, s, copy(below))
        end
    end
end

-- The name of the local variable that comes after (before) a name and has data.
function A.next_name(S, name, dir)
    local found = ""
    for other, slot in pairs(S) do
        local c = slot.c
        if c.v ~= nil or c.a or c.b then
            local after = dir > 0 and other > name or dir < 0 and other < name
            if after and (found == "" or (other < found) == (dir > 0)) then found = other end
        end
    end
    return found
end

-- The array below X(subs[1..n]), or false.
function A.below(X, n, subs)
    local a = X.c.a
    for i = 1, n do
        local s = subs[i]
        if type(s) == "string" then s = key(s) end
        local c = a and a.c
        a = c and c[s] or false
    end
    return a
end

-- Add a copy of an array below X(subs[1..n]).
function A.merge_at(X, n, subs, from)
    for i = 1, n do
        if subs[i] == "" then A.set_key("") end
    end
    local container = X.c
    from = copy(from)
    local a = container.a
    if n == 0 and not a then
        container.a = from
        return
    end
    if not a then
        a = A.new()
        container.a = a
    end
    for i = 1, n do
        local s = subs[i]
        if type(s) == "string" then s = key(s) end
        local below = a.c and a.c[s]
        if not below then
            below = i == n and from or A.new()
            A.put_array(a, s, below)
        end
        a = below
    end
    if a ~= from then merge(a, from) end
end

return walk
