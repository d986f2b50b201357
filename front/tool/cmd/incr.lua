-- caret incr: count.

local command = require "tool.lib.command"
local json = require "tool.lib.json"

-- Digits, perhaps with a sign, a point, an exponent after E: what Node:incr takes.  tonumber() takes more.
local function is_number(text)
    local number, exponent = text:match("^[-+]?([%d.]*)(.*)$")
    return number:find("%d") and number:find("^%d*%.?%d*$")
        and (exponent == "" or exponent:find("^E[-+]?%d+$"))
end

local function run(o)
    local by = o[2] or "1"
    if not is_number(by) then
        command.usage(("'%s' is not a number to add: digits, perhaps with a sign, a point, an exponent "
            .. "after E"):format(by))
    end
    command.address(o[1])
    local core = require "caret.core"
    local node
    local result = command.change(o, function(db)
        node = command.node(db, o[1])
        return core.text.incr(node, by)
    end)
    print(o.json and json.encode(json.object("node", json.node(node), "value", json.value(result))) or result)
    return 0
end

return {
    summary = "add to a value in one atomic step, and print the sum",
    operands = {"NODE", "[BY]"},
    options = {command.JSON, command.DB},
    about = [[
BY is 1 when it is not given, and may be negative or a fraction. Sums are exact up to 38 digits; what would
need more is refused and changes nothing.
No value counts as 0, and a text as the number that it begins with. The database is made if it is not
there.]],
    examples = {{"caret incr '^oaks'"}, {"caret incr '^oaks(1,\"shadow\")' -0.5"}},
    run = run,
}
