-- The examples in docs/migrating/lua-yottadb.md do what they say: behind --> is what they print.
local lu = require "luaunit"
local ydb = require "yottadb"
local fixture = require "fixture"

ydb.set("$ZGBLDIR", fixture.path)

local page = arg[0]:match "^(.*)test/lua/[^/]*$" .. "docs/migrating/lua-yottadb.md"

TestDocs = {}

function TestDocs:setUp()
    for _, name in ipairs {"^oaks", "^account"} do ydb.kill(name) end
end

function TestDocs:test_examples_print_what_they_say()
    local f = assert(io.open(page))
    local text = f:read "*a"
    f:close()
    local code, printed, expected = {}, {}, {}
    for block in text:gmatch "```lua\n(.-)```" do
        code[#code + 1] = block
    end
    code = table.concat(code)
    for line in code:gmatch "%-%-> ?([^\n]*)" do expected[#expected + 1] = line:gsub("%s+", " ") end
    lu.assertTrue(#expected > 5)

    local function print(...)
        local line = {...}
        for i = 1, select("#", ...) do line[i] = tostring(line[i]) end
        for part in table.concat(line, " "):gmatch "[^\n]+" do printed[#printed + 1] = part end
    end
    local chunk = assert((loadstring or load)("local print = ...\n" .. code, "=" .. page))
    chunk(print)
    lu.assertEquals(printed, expected)
end

fixture.run(function() require("yottadb.database").current():close() end)
