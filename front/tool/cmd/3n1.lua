-- caret 3n1: many processes compute 3n+1 sequences through one database: the job itself (3n1/job.lua), beside
-- the same program on other systems (rivals/), or as a picture (3n1/draw.lua).

local command = require "tool.lib.command"
local worker = require "3n1.worker"

local MOST = {n = 1000000000, w = 200}

-- "1,2,4" as numbers.
local function numbers(option, text)
    local list = {}
    for word in (text .. ","):gmatch("([^,]*),") do
        local n = word:match("^%d+$") and math.tointeger(tonumber(word))
        if not n or n < 1 or n > MOST[option] then
            local form = "-%s needs whole numbers from 1 to %d, not '%s'"
            command.usage(form:format(option, MOST[option], word))
        end
        list[#list + 1] = n
    end
    return list
end

local function run(o)
    if o.worker then return worker.run(o.worker, require("caret.host").getpid()) end
    if o.list then return require("3n1.rivals.compare").list(o) end
    local n, w = numbers("n", o.n), numbers("w", o.w)
    if o.rivals or o.runs or o.resp or o.program or o.out or #n > 1 or #w > 1 then
        for _, name in ipairs {"db", "keep", "lua", "draw"} do
            if o[name] then command.usage(("--%s is not for a comparison"):format(name)) end
        end
        return require("3n1.rivals.compare").run(o, n, w)
    end
    o.n, o.w = n[1], w[1]
    if o.draw then return require("3n1.draw").run(o) end
    return require("3n1.job").run(o)
end

return {
    summary = "many processes compute 3n+1 sequences through one database, or through its rivals",
    options = {
        {"-n LIST", "the sequences from 1 to so many; several are compared: 1000,10000", default = "100000"},
        {"-w LIST", "so many worker processes; several are compared: 1,2,4,32", default = "1"},
        {"--lua PROGRAM", "run the workers in it: luajit, lua5.1, ..."},
        {"--draw FILE", "draw the tree that the sequences make, to an .svg or .png"},
        {"--rivals LIST", "compare with these, or with all that are installed: redis,lmdb or all"},
        {"--list", "the rivals there are, and which of them can't run here and why"},
        {"--resp ADDRESS", "HOST:PORT of a server that speaks the Redis protocol: another rival"},
        {"--program COMMAND", "another rival: a command that gets -n N -w W and prints what --json prints"},
        {"--runs N", "run each so often and tell the median (5)", least = 1, most = 1000},
        {"--limit N", "a rival that takes longer than so many seconds has failed", default = 900, least = 1},
        {"--out FOLDER", "write results.json, .csv, .md, index.html and charts to it"},
        {"--keep", "keep the database"},
        {"--worker FILE", "what its children are given", hidden = true},
        command.JSON,
        {"--db FILE", "the database, which is removed in the end; else one in a temporary folder"},
    },
    about = [[
For every n follow the sequence (odd: 3n+1, even: n/2) until it meets a number whose length is known, and
store the length of every number on the way. The workers share the database and nothing else. The longest
sequence and the highest number are verified by a second computation: exit status 1 if they are wrong.

With --rivals, --runs, --out or a list of numbers the same program runs on other systems too, in turns, and a
table tells the medians. A rival that is not installed is left out; one that fails or answers wrongly
gets no figure, and the exit status is 1.]],
    examples = {
        {"caret 3n1 -n 100000 -w 4", "the job itself, in four processes"},
        {"caret 3n1 --rivals all -w 1,4 --out results", "everything that is installed, with charts"},
        {"caret 3n1 -n 20000 --draw tree.svg", "the sequences as a tree"},
    },
    run = run,
}
