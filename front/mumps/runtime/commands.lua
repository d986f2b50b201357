-- commands.lua - commands that are rare, by name in full and upper case: a function that is called with the
-- values of each argument.  Each part of the runtime adds its own: require("mumps.runtime.commands").ZLINK =
-- function(text) end
return {}
