-- Lines from the terminal for direct mode: edited by libedit where it is installed, with history and
-- completion.
--
-- libedit is loaded when a terminal is there; without it lines are read as they come.  While a line is
-- edited the terminal sends no signals: Ctrl-C drops the line.

local ffi = require "ffi"

local lines = {}

ffi.cdef [[
typedef struct caret_mumps__edit caret_mumps__edit;
typedef struct caret_mumps__past caret_mumps__past;
typedef struct { int number; const char *text; } caret_mumps__event;
typedef struct { const char *buffer, *cursor, *last; } caret_mumps__line;
caret_mumps__edit *el_init(const char *name, void *in, void *out, void *err);
int el_set(caret_mumps__edit *, int, ...);
const char *el_gets(caret_mumps__edit *, int *);
const caret_mumps__line *el_line(caret_mumps__edit *);
int el_insertstr(caret_mumps__edit *, const char *);
int el_source(caret_mumps__edit *, const char *);
void el_end(caret_mumps__edit *);
caret_mumps__past *history_init(void);
int history(caret_mumps__past *, caret_mumps__event *, int, ...);
extern void *stdin, *stdout, *stderr;
int isatty(int);
char *setlocale(int, const char *);
int mkdir(const char *, unsigned);
]]

-- libedit's numbers.
local EL_PROMPT, EL_EDITOR, EL_BIND, EL_SETTY, EL_ADDFN, EL_HIST, EL_PREP_TERM = 0, 2, 4, 8, 9, 10, 16
local CC_NEWLINE, CC_ERROR, CC_REFRESH, CC_REDISPLAY, CC_REFRESH_BEEP = 1, 6, 4, 8, 9
local H_SETSIZE, H_ENTER, H_SAVE, H_LOAD, H_SETUNIQUE = 1, 10, 18, 17, 20
local HISTORY_LINES = 1000
local LC_CTYPE = 0

local edit, el, past, path
local event, length = ffi.new "caret_mumps__event", ffi.new "int[1]"
local prompt_text = ffi.new("char[256]")
local stopped = false
local kept = {} -- callbacks must stay

function lines.terminal()
    return ffi.C.isatty(0) == 1 and ffi.C.isatty(1) == 1
end

local function callback(kind, f)
    local c = ffi.cast(kind, f)
    kept[#kept + 1] = c
    return c
end

-- The words, in columns.
local function print_words(words)
    local widest = 1
    for _, word in ipairs(words) do widest = math.max(widest, #word) end
    local columns = math.max(1, math.floor(78 / (widest + 2)))
    for i, word in ipairs(words) do
        io.write(i % columns == 1 % columns and "\n" or "", word, (" "):rep(widest + 2 - #word))
    end
    io.write("\n")
    io.flush()
end

-- Tab: complete(text before the cursor) gives what to insert, and words to choose from.
local function completer(complete)
    return function(at)
        local line = edit.el_line(at)
        local ok, insert, words = pcall(complete, ffi.string(line.buffer, line.cursor - line.buffer))
        if not ok then return CC_ERROR end
        if insert and insert ~= "" then
            return edit.el_insertstr(at, insert) == 0 and CC_REFRESH or CC_ERROR
        elseif words and #words > 1 then
            print_words(words)
            return CC_REDISPLAY
        end
        return CC_REFRESH_BEEP
    end
end

local function text(s) return ffi.cast("const char *", s) end

local function number(n) return ffi.cast("int", n) end

local function make_folders(file)
    for at in file:gmatch "()/" do
        if at > 1 then ffi.C.mkdir(file:sub(1, at - 1), 448) end -- 0700
    end
end

local function start_history()
    past = edit.history_init()
    edit.history(past, event, H_SETSIZE, number(HISTORY_LINES))
    edit.history(past, event, H_SETUNIQUE, number(1))
    if path then
        make_folders(path)
        edit.history(past, event, H_LOAD, text(path))
    end
    edit.el_set(el, EL_HIST, ffi.cast("void *", edit.history), past)
end

local function bind_keys(complete)
    local key = "unsigned char (*)(caret_mumps__edit *, int)"
    local tab = callback(key, completer(complete))
    edit.el_set(el, EL_ADDFN, text "caret-complete", text "Complete a name", tab)
    edit.el_set(el, EL_ADDFN, text "caret-stop", text "Drop the line", callback(key, function()
        stopped = true
        return CC_NEWLINE
    end))
    local none = ffi.cast("const char *", nil)
    edit.el_set(el, EL_BIND, text "^I", text "caret-complete", none)
    edit.el_set(el, EL_BIND, text "^R", text "em-inc-search-prev", none)
    edit.el_set(el, EL_SETTY, text "-d", text "-isig", none)
    edit.el_set(el, EL_BIND, text "^C", text "caret-stop", none)
end

local function start_editing(complete)
    ffi.C.setlocale(LC_CTYPE, "")
    el = edit.el_init("caret-m", ffi.C.stdin, ffi.C.stdout, ffi.C.stderr)
    if el == nil then return false end
    edit.el_set(el, EL_PROMPT, callback("char *(*)(caret_mumps__edit *)", function() return prompt_text end))
    edit.el_set(el, EL_EDITOR, text "emacs")
    start_history()
    bind_keys(complete)
    edit.el_source(el, nil)
    return true
end

-- Begin: is a line edited?  `file` keeps the history.
function lines.open(complete, file)
    if el ~= nil then return true end
    if not lines.terminal() then return false end
    for _, name in ipairs { "libedit.so.2", "libedit.so.0", "edit" } do
        local ok, library = pcall(ffi.load, name)
        if ok then
            edit, path = library, file
            return start_editing(complete)
        end
    end
    return false
end

-- A line without its end; nil at the end; nil, "interrupt".
function lines.read(prompt)
    ffi.copy(prompt_text, prompt:sub(1, 255))
    stopped = false
    edit.el_set(el, EL_PREP_TERM, number(1))
    local line = edit.el_gets(el, length)
    if stopped then return nil, "interrupt" end
    if line == nil or length[0] <= 0 then return nil end
    return (ffi.string(line, length[0]):gsub("\n$", ""))
end

jit.off(lines.read) -- it is called back from

function lines.remember(line)
    if el == nil or line:find "^%s*$" then return end
    edit.history(past, event, H_ENTER, text(line))
    if path then edit.history(past, event, H_SAVE, text(path)) end
end

function lines.close()
    if el == nil then return end
    edit.el_end(el)
    el = nil
end

return lines
