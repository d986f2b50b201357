-- alias.lua - alias variables and alias containers.
--
-- SET *A=B: the slots A and B have one container. SET *C(2)=B: the array of C has the container in `alias`,
-- by key, and "" as the value of that node. symbols.share() counts the users of a container.

local A = require "mumps.runtime.array"
local key = require "mumps.runtime.order".key

local alias = {}

local function symbols() return require "mumps.runtime.symbols" end
local function fail(...) return require "mumps.runtime.error".fail(...) end
local function as_key(s) return type(s) == "string" and key(s) or s end

-- ---------------------------------------------------------------- containers

-- The container that a node has, or nil.
function alias.at(a, s)
    local c = a.alias and a.alias[s]
    if c and a.k[s] == "" then return c end
    return nil
end

local function array_of(slot, n, subs) return A.below(slot, n - 1, subs) end

-- A node without a value is an error.
function alias.valued(slot, n, ...)
    if n > 0 and A.peek[n](slot, ...) == nil then return A.get[n](slot, ...) end
end

-- A node stops being an alias: its value is "".
function alias.end_at(slot, n, subs)
    local a = n > 0 and array_of(slot, n, subs)
    local s = a and as_key(subs[n])
    if a and alias.at(a, s) then A.forget_alias(a, s) end
end

-- The container of a variable, or the one that a node of it has.
function alias.container(slot, n, ...)
    if n == 0 then return slot.c end
    local subs = {...}
    alias.valued(slot, n, ...)
    local c = alias.at(array_of(slot, n, subs), as_key(subs[n]))
    return c or fail("ALIASEXPECTED")
end

local function new_container() return {v = nil, a = false, s = false, n = 0, b = false} end

-- SET *X=..., SET *X(1)=... It is counted before what the place had goes, as it may be in a node of that.
function alias.set(container, slot, n, ...)
    if n > 0 then
        symbols().share(container)
        local subs = {...}
        subs[n + 1] = ""
        A.set[n](slot, unpack(subs, 1, n + 1))
        local a = array_of(slot, n, subs)
        A.forget_alias(a, as_key(subs[n]))
        a.alias = a.alias or {}
        a.alias[as_key(subs[n])] = container
        A.aliases.any = true
        return
    end
    local before = slot.c
    if before == container then return end
    symbols().share(container)
    slot.c = container
    symbols().unshare(before)
end

-- KILL *X: the name has nothing any more, and others keep it.
function alias.kill(slot, n, ...)
    if n > 0 then return A.kill[n](slot, ...) end
    local c = slot.c
    if not c.s then
        symbols().release(c.a)
        c.v, c.a, c.b = nil, false, false
        return
    end
    symbols().unshare(c)
    slot.c = new_container()
end

-- An array goes: what its nodes have by SET * goes, too, if nobody else has it, and so on. No recursion, as
-- chains of such nodes may be long.
function A.aliases.forget(first)
    local arrays, n = {first}, 1
    while n > 0 do
        local a = arrays[n]
        n = n - 1
        for _, c in pairs(a.alias or {}) do
            if symbols().part(c) and c.a then
                n = n + 1
                arrays[n] = c.a
            end
        end
        a.alias = nil
        for _, below in pairs(a.c or {}) do
            n = n + 1
            arrays[n] = below
        end
    end
end

-- KILL *: no aliases at all.
function alias.kill_all()
    local shared = {} -- with a name or with a node
    for _, slot in pairs(symbols().table) do
        shared[#shared + 1] = slot.c.n > 0 and slot or nil
    end
    for _, slot in pairs(symbols().table) do
        symbols().release(slot.c.a)
    end
    for _, slot in ipairs(shared) do alias.kill(slot, 0) end
end

-- ----------------------------------------------------------------- questions

function alias.is_shared(c) return c.n > 0 end

-- The first name of each container.
function alias.names(S)
    local names = {}
    for name, slot in pairs(S) do
        local first = names[slot.c]
        if not first or name < first then names[slot.c] = name end
    end
    return names
end

-- $ZDATA: $DATA, and 100 for what is an alias.
alias.zdata = setmetatable({}, {__index = function(made, n)
    local data = A.data[n]
    local function zdata(slot, ...)
        if n == 0 then return data(slot) + (slot.c.n > 0 and 100 or 0) end
        local subs = {...}
        local a = array_of(slot, n, subs)
        return data(slot, ...) + (a and alias.at(a, as_key(subs[n])) and 100 or 0)
    end
    made[n] = zdata
    return zdata
end})

local function handle(t) return (("%p"):format(t):upper():gsub("^0X0*", "")) end

-- $ZAHANDLE: which container it is, of a name or of what SET * put into a node; other nodes have none.
require "mumps.runtime.functions".ZAHANDLE = function(ref)
    local slot, n = ref.slot, ref.n
    if not slot then return fail("VAREXPECTED") end
    if n == 0 then return handle(slot.c) end
    local a = array_of(slot, n, ref)
    local c = a and alias.at(a, as_key(ref[n]))
    return c and handle(c) or ""
end

return alias
