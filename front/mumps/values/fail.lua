-- Raises an M error.  The runtime is looked for when the first error comes, so that values need nothing of
-- it.
return function(mnemonic, ...)
    return require("mumps.runtime.error").fail(mnemonic, ...)
end
