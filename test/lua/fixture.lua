-- What the Lua tests share: a database of their own, and running them under
-- several settings of the garbage collector.
local lu = require "luaunit"
local caret = require "caret"

local fixture = {}

local scratch = os.tmpname()
os.remove(scratch)
fixture.path = scratch .. ".caret"
fixture.root = arg[0]:match "^(.*)test/lua/[^/]*$" -- the repository, as "" or with a slash at the end

function fixture.open(options)
    return assert(caret.open(fixture.path, options or {sync = "off"}))
end

--- A database whose variable ^t is empty; that node.
function fixture.fresh()
    local db = fixture.open()
    local n = db.node("^t")
    n:kill()
    return db, n
end

--- The methods of databases, each of which is a function of the module too: a set of names.
function fixture.database_methods(db)
    local set = {}
    for name in pairs(caret) do
        if db[name] ~= nil then set[name] = true end
    end
    return set
end

--- The methods of nodes, by name.
function fixture.node_methods(db)
    local methods, found = getmetatable(select(3, caret.inherit(db.node))).__index, {}
    while type(methods) == "table" do
        for name, method in pairs(methods) do found[name] = found[name] or method end
        methods = (getmetatable(methods) or {}).__index
    end
    return found
end

--- All that an iterator gives, first values only.
function fixture.list(...)
    local all = {}
    for value in ... do all[#all + 1] = value end
    return all
end

--- f, of the module yottadb, fails: the code of its error, and the error.
function fixture.code_of(f, ...)
    local ok, err = pcall(f, ...)
    lu.assertFalse(ok)
    return require("yottadb").get_error_code(err), err
end

--- Call f where numbers are printed with a comma, then in the C locale; skipped where there is no such
--- locale.
function fixture.in_two_locales(f)
    local names = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR"}
    local got
    for _, name in ipairs(names) do got = got or os.setlocale(name) end
    local ok, err = pcall(f)
    os.setlocale "C"
    lu.skipIf(not got, "no locale with a decimal comma is installed")
    if not ok then error(err, 0) end
    f()
end

function fixture.remove()
    for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(fixture.path .. suffix) end
end

--- Run Lua text in another process with the database open as `db`.
function fixture.elsewhere(text)
    local file = scratch .. ".lua"
    local f = assert(io.open(file, "w"))
    f:write(("local caret = require 'caret'\nlocal db = assert(caret.open(%q))\n"):format(fixture.path),
        text, "\ndb:close()\n")
    f:close()
    local ok, _, code = os.execute(('"%s" "%s"'):format(arg[-1], file))
    os.remove(file)
    if ok ~= true and ok ~= 0 then
        error("the other process failed: " .. tostring(code or ok))
    end
end

--- Bytes in use after everything unused was collected (and LuaJIT has thrown away what it compiled, which
-- holds the objects that it met).
function fixture.memory()
    if rawget(_G, "jit") then require("jit").flush() end
    for _ = 1, 4 do collectgarbage() end
    return collectgarbage("count") * 1024
end

local restless = 1

--- How often a long loop is to be gone through: less often while the collector never rests.
function fixture.times(count)
    return math.ceil(count / restless)
end

--- Bytes allocated by f, with the collector off (and LuaJIT's compiler, whose traces would count).
function fixture.allocated(f)
    local jit = rawget(_G, "jit")
    if jit then require("jit").off() end
    fixture.memory()
    collectgarbage("stop")
    for _ = 1, 3 do f() end -- weakly remembered children are there again
    local before = collectgarbage("count")
    f()
    local after = collectgarbage("count")
    collectgarbage("restart")
    if jit then require("jit").on() end
    return (after - before) * 1024
end

-- In a file that keeps many objects: where each step is a whole collection, let one begin only when the heap
-- is nearly as large as it was after the last (it is at work all the same, in steps).
local many_objects = false

function fixture.keeps_many_objects()
    many_objects = _VERSION == "Lua 5.2" or _VERSION == "Lua 5.3"
end

-- Incremental at leisure, and never at rest; generational where there is such a thing.
local collectors = {
    function() end,
    function()
        -- there each step is a whole collection
        restless = _VERSION == "Lua 5.3" and not many_objects and 60 or 20
        if _VERSION == "Lua 5.5" then
            collectgarbage("param", "pause", 0)
            collectgarbage("param", "stepmul", 1000)
        else
            collectgarbage("setpause", many_objects and 90 or 0)
            collectgarbage("setstepmul", 1000)
        end
    end,
}
if _VERSION >= "Lua 5.4" then
    collectors[3] = function()
        restless = 1
        collectgarbage("generational")
    end
end

--- Run the tests of the file under every collector, then `finally` if there is such a function, and leave.
function fixture.run(finally)
    local failures = 0
    for _, set in ipairs(collectors) do
        set()
        failures = failures + lu.LuaUnit.new():runSuite((table.unpack or unpack)(arg))
    end
    if finally then finally() end
    fixture.remove()
    os.exit(failures == 0 and 0 or 1)
end

return fixture
