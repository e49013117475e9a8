--- What the editor shows: visible windows, cursor, selections, and the versions that the server
--- must have before it takes a prompt up.
local client = require("interline.client")
local columns = require("interline.columns")

local M = {}

local function at(buffer, row, bytes, encoding)
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  return { line = row, character = columns.from_bytes(line, bytes, encoding) }
end

--- The range of whole lines, 1-based, both included.
function M.lines(server, buffer, first, last)
  local encoding = client.encoding(server)
  return {
    start = { line = first - 1, character = 0 },
    ["end"] = at(buffer, last - 1, math.huge, encoding),
  }
end

local function view(server, window, current, encoding)
  local buffer = vim.api.nvim_win_get_buf(window)
  local version = server.log:version(buffer)
  if not version then
    return nil
  end
  local cursor = vim.api.nvim_win_get_cursor(window)
  -- Before the window was drawn its last line is not known.
  local top = math.max(vim.fn.line("w0", window), 1)
  local bottom = math.max(vim.fn.line("w$", window), top)
  local here = at(buffer, cursor[1] - 1, cursor[2], encoding)
  return {
    uri = vim.uri_from_bufnr(buffer),
    version = version,
    active = window == current,
    selections = { { start = here, ["end"] = here } },
    visibleRange = M.lines(server, buffer, top, bottom),
  }
end

--- @param range? table selection that the prompt is about
function M.now(server, range)
  local encoding = client.encoding(server)
  local current = vim.api.nvim_get_current_win()
  local editors, versions = {}, vim.empty_dict()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local shown = view(server, window, current, encoding)
    if shown then
      if range and shown.active then
        shown.selections = { range }
      end
      table.insert(editors, shown)
    end
  end
  for uri, document in pairs(server.log.documents) do
    versions[uri] = document.version
  end
  return { editors = editors, versions = versions }
end

--- Tells the server where the user is, outside of prompts.
function M.tell(server)
  if not server.ready or not server.log:version(vim.api.nvim_get_current_buf()) then
    return
  end
  client.notify(server, "interline/context/didChange", {
    editors = M.now(server).editors,
    openUris = vim.tbl_keys(server.log.documents),
  })
end

return M
