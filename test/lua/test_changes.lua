-- The feed of changes, and waiting for one.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestChanges = {}

function TestChanges:setUp()
    db, n = fixture.fresh()
end

function TestChanges:tearDown()
    db:close()
end

local function told(feed)
    local list = {}
    for c in feed do
        local what = tostring(c.node) .. (c.value and "=" .. c.value or "")
        list[#list + 1] = ("%s %s %d/%d"):format(c.kind, what, c.index, c.count)
    end
    return list
end

function TestChanges:test_changes_come_in_order()
    local feed = db:changes {wait = 0}
    n[1].__ = "one"
    n[1]["x\0y"]:set("")
    n[1]:delete()
    db:tp(function()
        n[2.5].__ = 2
        n:kill()
        n[3].__ = 3
    end)
    lu.assertEquals(told(feed), {
        'set ^t(1)=one 1/1', 'set ^t(1,"x"_$C(0)_"y")= 1/1', "delete ^t(1) 1/1", "kill ^t 1/2",
        "set ^t(3)=3 2/2",
    })
    lu.assertEquals(feed:place(), db:place())
    n[4].__ = ("long"):rep(30000)
    local change = feed()
    lu.assertEquals(change.value, ("long"):rep(30000))
    lu.assertEquals(change.length, 120000)
    lu.assertTrue(caret.isnode(change.node))
    lu.assertEquals(change.place, db:place())
    lu.assertEquals(change.node:get(), change.value)
    lu.assertNil(feed())
end

-- What the feed tells of a range does the same again.
function TestChanges:test_kills_of_ranges_are_told()
    local feed = db:changes {wait = 0}
    local twin = db.node("^twin")
    for _, range in ipairs {{from = 1, to = 5}, {from = "b"}, {before = 3}, {prefix = "u"}, {prefix = "1"},
        {from = "1", to = "5", from_string = true, to_string = true}, {from = ""}, {to = "zz"}} do
        for _, node in ipairs {n, twin} do
            node:kill()
            node:settree {[1] = 1, [2] = 2, [4.5] = 3, [6] = 4, a = 5, b = 6, u = 7, ux = 8, ["1x"] = 9,
                [""] = 10}
        end
        while feed:next() do end
        n:kill_range(range)
        local change = feed:next()
        lu.assertEquals(change.kind, "kill_range")
        lu.assertTrue(change.node == n)
        lu.assertNil(change.value)
        twin:kill_range(change.range)
        lu.assertEquals(twin:json(), n:json())
        local again = db:changes {wait = 0}
        n.x.__ = 1
        lu.assertNil(again().range)
    end
    lu.assertEquals(db:wait(n[3], 0, db:place()), false)
    local place = db:place()
    n:kill_range {from = 2, to = 4}
    lu.assertEquals(db:wait(n[5], 0, place), false)
    if n:exists() then n:settree {[3] = "x"} end
    place = db:place()
    n:kill_range {from = 2, to = 4}
    lu.assertEquals(db:wait(n[3], 0, place), true)
    lu.assertEquals(db:wait(n[5], 0, place), false)
end

function TestChanges:test_a_prefix_and_a_place()
    local from = db:place()
    n.a.__ = 1
    n.b.__ = 2
    lu.assertEquals(told(db:changes {from = from, prefix = n.b, wait = 0}), {'set ^t("b")=2 1/1'})
    lu.assertEquals(told(db:changes {from = from, prefix = "^t", wait = 0}),
        {'set ^t("a")=1 1/1', 'set ^t("b")=2 1/1'})
    lu.assertEquals(told(db:changes {from = from, prefix = "^u", wait = 0}), {})
    local first = db:changes {from = from, wait = 0}
    first()
    lu.assertEquals(told(db:changes {from = first:place(), wait = 0}), {'set ^t("b")=2 1/1'})
    db:checkpoint()
    local feed, text, name = db:changes {from = from}
    lu.assertNil(feed)
    lu.assertEquals(name, "NOTFOUND")
    lu.assertStrContains(text, "not in its log any more")
    first:close()
    first:close()
    lu.assertErrorMsgContains("CLOSED", first.next, first)
end

function TestChanges:test_waiting()
    local place = db:place()
    lu.assertFalse(db:wait(n, 0))
    lu.assertFalse(db:wait(n, -math.huge))
    lu.assertNil(assert(db:changes{wait = -math.huge}):next())
    lu.assertFalse(db:wait(n.a, 0.01, place))
    n.a.b.__ = 1
    lu.assertTrue(db:wait(n.a, 10, place))
    lu.assertTrue(db:wait("^t", nil, place))
    lu.assertFalse(db:wait(n.a, 0.01))
    lu.assertFalse(db:wait(n.b, 0.01, place))
    lu.assertEquals(select(3, db:wait(n, 0, place + 2 ^ 40)), "NOTFOUND")
    lu.assertErrorMsgContains("INTXN", function() db:tp(function() db:wait(n, 0) end) end)
end

function TestChanges:test_another_process_is_waited_for()
    local place = db:place()
    fixture.elsewhere [[db:set("^t", "from", "elsewhere")]]
    lu.assertTrue(db:wait(n, 10, place))
    local feed = db:changes {from = place, prefix = "^t", wait = 0}
    lu.assertEquals(told(feed), {'set ^t("from")=elsewhere 1/1'})
end

function TestChanges:test_a_feed_does_not_keep_the_database_open()
    local feed = db:changes()
    db:close()
    lu.assertErrorMsgContains("CLOSED", feed.next, feed)
    feed:close()
    local f = io.open(fixture.path .. "-log")
    lu.assertNil(f) -- it was the last: the log is gone
    feed = nil -- luacheck: ignore
    collectgarbage()
    db = fixture.open()
    lu.assertNotNil(db:changes())
    collectgarbage()
end

function TestChanges:test_a_reader_is_refused()
    local reader = fixture.open {readonly = true}
    lu.assertNotNil(reader:changes()) -- this process has it open for writing
    reader:close()
    db:close()
    reader = fixture.open {readonly = true}
    lu.assertEquals(select(3, reader:changes()), "READONLY")
    lu.assertEquals(select(3, reader:wait("^t", 0)), "READONLY")
    reader:close()
    db = fixture.open()
end

fixture.run()
