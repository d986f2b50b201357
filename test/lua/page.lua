-- lua page.lua FILE [NAME]: run the examples of a page, in the current folder, as one program.
--
-- The blocks ```lua are run one after the other, as if the rest of the page were comments.  What they print
-- is what stands after `-->` in them, on the same line and those below; blanks are alike, "..." stands for
-- anything.  In blocks ```console the lines that begin with "$ " are commands for the shell, which have to
-- succeed, and the others what they print.  A block ```lua file NAME becomes that file, for the commands.  A
-- block ```lua 5.4 is left out by older versions, ```lua with NAME and ```console with NAME where there is no
-- such module or program, and a block ```lua norun: REASON by all.  In Lua files the page is what stands
-- after `---`.
--
-- Each block that is to be run must have come to its end.  The last line of output is "N blocks".

local path, name = arg[1], arg[2] or arg[1]

-- ------------------------------------------------------------------ reading

local lua_version = tonumber(_VERSION:match "%d%.%d")

local code, expected, blocks, begun = {}, {}, {}, 0 -- code by line; blocks: what is not Lua to be run

-- The lines of a block whose fence is at `from`, as {text =, line =}, and where it ends.
local function read_block(lines, from)
    local block, at = {}, from + 1
    while lines[at] and not lines[at]:match "^%s*```" do
        block[#block + 1] = {text = lines[at], line = at}
        at = at + 1
    end
    begun = begun + 1
    blocks[begun] = block
    return block, at
end

local readers = {}

function readers.lua(block, at)
    for _, l in ipairs(block) do
        code[l.line] = l.text
        local text = l.text:match "%-%->%s?(.*)$"
        if text then expected[#expected + 1] = {line = l.line, text = text} end
    end
    code[at] = "ended_block()"
end

function readers.file(block, at, file)
    block.file = file
    code[at] = ("write_block(%d) ended_block()"):format(begun)
end

function readers.console(block, at)
    block.commands = {}
    for _, l in ipairs(block) do
        local command = l.text:match "^%s*%$ (.*)$"
        if command then
            table.insert(block.commands, {text = command, line = l.line, output = {}})
        else
            local above = assert(block.commands[#block.commands], ("%s:%d: no command"):format(name, l.line))
            table.insert(above.output, l.text)
        end
    end
    code[at] = ("run_block(%d) ended_block()"):format(begun)
end

-- Is there a module, or a program, of this name?
local function there_is(wanted)
    if pcall(require, wanted) then return true end
    local status = os.execute(("command -v '%s' >/dev/null"):format(wanted))
    return status == true or status == 0
end

-- What reads a block that begins with ```info; nil: it is not for us.
local function reader_of(info, at)
    local option = info:match "^lua%s*(.*)$"
    local version, file = (option or ""):match "^5%.%d$", (option or ""):match "^file (%S+)$"
    local module = (option or ""):match "^with (%S+)$"
    local program = info:match "^console with (%S+)$"
    if info == "console" or program and there_is(program) then return readers.console end
    if file then return readers.file, file end
    if option == "" or version and lua_version >= tonumber(version) or module and there_is(module) then
        return readers.lua
    end
    if option and not version and not module and not option:match "^norun: %S+ %S+" then
        error(("%s:%d: ```%s is none of lua, lua 5.4, lua file NAME, lua with NAME, lua norun: REASON")
            :format(name, at, info), 0)
    end
end

local lines = {}
for line in io.lines(path) do
    lines[#lines + 1] = path:match "%.lua$" and (line:match "^%-%-%-(.*)$" or "") or line
end
local at = 1
while at <= #lines do
    local info = lines[at]:match "^%s*```(.*)$"
    if info then
        local reader, argument = reader_of(info, at)
        if reader then
            local block
            block, at = read_block(lines, at)
            reader(block, at, argument)
        else
            repeat at = at + 1 until not lines[at] or lines[at]:match "^%s*```"
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

function _G.write_block(i)
    local f = assert(io.open(blocks[i].file, "w"))
    for _, l in ipairs(blocks[i]) do f:write(l.text, "\n") end
    f:close()
end

function _G.run_block(i)
    for _, c in ipairs(blocks[i].commands) do
        local pipe = io.popen("{ " .. c.text .. "\n} 2>&1 </dev/null; echo \"status $?\"")
        local got = pipe:read "*a"
        pipe:close()
        local output, wanted = got:gsub("status %d+\n$", ""), table.concat(c.output, "\n")
        if not got:match "status 0\n$" then fail(c.line, "the command failed: %s", output) end
        if not fits(output, wanted) then fail(c.line, "the command printed\n%snot\n%s", output, wanted) end
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
