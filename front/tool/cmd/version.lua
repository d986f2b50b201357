-- caret version.

local caret = require "caret"
local command = require "tool.lib.command"
local json = require "tool.lib.json"

return {
    summary = "tell which version this is",
    options = {command.JSON},
    run = function(o)
        print(o.json and json.encode(json.object("caret", caret._VERSION)) or "caret " .. caret._VERSION)
    end,
}
