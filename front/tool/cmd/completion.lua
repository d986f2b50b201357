-- caret completion: have a shell complete commands and options.

return {
    summary = "print the completion of commands and options for a shell",
    operands = {"SHELL"},
    choices = {"bash", "zsh", "fish"},
    about = [[
SHELL is bash, zsh or fish. `make install` puts all three where these shells look for them; this is for
those who did not install.]],
    examples = {
        {"eval \"$(caret completion bash)\"", "in ~/.bashrc"},
        {"source <(caret completion zsh)", "in ~/.zshrc, after compinit"},
        {"caret completion fish >~/.config/fish/completions/caret.fish"},
    },
    run = function(o) print(require("tool.lib.pages").completion(o[1])) end,
}
