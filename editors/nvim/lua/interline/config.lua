--- Settings: `vim.g.interline` or `require("interline").setup{}`.
local M = {}

--- @class interline.Config
--- @field cmd? string[] the server's command line
--- @field settings? table settings of the server, as in its config.toml
--- @field env? table<string, string> environment of the server
--- @field filetypes? string[] attach only to these; default: every normal buffer
--- @field split? string command that opens the window of answers
--- @field take_focus? boolean what asks may take the cursor from a user at rest
--- @field width? number columns of the chat window, or below 1 a part of the screen
--- @field prefix? string keys that begin the default maps; without it no keys are mapped
--- @field complete? boolean show completions automatically in the prompt window
--- @field clipboard? string[] command that prints the clipboard's image
--- @field notify? {how?: string, when?: string} notifications of the terminal
--- @field review? {marks?: boolean, keys?: boolean} how changes are shown in buffers

local defaults = {
  cmd = { "interline", "lsp" },
  settings = {},
  env = nil,
  filetypes = nil,
  split = "botright vsplit",
  width = nil,
  take_focus = true,
  prefix = nil,
  complete = true,
  clipboard = nil,
  notify = nil,
  review = { marks = true, keys = true },
}

local TYPES = {
  cmd = "table",
  settings = "table",
  env = "table",
  filetypes = "table",
  split = "string",
  width = "number",
  take_focus = "boolean",
  prefix = "string",
  complete = "boolean",
  clipboard = "table",
  notify = "table",
  review = "table",
}

local set = nil
--- What was said of `vim.g.interline`.
local said = nil

--- @return string? reason why these are no settings
local function wrong(settings)
  if type(settings) ~= "table" then
    return "the settings are no table"
  end
  for key, value in pairs(settings) do
    if not TYPES[key] then
      local known = vim.tbl_keys(TYPES)
      table.sort(known)
      return ("unknown setting %q; known: %s"):format(tostring(key), table.concat(known, ", "))
    elseif type(value) ~= TYPES[key] then
      return ("%s is a %s and must be a %s"):format(key, type(value), TYPES[key])
    elseif key == "cmd" and type(value[1]) ~= "string" then
      return 'cmd is empty; for example { "interline", "lsp" }'
    elseif key == "notify" then
      local reason = require("interline.notify").problem(value)
      if reason then
        return reason
      end
    end
  end
end

--- @param settings interline.Config
function M.set(settings)
  local reason = wrong(settings)
  if reason then
    error("interline: " .. reason, 0)
  end
  set = settings
  if settings.prefix then
    require("interline.maps").set(settings.prefix)
  end
end

--- What is wrong with `vim.g.interline`.
--- @return string?
function M.problem()
  return vim.g.interline ~= nil and wrong(vim.g.interline) or nil
end

--- @return interline.Config
function M.get()
  local global = vim.g.interline or {}
  local reason = M.problem()
  if reason then
    global = {}
    if said ~= reason then
      said = reason
      require("interline.say").error("vim.g.interline: " .. reason)
    end
  end
  return vim.tbl_extend("force", defaults, global, set or {})
end

return M
