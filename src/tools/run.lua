-- caret run: run a Lua program with the module `caret` inside.
--
-- caret run [--db FILE] PROGRAM [ARGUMENT...]
--
-- The program gets its arguments as ... and in `arg`, and can require "caret".  The globals caret and db are
-- there without that; db is opened when it is first used.  Exit status: 0 fine, 1 an error in the program,
-- 2 usage, 3 the database can't be opened.

local caret = require "caret"
local arguments = require "caret.arguments"

local args = {...}
local path

local function usage(text)
    io.stderr:write("caret run: ", text, "; usage: caret run [--db FILE] PROGRAM [ARGUMENT...]\n")
    os.exit(2)
end

if args[1] == "--db" then
    path = args[2]
    if not path or path == "" then usage("--db needs a path") end
    table.remove(args, 1)
    table.remove(args, 1)
end
local program = args[1]
if not program then usage("no program") end
if program:sub(1, 1) == "-" and program ~= "-" then usage(("no option '%s'"):format(program)) end

local f, wrong = loadfile(program ~= "-" and program or nil)
if not f then
    io.stderr:write("caret run: ", wrong, "\n")
    return 1
end

_G.arg = {[0] = program, table.unpack(args, 2)}
_G.caret = caret
setmetatable(_G, {__index = function(globals, name)
    if name ~= "db" then return nil end
    local db, text = caret.open(path, {progress = arguments.progress})
    if not db then arguments.fail("run", text) end
    rawset(globals, "db", db)
    return db
end})

local function explain(wrong_value)
    if type(wrong_value) ~= "string" then return wrong_value end
    return debug.traceback(wrong_value, 2)
end

local ok, text = xpcall(f, explain, table.unpack(args, 2))
if not ok then
    io.stderr:write("caret run: ", tostring(text), "\n")
    return 1
end
local db = rawget(_G, "db")
if db then pcall(db.close, db) end
return 0
