--- Caches: values that expire, at most so many, shared by processes.
--
--     local cache = require "caret.cache".new(db, "^pages", {max_items = 10000})
--     cache:set("home", "<html>", 60)
--     print(cache:get("home"))
--
-- A cache is one variable, ^pages here:
--
--     ^pages("v",key)       an entry: its kind, when it expires, its place in the index, its text (cache.c)
--     ^pages("x",time,key)  the index: the entries in the order in which they expire
--     ^pages("items"), ("bytes"), ("evicted"), ("expired")   counts
--
-- Every entry has one place in the index, which is written in the entry, at the time when it expires or
-- before: an entry that is set again keeps its place as long as that is not too late, so most sets write
-- the entry alone. Whoever comes upon the place moves it to where it belongs (`settle`).  So the first
-- place of the index whose entry belongs there is what expires next.  What never expires has a time far in
-- the future, and is there in the order in which it was set.
--
-- Entry, place and counts change in one transaction.  A process that is killed leaves all of them or none,
-- and none needs another to go on.  There is no process in the background: whoever sets something removes a
-- few entries that have expired; `due` is when this process looks next.  Whether something has expired is
-- decided by the entry alone, at each get.
--
-- Time is the machine's clock of the day, as entries outlive a boot.

local core = require "caret.core"

local misuse, typename = core.misuse, core.typename
local quick_get, quick_put = core.cache_get, core.cache_put
local byte, char, floor, sub = string.byte, string.char, math.floor, string.sub
local format, gsub = string.format, string.gsub

local HEAD = 13           -- bytes of an entry before its text
local OVERHEAD = 64       -- bytes that an entry takes besides text and twice its key, about
local FOREVER = 2 ^ 47    -- ms
local SWEEP = 20          -- so many places of the index are looked at when something is due
local LOOK = 1000         -- ms: the index is looked at again after that

local cache = {}
local Cache = {}
Cache.__index = Cache

-- ------------------------------------------------------------------ entries

local function pack_time(t)
    local high, low = floor(t / 2 ^ 24), t % 2 ^ 24
    return char(floor(high / 65536), floor(high / 256) % 256, high % 256,
        floor(low / 65536), floor(low / 256) % 256, low % 256)
end

local function read_time(raw, i)
    local a, b, c, d, e, f = byte(raw, i, i + 5)
    return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
end

local function expiry_of(raw) return read_time(raw, 2) end
local function place_of(raw) return read_time(raw, 8) end

local function is_integer(value)
    return math.type and math.type(value) == "integer"
end

-- Is it a cache, or inherits from one, and not a key, as in cache.get(key)?
local function check(self)
    if type(self) ~= "table" or not self.entries then core.expected(self, "a cache") end
end

-- Letter and text of a value.
local function encode(value)
    local kind = type(value)
    if kind == "string" then return "s", value end
    if kind == "boolean" then return value and "t" or "f", "" end
    if kind ~= "number" then
        misuse("a cache keeps strings, numbers and booleans, not a " .. typename(value))
    end
    if is_integer(value) then return "i", tostring(value) end
    if value ~= value then return "n", "nan" end
    if value - value ~= 0 then return "n", value > 0 and "inf" or "-inf" end
    if value == 0 and 1 / value < 0 then return "n", "-0.0" end -- "-0" would be an integer
    return "n", core.stored(value)
end

local odd = {nan = 0 / 0, inf = 1 / 0, ["-inf"] = -1 / 0}

-- The value of that kind, a byte.
local function decode(kind, text)
    if kind == 115 then return text end
    if kind == 116 then return true end
    if kind == 102 then return false end
    if kind == 105 then return tonumber(text) end
    return odd[text] or (core.number(text) or tonumber(text)) * 1.0 -- a sum with 0.0 has no sign of zero
end

local function value_of(raw) return decode(byte(raw), sub(raw, HEAD + 1)) end

-- A key as text, and what the index gives as one.
local function key_of(key)
    if type(key) == "string" then return key end
    if type(key) ~= "number" then misuse("a key is a string or a number, not a " .. typename(key)) end
    return is_integer(key) and tostring(key) or (gsub(format("%.14g", key), "[^%w+-]+", ".")) -- in any locale
end

local function key_in_index(key)
    if type(key) == "string" then return key end
    return is_integer(key) and tostring(key) or format("%.0f", key)
end

-- A number as a message tells it, and anything else.
local function shown(value)
    if type(value) ~= "number" then return "a " .. typename(value) end
    return value ~= value and "NaN" or tostring(value)
end

-- ms of seconds to live; 0: for ever.
local function to_live(self, ttl)
    if ttl == nil then return self.ttl_ms end
    if type(ttl) ~= "number" or not (ttl >= 0 and ttl <= 1e10) then
        misuse("a time to live is a number of seconds, 0 (for ever) to 1e10, not "
               .. shown(ttl))
    end
    local ms = floor(ttl * 1000)
    return ms > 0 and ms or ttl > 0 and 1 or 0
end

local function expiry_in(now, ms) return now + (ms > 0 and ms or FOREVER) end

local function now_of(self)
    if not self.clock then return core.now() end
    local seconds = self.clock()
    if type(seconds) ~= "number" or seconds - seconds ~= 0 then
        misuse("the clock of a cache gives seconds since 1970, not " .. shown(seconds))
    end
    return floor(seconds * 1000)
end

-- The sum, or nil: no integer of this Lua is so large.
local function sum_of(a, b)
    local sum = a + b
    if is_integer(sum) and (b > 0) ~= (sum > a) and b ~= 0 then return nil end
    return sum
end

-- -------------------------------------------------- inside of a transaction

-- Put the entry at that place of the index, which is not there yet.
local function write(self, key, kind, text, expiry, place)
    self.entries(key).__ = kind .. pack_time(expiry) .. pack_time(place) .. text
end

local function count(self, items, bytes)
    if items ~= 0 then self.items:incr(items) end
    if bytes ~= 0 then self.bytes:incr(bytes) end
end

-- Write a value, where raw is what is there.
local function put(self, key, raw, kind, text, expiry)
    local place = raw and place_of(raw)
    if not raw or place > expiry then
        if raw then self.index(place)(key):kill() end
        place = expiry
        self.index(place)(key).__ = ""
    end
    write(self, key, kind, text, expiry, place)
    if raw then
        count(self, 0, #text + HEAD - #raw)
    else
        count(self, 1, OVERHEAD + 2 * #key + #text)
    end
end

local function remove(self, key, raw)
    self.index(place_of(raw))(key):kill()
    self.entries(key):kill()
    count(self, -1, HEAD - OVERHEAD - 2 * #key - #raw)
end

-- The first place of the index, but for that key's: time, key, and the entry.
local function first(self, but)
    local time = self.index:next()
    while time do
        local key = self.index(time):next()
        if key and but and key_in_index(key) == but then key = self.index(time):next(key) end
        if key then
            key = key_in_index(key)
            return time, key, self.entries(key).__
        end
        time = self.index:next(time)
    end
end

-- An entry was found at that time in the index.  Move it to where it belongs, if that is elsewhere: is it?
-- A place without such an entry, which only something else than a cache can leave, is removed.
local function settle(self, time, key, raw)
    if not raw or #raw < HEAD or place_of(raw) ~= time then
        self.index(time)(key):kill()
        return true
    end
    local expiry, place = expiry_of(raw), place_of(raw)
    if expiry == place then return false end
    self.index(place)(key):kill()
    self.index(expiry)(key).__ = ""
    write(self, key, sub(raw, 1, 1), sub(raw, HEAD + 1), expiry, expiry)
    return true
end

-- Remove what expired, of `limit` places: how many, when to look again, whether there may be more.
local function sweep(self, now, limit)
    local removed = 0
    for _ = 1, limit do
        local time, key, raw = first(self)
        if not time or time > now then return removed, math.min(time or now + LOOK, now + LOOK), false end
        if not settle(self, time, key, raw) then
            remove(self, key, raw)
            removed = removed + 1
        end
    end
    return removed, now, true
end

-- Remove what expires next until there is room; nothing but the key's own entry is left if there is none.
local function make_room(self, but)
    local evicted = 0
    while (self.max_items and self.items:number(0) > self.max_items) or
        (self.max_bytes and self.bytes:number(0) > self.max_bytes) do
        local time, key, raw = first(self, but)
        if not time then break end
        if not settle(self, time, key, raw) then
            remove(self, key, raw)
            evicted = evicted + 1
        end
    end
    if evicted > 0 then self.evicted:incr(evicted) end
    return evicted > 0
end

-- Is the entry alone more than there may be?
local function too_large(self, key, text)
    return self.max_bytes and OVERHEAD + 2 * #key + #text > self.max_bytes
end

local function steps(self, db)
    -- Sweep if it is time, then write: true and whether others were evicted; or false and why not.
    self.store = db:transaction("BATCH", function(key, kind, text, ms, now, only)
        local due, removed = self.due
        if now >= due or now < due - LOOK then
            removed, due = sweep(self, now, SWEEP)
            if removed > 0 then self.expired:incr(removed) end
        end
        local raw = self.entries(key).__
        local there = raw and expiry_of(raw) > now or false
        if only == "add" and there then return false, "exists", false, due end
        if only == "replace" and not there then return false, "not found", false, due end
        if too_large(self, key, text) then
            if raw then remove(self, key, raw) end -- what was there is not the value any more
            return false, "no memory", false, due
        end
        local expiry = expiry_in(now, ms)
        put(self, key, raw, kind, text, expiry)
        return true, nil, make_room(self, key), math.min(due, expiry)
    end)
    self.drop = db:transaction("BATCH", function(key)
        local raw = self.entries(key).__
        if raw then remove(self, key, raw) end
    end)
    self.retime = db:transaction("BATCH", function(key, ms, now)
        local raw = self.entries(key).__
        if not raw or expiry_of(raw) <= now then return nil, "not found" end
        put(self, key, raw, sub(raw, 1, 1), sub(raw, HEAD + 1), expiry_in(now, ms))
        return true
    end)
    self.add_up = db:transaction("BATCH", function(key, by, init, ms, now)
        local raw = self.entries(key).__
        local there = raw and expiry_of(raw) > now
        if not there and init == nil then return nil, "not found" end
        local sum = init
        if there then sum = value_of(raw) end
        if type(sum) ~= "number" then return nil, "not a number" end
        sum = sum_of(sum, by)
        if not sum then return nil, "out of range" end
        local kind, text = encode(sum)
        if too_large(self, key, text) then return nil, "no memory" end
        put(self, key, raw, kind, text, there and expiry_of(raw) or expiry_in(now, ms))
        return sum, nil, make_room(self, key)
    end)
    self.clear = db:transaction("BATCH", function() self.root:kill() end)
    self.clean = db:transaction("BATCH", function(now, limit)
        local removed, due, more = sweep(self, now, limit)
        if removed > 0 then self.expired:incr(removed) end
        return removed, due, more
    end)
end

-- ------------------------------------------------------------------ methods

local function store(self, key, value, ttl, only)
    check(self)
    key = key_of(key)
    local kind, text = encode(value)
    local ms, now = to_live(self, ttl), now_of(self)
    local ok, why, forcible, due = self.store(key, kind, text, ms, now, only)
    self.due = due or self.due
    return ok, why, forcible
end

--- Keep the value for ttl seconds; nil deletes.  true, nil, whether others were evicted for it; or false,
-- "no memory".
function Cache:set(key, value, ttl)
    if type(key) == "string" and type(value) == "string" and not self.clock then
        local ms = ttl and to_live(self, ttl) or self.ttl_ms
        if quick_put(self.entries, key, value, ms, -1, self.due) then return true, nil, false end
    elseif type(value) == "nil" then -- not a NULL pointer, which equals it
        return Cache.delete(self, key)
    end
    return store(self, key, value, ttl)
end

--- The same if there is none, or only if there is one; else false, "exists" or "not found".
function Cache:add(key, value, ttl) return store(self, key, value, ttl, "add") end
function Cache:replace(key, value, ttl) return store(self, key, value, ttl, "replace") end

-- The slow way of get: a long value, or misuse.
local function get(self, key, now)
    local raw = self.entries(key_of(key)).__
    if raw and expiry_of(raw) > now then return value_of(raw) end
end

--- The value, or nil.
function Cache:get(key)
    local entries = self.entries
    if type(key) ~= "string" or not entries then
        check(self)
        key = key_of(key)
    end
    local now = self.clock and now_of(self) or -1
    local kind, text = quick_get(entries, key, now)
    if kind == 115 then return text end
    if kind then return decode(kind, text) end
    if kind == false then return get(self, key, now_of(self)) end
    return nil
end

--- The value, expired or not, as long as nobody removed it; nil, and whether it has expired.
function Cache:get_stale(key)
    check(self)
    local raw = self.entries(key_of(key)).__
    if not raw then return nil end
    return value_of(raw), nil, expiry_of(raw) <= now_of(self)
end

--- Add to a number; where there is none, to init, which then lives for init_ttl seconds.
function Cache:incr(key, by, init, init_ttl)
    check(self)
    key = key_of(key)
    for what, v in pairs {["what is added"] = by == nil and 1 or by, init = init} do
        if type(v) ~= "number" then misuse(what .. " is a number, not a " .. typename(v)) end
    end
    local sum, why, forcible = self.add_up(key, by or 1, init, to_live(self, init_ttl), now_of(self))
    if sum == nil then return nil, why end
    return sum, nil, forcible
end

--- Give it a new time to live.
function Cache:touch(key, ttl)
    check(self)
    return self.retime(key_of(key), to_live(self, ttl), now_of(self))
end
Cache.expire = Cache.touch

--- Seconds that are left, 0: it never expires; or nil, "not found".
function Cache:ttl(key)
    check(self)
    local raw, now = self.entries(key_of(key)).__, now_of(self)
    local left = raw and expiry_of(raw) - now or 0
    if left <= 0 then return nil, "not found" end
    return expiry_of(raw) < FOREVER and left / 1000 or 0
end

function Cache:delete(key)
    check(self)
    self.drop(key_of(key))
    return true
end

--- Remove everything.
function Cache:flush()
    check(self)
    self.clear()
    self.due = 0
end
Cache.flush_all = Cache.flush

-- A number of keys, `otherwise` if none is given; 0: all.
local function number_of_keys(max, otherwise)
    if max == nil then return otherwise end
    if type(max) ~= "number" or max ~= max or max < 0 then
        misuse("a number of keys, 0 for all, was expected, not "
               .. shown(max))
    end
    return max > 0 and floor(max) or math.huge -- a fraction of a key is never reached
end

--- Remove what has expired, at most so many (0 or nil: all): how many were.
function Cache:flush_expired(max)
    check(self)
    max = number_of_keys(max, math.huge)
    local total, more, removed = 0, true
    while more and total < max do
        removed, self.due, more = self.clean(now_of(self), math.min(max - total, 100))
        total = total + removed
    end
    return total
end

--- A list of keys, at most so many (1024; 0: all).
function Cache:get_keys(max)
    check(self)
    local keys, now = {}, now_of(self)
    max = number_of_keys(max, 1024)
    for _, raw, key in self.entries:pairs() do
        if #keys >= max then break end
        if raw and expiry_of(raw) > now then keys[#keys + 1] = key_in_index(key) end
    end
    return keys
end

--- Counts.
function Cache:stats()
    check(self)
    local time = self.index:next()
    return {items = self.items:number(0), bytes = self.bytes:number(0), max_items = self.max_items,
        max_bytes = self.max_bytes, evicted = self.evicted:number(0), expired = self.expired:number(0),
        next = time and time < FOREVER and time / 1000 or nil}
end

local known = {ttl = "number", max_items = "number", max_bytes = "number", clock = "function"}

local function check_options(options)
    if typename(options) ~= "table" then
        misuse("the options of a cache are a table, not a " .. typename(options))
    end
    for name, value in pairs(options) do
        if not known[name] then
            misuse(("a cache has no option %s; there are clock, max_bytes, max_items, ttl"):format(
                core.shown(tostring(name))))
        end
        if type(value) ~= known[name] or value ~= value then
            misuse(("option %s of a cache is a %s, not %s"):format(name, known[name], shown(value)))
        end
    end
    for _, name in ipairs {"max_items", "max_bytes"} do
        if options[name] and options[name] < 1 then
            misuse(("option %s of a cache is at least 1"):format(name))
        end
    end
end

--- A cache in a variable of a database: ttl, seconds to live where none are given (0); max_items; max_bytes;
-- clock, a function for seconds since 1970.
function cache.new(db, name, options)
    options = options or {}
    check_options(options)
    if type(db) ~= "userdata" or core.isnode(db) then
        misuse("a cache is in a database, not in a " .. typename(db))
    end
    core.path(db) -- raises if it is none, or closed
    core.db_data(db, name) -- raises if it is a node of another one
    local root = core.isnode(name) and name or db.node(name)
    if byte(tostring(root)) ~= 94 then
        misuse(("a cache is in a global variable, which processes share: '^%s', not '%s'"):format(
            tostring(root), tostring(root)))
    end
    local self = setmetatable({root = root, entries = root "v", index = root "x", items = root "items",
        bytes = root "bytes", evicted = root "evicted", expired = root "expired", due = 0,
        max_items = options.max_items, max_bytes = options.max_bytes, clock = options.clock}, Cache)
    self.ttl_ms = to_live(self, options.ttl or 0)
    if core.key then core.key(self.entries) end
    steps(self, db)
    return self
end

return cache
