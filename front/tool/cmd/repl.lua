-- caret repl: a Lua prompt with a database at hand.
--
-- Expressions print their value, nodes the tree below them.  What is not finished yet goes on in the next
-- line.  Without a terminal, lines come from standard input, no prompt is printed, and an error
-- makes the exit status 1.

local caret = require "caret"
local lines = require "caret.lines"
local command = require "tool.lib.command"
local chunks = require "tool.lib.chunks"
local words = require "tool.lib.words"

local HELP = [[
An expression prints its value; a node, what is below it.  db is the database.

  db.node("^oaks", 1).height.__ = 15      set a value       for i in n:subscripts() do ... end
  n = db.node("^oaks")                    a node            n:kill()   n:delete()   n:incr()
  n[1].height.__                          its value         n:settree {a = 1, b = {c = 2}}
  n:dump(1000)   n:json {indent = 2}      all of it         db:tp(function() ... end)

  .globals   the names of all global variables     .help   this text     .quit   leave (or Ctrl-D)

Tab completes names of globals, methods and subscripts; Ctrl-C drops the line or stops what is running.]]

-- ----------------------------------------------------------------- one chunk

local failed = false

local function report(text)
    failed = true
    io.stdout:flush()
    io.stderr:write(text, "\n")
    io.stderr:flush()
end

local function print_results(ok, ...)
    if not ok then
        report((tostring((...)):gsub("\nstack traceback:.*$", "")))
        return
    end
    local n = select("#", ...)
    if n == 0 then return end
    _G._ = (...)
    local texts = {}
    for i = 1, n do texts[i] = chunks.show((select(i, ...))) end
    print(table.concat(texts, n > 1 and "\t" or ""))
end

-- --------------------------------------------------------------------- loop

local commands = {}

function commands.help() print(HELP) end

function commands.globals(db)
    for name in db:variables() do print(name) end
end

local function history_path()
    local state, home = os.getenv("XDG_STATE_HOME"), os.getenv("HOME")
    if state and state:sub(1, 1) == "/" then return state .. "/caret/history" end
    return home and home ~= "" and home .. "/.local/state/caret/history" or nil
end

-- A chunk of one line or more; nil at the end.
local function read_chunk(terminal)
    local text
    while true do
        local line, why = lines.read(not terminal and "" or text and ">> " or "> ")
        if why == "interrupt" then
            print("^C")
            text = nil
        elseif not line then
            return text, true
        else
            lines.remember(line)
            text = text and text .. "\n" .. line or line
            if text:find("^%s*%.%a") then return text end
            local _, wrong = chunks.compile(text)
            if wrong ~= true then return text end
        end
    end
end

-- What people try first at a prompt that they do not know, unless it is a variable of theirs.
local GUESSES, HINT = {help = true, exit = true, quit = true, ["?"] = true}, ".help tells how, .quit leaves"

local function is_guess(text)
    local word = text:match "^%s*([%a?]+)%s*%(?%)?%s*$"
    return GUESSES[word] and _G[word] == nil
end

local function run_chunk(db, text)
    if is_guess(text) then return print(HINT) end
    local name = text:match("^%s*%.(%a+)%s*$")
    if name == "quit" or name == "exit" then return true end
    if name then
        local f = commands[name]
        if not f then
            report(("there is no .%s; .help tells what there is"):format(name))
        else
            print_results(lines.call(f, db))
        end
        return false
    end
    local f, wrong = chunks.compile(text)
    if f then
        print_results(lines.call(f))
    else
        report(wrong == true and "the last lines are not finished" or wrong)
    end
    return false
end

local function run(o)
    command.file_operand(o)
    local db = command.open(o, not o.readonly)
    _G.caret, _G.db = caret, db
    local terminal = lines.open(words.completion(db, _G), history_path())
    if terminal then
        print(("caret %s, %s: %s"):format(caret._VERSION, db:path(), HINT))
    end
    local done, ended = false, false
    while not done and not ended do
        local text
        text, ended = read_chunk(terminal)
        if text then done = run_chunk(db, text) end
    end
    if terminal and ended then print() end
    lines.close()
    return not terminal and failed and 1 or 0
end

return {
    summary = "a Lua prompt with the database as db",
    operands = {"[FILE]"},
    options = {command.READONLY, command.DB},
    plain = true,
    about = [[
Expressions print their value, nodes the tree below them. Tab completes, Ctrl-C drops the line or stops
what is running, .help tells more. Without a terminal lines are read from standard input, and an error
makes the exit status 1.]],
    run = run,
}
