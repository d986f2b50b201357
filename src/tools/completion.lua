-- caret completion: have a shell complete commands and options.

local command = require "tool.command"

return {
    summary = "print the completion of commands and options for a shell",
    operands = {"SHELL"},
    about = [[
SHELL is bash, zsh or fish. `make install` puts all three where these shells look for them; this is for
those who did not install.]],
    examples = {
        {"eval \"$(caret completion bash)\"", "in ~/.bashrc"},
        {"caret completion fish >~/.config/fish/completions/caret.fish"},
    },
    run = function(o)
        local text = require("tool.pages").completion(o[1])
        if not text then command.usage(("'%s' is none of bash, zsh and fish"):format(o[1])) end
        print(text)
    end,
}
