-- wide.lua - devices whose ICHSET or OCHSET is UTF-16: their bytes are made UTF-8 when they are read, and
-- UTF-16 when they leave the buffer.
--
-- UTF-16LE and UTF-16BE have that order and no mark.  UTF-16 is written in the order BE, with a mark at the
-- beginning of a file, and read as its mark says, BE without one.
local ffi = require "ffi"
local U = require "mumps.values.utf8"

local seek = require("mumps.host").caret_mumps__io_seek

local W = {}

local WIDE = { ["UTF-16"] = true, ["UTF-16LE"] = true, ["UTF-16BE"] = true }

function W.is(charset)
    return WIDE[charset] or false
end

-- The order of what is read, and how many bytes its mark takes.
local function order_of(d, bytes)
    if d.order then
        return d.order, 0
    end
    local mark = d.ichset == "UTF-16" and bytes:sub(1, 2)
    local little = d.ichset == "UTF-16LE" or mark == "\255\254"
    return little and "UTF-16LE" or "UTF-16BE", (mark == "\255\254" or mark == "\254\255") and 2 or 0
end

-- How many of these bytes are whole characters.
local function whole(bytes, order)
    local n = #bytes - #bytes % 2
    local high = n >= 2 and bytes:byte(order == "UTF-16LE" and n or n - 1) or 0
    return high >= 0xD8 and high < 0xDC and n - 2 or n
end

-- Bytes that were read into the buffer: there are characters now.  How many bytes these take; 0 at the end.
function W.decode(d, got)
    local bytes = (d.half or "") .. ffi.string(d.ibuf, got)
    if got > 0 and #bytes < 2 then
        d.half = bytes
        return nil
    end
    local order, mark = order_of(d, bytes)
    local n = got == 0 and #bytes or whole(bytes, order)
    local text = U.recode(bytes:sub(mark + 1, n), order, "UTF-8")
    d.order, d.half = order, bytes:sub(n + 1)
    ffi.copy(d.ibuf, text, #text)
    d.ip, d.ie = 0, #text
    return (#text > 0 or got == 0) and #text or nil
end

-- How many bytes of the device the characters take that were read and not used.
function W.unread(d)
    local rest = ffi.string(d.ibuf + d.ip, d.ie - d.ip)
    return #U.recode(rest, "UTF-8", d.order or "UTF-16BE") + #(d.half or "")
end

local function at_begin(d)
    return not d.regular or seek(d.ofd, 0, 1) == 0
end

-- Text as the device has it.
function W.encode(d, text)
    local order = d.ochset == "UTF-16" and "UTF-16BE" or d.ochset
    local mark = d.ochset == "UTF-16" and not d.marked and at_begin(d) and "\254\255" or ""
    d.marked = true
    return mark .. U.recode(text, "UTF-8", order)
end

return W
