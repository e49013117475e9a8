--- Highlight groups. All are links that a colour scheme or the user can set otherwise.
local LINKS = {
  InterlineAdded = "Added",
  InterlineRemoved = "Removed",
  InterlineHunk = "Changed",
  InterlineAdd = "DiffAdd",
  InterlineChange = "DiffChange",
  InterlineDelete = "DiffDelete",
  InterlineExact = "String",
  InterlineFacts = "Comment",
  InterlineReason = "Normal",
  InterlineTitle = "FloatTitle",
  InterlineKeys = "FloatFooter",
}

local M = {}

M.namespace = vim.api.nvim_create_namespace("interline")

function M.link()
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

--- Colours whole lines.
--- @param groups table<integer, string> by line number from 1
function M.paint(buffer, groups)
  M.link()
  for number, group in pairs(groups) do
    vim.api.nvim_buf_set_extmark(buffer, M.namespace, number - 1, 0, {
      end_row = number,
      end_col = 0,
      hl_group = group,
      hl_eol = false,
      strict = false,
    })
  end
end

return M
