-- array.lua - local variables with subscripts.
--
--     slot X -> container X.c {v = value, a = array or false} -> array
--     array = {k = {[key] = value}, c = {[key] = array of what is below} or false,
--              lo, hi    the integers that are keys are just those from lo to hi; hi is NaN: they are not
--              nums      the other numbers, when hi is NaN: true, or their index
--              strs      strings: false if there are none, true, or their index
--              n         how many keys there are but those from lo to hi}
--
-- A key is there if it is in k or in c. No array in c is empty, nor is a container's. Integers in sequence,
-- as most arrays have them, need no index: next is + 1. Indexes are made when order is first asked for
-- (order.lua).
--
-- The functions are families by the number of subscripts (arity.lua): get[2](X, 1, "a").

local arity = require "mumps.runtime.arity"
local order = require "mumps.runtime.order"

local A = {}

local key, numeric = order.key, order.numeric
local insert, take, make = order.insert, order.remove, order.make
local type, pairs, clear = type, pairs, require "table.clear"
local NAN = 0 / 0
local list, each, family = arity.list, arity.each, arity.family

-- Others' functions are looked up when they are needed: this file can be loaded before them.
local function fail(...) return require "mumps.runtime.error".fail(...) end
function A.name(X, n, ...)
    local names = require "mumps.values.names"
    return names.checked(names.name(X.name, n, {...}))
end

-- As errors have it: X(1,a), without quotes.
function A.plain_name(name, n, subs)
    if n == 0 then return name end
    local text = {}
    for i = 1, n do
        local sub = subs[i]
        text[i] = type(sub) == "number" and ("%.0f"):format(sub) or sub
    end
    return name .. "(" .. table.concat(text, ",") .. ")"
end

local function undefined(X, n, ...)
    if require "mumps.runtime.symbols".lenient then return "" end
    return fail("LVUNDEF", A.plain_name(X.name, n, {...}))
end

local function sum(a, b) return require "mumps.values.number".add(a, b) end

-- The value of a container in which a growing string waits.
local function value_of(container) return require "mumps.runtime.symbols".value_of(container) end

-- ------------------------------------------------------------------- keys

-- VIEW's LVNULLSUBS: may a subscript be empty?  1 yes, 0 not where something is set, 2 only as the last one
-- of $ORDER() and $QUERY().
A.rules = {empty = 1}
local rules = A.rules

local set_key = order.keys(function()
    if rules.empty ~= 1 then return fail("LVNULLSUBS") end
    return ""
end)

local read_key = order.keys(function()
    if rules.empty == 2 then return fail("LVNULLSUBS") end
    return ""
end)

A.set_key, A.read_key = set_key, read_key

-- Arrays that nobody has any more, empty.
local spare, MOST_SPARE, LARGEST_SPARE = {n = 0}, 16, 256

local function new()
    local n = spare.n
    if n > 0 then
        spare.n = n - 1
        return spare[n]
    end
    return {k = {}, c = false, lo = 1, hi = 0, nums = false, strs = false, n = 0}
end
A.new = new

-- The NEW of a variable ends that had this array, alone: integers in sequence are cleared and used again.
function A.reuse(a)
    if a.n > 0 or a.hi ~= a.hi or a.c or a.alias then return end
    if a.hi - a.lo >= LARGEST_SPARE or spare.n == MOST_SPARE then return end
    clear(a.k)
    a.lo, a.hi = 1, 0
    spare.n = spare.n + 1
    spare[spare.n] = a
end

require "mumps.runtime.symbols".reuse = A.reuse

local function is_empty(a)
    return a.n == 0 and a.lo > a.hi
end

-- The integers are not in sequence any more.
local function scatter(a)
    if a.lo <= a.hi then a.n = a.n + (a.hi - a.lo + 1) end
    a.hi, a.nums = NAN, true
end

local function add_number(a, s)
    if a.hi == a.hi then scatter(a) end
    a.n = a.n + 1
    if a.nums ~= true then insert(a.nums, s) end
end

local function add_text(a, s)
    if s ~= "" and numeric(s) then return add_number(a, s) end
    a.n = a.n + 1
    if s == "" then return end
    if not a.strs then
        a.strs = true
    elseif a.strs ~= true then
        insert(a.strs, s)
    end
end

-- There will be something at s, which k does not have.
local function added(a, s)
    local c = a.c
    if c and c[s] then return end
    if type(s) == "string" then return add_text(a, s) end
    local hi = a.hi
    if s == hi + 1 then
        a.hi = s
    elseif s == a.lo - 1 and hi == hi then
        a.lo = s
    elseif hi < a.lo then
        a.lo, a.hi = s, s
    else
        add_number(a, s)
    end
end

-- Set the value of a key; the array below it, where there is none.
function A.put(a, s, v)
    if a.k[s] == nil then added(a, s) end
    a.k[s] = v
end

function A.put_array(a, s, below)
    if a.k[s] == nil then added(a, s) end
    if not a.c then a.c = {} end
    a.c[s] = below
end

-- When the last of them is gone, they begin anew.
local function renew(a)
    if a.n == 0 then a.lo, a.hi, a.nums, a.strs = 1, 0, false, false end
end

local function remove_text(a, s)
    a.n = a.n - 1
    if s == "" then return end
    local index = numeric(s) and a.nums or a.strs
    if type(index) == "table" then take(index, s) end
end

-- There is nothing at s any more, in k nor in c.
local function removed(a, s)
    if type(s) == "string" then
        remove_text(a, s)
        if a.hi ~= a.hi then renew(a) end
        return
    end
    if a.hi == a.hi then
        if s == a.hi then
            a.hi = s - 1
            return
        elseif s == a.lo then
            a.lo = s + 1
            return
        end
        scatter(a)
    end
    a.n = a.n - 1
    if a.nums ~= true then take(a.nums, s) end
    renew(a)
end

-- Alias containers among what is removed: alias.lua.
local function forget_alias(a, s)
    local container = a.alias and a.alias[s]
    if container then
        a.alias[s] = nil
        require "mumps.runtime.symbols".unshare(container)
    end
end

A.forget_alias = forget_alias

-- Is there any alias container in this process?
local aliases = require "mumps.runtime.symbols".aliases
A.aliases = aliases

-- Remove what is at s, with all below it or without.
local function remove(a, s, below)
    local k, c = a.k, a.c
    if aliases.any then
        forget_alias(a, s)
        if below and c and c[s] then aliases.forget(c[s]) end
    end
    local child = c and c[s]
    if k[s] == nil and not child then return end
    k[s] = nil
    if child then
        if not below then return end
        c[s] = nil
    end
    removed(a, s)
end

-- -------------------------------------------------------------------- order

local function collect(a, wanted)
    local keys, n, mixed = {}, 0, false
    local function note(s)
        local is_number = type(s) == "number" or s ~= "" and numeric(s)
        if s ~= "" and is_number == wanted then
            n = n + 1
            keys[n] = s
            mixed = mixed or wanted and type(s) == "string"
        end
    end
    for s in pairs(a.k) do note(s) end
    if a.c then
        local k = a.k
        for s in pairs(a.c) do
            if k[s] == nil then note(s) end
        end
    end
    return make(keys, wanted and "number" or "string", mixed)
end

local function numbers(a)
    local index = a.nums
    if index == true then
        index = collect(a, true)
        a.nums = index
    end
    return index
end

local function strings(a)
    local index = a.strs
    if index == true then
        index = collect(a, false)
        a.strs = index
    end
    return index
end

local function first_string(a)
    local index = strings(a)
    return index and order.first(index)
end

-- The greatest integer that is not above a number that is a string, and so not one itself, or far out.
local function floor_of(text)
    local sign, whole, fraction = text:match "^(%-?)(%d*)%.?(%d*)$"
    local n = tonumber(whole) or 0
    if sign == "" then return n end
    return fraction == "" and -n or -n - 1
end

-- The first number after s, which is a number or "" (before all of them); nil: none.
local function number_after(a, s)
    if a.hi ~= a.hi then
        local index = numbers(a)
        if s == "" then return order.first(index) end
        return order.after(index, s)
    end
    if a.lo > a.hi then return nil end
    if s == "" then return a.lo end
    if type(s) == "string" then s = floor_of(s) end
    if s < a.lo then return a.lo end
    if s < a.hi then return s + 1 end
    return nil
end

local function number_before(a, s)
    if a.hi ~= a.hi then
        local index = numbers(a)
        if s == nil then return order.last(index) end
        return order.before(index, s)
    end
    if a.lo > a.hi then return nil end
    if s == nil then return a.hi end
    if type(s) == "string" then s = floor_of(s) + 1 end
    if s > a.hi then return a.hi end
    if s > a.lo then return s - 1 end
    return nil
end

local function is_number(s) return type(s) == "number" or s == "" or numeric(s) end

-- The key after s; nil: there is none.
local function following(a, s)
    if is_number(s) then
        local next = number_after(a, s)
        if next ~= nil then return next end
        return first_string(a) or nil
    end
    local index = strings(a)
    return index and order.after(index, s) or nil
end

-- The key before s, or the last one if s is ""; never the empty string.
local function preceding(a, s)
    if s == "" then
        local index = strings(a)
        local last = index and order.last(index)
        if last then return last end
        return number_before(a, nil)
    end
    if is_number(s) then return number_before(a, s) end
    local index = strings(a)
    local previous = index and order.before(index, s)
    if previous then return previous end
    return number_before(a, nil)
end

-- In the order of the tree, where the empty subscript is first.
local function first_of(a)
    if a.k[""] ~= nil or a.c and a.c[""] then return "" end
    return following(a, "")
end

local function last_of(a)
    local last = preceding(a, "")
    if last ~= nil then return last end
    if a.k[""] ~= nil or a.c and a.c[""] then return "" end
    return nil
end

-- s nil: the last of all.
local function before_in_tree(a, s)
    if s == "" then return nil end
    if s == nil then return last_of(a) end
    local previous
    if is_number(s) then previous = number_before(a, s) else previous = preceding(a, s) end
    if previous == nil and (a.k[""] ~= nil or a.c and a.c[""]) then return "" end
    return previous
end

A.first_of, A.following, A.preceding, A.before_in_tree = first_of, following, preceding, before_in_tree

local function next_key(a, s)
    local next = following(a, s)
    if next == nil then return "" end
    return next
end

local function prev_key(a, s)
    local previous = preceding(a, s)
    if previous == nil then return "" end
    return previous
end

-- --------------------------------------------------------- reading and writing

local env = {key = key, set_key = set_key, read_key = read_key, type = type, new = new, added = added,
             removed = removed, remove = remove,
             undefined = undefined, value_of = value_of, next_key = next_key, prev_key = prev_key,
             is_empty = is_empty, aliases = aliases, forget_alias = forget_alias}

local function as_keys(from, to, how)
    return each(from, to, 'if _type(s#i#) == "string" then s#i# = ' .. how .. "(s#i#) end ")
end

-- A function's head; subscripts become keys, by `how` if given.
local function head(n, after, how)
    return "function(" .. list(n, "s", "X", after) .. ") " .. as_keys(1, n, how or "_read_key")
end

-- The same for those that begin at the last subscript, which may be empty.
local function head_from(n)
    return "function(" .. list(n, "s", "X") .. ") " .. as_keys(1, n - 1, "_read_key") ..
        as_keys(n, n, "_key")
end

-- Go down from the container's array a through the first n subscripts; what comes after is run if all are
-- there.
local function down(n, inner)
    return each(1, n, "if a then a = a.c; if a then a = a[s#i#]; ") .. inner .. (" end end"):rep(n)
end

local function read(n, last)
    return head(n, last) .. "local a = X.c.a " .. down(n - 1, "if a then local v = a.k[s" .. n ..
           "]; if v ~= nil then return v end end ")
end

A.peek = family(function(n)
    if n == 0 then
        return "function(X) local c = X.c local v = c.v " ..
               "if v == nil and c.b then return _value_of(c) end return v end"
    end
    return read(n) .. " return nil end"
end, env)

A.get = family(function(n)
    if n == 0 then
        return "function(X) local c = X.c local v = c.v if v == nil and c.b then v = _value_of(c) end " ..
               "if v == nil then return _undefined(X, 0) end return v end"
    end
    return read(n) .. " return _undefined(" .. list(n, "s", "X, " .. n) .. ") end"
end, env)

-- The arrays on the way to the last subscript, made where there are none.
local function way(n)
    return "local t = X.c; local a = t.a if not a then a = _new(); t.a = a end " ..
           each(1, n - 1, "do local c = a.c if not c then c = {}; a.c = c end local b = c[s#i#] " ..
                "if not b then b = _new(); if a.k[s#i#] == nil then _added(a, s#i#) end c[s#i#] = b end " ..
                "a = b end ")
end

A.set = family(function(n)
    if n == 0 then return "function(X, v) X.c.v = v end" end
    return head(n, "v", "_set_key") .. way(n) ..
           ("if _aliases.any and a.alias then _forget_alias(a, sN) end " ..
           "local k = a.k if k[sN] == nil then " ..
           "if sN == a.hi + 1 and not a.c then a.hi = sN else _added(a, sN) end end " ..
           "k[sN] = v end"):gsub("sN", "s" .. n)
end, env)

A.data = family(function(n)
    if n == 0 then
        return "function(X) local c = X.c return ((c.v ~= nil or c.b) and 1 or 0) + (c.a and 10 or 0) end"
    end
    return head(n) .. "local a = X.c.a " .. down(n - 1, "if a then local c = a.c return (a.k[s" .. n ..
           "] ~= nil and 1 or 0) + (c and c[s" .. n .. "] and 10 or 0) end ") .. " return 0 end"
end, env)

-- KILL, and ZKILL where `below` is "false": arrays that are empty then are removed from the bottom up.
local function killer(below)
    return function(n)
        if n == 0 then
            local array = below == "true" and
                "if _aliases.any and c.a then _aliases.forget(c.a) end c.a = false" or ""
            return "function(X) local c = X.c c.v = nil c.b = false " .. array .. " end"
        end
        local text = head(n) .. "local t = X.c local a1 = t.a if not a1 then return end " ..
            each(1, n - 1, "local a#i+1# = a#i#.c and a#i#.c[s#i#] if not a#i+1# then return end ") ..
            "_remove(a" .. n .. ", s" .. n .. ", " .. below .. ") "
        for i = n, 2, -1 do
            text = text .. ("if not _is_empty(aI) then return end aH.c[sH] = nil " ..
                "if aH.k[sH] == nil then _removed(aH, sH) end "):gsub("I", i):gsub("H", i - 1)
        end
        return text .. "if _is_empty(a1) then t.a = false end end"
    end
end
A.kill = family(killer "true", env)
A.zkill = family(killer "false", env)

A.next = family(function(n)
    return head_from(n) .. "local a = X.c.a " .. down(n - 1, ("if a then " ..
        'if _type(sN) == "number" and sN < a.hi and sN >= a.lo then return sN + 1 end ' ..
        "return _next_key(a, sN) end "):gsub("sN", "s" .. n)) .. ' return "" end'
end, env)

A.prev = family(function(n)
    return head_from(n) .. "local a = X.c.a " .. down(n - 1, ("if a then " ..
        'if _type(sN) == "number" and sN <= a.hi and sN > a.lo then return sN - 1 end ' ..
        "return _prev_key(a, sN) end "):gsub("sN", "s" .. n)) .. ' return "" end'
end, env)

-- What uses the functions of the same number of subscripts.
A.incr = setmetatable({}, {__index = function(made, n)
    local own = setmetatable({peek = A.peek[n], set = A.set[n], sum = sum}, {__index = env})
    local f = family(function()
        return "function(" .. list(n, "s", "X", "by") .. ") local v = _peek(" .. list(n, "s", "X") .. ") " ..
               'if v == nil then v = "" end v = _sum(v, by) ' ..
               "_set(" .. list(n, "s", "X", "v") .. ") return v end"
    end, own)[n]
    made[n] = f
    return f
end})

return A
