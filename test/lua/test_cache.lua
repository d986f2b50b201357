-- Caches (caret.cache): what they keep, forget and throw out; several processes, killed ones, clocks that
-- jump.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local new = require "caret.cache".new
local db, root, now
local function clock() return now end

local function text_of(key) return type(key) == "string" and key or ("%.0f"):format(key) end

-- What the index and the counts say of each other: every entry has one place, no later than it expires.
local function check(cache)
    local items, bytes, places = 0, 0, 0
    local function time(raw, i)
        local t = 0
        for _, b in ipairs {raw:byte(i, i + 5)} do t = t * 256 + b end
        return t
    end
    for _, raw, key in cache.entries:pairs() do
        items, bytes = items + 1, bytes + 51 + 2 * #text_of(key) + #raw
        lu.assertEquals(cache.index(time(raw, 8))(key).__, "")
        lu.assertTrue(time(raw, 8) <= time(raw, 2))
    end
    for t in cache.index:subscripts() do
        for _ in cache.index(t):subscripts() do places = places + 1 end
    end
    local stats = cache:stats()
    lu.assertEquals({places, stats.items, stats.bytes}, {items, items, bytes})
end

local function sorted(list)
    table.sort(list)
    return table.concat(list, " ")
end

TestCache = {}

function TestCache:setUp()
    db, root = fixture.fresh()
    now = 1e9
end

function TestCache:tearDown()
    db:close()
end

function TestCache:test_values_come_back_as_they_went_in()
    for _, cache in ipairs {new(db, "^t"), new(db, root, {clock = clock})} do
        local values = {"", "x", "5", "\0\255", ("long"):rep(20000), 5, -0.5, 1 / 3, 2 ^ 53, 1e300, -1 / 0,
            true, false}
        for i, value in ipairs(values) do
            lu.assertEquals({cache:set("k" .. i, value, i)}, {true, nil, false})
            lu.assertEquals({cache:set("k" .. i, value)}, {true, nil, false})
        end
        for i, value in ipairs(values) do
            local got = cache:get("k" .. i)
            lu.assertEquals(got, value)
            lu.assertEquals(math.type and math.type(got), math.type and math.type(value))
        end
        cache:set("nan", 0 / 0)
        lu.assertNaN(cache:get "nan")
        check(cache)
        cache:set("nan", nil)
        lu.assertNil(cache:get "nan")
        cache:flush()
        lu.assertEquals({cache:get "k1", cache:stats().items}, {nil, 0})
    end
end

function TestCache:test_a_zero_keeps_its_sign()
    local cache = new(db, "^t")
    cache:set("minus", -1 / math.huge)
    cache:set("plus", 1 / math.huge)
    lu.assertEquals({1 / cache:get "minus", 1 / cache:get "plus"}, {-math.huge, math.huge})
    check(cache)
end

-- A locale is the process's own, a cache is not.
function TestCache:test_numbers_do_not_depend_on_the_locale()
    local cache = new(db, "^t")
    local numbers = {0.5, -2.25, 1 / 3, 1.25e300, 5e-324}
    for _, x in ipairs(numbers) do cache:set(x, x) end
    fixture.in_two_locales(function()
        for _, x in ipairs(numbers) do
            lu.assertEquals(cache:get(x), x)
            cache:set("again", x)
            lu.assertEquals(cache:get "again", x)
            cache:set(x, x)
        end
    end)
    for _, x in ipairs(numbers) do lu.assertEquals(cache:get(x), x) end
    lu.assertEquals(cache:get "0.5", 0.5)
    lu.assertEquals(cache:stats().items, #numbers + 1)
end

function TestCache:test_keys_of_any_bytes()
    local cache = new(db, "^t")
    local keys = {"", "\0", "\255\0", "7", "007", "-1", ".5", "a\nb", "9007199254740991"}
    for i, key in ipairs(keys) do cache:set(key, key .. i, 60) end
    for i, key in ipairs(keys) do lu.assertEquals(cache:get(key), key .. i) end
    check(cache)
    lu.assertEquals({cache:get(7), cache:get(-1)}, {"74", "-16"})
    lu.assertEquals(sorted(cache:get_keys(0)), sorted(keys))
    lu.assertEquals(#cache:get_keys(3), 3)
    for _, key in ipairs(keys) do cache:delete(key) end
    check(cache)
    lu.assertEquals(cache:stats().items, 0)
end

function TestCache:test_what_expired_is_not_there()
    local cache = new(db, "^t", {clock = clock, ttl = 5})
    cache:set("a", "x")
    cache:set("b", "x", 10)
    cache:set("c", "x", 0)
    lu.assertEquals({cache:ttl "a", cache:ttl "b", cache:ttl "c"}, {5, 10, 0})
    now = now + 4.999
    lu.assertEquals({cache:get "a", cache:get "b", cache:get "c"}, {"x", "x", "x"})
    now = now + .001
    lu.assertEquals({cache:get "a", cache:get "b", cache:get "c"}, {nil, "x", "x"})
    lu.assertEquals({cache:get_stale "a"}, {"x", nil, true})
    lu.assertEquals({cache:ttl "a"}, {nil, "not found"})
    lu.assertEquals(sorted(cache:get_keys()), "b c")
    lu.assertEquals({cache:flush_expired(), cache:flush_expired()}, {1, 0})
    lu.assertEquals(select("#", cache:get_stale "a"), 1)
    lu.assertNil((cache:get_stale "a"))
    now = now + 1e9
    lu.assertEquals({cache:get "b", cache:get "c"}, {nil, "x"})
    cache:set("d", 1) -- sweeps
    lu.assertEquals({cache:stats().items, cache:stats().expired}, {2, 2})
    check(cache)
end

function TestCache:test_the_machine_s_clock()
    local cache = new(db, "^t")
    cache:set("a", "x", 1e-9)
    cache:set("b", "x", 3600)
    local patience = os.time() + 100
    while cache:get "a" and os.time() < patience do end
    lu.assertEquals({cache:get "a", cache:get "b"}, {nil, "x"})
    local left = cache:ttl "b"
    lu.assertTrue(left > 3400 and left <= 3600)
end

function TestCache:test_an_entry_that_lives_on_keeps_its_place()
    local cache = new(db, "^t", {clock = clock})
    for _ = 1, 50 do
        cache:set("a", "x", 10)
        cache:set("b", "x", 60 - (now - 1e9)) -- always the same time
        now = now + 1
        check(cache)
    end
    lu.assertEquals({cache:get "a", cache:get "b"}, {"x", "x"})
    cache:set("a", "xx", 1) -- earlier, and longer
    check(cache)
    now = now + 2
    lu.assertEquals(cache:flush_expired(), 1)
    now = now + 1e6
    lu.assertEquals(cache:flush_expired(1), 1)
    lu.assertEquals(cache:stats().items, 0)
end

function TestCache:test_a_full_cache_throws_out_what_expires_next()
    local cache = new(db, "^t", {clock = clock, max_items = 3})
    cache:set("ever", 1)
    now = now + 1
    cache:set("soon", 1, 10)
    cache:set("later", 1, 20)
    cache:set("soon", 1, 30) -- its place is the first, but it is not what expires next
    lu.assertEquals({cache:set("new", 1, 5)}, {true, nil, true})
    lu.assertEquals(sorted(cache:get_keys()), "ever new soon")
    for i = 1, 5 do
        now = now + 1
        cache:set("ever" .. i, 1)
        lu.assertEquals(cache:stats().items, 3)
    end
    lu.assertEquals(sorted(cache:get_keys()), "ever3 ever4 ever5") -- of these the one set longest ago
    check(cache)
    lu.assertEquals({cache:incr("n", 1, 0)}, {1, nil, true})
    check(cache)
end

function TestCache:test_a_size_in_bytes()
    local cache = new(db, "^t", {max_bytes = 1000})
    for i = 1, 50 do cache:set(i, ("v"):rep(i * 2), 60 + i) end
    lu.assertTrue(cache:stats().bytes <= 1000 and cache:stats().bytes > 500)
    lu.assertEquals(cache:get "50", ("v"):rep(100))
    lu.assertEquals({cache:set("50", ("v"):rep(1000))}, {false, "no memory", false})
    lu.assertNil(cache:get "50")
    check(cache)
end

function TestCache:test_what_is_too_large_changes_nothing_but_what_it_replaces()
    local cache, large = new(db, "^t", {max_bytes = 140}), ("v"):rep(1000)
    cache:set("a", "v")
    lu.assertEquals({cache:add("a", large)}, {false, "exists", false})
    lu.assertEquals({cache:replace("b", large)}, {false, "not found", false})
    lu.assertEquals({cache:add("b", large)}, {false, "no memory", false})
    lu.assertEquals(cache:get "a", "v")
    lu.assertEquals({cache:replace("a", large)}, {false, "no memory", false})
    lu.assertNil(cache:get "a")
    lu.assertEquals({cache:incr(("k"):rep(100), 1, 0)}, {nil, "no memory"})
    cache:set("a", 1)
    cache:set("b", 1)
    lu.assertEquals({cache:incr("b", 0.1234567890123)}, {1.1234567890123, nil, true}) -- longer than before
    lu.assertTrue(cache:stats().bytes <= 140)
    lu.assertNil(cache:get "a")
    check(cache)
end

function TestCache:test_add_replace_touch_incr()
    local cache = new(db, "^t", {clock = clock})
    lu.assertEquals({cache:replace("a", 1)}, {false, "not found", false})
    lu.assertEquals({cache:add("a", 1, 10)}, {true, nil, false})
    lu.assertEquals({cache:add("a", 2)}, {false, "exists", false})
    lu.assertEquals({cache:replace("a", 3, 10)}, {true, nil, false})
    lu.assertEquals({cache:incr("a", 0.5)}, {3.5, nil, false})
    lu.assertEquals({cache:incr "a"}, {4.5, nil, false})
    lu.assertEquals(cache:ttl "a", 10)
    lu.assertTrue(cache:touch("a", 20))
    now = now + 15
    lu.assertEquals(cache:get "a", 4.5)
    lu.assertTrue(cache:touch("a", 1))
    now = now + 1
    lu.assertEquals({cache:touch("a", 20)}, {nil, "not found"})
    lu.assertEquals({cache:incr("a", 1)}, {nil, "not found"})
    lu.assertEquals({cache:incr("a", 1, 5, 2)}, {6, nil, false})
    now = now + 3
    lu.assertEquals({cache:add("a", true)}, {true, nil, false})
    lu.assertEquals({cache:incr("a", 1, 5)}, {nil, "not a number"})
    check(cache)
end

function TestCache:test_a_clock_that_jumps()
    local cache = new(db, "^t", {clock = clock, max_items = 100})
    for round, jump in ipairs {0, 1e6, -2e6, 5, -5, 1e8, -1e8} do
        now = now + jump
        for i = 1, 20 do
            cache:set(i, round, i)
            cache:set(round * 100 + i, "x", i)
        end
        check(cache)
        for i = 1, 20 do lu.assertEquals(cache:get(i), round) end
    end
    lu.assertTrue(cache:stats().items <= 100)
end

-- By the clock of the machine, of which a quick look is enough while much time is left.
function TestCache:test_what_has_expired_is_not_given()
    local cache, ms = new(db, "^t"), require "caret.core".now
    for _, value in ipairs {"text", 5} do
        for _ = 1, 2 do -- new, and there
            local before = ms()
            cache:set("short", value, 0.03)
            lu.assertTrue(cache:get "short" == value or ms() >= before + 30)
            local after = ms()
            repeat until ms() > after + 30
            lu.assertNil(cache:get "short")
            cache:set("long", value, 20)
            lu.assertTrue(cache:ttl "long" > 19 and cache:ttl "long" <= 20)
            lu.assertEquals(cache:get "long", value)
        end
    end
end

function TestCache:test_integers_do_not_wrap()
    local most = math.maxinteger
    if not most then return end
    local cache = new(db, "^t")
    cache:set("up", most - 1)
    cache:set("down", -most)
    lu.assertEquals({(cache:incr("up", 1)), (cache:incr("down", -1))}, {most, math.mininteger})
    lu.assertEquals({cache:incr("up", 1)}, {nil, "out of range"})
    lu.assertEquals({cache:incr("down", -1)}, {nil, "out of range"})
    lu.assertEquals({cache:incr("none", most, most)}, {nil, "out of range"})
    lu.assertEquals({(cache:incr("up", 0)), cache:get "down", cache:get "none"}, {most, math.mininteger})
    lu.assertEquals((cache:incr("up", 1.0)), 2.0 ^ 63)
end

function TestCache:test_a_fraction_of_a_key_is_none()
    local cache = new(db, "^t", {clock = clock})
    for i = 1, 5 do cache:set(i, "x", 1) end
    lu.assertEquals({#cache:get_keys(2.5), #cache:get_keys(0.5)}, {2, 0})
    now = now + 2
    lu.assertEquals({cache:flush_expired(2.5), cache:flush_expired(0.5), cache:flush_expired()}, {2, 0, 3})
end

function TestCache:test_misuse()
    local cache = new(db, "^t")
    local function refused(text, f, ...)
        local ok, why = pcall(f, ...)
        lu.assertFalse(ok)
        lu.assertStrContains(tostring(why), text)
    end
    refused("not a table", cache.set, cache, "k", {})
    refused("a key is", cache.set, cache, {}, 1)
    refused("a key is", cache.get, cache)
    for _, ttl in ipairs {-1, 0 / 0, 1 / 0, "x"} do
        refused("time to live", cache.set, cache, "k", "v", ttl)
        refused("time to live", cache.set, cache, "k", 1, ttl)
    end
    refused("is a number", cache.incr, cache, "k", "x")
    refused("has no option 'colour'", new, db, "^t", {colour = 1})
    refused("option max_items", new, db, "^t", {max_items = "5"})
    refused("option max_items", new, db, "^t", {max_items = 0})
    for _, wrong in ipairs {"x", -1, 0 / 0, {}} do
        refused("a number of keys", cache.get_keys, cache, wrong)
        refused("a number of keys", cache.flush_expired, cache, wrong)
    end
    refused("option max_bytes of a cache is a number, not NaN", new, db, "^t", {max_bytes = 0 / 0})
    for _, wrong in ipairs {"x", 0 / 0, 1 / 0, false} do
        local odd = new(db, "^t", {clock = function() return wrong end})
        refused("the clock of a cache gives seconds", odd.set, odd, "k", "v", 1)
        refused("the clock of a cache gives seconds", odd.get, odd, "k")
    end
    local other = assert(caret.open(":memory:"))
    refused("a node of this database", new, db, other.node("^t"))
    other:close()
    refused("'^pages', not 'pages'", new, db, "pages")
    refused("'^pages(1)', not 'pages(1)'", new, db, db.node("pages", 1))
    refused("a cache is in a database, not in a nil", new, nil, "^t")
    refused("test_cache.lua", function() new(db, "pages") end)
    refused("test_cache.lua", function() cache:get_keys("x") end)
    refused("KEY2BIG", cache.set, cache, ("k"):rep(2000), "v")
    refused("KEY2BIG", cache.get, cache, ("k"):rep(2000))
    refused("VALUE2BIG", cache.set, cache, "k", ("v"):rep(2 ^ 24))
    refused("test_cache.lua", function() cache:set("k", {}) end)
    check(cache)
    lu.assertEquals(cache:stats().items, 0)
    db:close()
    refused("CLOSED", cache.get, cache, "k")
    refused("CLOSED", cache.set, cache, "k", "v")
    db = fixture.open()
end

-- Does this method wait for the disk?  A thread syncs now and then, so not each sync is the method's.
local function waits(database, cache, name, ...)
    for i = 1, 20 do
        cache:set("b", i)
        local before = database:durable()
        cache[name](cache, ...)
        if database:durable() == before then return false end
    end
    return true
end

function TestCache:test_no_method_waits_for_the_disk()
    local synced = fixture.open {sync = "commit"}
    local cache = new(synced, "^t", {max_items = 2})
    for _, call in ipairs {{"set", "a", "x"}, {"set", "a", "y"}, {"add", "b", 1}, {"replace", "b", 2},
        {"incr", "b"}, {"touch", "b", 5}, {"delete", "b"}, {"flush_expired"}, {"flush"}} do
        lu.assertEquals({call[1], waits(synced, cache, call[1], call[2], call[3])}, {call[1], false})
    end
    synced:close()
end

function TestCache:test_in_a_transaction()
    local cache = new(db, "^t")
    cache:set("a", "before", 60)
    db:tp(function()
        cache:set("a", "inside", 60)
        cache:set("b", "inside", 60)
        lu.assertEquals({cache:get "a", cache:get "b"}, {"inside", "inside"})
        caret.trollback()
    end)
    lu.assertEquals({cache:get "a", cache:get "b"}, {"before", nil})
    check(cache)
end

function TestCache:test_what_others_left_in_the_variable()
    local cache = new(db, "^t")
    cache:set("a", "x", 60)
    root "x"(5).gone.__ = ""
    root "v".short.__ = "x"
    root "x"(6).short.__ = ""
    cache:flush_expired()
    lu.assertNil(cache:get "gone")
    lu.assertEquals(cache:get "a", "x")
    lu.assertEquals(root "x":next() > 1e12, true)
end

-- Sets and other calls at random, in a process of its own.
local busy = [[
local cache = require "caret.cache".new(db, "^t", {max_items = 50})
math.randomseed(%d)
for i = 1, %s do
    local key, dice = "k" .. math.random(100), math.random(10)
    if dice < 6 then cache:set(key, ("v"):rep(math.random(3)), math.random(20) / 1000)
    elseif dice == 6 then cache:delete(key)
    elseif dice == 7 then cache:add(key, i, 1)
    elseif dice == 8 then cache:touch(key, .01)
    elseif dice == 9 then cache:flush_expired(3)
    else cache:incr("n", 1, 0, 100) end
    if cache:stats().items > 50 then error "too many" end
    if i == 200 then print(io.open("/proc/self/stat"):read "*n") io.flush() end
end
]]

-- Begin that: a pipe; killed: it is, after 200 calls.
local function begin(seed, calls, killed)
    local file = ("%s-%d.lua"):format(fixture.path, seed)
    local f = assert(io.open(file, "w"))
    f:write(("local caret = require 'caret'\nlocal db = assert(caret.open(%q))\n"):format(fixture.path),
        busy:format(seed, calls))
    f:close()
    local run = ("'%s' '%s'"):format(arg[-1], file)
    local pipe = io.popen(killed and "{ " .. run .. " | { read pid && kill -9 $pid; }; } 2>/dev/null"
        or run .. " 2>&1")
    return function()
        local said = pipe:read "*a"
        pipe:close()
        os.remove(file)
        return said
    end
end

function TestCache:test_processes_at_once()
    local cache = new(db, "^t", {max_items = 50})
    cache:set("mine", "x", 1000)
    local ends = {}
    for seed = 1, 3 do ends[seed] = begin(seed, 1000) end
    for seed = 1, 3 do lu.assertStrMatches(ends[seed](), "%d+\n") end
    check(cache)
    lu.assertTrue(cache:stats().items <= 50)
    lu.assertEquals(cache:get "mine", "x")
end

function TestCache:test_killed_processes()
    local cache = new(db, "^t", {max_items = 50})
    for seed = 1, 5 do
        lu.assertEquals(begin(seed, "1e9", true)(), "")
        check(cache)
        cache:set("mine", "x", 1000)
        lu.assertEquals(cache:get "mine", "x")
    end
end

fixture.run()
