-- Those that want to know each line of M that begins: breakpoints, single steps, coverage, traces.
--
-- A hook of LuaJIT is called before each line of Lua; levels and maps tell which line of M that is.
-- LuaJIT calls hooks only from its interpreter, so compiling is off while there is one.  A line counts
-- once for each time that control comes to it: loops within it do not count, nor does coming back to it
-- from a call.  What runs within a watcher is not watched.

local level = require "mumps.runtime.level"

local watch = {}

watch.left = nil -- left(n): a function of level n returns

local getinfo, sethook = debug.getinfo, debug.sethook
local L, codes = level.L, level.codes
local watchers = {} -- by name
local seen_code, seen_line = {}, {} -- by level: where it was last
local deepest = 0 -- the level that was called last and has not returned
local entered = {} -- by level: nothing of it was told yet

-- The code that a chunk "=M<id>" is of.
local function code_of(source)
    local id = source:match "^=M(%d+)$"
    return id and codes[tonumber(id)]
end

-- Is a function with these lines one that runs lines of M: not an entry?
local function has_lines(code, from, to)
    for line = from + 1, to do
        if code.map[line] then return true end
    end
    return false
end

-- These are tail calls of the hook: 2 is the function that runs.
local function is_level(info)
    local code = info.what == "Lua" and code_of(info.source)
    return code and has_lines(code, info.linedefined, info.lastlinedefined)
end

local function on_call()
    if not is_level(getinfo(2, "S")) then return end
    local n = L.n
    seen_code[n] = nil
    entered[n] = n > deepest
    deepest = n
end

local function on_return()
    if not is_level(getinfo(2, "S")) then return end
    deepest = L.n - 1
    if watch.left then watch.left(L.n) end
end

local function on_line(lua_line)
    local info = getinfo(2, "S")
    local code = info.what ~= "main" and code_of(info.source)
    local line = code and code.kind == "routine" and code.map[lua_line]
    if code and code.ends and code.ends[lua_line] then line = nil end
    local n = L.n
    if not line or seen_code[n] == code and seen_line[n] == line then return end
    seen_code[n], seen_line[n] = code, line
    local is_entered = entered[n]
    entered[n], deepest = nil, n
    for _, watcher in pairs(watchers) do watcher(code.whole or code, line, is_entered) end
end

local function hook(event, line)
    if event == "line" then return on_line(line) end
    if event == "call" then return on_call() end
    return on_return()
end

-- Another hook took our place, and is gone.
function watch.again()
    if next(watchers) then sethook(hook, "crl") end
end

-- watcher(code, line, is_entered) is called before each line from now on; nil: no more.  is_entered: it is
-- the first one of a call.
function watch.set(name, watcher)
    local was = next(watchers) ~= nil
    watchers[name] = watcher
    local is = next(watchers) ~= nil
    if is and not was then
        seen_code, entered, deepest = {}, {}, L.n
        local code, line = level.running()
        seen_code[L.n], seen_line[L.n] = code, line
        jit.off()
        jit.flush()
        sethook(hook, "crl")
    elseif was and not is then
        sethook()
        require("mumps.runtime.memory").compile()
    end
end

return watch
