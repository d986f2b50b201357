-- A longer program for the module yottadb, as its users write them: trees of a forest, their shadows, a
-- register of people, an order book that processes share.  What it prints is compared with what it should.
local lu = require "luaunit"
local ydb = require "yottadb"
local fixture = require "fixture"

ydb.set("$ZGBLDIR", fixture.path)

TestProgram = {}

local out

local function say(...)
    local line = {...}
    for i = 1, select("#", ...) do line[i] = tostring(line[i]) end
    out[#out + 1] = table.concat(line, " ")
end

function TestProgram:setUp()
    out = {}
    for _, name in ipairs {"^oaks", "^people", "^orders", "^count", "counter"} do ydb.kill(name) end
end

function TestProgram:test_oaks()
    local oaks = ydb.node("^oaks")
    local raw = {{shadow = 10, angle = 30}, {shadow = 13, angle = 30}, {shadow = 15, angle = 45}}
    oaks:settree(raw)
    say(oaks[1].shadow.__, oaks[1]("angle").__, ydb.get("^oaks", {3}, "angle"))

    local function store_heights(trees)
        for oak in trees:pairs() do
            oak.height.__ = ("%.1f"):format(oak.shadow.__ * math.tan(math.rad(oak.angle.__)))
        end
    end
    store_heights(oaks)
    local heights = {}
    for oak, _, number in oaks:pairs() do heights[#heights + 1] = number .. ":" .. oak.height.__ end
    say(table.concat(heights, " "))

    oaks[2]:kill()
    oaks[3].height:delete()
    for number in oaks:subscripts() do say("oak", number, type(number)) end
    for number in ydb.subscripts("^oaks", {""}, true) do say("back", number) end
    say(oaks:has_tree(), oaks:has_value(), oaks[3]:data(), ydb.data("^oaks", 2))
    ydb.dump("^oaks"):gsub("[^\n]+", say)

    lu.assertEquals(out, {
        "10 30 45",
        "1:5.8 2:7.5 3:15.0",
        "oak 1 string", "oak 3 string",
        "back 3", "back 1",
        "true false 10 0",
        '^oaks(1,"angle")=30', '^oaks(1,"height")=5.8', '^oaks(1,"shadow")=10',
        '^oaks(3,"angle")=45', '^oaks(3,"shadow")=15',
    })
end

function TestProgram:test_people()
    local new, class, node = ydb.inherit(ydb.node)
    function class:greet() return "I am " .. self.name.__ .. ", " .. (self.age:get("ageless")) end
    function class:get(...)
        local value = node.get(self, ...)
        return value and value:gsub("%s+$", "") or value
    end

    local people = new("^people")
    people.berwyn:settree {__ = "person", name = "Berwyn  ", age = 40, likes = {"oaks", "trees"}}
    people.mitch:settree({name = "Mitch", secret = "x"}, function(_, key, value)
        if key ~= "secret" then return key, value end
    end)
    for person, value, id in people:pairs() do
        local me = new(person)
        say(id, tostring(value), me:greet())
    end
    local tree = people.berwyn:gettree(nil, function(_, sub, value, recurse, depth)
        if depth == 0 then say("the tree of", value) end
        if sub == "age" then value = tonumber(value) + depth end
        return value, recurse
    end)
    say(tree.__, tree.age, tree.likes["2"], people.mitch.secret.__)

    local subs = ydb.node_next("^people")
    while subs do
        say(table.concat(subs, "/"))
        subs = ydb.node_next("^people", subs)
    end
    lu.assertEquals(out, {
        "berwyn person I am Berwyn, 40",
        "mitch nil I am Mitch, ageless",
        "the tree of person",
        "person 41 trees nil",
        "berwyn", "berwyn/age", "berwyn/likes/1", "berwyn/likes/2", "berwyn/name", "mitch/name",
    })
end

function TestProgram:test_orders()
    local orders, counter = ydb.node("^orders"), ydb.node("counter")
    local attempts = 0
    local order = ydb.transaction("BATCH", {"counter"}, function(buyer, amount)
        attempts = attempts + 1
        counter.__ = tonumber(counter.__ or 0) + 1
        local id = ydb.incr("^count")
        orders[id]:settree {buyer = buyer, amount = amount}
        if amount <= 0 then return ydb.YDB_TP_ROLLBACK end
        if amount > 100 and attempts < 3 then return ydb.YDB_TP_RESTART end
    end)
    order("ann", 5)
    local ok, err = pcall(order, "bob", 0)
    say(ok, err, ydb.get_error_code(err) == ydb.YDB_TP_ROLLBACK)
    attempts = 0
    order("cid", 500)
    say(attempts, counter.__, ydb.get("^count"))
    say(pcall(order, "dan", "much"))

    fixture.elsewhere [[db.node("^orders", 3):settree {buyer = "eve", amount = 7}; db.node("^count"):incr()]]
    local total = 0
    for o, _, id in orders:pairs() do
        total = total + tonumber(o.amount.__)
        say(id, o.buyer.__)
    end
    say(total)

    orders[1]:lock_incr(1)
    local key = ydb.key("^orders", {""})
    local sub = key:subscript_next()
    while sub do
        say("key", sub, ydb.key("^orders", {sub})("buyer").value)
        sub = key:subscript_next()
    end
    orders[1]:lock_decr()
    ydb.lock()

    out[4] = out[4]:gsub("^.*test_yottadb_program.lua:%d+: ", "")
    out[4] = out[4]:gsub("attempt to compare.*", "attempt to compare")
    lu.assertEquals(out, {
        "false YDB Error: 2147483645: YDB_TP_ROLLBACK true",
        "3 3 2",
        out[3],
        "1 ann", "2 cid", "3 eve", "512",
        "key 1 ann", "key 2 cid", "key 3 eve",
    })
    lu.assertStrMatches(out[3], "false .*attempt to compare.*")
end

fixture.run(function() require("yottadb.database").current():close() end)
