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
local R = require "mumps.data.ref"
local report = require "mumps.data.report"

local lock = {granted = 0, timed_out = 0}

local TIMEOUT, DEADLOCK = 4, 5
local LONGEST = 255 -- bytes of a subscript
local MOST = 511 -- times that LOCK may take a name
local FEW = 8
local places_of = ffi.typeof "caret_mumps__place *[?]"
local few = places_of(FEW)
local c_lock, c_unlock = C.caret_mumps__lock, C.caret_mumps__unlock
local held, count = {}, 0
local in_transaction = false
local floor = false -- by name: counts that were there when the transaction began; false: they are as now

-- Names of locals and of globals are apart, in the engine too.
local function part(sub)
    if type(sub) == "number" and (sub >= 1e14 or sub <= -1e14) then return report.text(sub) end
    return sub
end

local function identity_of_many(text, ref)
    for i = 1, ref.n do text = text .. "\0" .. part(ref[i]) end
    return text
end

-- By which a name is found here: its parts, each subscript as its text.
local function identity(ref)
    local text = ref.name
    if ref.env then text = text .. "|" .. report.text(ref.env) end
    if ref.n == 0 then return text end
    if ref.n == 1 then return text .. "\0" .. part(ref[1]) end
    return identity_of_many(text, ref)
end

local function check_sub(sub)
    if type(sub) == "string" and #sub > LONGEST then return report.long_in_lock(sub) end
end

local function check_many(ref)
    for i = 1, ref.n do check_sub(ref[i]) end
end

local function check_one(ref)
    if ref.n == 0 then return end
    if ref.n == 1 then return check_sub(ref[1]) end
    return check_many(ref)
end

-- What C is told of a name: one place for all of the same variable and number of subscripts.
local places, locals = {}, {}

local function place_of_local(ref)
    local p = locals[ref.name]
    if not p then
        p = G.new_place()
        locals[ref.name] = p
    end
    p.s = G.session(G.default)
    return G.fill_local(p, ref)
end

local function place_of(ref)
    if ref.slot then return place_of_local(ref) end
    local P = R.place_in(places, ref)
    if ref.n == 0 then return P.p or G.stand(P, ref, "all") end
    return G.stand(P, ref, "all")
end

-- Entries that are held by nobody now.
local spare, spare_count = {}, 0

local function entry(ref)
    local text = identity(ref)
    local e = held[text]
    if e then return e end
    if spare_count > 0 then
        e, spare_count = spare[spare_count], spare_count - 1
        e.text, e.ref = text, ref
        return e
    end
    return {lock = 0, allocate = 0, text = text, at = 0, ref = ref}
end

local function name_of(e) return R.name(e.ref) end

-- ---------------------------------------------------------------- releasing

local function drop(e)
    if e.lock + e.allocate == 0 and held[e.text] then
        held[e.text] = nil
        count, spare_count = count - 1, spare_count + 1
        spare[spare_count] = e
    end
end

-- The first thing in a transaction that takes or releases.
local function keep_floor()
    if floor then return end
    floor = {}
    for text, e in pairs(held) do
        floor[text] = {lock = e.lock, allocate = e.allocate, at = e.at, ref = e.ref}
    end
end

-- Is the name kept from before the transaction, and would this take more than came after?
local function is_bound(e, kind)
    if not in_transaction then return false end
    keep_floor()
    local before = floor[e.text]
    return before and e[kind] <= before[kind]
end

local function release_one(e, kind)
    if is_bound(e, kind) then return report.fail("TPLOCK") end
    c_unlock(place_of(e.ref))
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

-- ZALLOCATE does not count: ZDEALLOCATE gives back all of a name.
local function release_ref(ref, kind)
    local e = held[identity(ref)]
    if not e or e[kind] == 0 then return end
    repeat release_one(e, kind) until kind == "lock" or e[kind] == 0
end

-- Loops of one step are not compiled: a single name, as it mostly is, goes without.
local function check(refs)
    if #refs == 1 then return check_one(refs[1]) end
    for i = 1, #refs do check_one(refs[i]) end
end

local function release(refs, kind)
    check(refs)
    if #refs == 1 then return release_ref(refs[1], kind) end
    for i = 1, #refs do release_ref(refs[i], kind) end
end

-- ------------------------------------------------------------------- taking

local serial = 0

local function note(e, kind)
    if in_transaction then keep_floor() end
    serial = serial + 1
    e.at = serial
    if not held[e.text] then
        held[e.text], count = e, count + 1
    end
    e[kind] = e[kind] + 1
end

-- What was written is to be seen before this waits.
local function flush()
    local device = package.loaded["mumps.io.device"]
    if device then device.flush() end
end

local function failed(rc, ref)
    return report.failed(rc, function() return R.name(ref) end, "LOCK failed because")
end

local LOOKS = 0.1 -- seconds between two looks for signals

-- A signal came: what it calls may take locks, and so use places that are shared.
local function heed(room, n)
    local own, kept = places_of(n), {}
    for i = 0, n - 1 do
        kept[i] = G.copy(room[i])
        own[i] = kept[i]
    end
    require("mumps.io.base").heed()
    return own, kept
end

-- Others have one of the first n of `room`.  A ring of waiters can't be told to anybody in M: they wait.
local function wait(s, room, n, timeout)
    flush()
    local kept -- stay while they are waited for
    local stop = timeout and C.caret_mumps__io_ticks() / 1e3 + timeout
    while true do
        local left = stop and stop - C.caret_mumps__io_ticks() / 1e3
        local rc = c_lock(s, room, n, math.min(math.max(left or LOOKS, 0), LOOKS))
        if rc ~= DEADLOCK and rc ~= TIMEOUT then return rc, kept end
        if left and (left <= LOOKS or rc == DEADLOCK) then return rc end
        if rc == DEADLOCK then C.caret_mumps__pause(0.05) end
        room, kept = heed(room, n)
    end
end

-- May it go on?  The time is in seconds, nil is without end.
local function take(first, s, room, n, timeout)
    local rc = c_lock(s, room, n, 0)
    if (rc == TIMEOUT or rc == DEADLOCK) and timeout ~= 0 then rc = wait(s, room, n, timeout) end
    if rc == 0 then
        lock.granted = lock.granted + 1
        return true
    end
    if rc ~= TIMEOUT and rc ~= DEADLOCK then return failed(rc, first) end
    lock.timed_out = lock.timed_out + 1
    return false
end

local function take_many(refs, timeout, kind)
    local entries, n, all = {}, #refs, {}
    local room = n <= FEW and few or places_of(n)
    for i = 1, n do
        all[i] = G.copy(place_of(refs[i]))
        room[i - 1] = all[i]
    end
    if not take(refs[1], all[1].s, room, n, timeout) then return false end
    for i = 1, n do
        entries[i] = entry(refs[i])
        note(entries[i], kind)
    end
    return true
end

local function take_one(ref, timeout, kind)
    local p = place_of(ref)
    few[0] = p
    if not take(ref, p.s, few, 1, timeout) then return false end
    note(entry(ref), kind)
    return true
end

local function seconds(timeout)
    if type(timeout) == "string" then timeout = tonumber(require "mumps.values.number".num(timeout)) end
    return timeout > 0 and timeout or 0
end

-- Of names that LOCK takes once more.
local function check_count(ref)
    local e = count > 0 and held[identity(ref)]
    if e and e.lock >= MOST then return report.locked_too_often(name_of(e), MOST) end
end

local function check_counts(refs)
    if #refs == 1 then return check_count(refs[1]) end
    for i = 1, #refs do check_count(refs[i]) end
end

-- Each name once, where it is last.
local function distinct(refs)
    local last, all = {}, {}
    for i = 1, #refs do last[identity(refs[i])] = i end
    for i = 1, #refs do
        if last[identity(refs[i])] == i then all[#all + 1] = refs[i] end
    end
    return all
end

local function acquire(refs, timeout, kind)
    check(refs)
    if timeout then timeout = seconds(timeout) end
    local got
    if #refs == 1 then got = take_one(refs[1], timeout, kind) else got = take_many(refs, timeout, kind) end
    if timeout then return got end
end

function lock.lock(refs, timeout)
    release_all "lock"
    if #refs == 0 then return end
    return acquire(#refs > 1 and distinct(refs) or refs, timeout, "lock")
end

--- All of them, of LOCK and ZALLOCATE.
function lock.clear()
    release_all "lock"
    release_all "allocate"
end

function lock.plus(refs, timeout)
    check_counts(refs)
    return acquire(refs, timeout, "lock")
end

function lock.minus(refs, timeout)
    release(refs, "lock")
    if timeout then return true end
end

function lock.zallocate(refs, timeout) return acquire(refs, timeout, "allocate") end

function lock.zdeallocate(refs)
    if #refs == 0 then return release_all "allocate" end
    release(refs, "allocate")
end

-- Where the caller's locks are M's: what the process holds, "count name" in each line; nil: M's are its own.
local function of_process()
    local text = C.caret_mumps__locks_held(G.session(G.default))
    return text ~= nil and ffi.string(text) or nil
end

local function show_process(text)
    local allocated, lines = {}, {}
    for _, e in pairs(held) do
        if e.allocate > 0 then allocated[name_of(e)] = e.allocate end
    end
    for taken, name in text:gmatch "(%d+) ([^\n]*)\n" do
        local more = taken - (allocated[name] or 0)
        if allocated[name] then lines[#lines + 1] = "ZAL " .. name end
        if more > 0 then lines[#lines + 1] = ("LOCK %s LEVEL=%d"):format(name, more) end
    end
    return lines
end

-- ZSHOW "L": lines, of the last one taken first.
function lock.show()
    local text = of_process()
    if text then return show_process(text) end
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
end

-- It ends, committed.
function lock.settle()
    in_transaction, floor = false, false
end

-- The engine gives back only what was taken in the session of the transaction.
local function give_back()
    for text, e in pairs(held) do
        local before = floor[text]
        for _ = 1, e.lock + e.allocate - (before and before.lock + before.allocate or 0) do
            c_unlock(place_of(e.ref))
        end
    end
end

-- It is undone: what it took is the engine's again.
function lock.forget()
    if not floor then return end
    if of_process() then give_back() end
    local now = held
    held, count = {}, 0
    for _, e in pairs(now) do e.lock, e.allocate = 0, 0 end
    for text, before in pairs(floor) do
        local e = now[text] or {text = text, at = before.at, ref = before.ref}
        e.lock, e.allocate = before.lock, before.allocate
        held[text], count = e, count + 1
    end
end

return lock
