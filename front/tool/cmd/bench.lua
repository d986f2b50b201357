-- caret bench: single operations with percentiles, mixes of them in several processes, M, and what changed
-- between two results.

local command = require "tool.lib.command"

local function run(o)
    local kind = o[1]
    if kind ~= "compare" and o[2] then command.usage(("'%s' is one argument too many"):format(o[2])) end
    if o.db and kind ~= "mix" then command.usage("--db is for mix") end
    if not o.worker and kind ~= "compare" then command.warn_of_slow_build() end
    return require("tool.bench." .. kind).run(o)
end

return {
    summary = "measure operations and mixes of them, compare results",
    operands = {"KIND", "[FILE]", "[FILE]"},
    choices = {"ops", "mix", "m", "compare"},
    options = {
        {"-n N", "nodes (ops) or records (mix)", default = 100000, least = 1000, most = 100000000},
        {"--count N", "operations for each row; of each process (mix); 5000 for 10 ms (m)",
            default = 100000, least = 100, most = 1000000000},
        {"-w N", "processes (mix)", default = 2, least = 1, most = 200},
        {"--mix LETTERS", "which mixes: some of ABCDEF", default = "ABCDEF"},
        {"--uniform", "all records are asked for alike (mix); else a few are popular, by Zipf's law"},
        {"--worker LETTER", "what its children are given", hidden = true},
        {"--seed N", "what its children are given", hidden = true, default = 1},
        command.JSON,
        {"--db FILE", "an empty database for the mixes; else one in a temporary folder"},
    },
    about = [[
caret bench ops: each operation of the C interface and of Lua on one process, timed one by one. What asking
the clock costs is taken off; times are right to 3 %.

caret bench mix: the workloads of YCSB over nodes of 100 bytes: A reads and updates half and half, B 95 %
reads, C reads alone, D reads of what was inserted last with 5 % inserts, E scans of up to 100 records with
5 % inserts, F reads and transactions that read, change and write, half and half.

caret bench m: programs in M, and Lua that M calls: SHA-512, strip of characters, traversals, 3n+1 on local
variables. GT.M and YottaDB run the same where they are installed. CPU time of one pass in microseconds.

caret bench compare A.json B.json: what changed between two results.json of `caret 3n1 --out`, or two outputs
of `caret bench --json`. Exit status 1 if a row that had a figure has none now.]],
    examples = {
        {"caret bench ops", "percentiles of each operation"},
        {"caret bench mix -w 4 --mix AF", "two mixes in four processes"},
        {"caret bench compare before.json after.json", "ratios, row by row"},
    },
    run = run,
}
