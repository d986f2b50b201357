-- One buffer of bytes for results that C writes, which grows; whoever uses it makes a string of it at once.
local ffi = require "ffi"

local size = 4096
local room = ffi.new("char[?]", size)

return function(n)
    if n > size then
        size = n * 2
        room = ffi.new("char[?]", size)
    end
    return room
end
