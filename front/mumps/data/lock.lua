-- lock.lua - LOCK, ZALLOCATE, ZDEALLOCATE.
--
-- The engine counts how often a name is taken. Here stands which of that is LOCK's and which ZALLOCATE's, in
-- the order in which they were taken first: held[text of the name] = {p = place, lock = count, allocate =
-- count, text =}.
--
-- In a transaction the engine gives back what was taken in it when that is undone; forget() and keep() follow
-- it. What was taken before the transaction can't be given back in it (TPLOCK).

local ffi = require "ffi"
local C = require "mumps.host"
local G = require "mumps.data.globals"
local report = require "mumps.data.report"

local lock = {granted = 0, timed_out = 0}

local TIMEOUT, DEADLOCK = 4, 5
local FEW = 8
local places_of = ffi.typeof "caret_mumps__place *[?]"
local few = places_of(FEW)
local c_lock, c_unlock = C.caret_mumps__lock, C.caret_mumps__unlock
local held, count = {}, 0
local floor = {} -- by name: counts that were there when the transaction began
local in_transaction = false

local function R() return require "mumps.data.ref" end

-- Names of locals and of globals are apart, in the engine too.
-- By which a name is found here: its parts, each subscript as its text.
local function identity(ref)
    local text = ref.env and ref.name .. "|" .. report.text(ref.env) or ref.name
    for i = 1, ref.n do
        local sub = ref[i]
        if type(sub) == "number" and (sub >= 1e14 or sub <= -1e14) then sub = report.text(sub) end
        text = text .. "\0" .. sub
    end
    return text
end

local function make_place(ref)
    if not ref.slot then return G.copy((R().place_of(ref, true))) end
    local p = G.new_place()
    p.s = G.session(G.default)
    return G.fill_local(p, ref)
end

-- Names that were used before, held or not.
local known, known_count = {}, 0
local KNOWN = 1000

local function entry(ref)
    local text = identity(ref)
    local e = held[text] or known[text]
    if e then return e end
    e = {p = make_place(ref), lock = 0, allocate = 0, text = text, at = 0, ref = R().first(ref, ref.n)}
    if known_count >= KNOWN then known, known_count = {}, 0 end
    known[text], known_count = e, known_count + 1
    return e
end

local function name_of(e) return R().name(e.ref) end

-- ---------------------------------------------------------------- releasing

local function drop(e)
    if e.lock + e.allocate == 0 and held[e.text] then
        held[e.text] = nil
        count = count - 1
    end
end

-- Is the name kept from before the transaction, and would this take more than came after?
local function is_bound(e, kind)
    local before = in_transaction and floor[e.text]
    return before and e[kind] <= before[kind]
end

local function release_one(e, kind)
    if is_bound(e, kind) then return report.fail("TPLOCK") end
    c_unlock(e.p)
    e[kind] = e[kind] - 1
    drop(e)
end

local function release_all(kind)
    local all = {}
    for _, e in pairs(held) do all[#all + 1] = e end
    for _, e in ipairs(all) do
        if e[kind] > 0 and is_bound(e, kind) then return report.fail("TPLOCK") end
    end
    for _, e in ipairs(all) do
        while e[kind] > 0 do release_one(e, kind) end
    end
end

local function release(refs, kind)
    for i = 1, #refs do
        local e = held[identity(refs[i])]
        if e and e[kind] > 0 then release_one(e, kind) end
    end
end

-- ------------------------------------------------------------------- taking

local serial = 0

local function note(entries, kind)
    for i = 1, #entries do
        local e = entries[i]
        local there = held[e.text]
        if not there then
            serial = serial + 1
            there, held[e.text], count, e.at = e, e, count + 1, serial
        end
        there[kind] = there[kind] + 1
    end
end

-- What was written is to be seen before this waits.
local function flush()
    local device = package.loaded["mumps.io.device"]
    if device then device.flush() end
end

local function failed(rc, e)
    return report.failed(rc, function() return name_of(e) end, "LOCK failed because")
end

-- Take all; the time is in seconds, nil is without end. A ring of waiters can't be told to anybody in M: they
-- wait.
local function take(entries, timeout)
    if timeout ~= 0 then flush() end
    local n = #entries
    local places = n <= FEW and few or places_of(n)
    for i = 1, n do places[i - 1] = entries[i].p end
    local s = entries[1].p.s
    local rc
    repeat
        rc = c_lock(s, places, n, timeout or -1)
        if rc == DEADLOCK and not timeout then C.caret_mumps__pause(0.05) end
    until rc ~= DEADLOCK or timeout
    if rc == 0 then
        lock.granted = lock.granted + #entries
        return true
    end
    if rc == TIMEOUT or rc == DEADLOCK then
        lock.timed_out = lock.timed_out + #entries
        return false
    end
    return failed(rc, entries[1])
end

local function acquire(refs, timeout, kind)
    local entries = {}
    for i = 1, #refs do entries[i] = entry(refs[i]) end
    if timeout and timeout < 0 then timeout = 0 end
    local got = take(entries, timeout)
    if got then note(entries, kind) end
    if timeout then return got end
end

function lock.lock(refs, timeout)
    release_all "lock"
    if #refs == 0 then return end
    return acquire(refs, timeout, "lock")
end

function lock.plus(refs, timeout) return acquire(refs, timeout, "lock") end

function lock.minus(refs, timeout)
    release(refs, "lock")
    if timeout then return true end
end

function lock.zallocate(refs, timeout) return acquire(refs, timeout, "allocate") end

function lock.zdeallocate(refs)
    if #refs == 0 then return release_all "allocate" end
    release(refs, "allocate")
end

-- ZSHOW "L": lines, of the last one taken first.
function lock.show()
    local all = {}
    for _, e in pairs(held) do all[#all + 1] = e end
    table.sort(all, function(a, b) return a.at > b.at end)
    local lines = {}
    for _, e in ipairs(all) do
        if e.allocate > 0 then lines[#lines + 1] = "ZAL " .. name_of(e) end
        if e.lock > 0 then lines[#lines + 1] = ("LOCK %s LEVEL=%d"):format(name_of(e), e.lock) end
    end
    return lines
end

-- ------------------------------------------------------------- transactions

-- One begins.
function lock.keep()
    in_transaction = true
    if count == 0 then return end
    for text, e in pairs(held) do floor[text] = {lock = e.lock, allocate = e.allocate} end
end

-- It ends, committed.
function lock.settle()
    in_transaction = false
    if next(floor) then floor = {} end
end

-- It is undone: what it took is the engine's again.
function lock.forget()
    if count == 0 then return end
    local now = held
    held, count = {}, 0
    for _, e in pairs(now) do e.lock, e.allocate = 0, 0 end
    for text, before in pairs(floor) do
        local e = now[text] or known[text]
        e.lock, e.allocate = before.lock, before.allocate
        held[text], count = e, count + 1
    end
end

return lock
