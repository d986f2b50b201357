-- restart.lua FOLDER - the transactions of restart.m, begun again at the first reference, the second, and so
-- on to the last: they must leave what they leave undisturbed.

local folder = arg[1]
require("mumps.runtime.start").load()
local tp = require "mumps.data.tp"
local R = require "mumps.data.ref"
local call = require "mumps.runtime.call"
local symbols = require "mumps.runtime.symbols"
local zwrite = require "mumps.data.zwrite"
require("mumps.runtime.special").writers.ZROUTINES(folder)

local failed = 0

local function state()
    local lines = zwrite.lines()
    local function add(text) lines[#lines + 1] = text end
    if R.data(R.global("^r", nil, 0)) ~= 0 then zwrite.target({kind = "global", name = "^r"}, add) end
    return table.concat(lines, "\n")
end

-- The state after the label, begun again at reference n (0: never), and how often the engine was asked in it.
local function run(label, n)
    R.kill(R.global("^r", nil, 0))
    for name in pairs(symbols.table) do require("mumps.runtime.array").kill[0](symbols.table[name]) end
    tp.inject(n)
    local ok, e = call.run(label, nil, "restart", nil, nil)
    local left = tp.injected()
    tp.inject(0)
    if not ok or e then
        local what = type(e) == "table" and (e.text or e.control) or tostring(e)
        print(("%s: restart %d: %s"):format(label, n, what))
    end
    return state(), left
end

local function compare(label)
    local wanted = run(label, 0)
    local n, left = 0
    repeat
        n = n + 1
        local got
        got, left = run(label, n)
        if got ~= wanted then
            failed = failed + 1
            print(("%s: restart %d leaves\n%s\n, but should\n%s"):format(label, n, got, wanted))
        end
    until left > 0 or n > 200
    print(("%s: %d restarts"):format(label, n - 1))
    if n < 3 or n > 200 then failed = failed + 1 end
end

for _, label in ipairs {"flat", "loop", "inner", "naked", "deep", "trap", "merge"} do compare(label) end
print(failed == 0 and "ok" or failed .. " failed")
