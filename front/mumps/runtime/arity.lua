-- arity.lua - families of functions that differ in the number of subscripts alone.
--
-- family(write, env)[n] is the function of n subscripts, made when it is first asked for. write(n) gives the
-- text of its body as an expression; names in it that begin with `_` are fields of env. So each function is
-- straight code without varargs, which is what LuaJIT compiles best.

local arity = {}

-- The fields of env that the text uses, as a line of locals.
local function imports(text)
    local seen, names = {}, {}
    for name in text:gmatch "%f[%w_]_([%a][%w_]*)" do
        if not seen[name] then
            seen[name] = true
            names[#names + 1] = name
        end
    end
    if #names == 0 then return "" end
    return "local _" .. table.concat(names, ", _") .. " = env." .. table.concat(names, ", env.") .. " "
end

local function make(write, env, n)
    local body = write(n)
    local text = "local env = ... " .. imports(body) .. "return " .. body
    return assert(loadstring(text, "=mumps"))(env)
end

function arity.family(write, env)
    return setmetatable({}, {__index = function(made, n)
        local f = make(write, env, n)
        made[n] = f
        return f
    end})
end

-- "prefix1, prefix2, ..." with `before` in front and `last` at the end, each only where there is one.
function arity.list(n, prefix, before, last)
    local parts = {before}
    for i = 1, n do parts[#parts + 1] = prefix .. i end
    parts[#parts + 1] = last
    return table.concat(parts, ", ")
end

-- Text with #i# replaced by the number, for i from first to last.
function arity.each(first, last, text)
    local parts = {}
    for i = first, last do
        parts[#parts + 1] = (text:gsub("#([^#]*)#", function(what)
            return tostring(what == "i" and i or what == "i-1" and i - 1 or i + 1)
        end))
    end
    return table.concat(parts, " ")
end

return arity
