-- Nodes, subscripts and values as the page has them: text that is valid UTF-8, and exact.

local core = require "caret.core"
local host = require "caret.host"
local http = require "caret.http"
local json = require "tool.web.json"
local refuse = require "tool.web.refuse"

local keys = {}

keys.PREVIEW = 256 -- bytes of a value in a row

--- The node of ZWR text, which must be a global.
function keys.node(db, text)
    if type(text) ~= "string" then refuse.with("SYNTAX", "a node is missing") end
    local name, subs = host.parse(text)
    if not name then refuse.with("SYNTAX", (subs:gsub("^%u+: ", ""))) end
    if name:sub(1, 1) ~= "^" then refuse.with("SYNTAX", ("'%s' is not a global: ^%s"):format(text, text)) end
    local ok, node = pcall(db.node, name, subs)
    if not ok then error(refuse.from(node) or node, 0) end
    return node, name, subs
end

--- The subscript of a child as ZWR: a number is bare.
function keys.subscript(parent, sub)
    if math.type(sub) == "integer" then return ("%d"):format(sub) end
    if not sub:find "^%-?%d*%.?%d+$" then return core.zwr(sub) end
    return (tostring(parent(sub)):match "[(,]([^(,]*)%)$")
end

--- A subscript as text, from ZWR.
function keys.from_subscript(text)
    local name, subs = host.parse("^x(" .. text .. ")")
    if not name or #subs ~= 1 then refuse.with("SYNTAX", ("'%s' is not a subscript"):format(text)) end
    return subs[1]
end

-- The bytes without a character that the end cuts; nil: they are not UTF-8.
local function whole_characters(piece, cut)
    local length, at = utf8.len(piece)
    if length then return piece end
    if cut and at > #piece - 3 and at > 1 then
        local shorter = piece:sub(1, at - 1)
        return utf8.len(shorter) and shorter or nil
    end
    return nil
end

--- Some bytes of a value, from `at` (0: the first): the object for the page, and how many they are.
function keys.piece(value, at, n)
    local piece = value:sub(at + 1, at + n)
    local text = whole_characters(piece, at + n < #value)
    local object = {len = #value}
    if text then object.text = text else object.b64 = http.base64(piece) end
    return object, text and #text or #piece
end

--- A value for a row; null: there is none.  It has a tag if all of it is there.
function keys.value(value)
    if not value then return json.null end
    local object, n = keys.piece(value, 0, keys.PREVIEW)
    if n < #value then object.cut = true else object.tag = http.tag(value) end
    if #value < 40 and value:find "^%-?%d*%.?%d+$" then object.num = true end
    return object
end

--- The bytes of {text=} or {b64=}.
function keys.bytes(object)
    if type(object) ~= "table" then refuse.with("SYNTAX", "a value is missing") end
    if type(object.text) == "string" then return object.text end
    local bytes = type(object.b64) == "string" and http.unbase64(object.b64)
    if not bytes then refuse.with("SYNTAX", "a value is {\"text\": ...} or {\"b64\": ...}") end
    return bytes
end

return keys
