-- How long M takes to compile and load: caret-m -lua bench/m/compile.lua FILE.m...
--
-- Prints microseconds of CPU for each byte, of all files together: the first time, and after ten more.

require("mumps.runtime.start").load() -- as each program begins
local load_routine = require("mumps.runtime.load").load

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

local texts, bytes = {}, 0
for i, path in ipairs(arg) do
    texts[i] = read(path)
    bytes = bytes + #texts[i]
end

local function pass()
    local from = os.clock()
    for i, text in ipairs(texts) do load_routine(text, "r" .. i, arg[i]) end
    return (os.clock() - from) * 1e6 / bytes
end

local first, last = pass(), nil
for _ = 1, 10 do last = pass() end
print(("%d bytes: %.2f us for each the first time, %.2f the last time"):format(bytes, first, last))
