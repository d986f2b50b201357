-- caret version.

local caret = require "caret"

return {
    summary = "tell which version this is",
    run = function() print("caret " .. caret._VERSION) end,
}
