-- What the commands about one database have in common: their arguments, and how they fail.

local arguments = {
    forms = { -- where it differs
        restore = "BACKUP TO [--archive FOLDER] [--lsn PLACE | --time 'YYYY-MM-DD HH:MM[:SS]']",
        backup = "TO [--db FILE] [--compact] [--overwrite] [--quiet]",
        salvage = "[--sure] [--json] SRC OUT.zwr",
        check = "[FILE] [--db FILE] [--json] [--online] [--readonly]",
        repl = "[FILE] [--db FILE] [--readonly]",
        stat = "[FILE] [--db FILE] [--json] [--quick] [--readonly]",
    },
}

function arguments.usage(command, text)
    local form = arguments.forms[command] or "[FILE] [--db FILE] [--json]"
    io.stderr:write(("caret %s: %s; usage: caret %s %s\n"):format(command, text, command, form))
    os.exit(2)
end

function arguments.fail(command, text)
    io.stderr:write("caret ", command, ": ", tostring(text), "\n")
    os.exit(3)
end

--- Option progress of caret.open(): a line on standard error for each second that a recovery takes.
function arguments.progress(part)
    io.stderr:write(("caret: recovering: %.0f %%\n"):format(100 * part))
end

--- path or nil ($CARET_DB then), json, flags given: those of the set {["--name"] = true} that are allowed
function arguments.database(command, list, flags)
    local path, json, i, given = nil, false, 1, {}
    while i <= #list do
        local a = list[i]
        if a == "--json" then
            json = true
        elseif flags and flags[a] then
            given[a] = true
        elseif a == "--db" or a:sub(1, 1) ~= "-" then
            if a == "--db" then
                i = i + 1
                a = list[i]
            end
            if not a or a == "" then arguments.usage(command, "--db needs a path") end
            if path then arguments.usage(command, "one database at a time") end
            path = a
        else
            arguments.usage(command, ("no option '%s'"):format(a))
        end
        i = i + 1
    end
    return path, json, given
end

--- A string as JSON.
function arguments.quote(s)
    return '"' .. s:gsub('[%c"\\\127-\255]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

return arguments
