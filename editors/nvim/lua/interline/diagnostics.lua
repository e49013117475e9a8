--- `interline/diagnostics/didChange`: what other servers and linters report for the buffers that
--- the server mirrors. Sent when it changes, in batches, and before every prompt.
local client = require("interline.client")
local columns = require("interline.columns")

local M = {}

--- Reports come in bursts while a user types.
local BATCH_MS = 150
--- More diagnostics of one document are not useful and are dropped from the end: errors come first.
local MOST = 500

local function position(lines, row, column, encoding)
  return { line = row, character = columns.from_bytes(lines[row + 1] or "", column, encoding) }
end

--- Numbers and words go over the wire; what a linter attached besides does not.
local function plain(value)
  return (type(value) == "string" or type(value) == "number") and value or nil
end

local function converted(buffer, report, lines, encoding)
  local last = #lines - 1
  local row = math.max(math.min(report.lnum, last), 0)
  local end_row = math.max(math.min(report.end_lnum or row, last), row)
  local start = position(lines, row, math.max(report.col, 0), encoding)
  local finish = position(lines, end_row, math.max(report.end_col or report.col, 0), encoding)
  if finish.line == start.line and finish.character < start.character then
    finish = start
  end
  return {
    range = { start = start, ["end"] = finish },
    severity = report.severity,
    source = plain(report.source),
    code = plain(report.code),
    message = report.message,
  }
end

local function reported(server, buffer)
  local encoding = client.encoding(server)
  local own = {}
  for _, pull in ipairs({ true, false }) do
    local ok, namespace = pcall(vim.lsp.diagnostic.get_namespace, server.id, pull)
    own[ok and namespace or -1] = true
  end
  local all = vim.tbl_filter(function(report)
    return not own[report.namespace]
  end, vim.diagnostic.get(buffer))
  table.sort(all, function(a, b)
    if a.severity ~= b.severity then
      return (a.severity or 1) < (b.severity or 1)
    elseif a.lnum ~= b.lnum then
      return a.lnum < b.lnum
    end
    return a.col < b.col
  end)
  local lines = #all > 0 and vim.api.nvim_buf_get_lines(buffer, 0, -1, true) or {}
  local out = {}
  for index = 1, math.min(#all, MOST) do
    table.insert(out, converted(buffer, all[index], lines, encoding))
  end
  return out
end

local function tell(server, uri, document)
  local buffer = document.buffer
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local list = reported(server, buffer)
  local hash = vim.fn.sha256(vim.json.encode(list))
  local known = server.reported[uri]
  if known == hash or not known and #list == 0 then
    return
  end
  server.reported[uri] = hash
  client.notify(server, "interline/diagnostics/didChange", {
    uri = uri,
    version = document.version,
    diagnostics = list,
  })
end

--- Sends what changed since it was sent last.
function M.flush(server)
  if server.reports then
    server.reports:close()
    server.reports = nil
  end
  if not server.ready then
    return
  end
  server.reported = server.reported or {}
  for uri in pairs(server.reported) do
    if not server.log.documents[uri] then
      -- Closed: its diagnostics are sent again when it reopens.
      server.reported[uri] = nil
    end
  end
  for uri, document in pairs(server.log.documents) do
    tell(server, uri, document)
  end
end

--- Sends soon.
function M.changed(server)
  if server.reports then
    return
  end
  server.reports = assert(vim.uv.new_timer())
  server.reports:start(
    BATCH_MS,
    0,
    vim.schedule_wrap(function()
      if server.reports and not server.over then
        M.flush(server)
      end
    end)
  )
end

--- Nothing goes out any more.
function M.stop(server)
  if server.reports then
    server.reports:close()
    server.reports = nil
  end
end

return M
