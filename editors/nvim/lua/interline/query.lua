--- `interline/editor/query`: what the editor's other language servers know, as data. Nothing is
--- applied here. Also used without the plugin, so it needs no modules of it but these.
local columns = require("interline.columns")
local languages = require("interline.languages")
local reported = require("interline.reported")

local M = {}
local call, others = languages.call, languages.others

--- The server stops waiting after 12 s.
local LIMIT_MS = 9000
local PAUSE_MS = 100
--- After a change, reports are waited for this long; without one for this long, they are done.
local SETTLES_MS, QUIET_MS = 4000, 1000
--- Code actions that are resolved, at most.
local RESOLVED = 50

local METHODS = {
  definition = "textDocument/definition",
  references = "textDocument/references",
  hover = "textDocument/hover",
  documentSymbols = "textDocument/documentSymbol",
  workspaceSymbols = "workspace/symbol",
  rename = "textDocument/rename",
  codeActions = "textDocument/codeAction",
}
--- ServerNotInitialized, ContentModified, ServerCancelled: the same request may succeed later.
local AGAIN = { [-32002] = true, [-32801] = true, [-32802] = true }

--- Ids of clients that have found something: these are not starting any more.
local warm = {}

local function starts(own)
  return vim.iter(vim.lsp.get_clients({ _uninitialized = true })):any(function(client)
    return client.id ~= own.id and not client.initialized
  end)
end

--- Loaded buffers by URI.
local function loaded()
  local found = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= "" then
      found[vim.uri_from_bufnr(buffer)] = buffer
    end
  end
  return found
end

--- @class interline.Query
--- @field own vim.lsp.Client Interline's
--- @field version fun(buffer: integer): integer? that Interline's server has
--- @field params table
--- @field buffers table<string, integer> loaded ones by URI
--- @field ends integer when the answer is due
local Query = {}
Query.__index = Query

function Query:buffer(uri)
  return self.buffers[uri] or self.buffers[vim.uri_from_fname(vim.uri_to_fname(uri))]
end

function Query:left()
  return self.ends - vim.uv.now()
end

--- Lets the editor go on for a moment.
local function pause(ms)
  local routine = coroutine.running()
  vim.defer_fn(function()
    coroutine.resume(routine)
  end, ms)
  coroutine.yield()
end

--- A line of a file as its servers know it.
function Query:line(uri, row)
  local buffer = self:buffer(uri)
  if buffer then
    return vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  end
  self.files = self.files or {}
  if not self.files[uri] then
    local file = io.open(vim.uri_to_fname(uri), "rb")
    self.files[uri] = vim.split(file and file:read("*a") or "", "\r?\n")
    if file then
      file:close()
    end
  end
  return self.files[uri][row + 1] or ""
end

function Query:moved(uri, position, from, to)
  if from == to then
    return position
  end
  local line = self:line(uri, position.line)
  local bytes = columns.to_bytes(line, position.character, from) or #line
  return { line = position.line, character = columns.from_bytes(line, bytes, to) }
end

--- A range of another client in the columns of ours.
function Query:ours(client, uri, range)
  local from, to = client.offset_encoding, self.own.offset_encoding
  return { start = self:moved(uri, range.start, from, to), ["end"] = self:moved(uri, range["end"], from, to) }
end

function Query:theirs(client, uri, position)
  return self:moved(uri, position, self.own.offset_encoding, client.offset_encoding)
end

--- The clients that can be asked: those of the document's buffer, or, of a closed file, those that
--- serve its language.
function Query:clients(method)
  local uri = self.params.uri
  local buffer = uri and self:buffer(uri)
  local filetype = uri and (buffer and vim.bo[buffer].filetype or vim.filetype.match({ filename = vim.uri_to_fname(uri) }))
  return vim.tbl_filter(function(client)
    if not call(client, "supports_method", method) then
      return false
    elseif method == METHODS.workspaceSymbols and not uri then
      return true
    elseif buffer then
      return client.attached_buffers[buffer] ~= nil
    end
    return vim.iter(vim.tbl_keys(client.attached_buffers)):any(function(each)
      return vim.api.nvim_buf_is_loaded(each) and vim.bo[each].filetype == filetype
    end)
  end, others(self.own))
end

--- @param client vim.lsp.Client
function Query:request(client, method, params, answered)
  -- Pending changes of all buffers go out first: the buffer is left nil on purpose.
  local ok, id = call(client, "request", method, params, answered)
  if not ok then
    answered({ code = 0, message = "the language server has ended" })
  end
  return id
end

--- Sends a request to each client and waits for all answers: a list of `{client, err, result}`.
function Query:ask(clients, method, params)
  local routine, answers, waiting, waits = coroutine.running(), {}, #clients, false
  local timer = assert(vim.uv.new_timer())
  local function finish()
    if not timer:is_closing() then
      timer:close()
      if waits then
        coroutine.resume(routine)
      end
    end
  end
  for at, client in ipairs(clients) do
    answers[at] = { client = client }
    answers[at].id = self:request(client, method, params(client), function(err, result)
      if answers[at].done or timer:is_closing() then
        return
      end
      answers[at].err, answers[at].result, answers[at].done = err, result, true
      waiting = waiting - 1
      if waiting == 0 then
        finish()
      end
    end)
  end
  timer:start(math.max(self:left(), 1), 0, vim.schedule_wrap(finish))
  if waiting > 0 then
    waits = true
    coroutine.yield()
  end
  for _, answer in ipairs(answers) do
    if not answer.done then
      answer.err = { code = 0, message = "the language server did not answer in time" }
      if answer.id then
        call(answer.client, "cancel_request", answer.id)
      end
    end
  end
  return answers
end

local function at_position(query)
  return function(client)
    local params = query.params
    return {
      textDocument = { uri = params.uri },
      position = query:theirs(client, params.uri, params.position),
      context = { includeDeclaration = true },
      newName = params.newName,
    }
  end
end

local function in_document(query)
  return function()
    return { textDocument = { uri = query.params.uri }, query = query.params.query }
  end
end

--- What a client reported for these lines, as it reported it.
local function reported_by(client, buffer, range)
  local found = {}
  for _, pull in ipairs({ true, false }) do
    local ok, namespace = pcall(vim.lsp.diagnostic.get_namespace, client.id, pull)
    for _, report in ipairs(ok and buffer and vim.diagnostic.get(buffer, { namespace = namespace }) or {}) do
      local lsp = report.user_data and report.user_data.lsp
      if lsp and lsp.range and report.lnum <= range["end"].line and (report.end_lnum or report.lnum) >= range.start.line then
        table.insert(found, lsp)
      end
    end
  end
  return found
end

local function in_range(query)
  return function(client)
    local uri, range = query.params.uri, query.params.range
    return {
      textDocument = { uri = uri },
      range = { start = query:theirs(client, uri, range.start), ["end"] = query:theirs(client, uri, range["end"]) },
      context = { diagnostics = reported_by(client, query:buffer(uri), range), triggerKind = 1 },
    }
  end
end

--- How each kind's answer becomes items: `add(item)`.
local read = {}

function read.definition(query, client, result, add)
  for _, place in ipairs((result.uri or result.targetUri) and { result } or result) do
    local uri = place.uri or place.targetUri
    add({ uri = uri, range = query:ours(client, uri, place.range or place.targetSelectionRange) })
  end
end
read.references = read.definition

function read.hover(query, _, result, add)
  local lines = result.contents and vim.lsp.util.convert_input_to_markdown_lines(result.contents) or {}
  local contents = vim.trim(table.concat(lines, "\n"))
  if contents == "" then
    return
  elseif not query.hover then
    query.hover = { contents = contents }
    add(query.hover)
  elseif not query.hover.contents:find(contents, 1, true) then
    query.hover.contents = query.hover.contents .. "\n\n---\n\n" .. contents
  end
end

function read.documentSymbols(query, client, result, add)
  local uri = query.params.uri
  local function all(symbols, container)
    for _, symbol in ipairs(symbols) do
      local range = symbol.range or symbol.location.range
      add({
        name = symbol.name,
        kind = symbol.kind,
        range = query:ours(client, uri, range),
        selectionRange = query:ours(client, uri, symbol.selectionRange or range),
        container = container or symbol.containerName,
      })
      all(symbol.children or {}, symbol.name)
    end
  end
  all(result)
end

local NOWHERE = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 0 } }

function read.workspaceSymbols(query, client, result, add)
  for _, symbol in ipairs(result) do
    local uri = symbol.location.uri
    add({
      name = symbol.name,
      kind = symbol.kind,
      uri = uri,
      range = query:ours(client, uri, symbol.location.range or NOWHERE),
      container = symbol.containerName,
    })
  end
end

--- A WorkspaceEdit of another client in our columns, with the versions that our server knows.
function Query:edit(client, edit)
  local changes = {}
  local function add(uri, edits)
    local buffer = self:buffer(uri)
    local moved = vim.tbl_map(function(each)
      return { range = self:ours(client, uri, each.range), newText = each.newText }
    end, edits)
    local version = buffer and self.version(buffer) or vim.NIL
    table.insert(changes, { textDocument = { uri = uri, version = version }, edits = moved })
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind then
      table.insert(changes, change)
    else
      add(change.textDocument.uri, change.edits)
    end
  end
  for uri, edits in vim.spairs(edit.documentChanges and {} or edit.changes or {}) do
    add(uri, edits)
  end
  return { documentChanges = changes }
end

--- Texts changed since `before`: an edit of that time does not fit them.
function Query:changed(before, edit)
  return vim.iter(edit.documentChanges):any(function(change)
    local buffer = change.textDocument and self:buffer(change.textDocument.uri)
    return buffer and before[buffer] ~= vim.api.nvim_buf_get_changedtick(buffer)
  end)
end

local function resolves(client)
  local provider = client.server_capabilities.codeActionProvider
  return type(provider) == "table" and provider.resolveProvider == true
end

function read.codeActions(query, client, result, add)
  for at, action in ipairs(result) do
    local literal = type(action.command) ~= "string" and not action.disabled
    if literal and not action.edit and at <= RESOLVED and resolves(client) then
      local answer = query:ask({ client }, "codeAction/resolve", function()
        return action
      end)[1]
      action = answer.result or action
    end
    if literal and action.edit then
      add({
        title = action.title,
        kind = action.kind,
        preferred = action.isPreferred,
        edit = query:edit(client, action.edit),
      })
    end
  end
end

function read.rename(query, client, result)
  query.renamed = query.renamed or query:edit(client, result)
end

local PARAMS = {
  documentSymbols = in_document,
  workspaceSymbols = in_document,
  codeActions = in_range,
}

--- One attempt: the answer, or nil where the text changed in the meantime.
function Query:attempt(clients)
  local kind, method = self.params.kind, METHODS[self.params.kind]
  local before, items, seen, failure, busy = {}, {}, {}, nil, false
  self.buffers, self.files, self.renamed, self.hover = loaded(), nil, nil, nil
  for _, buffer in pairs(self.buffers) do
    before[buffer] = vim.api.nvim_buf_get_changedtick(buffer)
  end
  local asked = self.params.uri and self:buffer(self.params.uri)
  local version = asked and self.version(asked) or nil
  for _, answer in ipairs(self:ask(clients, method, (PARAMS[kind] or at_position)(self))) do
    local client, result = answer.client, answer.result
    if answer.err then
      failure = failure or answer.err
    elseif type(result) == "table" and next(result) then
      warm[client.id] = true
      read[kind](self, client, result, function(item)
        local key = vim.json.encode({ item.uri or "", item.name or item.title or "", item.range or item.contents or #items })
        if not seen[key] then
          seen[key] = true
          table.insert(items, item)
        end
      end)
    elseif not warm[client.id] and next(client.progress.pending) then
      busy = true
    end
  end
  local edits = vim.tbl_map(function(item)
    return item.edit
  end, items)
  for _, edit in ipairs(vim.list_extend({ self.renamed }, edits)) do
    if self:changed(before, edit) then
      return nil, "the text kept changing"
    end
  end
  if failure and #items == 0 and not self.renamed then
    return { items = items, failure = failure }
  elseif busy and #items == 0 and not self.renamed then
    return { status = "starting", retryAfterMs = 1000, items = items }
  end
  return { status = "ok", version = version, items = items, edit = self.renamed }
end

function Query:run()
  local params = self.params
  if params.kind == "diagnostics" then
    return self:diagnostics()
  elseif not METHODS[params.kind] then
    return { status = "unsupported", items = {} }
  end
  local clients = self:clients(METHODS[params.kind])
  if #clients == 0 then
    local coming = starts(self.own)
    return { status = coming and "starting" or "unsupported", retryAfterMs = coming and 1000 or nil, items = {} }
  end
  local answer, reason
  repeat
    answer, reason = self:attempt(clients)
    local failure = answer and answer.failure
    if answer and not (failure and AGAIN[failure.code]) then
      break
    end
    reason = failure and failure.message or reason
    pause(PAUSE_MS)
  until self:left() <= 0
  if answer and not answer.failure then
    return answer
  end
  local message = answer and answer.failure.message or reason
  return { status = "error", message = tostring(message), items = {} }
end

--- When other servers learnt of each buffer's last change, and when reports about it came.
local changed, noted = {}, {}
vim.api.nvim_create_autocmd("LspNotify", {
  group = vim.api.nvim_create_augroup("interline-query", {}),
  callback = function(event)
    if event.data.method == "textDocument/didChange" then
      changed[event.buf] = vim.uv.now()
    end
  end,
})
vim.api.nvim_create_autocmd("DiagnosticChanged", {
  group = "interline-query",
  callback = function(event)
    noted[event.buf] = vim.uv.now()
  end,
})

--- Waits until a changed buffer was reported about, and nothing more comes for a moment.
function Query:settle(buffer)
  local served = vim.iter(others(self.own)):any(function(client)
    return client.attached_buffers[buffer] ~= nil
  end)
  while served do
    local now, change, report = vim.uv.now(), changed[buffer] or 0, noted[buffer] or 0
    if report >= change and now - report > QUIET_MS or now - change > SETTLES_MS then
      return
    end
    pause(PAUSE_MS)
  end
end

--- What is reported now: of one document, or of all that have any.
function Query:diagnostics()
  local items = {}
  local asked = self.params.uri and self:buffer(self.params.uri)
  if asked then
    self:settle(asked)
    self.buffers = loaded()
  end
  for uri, buffer in vim.spairs(self.buffers) do
    local list = reported.of(self.own.id, self.own.offset_encoding, buffer)
    local wanted = self.params.uri and self:buffer(self.params.uri) == buffer
    if wanted or not self.params.uri and #list > 0 then
      table.insert(items, { uri = uri, version = self.version(buffer), diagnostics = list })
    end
  end
  return { status = "ok", items = items }
end

--- Waits until the server has the version that it wants to know about.
function Query:wait_for_version()
  local params = self.params
  local wanted = params.minVersion
  while type(wanted) == "number" do
    self.buffers = loaded()
    local buffer = self:buffer(params.uri)
    local version = buffer and self.version(buffer)
    if version and version >= wanted then
      return true
    elseif self:left() <= 0 then
      return false
    end
    pause(PAUSE_MS)
  end
  return true
end

--- Answers a query. Neovim runs handlers of requests in a coroutine: the answer may come later.
--- @param own vim.lsp.Client
--- @param version fun(buffer: integer): integer?
function M.answer(own, version, params)
  local given = {}
  for key, value in pairs(params) do
    given[key] = value ~= vim.NIL and value or nil
  end
  local query = setmetatable({ own = own, version = version, params = given, buffers = loaded() }, Query)
  query.ends = vim.uv.now() + LIMIT_MS
  if not query:wait_for_version() then
    return { status = "error", message = "the editor does not have that version of the document", items = {} }
  end
  local ok, answer = xpcall(query.run, debug.traceback, query)
  if not ok then
    vim.lsp.log.error("interline/editor/query", answer)
    answer = { status = "error", message = "the editor could not read the language server's answer", items = {} }
  end
  return answer
end

return M
