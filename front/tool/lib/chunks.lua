-- What a prompt for Lua needs: a chunk from lines, values as text.

local caret = require "caret"

local chunks = {}

local LINES = 30 -- of a tree

local show

local function show_key(key)
    if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
    return "[" .. show(key) .. "]"
end

--- The order of keys: numbers first, by value, then strings.
local function before(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
    if type(a) ~= type(b) then return type(a) == "number" or type(b) ~= "number" and type(a) < type(b) end
    return tostring(a) < tostring(b)
end

local function show_table(t, indent, above)
    if above[t] then return tostring(t) end
    above[t] = true
    local keys, items, next_index = {}, {}, 1
    for key in pairs(t) do keys[#keys + 1] = key end
    table.sort(keys, before)
    for i, key in ipairs(keys) do
        if i > 10 * LINES then
            items[i] = ("...%d more"):format(#keys - i + 1)
            break
        end
        local value = show(t[key], indent .. "  ", above)
        if key == next_index then
            items[i], next_index = value, next_index + 1
        else
            items[i] = show_key(key) .. " = " .. value
        end
    end
    above[t] = nil
    local text = table.concat(items, ", ")
    if #text + #indent < 90 and not text:find("\n") then return "{" .. text .. "}" end
    return "{\n" .. indent .. "  " .. table.concat(items, ",\n" .. indent .. "  ") .. "\n" .. indent .. "}"
end

-- A value as text: as Lua would read it, where it can.
function show(value, indent, above)
    if type(value) == "string" then
        return (("%q"):format(value):gsub("\\\n", "\\n"))
    elseif type(value) == "table" and not getmetatable(value) then
        return show_table(value, indent or "", above or {})
    end
    return tostring(value)
end

--- A value as a prompt prints it; a node: what is below it.
function chunks.show(value)
    if not caret.isnode(value) then return show(value) end
    local text = value:__dump(LINES)
    return text ~= "" and text or tostring(value) .. "   -- nothing is there"
end

chunks.before = before

local function is_unfinished(wrong)
    return wrong:find("<eof>'?$") ~= nil
end

--- A function, or nil and what is wrong, or nil and true if it only is not finished.
function chunks.compile(text)
    local f, wrong_expression = load("return " .. text:gsub("^%s*=", ""), "=stdin", "t")
    if f then return f end
    local wrong
    f, wrong = load(text, "=stdin", "t")
    if f then return f end
    return nil, is_unfinished(wrong) or is_unfinished(wrong_expression) or wrong
end

return chunks
