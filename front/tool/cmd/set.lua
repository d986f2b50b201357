-- caret set: give a node a value.

local command = require "tool.lib.command"

-- Standard input; the line break in the end is the terminal's or echo's, not the value's.
local function read_input(raw)
    local text, why = io.read("a")
    if not text then command.fail("standard input: " .. why) end
    return raw and text or (text:gsub("\r?\n$", ""))
end

-- A VALUE that is not JSON is a wrong argument, as a NODE is that can't be read.
local function set_json(db, node, text)
    local ok, wrong = pcall(db.tp, db, function() node:__setjson(text) end)
    if ok then return end
    local mistake = type(wrong) == "string" and wrong:match "SYNTAX: [^\n]*"
    if mistake then command.usage(mistake) end
    error(wrong, 0)
end

local function run(o)
    local value = o[2] == "-" and read_input(o.raw) or o[2]
    command.address(o[1]) -- mistakes first: those below are told only where there is a database, or can be
    command.change(o, function(db)
        local node = command.node(db, o[1])
        if o.json then
            set_json(db, node, value)
        else
            node:__set(value)
        end
    end)
    return 0
end

return {
    summary = "give a node a value",
    operands = {"NODE", "VALUE"},
    options = {
        {"--json", "VALUE is JSON: the node and all below it become what it says"},
        {"--raw", "from standard input take every byte, also the last line break"},
        command.DB,
    },
    about = [[
The VALUE - is read from standard input. The database is made if it is not there. To set many nodes use
`caret load`.]],
    examples = {
        {"caret set '^oaks(1,\"shadow\")' 10"},
        {"caret set --raw '^photo(1)' - <photo.jpeg"},
        {"caret set --json '^oaks' '[{\"shadow\": 10}, {\"shadow\": 12}]'"},
    },
    run = run,
}
