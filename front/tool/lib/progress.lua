-- Progress on the terminal: one line on standard error, written over again and again, a few times a second.

local host = require "caret.host"

local progress = {}
progress.__index = progress

local INTERVAL = 0.1

--- progress.new("loading", "nodes", 1, wanted): `scale` of what is counted is one unit.
function progress.new(what, unit, scale, wanted)
    return setmetatable({what = what, unit = unit, scale = scale, next = 0,
        wanted = wanted and host.isatty(2)}, progress)
end

local function amount(self, n)
    return self.scale == 1 and ("%d"):format(n) or ("%.1f"):format(n / self.scale)
end

--- So much is done, of so much (nil: nobody knows).
function progress:show(done, total)
    local now = self.wanted and host.clock()
    if not now or now < self.next and done ~= total then return end
    self.next, self.shown = now + INTERVAL, true
    local text = ("%s: %s %s"):format(self.what, amount(self, done), self.unit)
    if total and total > 0 then
        local filled = math.floor(30 * done / total)
        text = ("%s: [%s%s] %3d %% of %s %s"):format(self.what, ("#"):rep(filled), (" "):rep(30 - filled),
            math.floor(100 * done / total), amount(self, total), self.unit)
    end
    io.stderr:write("\r", text, "\27[K")
    io.stderr:flush()
end

--- Does standard output go to the terminal too?
function progress.is_output()
    return host.isatty(1)
end

--- Take the line away.
function progress:finish()
    if self.shown then io.stderr:write("\r\27[K") end
end

return progress
