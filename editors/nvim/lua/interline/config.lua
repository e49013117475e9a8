--- Settings: `vim.g.interline` or `require("interline").setup{}`.
local M = {}

--- @class interline.Config
--- @field cmd? string[] the server's command line
--- @field settings? table settings of the server, as in its config.toml
--- @field env? table<string, string> environment of the server
--- @field filetypes? string[] attach only to these; default: every normal buffer
--- @field split? string command that opens the window of answers

local defaults = {
  cmd = { "interline", "lsp" },
  settings = {},
  env = nil,
  filetypes = nil,
  split = "botright vsplit",
}

local set = nil

--- @param settings interline.Config
function M.set(settings)
  for key in pairs(settings) do
    local known = key == "env" or key == "filetypes" or defaults[key] ~= nil
    if not known then
      error(("interline: unknown setting %q; known: cmd, settings, env, filetypes, split"):format(key))
    end
  end
  set = settings
end

--- @return interline.Config
function M.get()
  return vim.tbl_extend("force", defaults, vim.g.interline or {}, set or {})
end

return M
