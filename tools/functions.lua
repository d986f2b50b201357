-- lua5.4 tools/functions.lua MOST MEDIAN P90 FILE...: how long functions are, in C and Lua.
--
-- Prints each function of more than MOST lines, and src:1 if the median or the nine tenths of all functions
-- are above MEDIAN and P90; else a line "NOTE ...".  In C the lines between the braces count, but for strings
-- of a table; in Lua the lines of code between the first line and the `end`, without functions within.
-- What a file returns in its first column is its chunk with parameters, and a chunk is not counted.
-- tools/style.sh calls it.

local most, median, p90 = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
local lengths = {}

local function found(file, line, length)
    lengths[#lengths + 1] = length
    if length <= most then return end
    print(("%s:%d: a function of %d lines; %d are the most"):format(file, line, length, most))
end

-- As clang-format writes it: a function's braces are alone in the first column.
local function read_c(file)
    local first, length, number = nil, 0, 0
    for line in io.lines(file) do
        number = number + 1
        if line == "{" then
            first, length = number, 0
        elseif first and line:match "^}" then
            if line == "}" then found(file, first, length) end
            first = nil
        elseif first and not line:match '^%s*"' then
            length = length + 1
        end
    end
end

local function lines_of(text)
    return ("\n"):rep(select(2, text:gsub("\n", "")))
end

-- Without strings and comments, whose lines remain.
local function bare(text)
    local function empty(long) return lines_of(long) end
    text = text:gsub("%-%-(%[(=*)%[.-%]%2%])", empty):gsub("(%[(=*)%[.-%]%2%])", empty)
    text = text:gsub("\\.", "  "):gsub('"[^"\n]*"', '""'):gsub("'[^'\n]*'", "''")
    return (text:gsub("%-%-[^\n]*", ""))
end

local opens = {["function"] = true, ["repeat"] = true, ["do"] = true, ["then"] = true}
local closes = {["end"] = true, ["until"] = true, ["elseif"] = true}

-- Each line counts for the innermost function at its beginning.
local function read_lua(file)
    local f = assert(io.open(file))
    local text, stack, number = bare(f:read "a"), {}, 0
    local inner -- the innermost function
    f:close()
    local function open(word, line)
        local chunk = line:match "^return function" ~= nil
        stack[#stack + 1] = {word = word, line = number, length = 0, outer = inner, chunk = chunk}
        if word == "function" then inner = stack[#stack] end
    end
    local function close()
        local top = table.remove(stack)
        if top ~= inner then return end
        if not top.chunk then found(file, top.line, math.max(top.length - 1, 0)) end -- without its end
        inner = top.outer
    end
    for line in (text .. "\n"):gmatch "(.-)\n" do
        number = number + 1
        if inner and line:match "%S" then inner.length = inner.length + 1 end
        for word in line:gmatch "[%a_][%w_]*" do
            if opens[word] then
                open(word, line)
            elseif closes[word] and #stack > 0 then
                close()
            end
        end
    end
end

for i = 4, #arg do
    local read = arg[i]:match "%.[ch]$" and read_c or arg[i]:match "%.lua$" and read_lua
    if read then read(arg[i]) end
end
if #lengths == 0 then return end
table.sort(lengths)
local middle, tenth = lengths[(#lengths + 1) // 2], lengths[math.ceil(#lengths * 0.9)]
local text = ("%d functions, median %d lines, nine tenths of them at most %d"):format(#lengths, middle, tenth)
if middle > median or tenth > p90 then
    print(("src:1: %s; %d and %d are the most"):format(text, median, p90))
else
    print("NOTE " .. text)
end
