-- Does a server answer at this socket?  The exit status tells.
local resp = require "resp"
local c = resp.connect(arg[1])
os.exit(c and c("PING") == "PONG" and 0 or 1)
