-- mumps.host: the C functions of exports.def, as a table of pointers by name without any prefix taken away.
--
-- A pointer that stands in a local variable outside of the functions which call it is a constant for LuaJIT.
--
-- A number that a function leaves in memory (an int, a double; a size_t becomes a double at once): compiled,
-- it is read where it is used, past the next call of the function if that comes before, unless a store to
-- such memory is between.  So each such call has one before it: out.value = 0.

local ffi = require "ffi"

local from = debug.getregistry()["caret.mumps"]
ffi.cdef(from.declaration)
local exports = ffi.cast("const struct caret_mumps__exports *", from.pointer)

local C = {}
for name in from.declaration:match("struct caret_mumps__exports {(.*)"):gmatch "%(%*([%w_]+)%)" do
    C[name] = exports[name]
end

return C
