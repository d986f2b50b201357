-- The examples of every page do what they say (page.lua), those of the reference too.
local lu = require "luaunit"
local fixture = require "fixture"

local folder = fixture.path .. "-pages"

local function read(pipe)
    local text = pipe:read "*a"
    pipe:close()
    return text
end

-- Absolute, as the examples run in a folder of their own.
local function absolute(path)
    return (read(io.popen(("cd '%s' && pwd"):format(path))):gsub("\n", ""))
end

local root = absolute(fixture.root ~= "" and fixture.root or ".")
local build = absolute(os.getenv "CARET_BUILD" or "build")

-- What a page prints when it is run, in an empty folder, which is also the one for temporary files: several
-- Luas may be at the same page.
local function run(path, name)
    os.execute(("rm -rf '%s'; mkdir '%s'"):format(folder, folder))
    return read(io.popen(("cd '%s' && unset CARET_DB ydb_gbldir; TMPDIR=\"$PWD\" PATH='%s':\"$PATH\" "
        .. "'%s' '%s/test/lua/page.lua' '%s' '%s' 2>&1"):format(folder, build, arg[-1], root, path, name)))
end

TestDocs = {}

function TestDocs:tearDown()
    os.execute(("rm -rf '%s'"):format(folder))
end

local pages = {"front/lua/caret/meta.lua", "front/lua/caret/meta_modules.lua"}
for page in io.popen(("cd '%s' && find . -name '*.md' -not -path './build*'"):format(root)):lines() do
    pages[#pages + 1] = page:match "^%./(.*)$"
end
table.sort(pages)
for _, page in ipairs(pages) do
    TestDocs["test_" .. page:gsub("%W", "_")] = function()
        lu.assertStrMatches(run(root .. "/" .. page, page), "%d+ blocks\n")
    end
end

function TestDocs:test_the_pages_are_found()
    lu.assertTrue(#pages > 10)
end

-- A page with that text fails and says so.
local function refused(text, message)
    local path = fixture.path .. ".md"
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
    local said = run(path, "page")
    os.remove(path)
    lu.assertStrContains(said, message)
end

function TestDocs:test_a_page_that_lies_is_noticed()
    refused("```lua\nprint(1)\n```\n", ":2: printed '1', and nothing is said")
    refused("text\n```lua\nprint(1)   --> 2\n```\n", ":3: printed '1', not '2'")
    refused("```lua\n--> 1\n```\n", "0 lines were printed, 1 expected")
    refused("```lua\nif true then return end\n```\n", "0 of 1 blocks came to their end")
    refused("```lua\nlocal x = nil + 1\n```\n", "page:2: attempt")
    refused("```lua\nx = = 1\n```\n", ":2: ")
    refused("```lua later\n```\n", ":1: ```lua later is none of")
    refused("```lua norun\n```\n", "is none of")
    refused("```console\n$ false\n```\n", ":2: the command failed")
    refused("```console\n$ echo a\nb\n```\n", ":2: the command printed")
end

os.exit(lu.LuaUnit.run())
