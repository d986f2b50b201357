-- special.lua - special variables, functions and commands of devices and of the system, entered where the
-- emitter looks for them: mumps.runtime.special, functions, commands.
local D = require "mumps.io.device"
local C = require "mumps.host"
local F = require "mumps.io.files"
local J = require "mumps.io.job"
local S = require "mumps.io.system"

local V = { get = {}, set = {} }
local get, set = V.get, V.set

-- The side of the current device that READ uses.
local function inner()
    local d = D.current()
    return d.input or d
end

function get.X() return D.x() end
function get.Y() return D.y() end
function get.IO() return D.io() end
function get.ZIO() return D.current().path or D.io() end
function get.PRINCIPAL() return D.principal().name end
function get.ZPIN() return D.principal().input and D.principal().name .. "< /" or D.principal().name end
function get.ZPOUT() return D.principal().input and D.principal().name .. "> /" or D.principal().name end
function get.KEY() return inner().key end

-- Of a file: where the next READ or WRITE begins.
function get.ZKEY()
    local d = inner()
    if not d.regular or d.principal then
        return d.zkey or ""
    end
    local at = tonumber(C.caret_mumps__io_seek(d.fd, 0, 1)) - (d.ie - d.ip) + d.n
    return d.fixed and ("%d,%d"):format(at / d.width, at % d.width) or at
end
function get.ZA() return inner().za end
function get.ZB() return inner().zb end
function get.ZEOF() return inner().zeof end

function get.DEVICE()
    local d = inner()
    return d.status == "" and d.wrote and d.kind ~= "NL" and "0" or d.status
end

function get.ZJOB() return J.last end
function get.ZSYSTEM() return S.zsystem_status end
function get.ZCLOSE() return require("mumps.io.pipe").status end
function get.HOROLOG() return S.horolog() end
function get.ZHOROLOG() return S.zhorolog() end
function get.ZUT() return S.zut() end
function get.JOB() return C.caret_mumps__io_pid() end

-- A cursor is kept in 16 bits with a sign, of which the negative half is 0.
local function cursor(v)
    local n = require("mumps.values.number").int(v) % 65536
    return n < 32768 and n or 0
end

function set.X(v) D.current().x = cursor(v) end
function set.Y(v) D.current().y = cursor(v) end

local function enter(list, target)
    for key, f in pairs(list) do
        target[key] = f
    end
end

local functions = { ZSEARCH = F.zsearch, ZPARSE = F.zparse, ZTRNLNM = S.ztrnlnm, ZSYSLOG = S.zsyslog,
    ZAUDITLOG = function() return 0 end, ZGETJPI = S.zgetjpi,
    ZJOBEXAM = function(...) return require("mumps.io.zshow").jobexam(...) end, ZSIGPROC = S.zsigproc,
    ZSOCKET = function(...) return require("mumps.io.zsocket").zsocket(...) end }

-- Commands get their values in a table.
local commands = {
    ZSYSTEM = function(args) return S.zsystem(args[1]) end,
    ZSHOW = function(args) return require("mumps.io.zshow").command(args[1], args[2]) end,
}

local special = require "mumps.runtime.special"
enter(get, special.readers)
enter(set, special.writers)
enter(functions, require "mumps.runtime.functions")
enter(commands, require "mumps.runtime.commands")

return V
