-- Workers may be killed: what was acknowledged is there exactly once, and others go on.
local check = require "check"
local ffi = require "ffi"
local case, is = check.case, check.is
ffi.cdef "int kill(int, int);"

case("a killed worker is replaced, and loses no acknowledged write", function()
    local clients, acknowledged, open = {}, 0, 0
    math.randomseed(7)
    for round = 1, 12 do
        for i = 1, 8 do clients[i] = clients[i] or check.connect() end
        for _ = 1, 200 do
            for i = 1, 8 do
                if clients[i] then
                    clients[i]:send("INCRBY n 1\r\nAPPEND a x\r\n")
                end
            end
            for i = 1, 8 do
                local fine = clients[i] and pcall(clients[i].read, clients[i])
                if fine then acknowledged = acknowledged + 1 end
                if fine then fine = pcall(clients[i].read, clients[i]) end
                if clients[i] and not fine then
                    open = open + 1
                    clients[i]:close()
                    clients[i] = nil
                end
            end
        end
        local list
        check.wait(function()
            list = check.workers()
            return #list > 0
        end)
        if round < 12 then ffi.C.kill(list[math.random(#list)], 9) end
    end
    local c = check.connect()
    local n = tonumber(c("GET", "n"))
    if n < acknowledged or n > acknowledged + open then
        error(("%d acknowledged, %d not known, %d stored"):format(acknowledged, open, n))
    end
    is(c("INFO", "server"):match("worker_restarts:(%d+)") + 0 > 0, true)
end)

check.run()
