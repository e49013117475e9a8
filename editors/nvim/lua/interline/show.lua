--- Pages for reading: the prompt, the status.
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
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, desc = "close" })
end

local function given(value)
  return value ~= nil and value ~= vim.NIL
end

--- The answer of `interline/prompt/preview` in Markdown.
function M.preview(preview)
  local tokens = type(preview.tokens) == "table" and preview.tokens or {}
  local count = given(tokens.count) and (", %s%d tokens"):format(tokens.exact and "" or "about ", tokens.count) or ""
  local lines = { ("# The next prompt: %d segments%s"):format(#preview.segments, count), "" }
  for _, segment in ipairs(preview.segments) do
    local size = segment.included and (segment.bytes .. " bytes") or "absent"
    table.insert(lines, ("## %s (%s, %s, %s)"):format(segment.id, segment.slot, segment.trust, size))
    table.insert(lines, segment.source .. ": " .. segment.reason)
    if given(segment.text) and segment.text ~= "" then
      vim.list_extend(lines, { "", segment.text })
    end
    table.insert(lines, "")
  end
  return lines
end

return M
