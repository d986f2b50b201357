-- later.lua - a module that is loaded when something of it is used first.
return function(path)
    return setmetatable({}, {__index = function(t, name)
        local f = require(path)[name]
        t[name] = f
        return f
    end})
end
