-- Does what it is told with a database by an address: a chunk of Lua in each line of its input.
--
--   sh tools/lua.sh lua5.4 test/store/ask.lua URL [readonly]
--
-- A chunk has `db`, and `serve`: to be called in a transaction, it does lines until one that is `end`.
-- For each line it prints one: the values, or the error.
local caret = require "caret"
io.stdout:setvbuf "line"

local db, why, name = caret.open(arg[1], {readonly = arg[2] == "readonly"})
print(db and "open" or name .. ": " .. why)
if not db then
    os.exit(1)
end

local function show(ok, ...)
    local shown = {}
    for i = 1, select("#", ...) do
        shown[i] = tostring((select(i, ...)))
    end
    print((ok and "" or "error ") .. table.concat(shown, " "))
end

local function serve()
    for line in io.lines() do
        if line == "end" then
            return "ended"
        end
        show(pcall(assert(load("local db, serve = ...\n" .. line)), db, serve))
    end
end

serve()
