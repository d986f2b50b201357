-- Completion at the prompt of direct mode: commands, functions, special variables, locals, globals, routines.

local routine = require "mumps.runtime.routine"
local symbols = require "mumps.runtime.symbols"
local words = require "mumps.compiler.words"

local complete = {}

-- The words in full of a table of words, once each.
local function in_full(...)
    local list, seen = {}, {}
    for _, from in ipairs { ... } do
        for _, word in pairs(from) do
            if not seen[word] then
                seen[word] = true
                list[#list + 1] = word
            end
        end
    end
    return list
end

-- The names of globals, without ^; not more than a screen has room for.
local function globals()
    local list, next_name = {}, require("mumps.data.globals").next_name
    local ok, name = pcall(next_name, "^%", 1)
    while ok and name and name ~= "" and #list < 1000 do
        list[#list + 1] = name:sub(2)
        ok, name = pcall(next_name, name, 1)
    end
    return list
end

local function locals()
    local list = {}
    for slot in symbols.each() do list[#list + 1] = slot.name end
    return list
end

local function routines()
    local list = globals()
    for name in pairs(routine.loaded()) do list[#list + 1] = name end
    return list
end

-- What may stand after this text: a list of words, and the part of one that is there.
local function candidates(text)
    local part = text:match "%$(%a*)$"
    if part then return in_full(words.functions, words.variables), part:upper() end
    part = text:match "%^([%%%a]?%w*)$"
    if part then return routines(), part end
    part = text:match "([%%%a]%w*)$" or ""
    local before = text:sub(1, #text - #part)
    if before:find "^%s*$" or before:find "[^,:=(]%s$" and before:find "%s%S+%s$" then
        return in_full(words.commands), part:upper()
    end
    return locals(), part
end

-- What is common to all of them from there on.
local function common(list)
    local first = list[1] or ""
    local n = #first
    for _, word in ipairs(list) do
        while word:sub(1, n) ~= first:sub(1, n) do n = n - 1 end
    end
    return first:sub(1, n)
end

-- complete(text before the cursor) -> what to insert, the words to choose from.
function complete.complete(text)
    local list, part = candidates(text)
    local found = {}
    for _, word in ipairs(list) do
        if word:sub(1, #part) == part then found[#found + 1] = word end
    end
    table.sort(found)
    return common(found):sub(#part + 1), found
end

return complete
