-- mumps.bridge.fresh: a call from a host that serves others by the same machine: it begins as a program does,
-- and leaves nothing but what it has written to the database.
--
-- That is for a server, each of whose calls may be another client's: a transaction, locks, local variables,
-- devices, $ETRAP, $ZROUTINES, VIEW and so on are those of the call.  What is not put back: variables of the
-- environment (VIEW "SETENV"), and what JOB started.
--
-- Routines whose files were changed are compiled anew, as far as that was not looked at just now.

local C = require "mumps.host"
local level = require "mumps.runtime.level"
local routine = require "mumps.runtime.routine"
local search = require "mumps.runtime.search"
local special = require "mumps.runtime.special"
local symbols = require "mumps.runtime.symbols"
local system = require "mumps.io.system"
local test = require "mumps.runtime.test"
local tp = require "mumps.data.tp"
local trap = require "mumps.runtime.trap"
local device = require "mumps.io.device"

local fresh = {}

local LOOK = 100 -- milliseconds between two looks at the files of routines
local looked = -LOOK
local kept -- functions that put back settings, from the first call on
local own, top, n, folder

local function keep_settings()
    local routines, maxtptime = search.text(), special.get "ZMAXTPTIME"
    kept = {special.keep(), require("mumps.runtime.view").keep(), function()
        if search.text() ~= routines then search.set(routines) end
        special.set("ZMAXTPTIME", maxtptime)
    end}
end

local function refresh()
    local now = C.caret_mumps__io_ticks()
    if now - looked < LOOK then return end
    looked = now
    routine.refresh()
    system.reap_jobs()
end

function fresh.begin()
    if not kept then keep_settings() end
    refresh()
    trap.clear()
    own, top, n, folder = tp.own(), symbols.stack.top, level.L.n, routine.folder()
end

-- Programs at the other end of pipes are not waited for: they see that their pipe is closed.
local function close_devices()
    for _, d in pairs(require("mumps.io.base").devices) do
        if d.pid then
            d.independent = true
            system.add_job(d.pid)
        end
    end
    device.close_all()
end

local function back_to_folder()
    if routine.folder() ~= folder then special.set("ZDIRECTORY", folder) end
end

local function stop_debugging()
    if package.loaded["mumps.tools.debug"] then require("mumps.tools.debug").clear() end
    if package.loaded["mumps.tools.profile"] then require("mumps.tools.profile").at_end() end
    if package.loaded["mumps.runtime.timeout"] then require("mumps.runtime.timeout").set "-1:" end
end

local function clear_locals()
    level.L.n = n
    symbols.clear(top)
    test.t = 1
    require("mumps.data.globals").restore_naked(false)
end

local function put_back()
    for _, f in ipairs(kept) do f() end
end

-- Whatever one of them meets, the others are done.
function fresh.leave()
    pcall(tp.leave, own)
    pcall(require("mumps.data.lock").clear)
    pcall(stop_debugging)
    pcall(close_devices)
    pcall(clear_locals)
    pcall(symbols.forget)
    pcall(back_to_folder)
    pcall(put_back)
end

return fresh
