-- functions.lua - intrinsic functions that are not pure (values/functions has those), by name in full and
-- upper case.  Each part of the runtime adds its own: require("mumps.runtime.functions").ZSEARCH =
-- function(...) end
return {}
