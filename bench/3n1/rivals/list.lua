-- The systems that caret 3n1 can compare, each with the same table:
--
--     name, title         what the user types and reads
--     durability          what a loss of power may take of what was committed, in a few words
--     settings            how it is set up
--     most_workers        1: more processes make no sense
--     exact               the highest number its arithmetic gets right
--     strict              a word on standard error means that it failed
--     missing()           nil, or why it can't run here
--     version()           of the system
--     server(place)       {program, argument...} of the server to start first; nil: it needs none
--     ready(place)        can the server be used?
--     commands(place)     the programs to run at once: the first prints what caret 3n1 --json prints
--     here                true: the programs run where the user is, else in an empty folder
--     prepare(place), cleanup(place)
--
-- place has dir (an empty folder), port (free), n, w, env (for the programs), write(name, text) -> path.

local caret = require "caret"
local host = require "caret.host"
local programs = require "caret.programs"

local rivals = {}

--- "X is not installed" for the first of the programs that can't be found.
function rivals.lacks(...)
    for _, name in ipairs {...} do
        if not programs.find(name) then return name .. " is not installed (make rivals)" end
    end
    return nil
end

--- What a shell command prints, its first line; nil if nothing.
function rivals.ask(shell_command)
    local f = io.popen(("{ %s; } 2>/dev/null"):format(shell_command))
    local line = f:read("l")
    f:close()
    return line and line ~= "" and line or nil
end

--- cleanup() of what uses Caret: a process that is killed leaves shared memory, which the next to open gives
-- back when the last of them is dead.
function rivals.sweep(place)
    local path = place.dir .. "/3n1.caret"
    for _ = 1, 100 do
        local db = caret.open(path, {create = false})
        if db then db:close() end
        if not programs.exists(path .. "-lock") then break end
        host.sleep(0.02)
    end
end

--- An embedded program for an interpreter without //.
function rivals.plain_division(name)
    return (programs.text(name):gsub("n // 2", "n / 2"))
end

local files = {"embedded", "postgres", "m", "tarantool", "redis"}

--- All of them, in the order in which they are shown; resp and program are the user's.
function rivals.all(o)
    local list = {}
    for _, file in ipairs(files) do
        for _, rival in ipairs(require("3n1.rivals." .. file)(o)) do list[#list + 1] = rival end
    end
    return list
end

return rivals
