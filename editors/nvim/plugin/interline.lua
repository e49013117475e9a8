-- Defines the one command and its keys; everything else is loaded when it is first used.
if vim.g.loaded_interline then
  return
end
vim.g.loaded_interline = true

vim.api.nvim_create_user_command("Interline", function(command)
  require("interline.command").run(command)
end, {
  nargs = "+",
  range = true,
  desc = "Ask Interline, and answer it",
  complete = function(lead, line)
    return require("interline.command").complete(lead, line)
  end,
})

local function plug(mode, name, keys)
  vim.keymap.set(mode, "<Plug>(interline-" .. name .. ")", keys)
end
plug({ "n", "x" }, "next-hunk", "<Cmd>lua require('interline.marks').jump(1, vim.v.count1)<CR>")
plug({ "n", "x" }, "previous-hunk", "<Cmd>lua require('interline.marks').jump(-1, vim.v.count1)<CR>")
plug("n", "keep", "<Cmd>Interline keep<CR>")
plug("x", "keep", ":Interline keep<CR>")
plug("n", "undo", "<Cmd>Interline undo<CR>")
plug("x", "undo", ":Interline undo<CR>")
