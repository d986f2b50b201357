-- names.lua - the text of one emitted chunk: functions, their upvalues, and which M line each Lua line is of.
--
-- A Lua function has 60 upvalues at most.  So each emitted function stands in a block of its own with the
-- locals that it uses most, and whatever is beyond is reached through a table:
--
--     do local v_X,h_add=V.X,H.add F.L12=function()      names used in this function
--     <the code of M line 12>                            one Lua line for each M line
--     end end
--
-- What is beyond a thousand functions is made by functions for a thousand each: Lua has limits for them, too.

local format, gsub, byte, concat = string.format, string.gsub, string.byte, table.concat
local find, sub = string.find, string.sub
local clear = require "table.clear"

local M = {}
local Chunk = {}
Chunk.__index = Chunk
local MOST = 46
local MOST_FUNCTIONS = 1000

-- How a text is written in Lua.
local function quote(s)
    if not find(s, '[%c"\\\127-\255]') then return '"' .. s .. '"' end
    return '"' .. gsub(s, '[%c"\\\127-\255]', function(c)
        return format("\\%03d", byte(c))
    end) .. '"'
end

M.quote = quote

function M.chunk(id)
    return setmetatable({id = id, lines = {}, map = {}, ends = {}, consts = {}, n = 0, nest = 0, rests = 0,
        loops = 0, functions = 0, f = false, common = {}}, Chunk)
end

-- A constant object that is made when the chunk is loaded: {"pattern", text}, {"place", name, subs} and so
-- on.
function Chunk:const(spec)
    local c = self.consts
    c[#c + 1] = spec
    return #c
end

-- A name for a function that does not belong to a label.
function Chunk:rest_name()
    self.rests = self.rests + 1
    return format("F.K%d_%d", self.id, self.rests)
end

-- ---- functions

local free = {} -- what functions were written with, and others can be

local function another()
    local n = #free
    local f = free[n]
    if not f then
        return {name = "", up = {}, slots = {}, order = {}, values = {}, n = 0, lines = {}, map = {},
            labels = 0, outer = false, params = "", last_line = false, common = 0}
    end
    free[n] = nil
    clear(f.up)
    clear(f.slots)
    clear(f.order)
    clear(f.values)
    clear(f.lines)
    clear(f.map)
    f.n, f.labels, f.params, f.last_line, f.common = 0, 0, "", false, 0
    return f
end

function Chunk:begin(name)
    local f = another()
    f.name, f.outer = name, self.f
    self.f = f
    return f
end

-- What stands before the next function: the end of the one that made those before, and its next.
function Chunk:maker()
    local n = self.functions
    self.functions = n + 1
    if n == 0 or n % MOST_FUNCTIONS ~= 0 then
        return ""
    end
    return (n > MOST_FUNCTIONS and "end)(); " or "") .. "(function() "
end

-- The function that was begun last is complete.
function Chunk:finish(last)
    local f, out = self.f, self.lines
    local lines, map, map_of, n = f.lines, self.map, f.map, #out + 1
    local head = f.n > 0 and "local " .. concat(f.order, ",") .. "=" .. concat(f.values, ",") .. " " or ""
    out[n] = self:maker() .. "do " .. head .. f.name .. "=function(" .. f.params .. ")"
    for i = 1, #lines do
        out[n + i], map[n + i] = lines[i], map_of[i]
    end
    n = n + #lines + 1
    out[n] = (last or "") .. " end end"
    if f.last_line then
        map[n], self.ends[n] = f.last_line, true
    end
    self.f = f.outer
    free[#free + 1] = f
end

function Chunk:line(m_line, text)
    local f = self.f
    local n = #f.lines + 1
    f.lines[n], f.map[n] = text, m_line
end

-- The names that entries have in common stand in the first line.
local function declare(common)
    if #common == 0 then return "" end
    return " local h_" .. concat(common, ",h_") .. "=H." .. concat(common, ",H.")
end

function Chunk:text()
    self.lines[1] = self.lines[1] .. declare(self.common)
    return concat(self.lines, "\n") .. (self.functions > MOST_FUNCTIONS and " end)()" or "")
end

-- A name in the function at work for what is reached as `value`; or that, if it has too many.
local function upvalue(f, name, value)
    local n = f.n + 1
    if n + f.common > MOST then return value end
    f.n, f.order[n], f.values[n] = n, name, value
    return name
end

-- ---- what expressions call things

-- The slot of a local variable.  Names of M need no quotes.
function Chunk:slot(name)
    local f = self.f
    local known = f.slots[name]
    if known then return known end
    local plain = byte(name) == 37 and "w_" .. sub(name, 2) or "v_" .. name
    known = upvalue(f, plain, 'V["' .. name .. '"]')
    f.slots[name] = known
    return known
end

-- A function of the runtime.
function Chunk:h(name)
    local f = self.f
    local known = f.up[name]
    if known then return known end
    known = upvalue(f, "h_" .. name, "H." .. name)
    f.up[name] = known
    return known
end

-- A function of the runtime that most entries call: a local of the whole chunk, if there are any.
function Chunk:entry_h(name)
    local f = self.f
    if f.up[name] then return f.up[name] end
    if f.n + f.common >= MOST then return "H." .. name end
    local known = "h_" .. name
    f.up[name], f.common = known, f.common + 1
    local order = self.common
    if not order[name] then
        order[name], order[#order + 1] = true, name
    end
    return known
end

-- A constant object.
function Chunk:p(i)
    local f = self.f
    local known = f.up[i]
    if known then return known end
    known = upvalue(f, "p_" .. i, "P[" .. i .. "]")
    f.up[i] = known
    return known
end

-- A name for a temporary, or a label of Lua, that no other in this function has.
function Chunk:fresh(prefix)
    local f = self.f
    f.labels = f.labels + 1
    return prefix .. f.labels
end

return M
