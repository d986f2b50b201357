-- null.lua - the null device: WRITE only moves the cursor, READ finds the end at once.
local B = require "mumps.io.base"
local R = require "mumps.io.record"

local N = setmetatable({}, { __index = R })

function N.set_limit(d)
    d.limit = -1
end

function N.write(d, text)
    local x = d.x + #text -- bytes, in UTF-8 mode, too
    if d.wrap and x > d.width then
        d.y = d.y + math.floor((x - 1) / d.width)
        x = (x - 1) % d.width + 1
    end
    d.x = x
end

function N.newline(d)
    d.x = 0
    B.down(d)
end

function N.formfeed(d)
    d.x, d.y = 0, 0
end

function N.complete() end

return { class = N }
