--- The texts of misuse: bad argument #2 to 'set' (string expected, got boolean).
--
-- Arguments are looked at where they are used, by the C part, which says what is wrong with one in words of
-- its own.  Only then it is found out which function of the program's was called, and which argument of that
-- it is: what is right pays nothing for it.

local core = require "caret.core"

local misuse = {}

local getinfo = debug.getinfo
local functions = {} -- of the program's: function -> its name
local methods = {}   -- of nodes: name -> true; function -> the same
local sources = {}   -- of files between the program and the C part: their names -> true

--- What the file has in which f is written belongs to us.
function misuse.ours(f)
    local info = getinfo(f, "S")
    if info.what ~= "C" then sources[info.source] = true end
end

-- Second names of functions.
local aliases = {grab = true, release = true, delete_tree = true}

--- Functions of the program's by name: in a module, or (true) methods of nodes.
function misuse.add(named, are_methods)
    for name, f in pairs(named) do
        if type(f) == "function" and not aliases[name] and not name:find "^__" then
            if are_methods then
                methods[name], methods[f] = true, name
            else
                functions[f] = name
            end
            misuse.ours(f)
        end
    end
end

--- Raise that argument n of that function is not what it has to be; absent: it was not given at all.
function misuse.argument(n, name, expected, value, absent)
    core.misuse(("bad argument #%d to '%s' (%s expected, got %s)"):format(n, name, expected,
        absent and "no value" or core.typename(value)))
end

--- The same of an argument that may be nil or of that type.
function misuse.check(n, name, expected, value)
    if value ~= nil and core.typename(value) ~= expected then misuse.argument(n, name, expected, value) end
end

--- The same of a list of strings.
function misuse.strings(n, name, list)
    for _, value in ipairs(list) do
        if type(value) ~= "string" then misuse.argument(n, name, "string", value) end
    end
end

-- On the stack, from the C function that complains on to the program: the name of the function of ours that
-- was called, and how many arguments are in front of those that the program counts.
local function called()
    local level = 3
    local first = getinfo(level, "n").name
    repeat
        local info = getinfo(level, "Sf")
        if functions[info.func] then return functions[info.func], 0 end
        if methods[info.func] then return methods[info.func], 1 end
        level = level + 1
    until info.what ~= "C" and info.what ~= "tail" and not sources[info.source] or not getinfo(level, "f")
    local name = first and first:match "^_*(.*)"
    return methods[name] and name, 1
end

-- Is that argument of the type that was complained of, or a table with such a subscript in it?
local function has_type(arg, got)
    if core.typename(arg) == got then return true end
    if type(arg) == "table" and not core.isnode(arg) then
        for place = 1, #arg do
            if core.typename(arg[place]) == got then return true end
        end
    end
    return false
end

-- Which of the arguments can't be (a part of) an address, as it is of that type?  A node can be the first.
-- What the C part has put after them is not among them.
local function bad_address(from, n, got, ...)
    for i = from, n do
        local arg = select(i, ...)
        if not (i == 1 and core.isnode(arg)) and has_type(arg, got) then return i end
    end
    return n
end

-- Of n arguments the value: the last; but n.__ = value has been the third.
local function value(front, n, name) return name and n or front + 1 end
local function subscript(front, n, _, got, ...) return bad_address(front + 1, n, got, ...) end
local function first(front) return front + 1 end

-- What the C part says, a function that says which argument that is, and what the called one is if it has no
-- name.
local cases = {
    {"^a value must be a string or a number, not a (%a+)$", value, "set"},
    {"^a subscript must be a string or a number, not a (%a+)$", subscript, "node"},
    {"^a variable name or a node was expected, not a (%a+)$", first, "node"},
    {"^a variable name or a node was expected, not (nothing)$", first, "node"},
}

--- The text of a misuse in our words.
function misuse.reword(text, ...)
    for _, case in ipairs(cases) do
        local got = text:match(case[1])
        if got then
            local name, front = called()
            local at = case[2](front, select("#", ...), name, got, ...)
            return ("bad argument #%d to '%s' (string expected, got %s)"):format(at - front, name or case[3],
                got == "nothing" and "no value" or got)
        end
    end
    return text
end

return misuse
