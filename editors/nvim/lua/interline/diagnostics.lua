--- `interline/diagnostics/didChange`: what other servers and linters report for the buffers that
--- the server mirrors. Sent when it changes, in batches, and before every prompt.
local client = require("interline.client")
local reported = require("interline.reported")

local M = {}

--- Reports come in bursts while a user types.
local BATCH_MS = 150
local function tell(server, uri, document)
  local buffer = document.buffer
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local list = reported.of(server.id, client.encoding(server), buffer)
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
