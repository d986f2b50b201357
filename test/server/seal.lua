-- What ends a payload of DUMP: its version, and the crc64 of all before, as redis-server makes it.
local ffi, bit = require "ffi", require "bit"

local table_of = ffi.new("uint64_t[256]")
for i = 0, 255 do
    local x = ffi.cast("uint64_t", i)
    for _ = 1, 8 do
        local odd = bit.band(x, 1) == 1
        x = bit.rshift(x, 1)
        if odd then x = bit.bxor(x, 0x95ac9329ac4bc9b5ULL) end
    end
    table_of[i] = x
end

--- The body of a payload, sealed.
return function(body)
    local bytes = body .. "\010\000"
    local crc = ffi.new("uint64_t[1]")
    for i = 1, #bytes do
        local at = tonumber(bit.band(bit.bxor(crc[0], bytes:byte(i)), 255))
        crc[0] = bit.bxor(bit.rshift(crc[0], 8), table_of[at])
    end
    return bytes .. ffi.string(crc, 8)
end
