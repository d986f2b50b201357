-- Commands that start processes: nothing of them stays, whatever happens.

local host = require "caret.host"
local programs = require "caret.programs"

local children = {}

--- body() -> what it returns, cleanup() after it however it ends.  Meanwhile the end of a child and the
-- user's Ctrl-C wait until programs.pause() takes them, so the cleanup is never cut short.
function children.guard(body, cleanup)
    programs.watch()
    local ok, result = pcall(body)
    cleanup()
    programs.unwatch()
    if not ok then error(result, 0) end
    return result
end

--- End those of them that still run.
function children.kill(pids)
    for _, pid in ipairs(pids) do programs.kill(pid) end
    for _, pid in ipairs(pids) do host.wait(pid, true) end
end

return children
