-- What the golden databases of format 1 hold: contents(f) calls f(value or nil, name, subscripts...)
-- for each node.
-- Never change it: a new format gets a new file.

return function(f)
    for i = 1, 300 do
        f(("v" .. i):rep(i % 50 + 1), "^g", i, "name")
        f(tostring(i * i), "^g", i)
        f(tostring(-i), "^neg", -i / 4)
    end
    local bytes = {}
    for b = 0, 255 do bytes[#bytes + 1] = string.char(b) end
    f(table.concat(bytes), "^bytes", table.concat(bytes), "")
    f("", "^empty")
    f(("long "):rep(4000), "^long", 1) -- out of line
    f(("longer "):rep(20000), "^long", 2)
    f("deep", "^deep", 1, 2, 3, 4, 5, 6, 7, 8, 9, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
        "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v")
    f("0.1", "^numbers", 0.1)
    f("123456789012345678", "^numbers", 1e15)
    f("text", "^numbers", "007")
    for i = 1, 100, 2 do f(nil, "^g", i, "name") end -- deleted again
end
