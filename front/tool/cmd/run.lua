-- caret run: run a Lua program with the module `caret` inside.

local caret = require "caret"
local command = require "tool.lib.command"
local host = require "caret.host"
local transfer = require "caret.transfer"

local function explain(wrong_value)
    if type(wrong_value) ~= "string" then return wrong_value end
    return debug.traceback(wrong_value, 2)
end

-- The globals that the program finds; db is opened when it is first used.
local function provide(o)
    _G.arg = {[0] = o[1], table.unpack(o, 2)}
    _G.caret = caret
    setmetatable(_G, {__index = function(globals, name)
        if name ~= "db" then return nil end
        local db = command.open(o, true)
        rawset(globals, "db", db)
        return db
    end})
end

-- A file that can't be read is not an error in the program.
local function look_for(path)
    local file, wrong = io.open(path)
    if not file then command.fail(wrong, 3) end
    file:close()
    local _, kind = transfer.resolve(path)
    if kind == "folder" then command.fail(path .. " is a folder", 3) end
end

local function run(o)
    if o[1] ~= "-" then look_for(o[1]) end
    local f, wrong = loadfile(o[1] ~= "-" and o[1] or nil)
    if not f then command.fail(wrong, 1) end
    provide(o)
    local ok, raised = xpcall(f, explain, table.unpack(o, 2))
    if not ok then
        if raised == host.stopped or command.failed(raised) then error(raised, 0) end
        command.fail(raised, 1)
    end
    return 0
end

return {
    summary = "run a Lua program with the database at hand",
    operands = {"PROGRAM", "[ARGUMENT...]"},
    options = {command.DB},
    raw = true,
    plain = true,
    about = [[
The program gets its arguments as ... and in the table arg, and can require "caret"; - is standard input.
The globals caret and db are there without that; db is opened when it is first used. Exit status 1: an
error in the program; 3: one of the database that it did not catch.]],
    examples = {{"caret run --db forest.caret grow.lua 100"}},
    run = run,
}
