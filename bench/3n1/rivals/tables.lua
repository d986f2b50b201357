-- The 3n+1 job on plain Lua tables: what it costs without a database.  Lua 5.3, 5.4; for others // becomes /.
-- lua5.4 bench/3n1/rivals/tables.lua [N] prints what caret 3n1 --json prints.
local N = tonumber(arg and arg[1]) or 100000
local start = os.clock()
local step, longest, highest, reads, updates = {}, 0, 0, 0, 0
local path = {}
for first = 1, N do
    local n, length, high = first, 0, 0
    while n > 1 do
        reads = reads + 1
        if step[n] then break end
        length = length + 1
        path[length] = n
        n = n % 2 == 0 and n // 2 or 3 * n + 1
        if n > high then high = n end
    end
    if length > 0 then
        local total = length
        if n > 1 then
            reads = reads + 1
            total = total + step[n]
        end
        reads = reads + 2
        if total > longest then longest, updates = total, updates + 1 end
        if high > highest then highest, updates = high, updates + 1 end
        for i = 1, length do
            updates = updates + 1
            step[path[i]] = total - i + 1
        end
    end
end
print(('{"seconds":%.6f,"longest":%d,"highest":%.0f,"reads":%d,"updates":%d,"n":%d,"workers":1}'):format(
    os.clock() - start, longest, highest, reads, updates, N))
