--- What was sent to a server for each document: its version and the changes since, taken from the
--- very notifications that go out. So an edit made for an older version is mapped onto the
--- current text in the versions and columns that the server means (Neovim's own `changedtick` in
--- `on_bytes` runs ahead of or behind them, and undo reports its bytes after its lines).
local text = require("interline.text")

local Log = {}
Log.__index = Log

--- Changes kept for each document.
local KEEP = 512

--- @class interline.Change
--- @field version integer the server's version after the change
--- @field start integer[] line, column
--- @field old integer[] end of the replaced text
--- @field new integer[] end of the new text
--- @field text string the new text
--- @field edges interline.Edges of the new text

--- @class interline.Edges whether a text begins, and ends, with a character of a word
--- @field first boolean
--- @field last boolean

--- @class interline.Document
--- @field buffer integer
--- @field version integer told last
--- @field first integer oldest version that `changes` leads on from
--- @field opened string? hash of the text at `first`, where a version alone would be ambiguous
--- @field changes interline.Change[]
--- @field shape string line ends as told
--- @field held table[]? content changes kept back for one notification
--- @field held_version integer?
--- @field loose boolean? what was sent since cannot be relied on
--- @field raw boolean a line holds a carriage return, which the server counts as a line end

local M = {}

--- @param columns fun(text: string): integer length of a text without line ends on the wire
function M.new(columns)
  return setmetatable({ documents = {}, closed = {}, columns = columns }, Log)
end

--- Where text that begins at `start` ends.
local function ending(start, inserted, columns)
  local row, from = start[1], 1
  while true do
    local at, last = inserted:find("\r\n", from, true)
    local next = inserted:find("[\r\n]", from)
    if not next then
      break
    end
    row, from = row + 1, (next == at and last or next) + 1
  end
  local width = columns(inserted:sub(from))
  return { row, row == start[1] and start[2] + width or width }
end

--- Bytes of all but ASCII count as a word's.
--- @return interline.Edges
function M.edges(part)
  return {
    first = part:find("^[%w_\128-\255]") ~= nil,
    last = part:find("[%w_\128-\255]$") ~= nil,
  }
end

function Log:record(document, version, content)
  for _, change in ipairs(content) do
    if change.range then
      local first, last = change.range.start, change.range["end"]
      local start = { first.line, first.character }
      table.insert(document.changes, {
        version = version,
        start = start,
        old = { last.line, last.character },
        new = ending(start, change.text, self.columns),
        text = change.text,
        edges = M.edges(change.text),
      })
    else
      document.first, document.changes, document.opened = version, {}, nil
    end
  end
  while #document.changes > KEEP do
    document.first, document.opened = table.remove(document.changes, 1).version, nil
    -- Changes of one notification count only together.
    while document.changes[1] and document.changes[1].version == document.first do
      table.remove(document.changes, 1)
    end
  end
end

function Log:opening(params)
  local item = params.textDocument
  local buffer = vim.uri_to_bufnr(item.uri)
  local again = self.documents[item.uri] or self.closed[item.uri]
  local full = text.full(buffer)
  self.documents[item.uri] = {
    buffer = buffer,
    version = item.version,
    first = item.version,
    opened = again and vim.fn.sha256(full) or nil,
    changes = {},
    shape = text.shape(buffer),
    raw = text.raw(buffer, full),
  }
  return vim.tbl_extend("force", params, { textDocument = vim.tbl_extend("force", item, { text = full }) })
end

--- Neovim tells changes of whole lines as if the last line always had a line end.
local function spans_lines(change)
  return change.range.start.line ~= change.range["end"].line or change.text:find("[\r\n]") ~= nil
end

--- Whether Neovim's account of these changes is not to be relied on, so that the whole text is
--- told: line ends changed, carriage returns in lines, no final line end, nothing left.
local function is_loose(document, content, shape)
  local buffer = document.buffer
  for _, change in ipairs(content) do
    document.raw = document.raw or text.raw(buffer, change.text)
    if text.open_ended(shape) and spans_lines(change) then
      return true
    end
  end
  return document.raw or shape ~= document.shape or text.blank(buffer)
end

function Log:changing(params)
  local document = self.documents[params.textDocument.uri]
  if not document then
    return params
  end
  local content, shape = params.contentChanges, text.shape(document.buffer)
  document.loose = document.loose or is_loose(document, content, shape)
  if document.held then
    vim.list_extend(document.held, content)
    document.held_version = params.textDocument.version
    return nil
  end
  local version = math.max(params.textDocument.version, document.version + 1)
  local whole = document.loose and { { text = text.full(document.buffer) } }
  -- Rows mean other lines to the server where lines contain carriage returns.
  self:record(document, version, document.raw and whole or content)
  if whole then
    content = whole
    document.raw = text.raw(document.buffer, whole[1].text)
  end
  document.version, document.shape, document.loose = version, shape, false
  if text.blank(document.buffer) then
    -- Whether no line is left, or an empty one, is not settled before Neovim's undo has ended.
    vim.schedule(function()
      self:reshape(document.buffer)
    end)
  end
  return { textDocument = { uri = params.textDocument.uri, version = version }, contentChanges = content }
end

--- What goes out in place of `params`; nil: nothing now.
function Log:outgoing(method, params)
  if method == "textDocument/didOpen" then
    return self:opening(params)
  elseif method == "textDocument/didChange" then
    return self:changing(params)
  elseif method == "textDocument/didClose" then
    local uri = params.textDocument.uri
    -- A reload closes and opens at once, with a version that was used before.
    self.documents[uri], self.closed[uri] = nil, true
  end
  return params
end

--- Wraps the connection's `notify`, so that this log sees and shapes what is sent.
function Log:through(rpc)
  local notify = rpc.notify
  rpc.notify = function(method, params)
    local shaped = self:outgoing(method, params)
    return shaped == nil or notify(method, shaped)
  end
  self.notify = rpc.notify
  return rpc
end

--- @return interline.Document?
function Log:document(uri)
  return self.documents[uri]
end

--- The version that was last sent to the server; nil for a document it does not know.
function Log:version(buffer)
  for _, document in pairs(self.documents) do
    if document.buffer == buffer then
      return document.version
    end
  end
end

--- Runs `callback`; all its changes of the document are sent as one notification.
function Log:together(uri, callback)
  local document = self.documents[uri]
  if not document then
    return callback()
  end
  document.held = {}
  local results = { pcall(callback) }
  local held = document.held
  document.held = nil
  if #held > 0 then
    self.notify("textDocument/didChange", {
      textDocument = { uri = uri, version = document.held_version },
      contentChanges = held,
    })
  end
  if not results[1] then
    error(results[2], 0)
  end
  return unpack(results, 2)
end

--- Tells the whole text again if its line ends are not what the server knows.
function Log:reshape(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  for uri, document in pairs(self.documents) do
    if document.buffer == buffer and not document.held and document.shape ~= text.shape(buffer) then
      self.notify("textDocument/didChange", {
        textDocument = { uri = uri, version = document.version },
        contentChanges = {},
      })
    end
  end
end

--- The changes after `version`, oldest first; nil when they are no longer known.
--- @param hash string of the text at `version`
--- @return interline.Change[]?
function Log:since(uri, version, hash)
  local document = self.documents[uri]
  if not document or version < document.first or version > document.version then
    return nil
  end
  if version == document.first and document.opened and document.opened ~= hash then
    return nil
  end
  return vim.tbl_filter(function(change)
    return change.version > version
  end, document.changes)
end

local function before(a, b)
  return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end

local function equal(a, b)
  return a[1] == b[1] and a[2] == b[2]
end

local function shift(position, change)
  if position[1] == change.old[1] then
    return { change.new[1], change.new[2] + position[2] - change.old[2] }
  end
  return { position[1] + change.new[1] - change.old[1], position[2] }
end

--- Maps one range through one change; nil when they touch the same text. What the user inserts
--- exactly at an edit's start stays in front of it, at its end behind it.
function M.map(first, last, change)
  local start, old = change.start, change.old
  if not before(start, old) then
    -- A pure insertion.
    if not before(first, start) then
      return shift(first, change), shift(last, change)
    elseif not before(start, last) then
      return first, last
    end
    return nil
  elseif not before(first, old) then
    return shift(first, change), shift(last, change)
  elseif not before(start, last) then
    return first, last
  end
  return nil
end

--- Whether `a` inserted at `from` and `b` at `to` make the same text: `b` is `a`, rotated.
function Log:same(from, a, to, b)
  local twice, at = a .. a, 1
  while true do
    at = twice:find(b, at, true)
    if not at or at > #a then
      return false
    elseif equal(ending(from, a:sub(1, at - 1), self.columns), to) then
      return true
    end
    at = at + 1
  end
end

--- Whether `part` is in `text`, without the blanks around it, and worth looking for.
local function holds(text, part)
  return vim.fn.strcharlen((part:gsub("%s", ""))) >= 3 and text:find(vim.trim(part), 1, true) ~= nil
end

--- Whether the change inserted what the edit inserts, more than that, or lines of it: an undo that
--- came first.
function Log:repeats(first, last, inserted, change)
  if not inserted:find("%S") then
    return false
  end
  local function beside(at)
    return not before(at, change.start) and not before(change.old, at)
  end
  local touches = beside(first)
  if (touches or beside(last)) and change.text:find("\n") and holds(inserted, change.text) then
    return true
  elseif before(first, last) then
    return false
  elseif touches and (inserted == change.text or holds(change.text, inserted)) then
    return true
  end
  return #inserted == #change.text
    and (
      self:same(change.start, change.text, first, inserted)
      or self:same(first, inserted, change.start, change.text)
    )
end

--- Whether the change touches the range of an edit within a word, as the server's rule has it: `5`
--- that became `55` must not become `65`. Removed text is not known here, so it is taken for a
--- word's unless it ended with a line.
--- @param edges interline.Edges of what the edit replaces or inserts
function M.joins(first, last, edges, change)
  local start, old = change.start, change.old
  local removes = before(start, old)
  local ahead = equal(old, first) and edges.first and (change.edges.last or removes and old[2] > 0)
  local behind = equal(start, last) and edges.last and (change.edges.first or removes)
  -- What is inserted at the place of an insertion stands before it.
  return ahead or behind and (removes or not equal(first, last))
end

return M
