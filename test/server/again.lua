-- again.lua TIMES WORD...: send a command so often, each after the answer of the one before.
-- The last answer is printed.
local resp = require "resp"
local c, answer = assert(resp.connect(os.getenv("SERVE_SOCKET"))), nil
for _ = 1, tonumber(arg[1]) do answer = c(unpack(arg, 2)) end
print(type(answer) == "table" and answer.error or answer)
