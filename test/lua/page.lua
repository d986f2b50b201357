-- lua page.lua FILE [NAME]: run the examples of a page, in the current folder, as one program.
--
-- The blocks ```lua are run one after the other, as if the rest of the page were comments.  What they print
-- is what stands behind `-->` in them, on the same line and those below; blanks are alike, "..." stands for
-- anything.  In blocks ```console the lines that begin with "$ " are commands for the shell, which have to
-- succeed, and the others what they print.  A block ```lua 5.4 is left out by older versions, a block
-- ```lua norun: REASON by all.  In Lua files the page is what stands behind `---`.
--
-- Each block that is to be run must have come to its end.  The last line of output is "N blocks".

local path, name = arg[1], arg[2] or arg[1]

-- ------------------------------------------------------------------ reading

local lua_version = tonumber(_VERSION:match "%d%.%d")

-- Is a block that begins with ```info run as Lua?
local function is_lua(info, at)
    local option = info:match "^lua%s*(.*)$"
    if not option then return false end
    if option == "" then return true end
    if option:match "^norun: %S+ %S+" then return false end
    local version = option:match "^5%.%d$"
    return assert(version, at .. ": ```" .. info .. " is none of lua, lua 5.4, lua norun: REASON") and
        lua_version >= tonumber(version)
end

local code, expected, blocks, begun = {}, {}, {}, 0

-- One block of Lua; the line of its end counts it.
local function read_lua(lines, from)
    begun = begun + 1
    local at = from + 1
    while lines[at] and not lines[at]:match "^%s*```" do
        code[at] = lines[at]
        local text = lines[at]:match "%-%->%s?(.*)$"
        if text then expected[#expected + 1] = {line = at, text = text} end
        at = at + 1
    end
    code[at] = "ended_block()"
    return at
end

local function read_console(lines, from)
    begun = begun + 1
    local at, commands = from + 1, {}
    while lines[at] and not lines[at]:match "^%s*```" do
        local command = lines[at]:match "^%s*%$ (.*)$"
        if command then
            commands[#commands + 1] = {command = command, line = at, output = {}}
        else
            local command_above = assert(commands[#commands], ("%s:%d: no command"):format(name, at))
            table.insert(command_above.output, lines[at])
        end
        at = at + 1
    end
    blocks[begun] = commands
    code[at] = ("console(%d) ended_block()"):format(begun)
    return at
end

local function skip(lines, at)
    repeat at = at + 1 until not lines[at] or lines[at]:match "^%s*```"
    return at
end

local lines = {}
for line in io.lines(path) do
    lines[#lines + 1] = path:match "%.lua$" and (line:match "^%-%-%-(.*)$" or "") or line
end
local at = 1
while at <= #lines do
    local info = lines[at]:match "^%s*```(.*)$"
    if info then
        local place = ("%s:%d"):format(name, at)
        if is_lua(info, place) then
            at = read_lua(lines, at)
        elseif info == "console" then
            at = read_console(lines, at)
        else
            at = skip(lines, at)
        end
    end
    at = at + 1
end
for i = 1, #lines do code[i] = code[i] or "" end

-- ------------------------------------------------------------------ running

local function squeeze(text)
    return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- Is the text what was expected, "..." being anything?
local function fits(text, pattern)
    local p = squeeze(pattern):gsub("%W", "%%%0"):gsub("%%%.%%%.%%%.", ".*")
    return squeeze(text):match("^" .. p .. "$") ~= nil
end

local printed, ended = 0, 0

local function fail(line, ...)
    error(("%s:%d: %s"):format(name, line, string.format(...)), 0)
end

local function check_line(text, line)
    printed = printed + 1
    local e = expected[printed]
    if not e then fail(line, "printed '%s', and nothing is said about that", text) end
    if not fits(text, e.text) then fail(e.line, "printed '%s', not '%s'", squeeze(text), squeeze(e.text)) end
end

function _G.print(...)
    local parts = {...}
    for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
    local line = debug.getinfo(2, "l").currentline
    for text in (table.concat(parts, " ") .. "\n"):gmatch "([^\n]*)\n" do check_line(text, line) end
end

function _G.ended_block()
    ended = ended + 1
end

function _G.console(i)
    for _, c in ipairs(blocks[i]) do
        local pipe = io.popen("{ " .. c.command .. "\n} 2>&1 </dev/null; echo \"status $?\"")
        local got = pipe:read "*a"
        pipe:close()
        local output = got:gsub("status %d+\n$", "")
        if not got:match "status 0\n$" then fail(c.line, "the command failed: %s", output) end
        if not fits(output, table.concat(c.output, "\n")) then
            fail(c.line, "the command printed\n%snot\n%s", output, table.concat(c.output, "\n"))
        end
    end
end

local chunk, message = (loadstring or load)(table.concat(code, "\n"), "@" .. name)
if not chunk then error(message, 0) end
local ok, err = xpcall(chunk, function(e) return debug.traceback(tostring(e), 2) end)
if not ok then
    io.stderr:write(err, "\n")
    os.exit(1)
end
assert(printed == #expected, ("%s: %d lines were printed, %d expected"):format(name, printed, #expected))
assert(ended == begun, ("%s: %d of %d blocks came to their end"):format(name, ended, begun))
io.write(ended, " blocks\n")
