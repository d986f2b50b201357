-- caret help: what there is, and how each command is used.

local command = require "tool.lib.command"

return {
    summary = "tell what there is, and how each command is used",
    operands = {"[COMMAND]"},
    options = {{"--man", "print the man page caret(1)"}},
    run = function(o)
        local pages = require "tool.lib.pages"
        if o.man then
            print(pages.man())
        elseif not o[1] then
            print(pages.overview())
        else
            local spec = command.find(o[1])
            local text = spec and pages.command(o[1], spec) or pages.chapter(o[1])
            if not text then
                local names = {}
                for name in command.all() do names[#names + 1] = name end
                command.fail(("there is no command '%s'%s; `caret help` lists them"):format(o[1],
                    command.did_you_mean(o[1], names)), 2)
            end
            print(text)
        end
    end,
}
