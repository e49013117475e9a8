-- Defines the one command and its maps; everything else is loaded when it is first used.
if vim.g.loaded_interline then
  return
end
vim.g.loaded_interline = true

vim.api.nvim_create_user_command("Interline", function(command)
  require("interline.command").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Ask Interline, and answer it",
  complete = function(lead, line)
    return require("interline.command").complete(lead, line)
  end,
})

local function plug(mode, name, keys, what)
  vim.keymap.set(mode, "<Plug>(interline-" .. name .. ")", keys, { desc = "Interline: " .. what })
end
plug({ "n", "x" }, "next-hunk", "<Cmd>lua require('interline.marks').jump(1, vim.v.count1)<CR>", "next change")
plug({ "n", "x" }, "previous-hunk", "<Cmd>lua require('interline.marks').jump(-1, vim.v.count1)<CR>", "previous change")

local maps = require("interline.maps")
maps.plugs()
if type(vim.g.interline) == "table" and type(vim.g.interline.prefix) == "string" then
  maps.set(vim.g.interline.prefix)
end
