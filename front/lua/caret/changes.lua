--- What was committed, change by change, and sleeping until something is.  Loaded when first used.
--
-- A sleep is cut into seconds, between which Lua runs: so that an interrupt, or a hook, is noticed.

local core = require "caret.core"
local misuse, typename = core.misuse, core.typename

local changes = {}

local SLICE = 1 -- seconds

local function seconds(what, s)
    if s ~= nil and (typename(s) ~= "number" or s ~= s) then
        misuse(("%s is a number of seconds, not %s"):format(what, s ~= s and "NaN" or "a " .. typename(s)))
    end
    return s == nil and math.huge or s > 0 and s or 0 -- -math.huge less -math.huge would be none
end

-- Call sleep(seconds) until it says something else than false, or the time is over.
local function sleep_for(left, sleep)
    while true do
        local now = left < SLICE and left or SLICE
        local outcome, text, name = sleep(now)
        if outcome ~= false then return outcome, text, name end
        left = left - now
        if left <= 0 then return false end
    end
end

--- db:wait(node or name[, seconds[, place]]): true when something was committed at or below it after the
-- place, false when the time is over.
function changes.wait(db, node, timeout, place)
    local now_at = core.place(db) -- raises if it is none, or closed
    local left = seconds("a timeout", timeout)
    place = place == nil and now_at or place
    return sleep_for(left, function(now) return core.wait_once(db, node, now, place) end)
end

-- ------------------------------------------------------------------ the feed

local feed = {}
feed.__index = feed

local function check(self)
    if type(self) ~= "table" or not self.log then core.expected(self, "a feed of changes") end
end

--- The next change, nil if there is none in time; or nil, text, name.
function feed:next(timeout)
    check(self)
    local left = seconds("a timeout", timeout == nil and self.patience or timeout)
    while true do
        local name, subs, kind, value, length, place, index, count, range = core.log_next(self.log)
        if name then
            if self.decode then value = self.decode(value) end
            return {
                node = self.db.node(name, subs), kind = kind, value = value, length = length, place = place,
                index = index, count = count, range = range,
            }
        end
        if name == nil then return nil, subs, kind end
        local found, text, code = sleep_for(left, function(now) return core.log_wait(self.log, now) end)
        if not found then return nil, text, code end
        left = 0
    end
end

--- The place to go on from: after the last commit that was told whole.
function feed:place()
    check(self)
    return core.log_place(self.log)
end

--- Give it back at once, not when it is collected.
function feed:close()
    check(self)
    core.log_close(self.log)
end

-- As an iterator: what can't go on is an error.
function feed:__call()
    local change, text = self:next()
    if text then error(text, 2) end
    return change
end

feed.__name = "caret changes"
feed.__close = feed.close

local known = {from = true, prefix = true, wait = true}

--- db:changes{from = place, prefix = node or name, wait = seconds}
function changes.changes(db, options)
    core.path(db) -- raises if it is none, or closed
    options = options == nil and {} or options
    if typename(options) ~= "table" then
        misuse("the options of changes are a table, not a " .. typename(options))
    end
    for name in pairs(options) do
        if not known[name] then
            local shown = core.shown(tostring(name))
            misuse(("changes has no option %s; there are from, prefix, wait"):format(shown))
        end
    end
    local patience = seconds("option wait", options.wait)
    local log, text, name = core.log_open(db, options.from, options.prefix)
    if not log then return nil, text, name end
    return setmetatable({db = db, log = log, patience = patience}, feed)
end

return changes
