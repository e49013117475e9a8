-- Defines the one command; everything else is loaded when it is first used.
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
