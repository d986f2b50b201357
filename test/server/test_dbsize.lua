-- DBSIZE, and the keys that INFO tells.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

case("DBSIZE follows what commands, scripts and other workers do", function()
    local clients = check.spread(4)
    local there, n = {}, 0
    local function compare()
        for _, one in ipairs(clients) do
            is(one("DBSIZE"), n)
            is(one("INFO", "keyspace"):match("db9:keys=(%d+)") or "0", tostring(n))
        end
    end
    for _, one in ipairs(clients) do one("SELECT", "9") end
    clients[1]("FLUSHDB")
    for round = 1, 30 do
        local one = clients[round % #clients + 1]
        local bytes, sent = {}, 0
        for _ = 1, round % 5 == 0 and 800 or 3 do
            local name = "k" .. math.random(3000)
            local gone = math.random(4) == 1
            local make = ({{"SET", name, ("x"):rep(40)}, {"HSET", name, "f", "v"}, {"RPUSH", name, "x"},
                {"SET", name, "x", "EX", "1000"},
                {"EVAL", "caret.node('^redis9')[KEYS[1]].__ = 'x'", "1", name}})[math.random(5)]
            if there[name] ~= nil then make = {"EXPIRE", name, "1000"} end
            bytes[#bytes + 1] = resp.encode(unpack(gone and {"DEL", name} or make))
            sent = sent + 1
            n = n + (gone and (there[name] and -1 or 0) or (there[name] and 0 or 1))
            there[name] = not gone or nil
        end
        one:send(table.concat(bytes))
        for _ = 1, sent do one:read() end
        compare()
    end
    local all = n
    is(clients[1]("MULTI"), "OK")
    clients[1]("SET", "of a transaction", "x")
    clients[1]("DBSIZE")
    is(clients[1]("EXEC")[2], all + 1)
    n = all + 1
    compare()
    clients[2]("FLUSHDB")
    n = 0
    compare()
    for _, one in ipairs(clients) do one:close() end
end)

check.run()
