--- Pages for reading: the prompt, the status.
local visible = require("interline.visible")

local M = {}

--- Opens `lines` in a tab of its own; a line may hold newlines.
function M.tab(name, lines, filetype)
  vim.cmd("tabnew")
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, buffer, name)
  local flat = {}
  for _, line in ipairs(lines) do
    vim.list_extend(flat, vim.split(line, "\n", { plain = true }))
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, flat)
  pcall(function()
    vim.bo[buffer].filetype = filetype or "markdown"
  end)
  vim.bo[buffer].modifiable = false
  vim.wo[0][0].wrap, vim.wo[0][0].linebreak, vim.wo[0][0].breakindent = true, true, true
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, desc = "close" })
end

local function given(value)
  return value ~= nil and value ~= vim.NIL
end

--- Headings of a segment's own text become smaller than ours.
local function nested(text)
  local fenced = false
  local lines = vim.split(text, "\n", { plain = true })
  for index, line in ipairs(lines) do
    fenced = line:match("^%s*```") and not fenced or fenced and not line:match("^%s*```")
    if not fenced and line:match("^#+ ") then
      lines[index] = "##" .. line
    end
  end
  return table.concat(lines, "\n")
end

--- The answer of `interline/prompt/preview` in Markdown: an overview, then each segment.
function M.preview(preview)
  local tokens = type(preview.tokens) == "table" and preview.tokens or {}
  local count = given(tokens.count) and (", %s%d tokens"):format(tokens.exact and "" or "about ", tokens.count) or ""
  local used, absent = {}, {}
  for _, segment in ipairs(preview.segments) do
    table.insert(segment.included and used or absent, segment)
  end
  local lines = { ("# The next prompt: %d segments%s"):format(#used, count), "" }
  for _, segment in ipairs(used) do
    table.insert(lines, ("- %s: %d bytes, %s"):format(segment.id, segment.bytes, segment.source))
  end
  table.insert(lines, "")
  for _, segment in ipairs(used) do
    table.insert(lines, ("## %s (%s, %s, %d bytes)"):format(segment.id, segment.slot, segment.trust, segment.bytes))
    table.insert(lines, segment.source .. ": " .. segment.reason)
    if given(segment.text) and segment.text ~= "" then
      vim.list_extend(lines, { "", nested(segment.text) })
    end
    table.insert(lines, "")
  end
  table.insert(lines, ("## %d segments are not in it"):format(#absent))
  for _, segment in ipairs(absent) do
    table.insert(lines, ("- %s: %s"):format(segment.id, segment.reason))
  end
  return lines
end

local function section(lines, title, rows)
  if #rows > 0 then
    vim.list_extend(lines, { "", "## " .. title })
    vim.list_extend(lines, rows)
  end
end

local function map(rows, callback)
  return vim.tbl_map(callback, type(rows) == "table" and rows or {})
end

--- What the session is, a line for each fact.
local function facts(info)
  local tokens, lines = require("interline.bar").tokens, {}
  local function put(words, value)
    if value then
      table.insert(lines, ("- %s: %s"):format(words, value))
    end
  end
  put("mode", info.mode)
  put("model", info.model)
  local window = info.window and " of " .. tokens(info.window) or ""
  put("context", info.context and tokens(info.context) .. window .. " tokens")
  put("cost", info.cost and ("$%.2f"):format(info.cost))
  put("folder", info.trusted ~= nil and (info.trusted and "trusted" or "untrusted") or nil)
  return lines
end

local function model_rows(status)
  local details = {}
  for _, each in ipairs(type(status.modelDetails) == "table" and status.modelDetails or {}) do
    details[each.name] = each
  end
  return map(status.models, function(name)
    local detail = details[name] or {}
    local window = given(detail.window) and ", " .. require("interline.bar").tokens(detail.window) .. " tokens" or ""
    return ("- %s%s%s"):format(visible.line(name), window, detail.ready == false and ", no key" or "")
  end)
end

--- The answer of `interline/status` in Markdown.
--- @param server interline.Server
function M.status(status, server)
  local info = require("interline.bar").info(server)
  local root = server.root
  local lines = { ("# Interline %s in %s"):format(status.version, visible.path(root)), "" }
  table.insert(lines, "- session: " .. (info.title or server.session and "untitled" or "none yet"))
  vim.list_extend(lines, facts(info))
  section(lines, "Models", model_rows(status))
  section(lines, "Open files", map(status.documents, function(document)
    local state = document.state == "open" and "" or ", " .. visible.line(document.state)
    return ("- %s (%s%s)"):format(visible.path(document.uri, root), visible.line(document.file or "open"), state)
  end))
  section(lines, "MCP servers", map(status.mcpServers, function(row)
    local reason = given(row.reason) and ": " .. visible.line(row.reason) or ""
    return ("- %s (%s, %d tools)%s"):format(visible.line(row.name), row.state, #row.tools, reason)
  end))
  section(lines, "Ignored settings", map(status.ignoredSettings, function(row)
    return ("- `%s` (%s): %s"):format(visible.line(row.key), visible.line(row.source), visible.line(row.reason))
  end))
  return lines
end

return M
