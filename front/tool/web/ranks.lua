-- Where among its brothers a child is: the number of children, and the child of a number.
--
-- A database has cursors, not ranks.  So the children of a node that is looked at are walked once, some
-- milliseconds at a time beside the requests, and each EVERYth subscript is kept:
--
--     every 3     s0  .  .  s3  .  .  s6  .  .        a child of number 5: from s3 two steps on
--
-- There are at most MOST of them: when there would be more, each second one goes and EVERY doubles.  So a
-- walk of any length takes the same memory, and the steps from a kept one are few enough.
--
-- Until the walk is done, where a child is about is told by a sample of children drawn by chance: among 100
-- of them the 50th is near the middle.  Each draw may read a page of the file, so a request makes but a
-- few, and the walk makes the others first.  After a commit the ranks are about right still; they are walked
-- again if they are asked for, but not for more than a tenth of the time; while the database is changed from
-- one request to the next, for half a percent, as they would not be right for long.

local host = require "caret.host"

local ranks = {}
ranks.__index = ranks

local MOST, EVERY = 8192, 64
local DRAWS, DRAW_SECONDS = 100, 0.003
local SLICE = 0.002   -- seconds of a walk between requests
local AT_ONCE = 0.004 -- seconds of it in the first request: small nodes are done by then
local KEPT = 16       -- nodes
local QUIET, BUSY = 10, 200 -- times as long as a walk took: until the next one

-- -------------------------------------------------------------------- sample

local function before(a, b)
    local x, y = tonumber(a) or nil, tonumber(b) or nil
    if type(a) == "number" or type(b) == "number" then
        if not x or not y then return x ~= nil end
        return x < y
    end
    return a < b
end

-- More children drawn by chance, until there are DRAWS or the time is over.
local function draw(self, ends)
    local list, clock = self.sample, host.clock
    local known = #list
    while #list < DRAWS do
        local sub = self.node:__random()
        if sub == nil then break end
        list[#list + 1] = sub
        if clock() > ends then break end
    end
    if #list > known then table.sort(list, before) end
end

local function sampled(self)
    if #self.sample == 0 then draw(self, host.clock() + DRAW_SECONDS) end
    return self.sample
end

-- ---------------------------------------------------------------------- walk

local function thin(r)
    local half = {}
    for i = 1, #r.kept, 2 do half[#half + 1] = r.kept[i] end
    r.kept, r.every = half, r.every * 2
end

-- One walk; it yields after each slice.
local function walk(self, node)
    local r, clock = {kept = {}, every = EVERY, count = 0, done = false}, host.clock
    self.building = r
    local from = clock()
    r.began = from
    for sub in node:__subscripts() do
        if r.count % r.every == 0 then
            r.kept[#r.kept + 1] = sub
            if #r.kept > MOST then thin(r) end
        end
        r.count, r.last = r.count + 1, sub
        if r.count % 64 == 0 and clock() - from > SLICE then
            coroutine.yield()
            from = clock()
        end
    end
    r.done, r.seconds, r.ended = true, clock() - r.began, clock()
    self.ready, self.building = r, nil
end

-- What is done between two requests.
local function slice(self)
    local drawn = #self.sample
    if self.walking and drawn > 0 and drawn < DRAWS then draw(self, host.clock() + SLICE) end
    if self.walking and #self.sample == drawn then self.walking() end
    return self.walking ~= nil
end

local function start(self)
    self.place = self.db:place()
    self.walking = coroutine.wrap(function()
        walk(self, self.node)
        self.walking = nil
    end)
    self.later(function() return slice(self) end)
end

-- ------------------------------------------------------------------ estimates

-- How many there are, as far as a walk that is not done tells.
local function estimate(self)
    local r, list = self.building, sampled(self)
    if not r or r.count == 0 then return #list end
    local passed = 0
    for _, sub in ipairs(list) do
        if before(r.last, sub) then break end
        passed = passed + 1
    end
    if passed == 0 then return math.max(r.count * (#list + 1), r.count) end
    return math.max(r.count, r.count * #list // passed)
end

-- -------------------------------------------------------------------- answers

-- Have the walk go on for so many seconds now: small nodes are done at once.
local function advance(self, seconds)
    local ends = host.clock() + seconds
    while self.walking and host.clock() < ends do self.walking() end
end

local function refresh(self)
    local r, place = self.ready, self.db:place()
    local pause = self.asked == place and QUIET or BUSY
    self.asked = place
    if self.walking or r and self.place == place then return end
    if r and host.clock() - r.ended < pause * r.seconds then return end
    start(self)
    if not r or r.count < 50000 then advance(self, AT_ONCE) end
end

--- The number of children, and whether it is exact.
function ranks:total()
    refresh(self)
    local r = self.ready
    if r then return r.count, self.place == self.db:place() and not self.walking end
    return estimate(self), false
end

-- The child after so many steps from a kept one.
local function step(self, r, index)
    local sub = r.kept[index // r.every + 1]
    for _ = 1, index % r.every do
        local next_one = self.node:__next(sub)
        if not next_one then break end
        sub = next_one
    end
    return sub
end

--- The subscript of the child of that number (0: the first), or of one near to it; its number, and whether
-- that is exact.
function ranks:at(index)
    local total, exact = self:total()
    index = math.max(0, math.min(index, total - 1))
    local r = self.ready
    if r and r.count > 0 then return step(self, r, math.min(index, r.count - 1)), index, exact end
    local b, list = self.building, sampled(self)
    if b and index < b.count then return step(self, b, index), index, false end
    if #list == 0 then return b and b.last, b and b.count - 1 or 0, false end
    return list[math.min(#list, math.floor(index / math.max(total, 1) * #list) + 1)], index, false
end

-- --------------------------------------------------------------------- cache

local cache = {}
cache.__index = cache

--- later(f): f() is called between requests until it returns false.
function ranks.cache(db, later)
    return setmetatable({db = db, later = later, list = {}}, cache)
end

--- The ranks of a node's children; the last few nodes are remembered.
function cache:of(node)
    local name = tostring(node)
    for i, entry in ipairs(self.list) do
        if entry.name == name then
            table.insert(self.list, 1, table.remove(self.list, i))
            return entry
        end
    end
    local entry = setmetatable({name = name, node = self.db.node(node), db = self.db, later = self.later,
        sample = {}}, ranks)
    table.insert(self.list, 1, entry)
    if #self.list > KEPT then table.remove(self.list).walking = nil end
    return entry
end

return ranks
