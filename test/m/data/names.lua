-- names.lua - names of local variables that have nothing, and that no code has, are forgotten; others stay.

require("mumps.runtime.start").load()
local symbols = require "mumps.runtime.symbols"
local S, MANY = symbols.table, 50000

local function names()
    local n = 0
    for _ in pairs(S) do n = n + 1 end
    return n
end

local function make(round)
    for i = 1, MANY do S["x" .. round .. "n" .. i].c.v = "a value" end
end

local function clear()
    for name, slot in pairs(S) do
        if name:find "^x" then slot.c.v = nil end
    end
end

local held = S.held -- as emitted code does
S.value.c.v, S.array.c.a, S.shared.c.n = "v", {}, 1
make(1)
symbols.forget()
assert(names() == MANY + 4 and S.x1n7.c.v == "a value", names())
for round = 2, 4 do
    clear()
    make(round)
    symbols.forget()
    assert(names() == MANY + 4, names())
    assert(S.held == held and S.value.c.v == "v" and S.array.c.a and S.shared.c.n == 1)
end
clear()
make(5)
clear()
symbols.forget()
assert(names() == 4, names())
print "ok"
