-- commands.lua - commands that are rare, by name in full and upper case: a function that is called with the
-- values of each argument.  Each part of the runtime adds its own: require("mumps.runtime.commands").ZLINK =
-- function(text) end

-- Commands of tools that are loaded when a program needs them.
local homes = {
    BREAK = "mumps.tools.direct", ZCONTINUE = "mumps.tools.direct",
    ZBREAK = "mumps.tools.debug", ZSTEP = "mumps.tools.debug",
}

return setmetatable({}, {__index = function(commands, name)
    if not homes[name] then return nil end
    require(homes[name])
    return rawget(commands, name)
end})
