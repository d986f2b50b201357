-- Makes the golden databases of the current format in the folder given: run once for each format, by
--     tools/lua.sh lua5.4 test/golden/make.lua FOLDER; gzip -9n FOLDER/*
-- N-clean.caret was closed; N-log.caret was not, and half of it is only in N-log.caret-log.

local caret = require "caret"
local dir, what = arg[1], arg[2]
local here = arg[0]:match("^(.*)/")
local contents = dofile(here .. "/contents.lua")

local function fill(db, from, to)
    local n = 0
    contents(function(value, ...)
        n = n + 1
        if n < from or n > to then return end
        db.node(...).__ = value
    end)
end

if what == nil then
    local db = assert(caret.open(dir .. "/1-clean.caret"))
    fill(db, 1, math.huge)
    assert(db:close())
    os.execute(("mkdir %s/shm; '%s' '%s' '%s' log; rm -r %s/shm %s/1-log.caret-lock"):format(
        dir, arg[-1], arg[0], dir, dir, dir))
else
    local db = assert(caret.open(dir .. "/1-log.caret", {log_size = 8388608, shm_dir = dir .. "/shm"}))
    fill(db, 1, 450)
    assert(db:checkpoint())
    fill(db, 451, math.huge)
    assert(db:sync())
    os.exit(0, false) -- without closing
end
