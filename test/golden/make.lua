-- Makes the golden database of the current format in the folder given: run once for each format, by
--     tools/lua.sh lua5.4 test/golden/make.lua FOLDER; gzip -9n FOLDER/*
-- It was not closed: what is after the checkpoint is only in 2-log.caret-log, kills of ranges among it.
-- (Closed ones are those of format 1 still.)

local caret = require "caret"
local dir = arg[1]
local here = arg[0]:match("^(.*)/")

local function fill(db, contents)
    contents(function(value, ...) db.node(...).__ = value end)
end

if arg[2] == nil then
    os.execute(("mkdir %s/shm; '%s' '%s' '%s' log; rm -r %s/shm %s/2-log.caret-lock"):format(
        dir, arg[-1], arg[0], dir, dir, dir))
    return
end
local db = assert(caret.open(dir .. "/2-log.caret", {log_size = 8388608, shm_dir = dir .. "/shm"}))
fill(db, dofile(here .. "/contents.lua"))
local range = db.node("^range")
for i = 1, 400 do range[i].__, range[i].below.__ = "r" .. i, ("below"):rep(i % 9) end
assert(db:checkpoint())
for i = 1, 50 do range["user:" .. i].__, range["user;" .. i].__ = "goes", "stays" end
range.__ = "root"
range:kill_range {from = 100, to = 200}
db:tp(function()
    range:kill_range {from = 150.5, before = 301}
    range:kill_range {prefix = "user:"}
end)
assert(db:sync())
os.exit(0, false) -- without closing
