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

--- What is selected in Visual mode; a block counts as its lines.
local function selected(buffer, encoding)
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  if mode ~= "v" and mode ~= "V" and mode ~= "\22" then
    return nil
  end
  local one, other = vim.fn.getpos("v"), vim.fn.getpos(".")
  if one[2] > other[2] or one[2] == other[2] and one[3] > other[3] then
    one, other = other, one
  end
  if mode ~= "v" then
    return { start = at(buffer, one[2] - 1, 0, encoding), ["end"] = at(buffer, other[2] - 1, math.huge, encoding) }
  end
  local last = vim.api.nvim_buf_get_lines(buffer, other[2] - 1, other[2], false)[1] or ""
  -- Up to the end of the character under the cursor.
  local past = math.min(other[3] + vim.str_utf_end(last .. " ", math.min(other[3], #last + 1)), #last)
  return { start = at(buffer, one[2] - 1, one[3] - 1, encoding), ["end"] = at(buffer, other[2] - 1, past, encoding) }
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
  local selection = window == current and selected(buffer, encoding) or { start = here, ["end"] = here }
  return {
    uri = vim.uri_from_bufnr(buffer),
    version = version,
    active = window == current,
    selections = { selection },
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
