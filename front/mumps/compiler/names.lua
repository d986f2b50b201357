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

local M = {}
local Chunk = {}
Chunk.__index = Chunk
local MOST = 46
local MOST_FUNCTIONS = 1000

-- How a text is written in Lua.
local function quote(s)
    return '"' .. gsub(s, '[%c"\\\127-\255]', function(c)
        return format("\\%03d", byte(c))
    end) .. '"'
end

M.quote = quote

function M.chunk(id)
    return setmetatable({id = id, lines = {}, map = {}, ends = {}, consts = {}, n = 0, nest = 0, rests = 0,
        loops = 0, functions = 0}, Chunk)
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

function Chunk:begin(name)
    local f = {name = name, up = {}, order = {}, values = {}, n = 0, lines = {}, map = {}, labels = 0,
        chunk = self,
        outer = self.f}
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
    local head = f.n > 0 and format("local %s=%s ", concat(f.order, ","), concat(f.values, ",")) or ""
    out[#out + 1] = format("%sdo %s%s=function(%s)", self:maker(), head, f.name, f.params or "")
    for i, text in ipairs(f.lines) do
        out[#out + 1] = text
        self.map[#out] = f.map[i]
    end
    out[#out + 1] = (last or "") .. " end end"
    if f.last_line then
        self.map[#out] = f.last_line
        self.ends[#out] = true
    end
    self.f = f.outer
end

function Chunk:line(m_line, text)
    local f = self.f
    f.lines[#f.lines + 1] = text
    f.map[#f.lines] = m_line
end

function Chunk:text()
    return concat(self.lines, "\n") .. (self.functions > MOST_FUNCTIONS and " end)()" or "")
end

local function upvalue(f, name, value)
    if f.up[name] then
        return name
    elseif f.n >= MOST then
        return value
    end
    f.n = f.n + 1
    f.up[name] = true
    f.order[f.n], f.values[f.n] = name, value
    return name
end

-- ---- what expressions call things

-- The slot of a local variable.
function Chunk:slot(name)
    local plain = gsub(name, "^%%", "_")
    return upvalue(self.f, (plain ~= name and "w_" or "v_") .. plain, "V[" .. quote(name) .. "]")
end

-- A function of the runtime.
function Chunk:h(name)
    return upvalue(self.f, "h_" .. name, "H." .. name)
end

function Chunk:p(i)
    return upvalue(self.f, "p_" .. i, "P[" .. i .. "]")
end

-- A name for a temporary, or a label of Lua, that no other in this function has.
function Chunk:fresh(prefix)
    local f = self.f
    f.labels = f.labels + 1
    return prefix .. f.labels
end

return M
