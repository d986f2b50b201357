-- Databases that were written when their format was new open, and hold what they held.
local lu = require "luaunit"
local caret = require "caret"

local source = os.getenv("CARET_SOURCE") or "."
local contents = dofile(source .. "/test/golden/contents.lua")
local contents2 = dofile(source .. "/test/golden/contents2.lua")

TestGolden = {}

function TestGolden:setUp()
    self.dir = os.tmpname()
    os.remove(self.dir)
    os.execute("mkdir " .. self.dir)
end

function TestGolden:tearDown()
    os.execute("rm -r " .. self.dir)
end

local function unpacked(dir, name)
    local command = "gzip -dc '%s/test/golden/%s.gz' > '%s/%s'"
    lu.assertTrue(os.execute(command:format(source, name, dir, name)) ~= nil)
    return dir .. "/" .. name
end

local function holds_everything(path, ...)
    local db = assert(caret.open(path, {create = false}))
    local want, n = {}, 0
    local function add(value, ...)
        local node = db.node(...)
        want[tostring(node)] = {node, value}
    end
    for _, each in ipairs {contents, ...} do each(add) end
    for text, pair in pairs(want) do
        lu.assertEquals(pair[1].__, pair[2], text)
        if pair[2] ~= nil then n = n + 1 end
    end
    local function count(node)
        local c = node.__ ~= nil and 1 or 0
        for sub in node:subscripts() do c = c + count(node(sub)) end
        return c
    end
    local found = 0
    for _, name in ipairs {"^bytes", "^deep", "^empty", "^g", "^long", "^neg", "^numbers", "^range"} do
        found = found + count(db.node(name))
    end
    lu.assertEquals(found, n)
    lu.assertTrue((db:check()))
    db.node("^g", 1).__ = "new"
    lu.assertTrue(db:close())
end

function TestGolden:test_a_closed_one_of_format_1()
    holds_everything(unpacked(self.dir, "1-clean.caret"))
end

function TestGolden:test_one_of_format_1_whose_log_must_be_replayed()
    unpacked(self.dir, "1-log.caret-log")
    holds_everything(unpacked(self.dir, "1-log.caret"))
end

function TestGolden:test_one_of_format_2_whose_log_kills_ranges()
    unpacked(self.dir, "2-log.caret-log")
    holds_everything(unpacked(self.dir, "2-log.caret"), contents2)
end

local fixture = require "fixture"
fixture.keeps_many_objects()
fixture.run()
