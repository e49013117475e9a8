--- Interline for Neovim: starts the server, shows what it says, applies its edits. Holds no
--- agent logic. Works without setup(); `setup` only changes settings.
local M = {}

--- @param settings? interline.Config
function M.setup(settings)
  require("interline.config").set(settings or {})
end

--- Asks in the session of the present buffer's folder.
--- @param text string
--- @param lines? integer[] first and last line (1-based) that the prompt is about
function M.ask(text, lines)
  require("interline.turn").ask(text, lines)
end

--- For a status line: empty unless a turn runs or an approval is pending.
function M.status()
  if require("interline.approvals").count() > 0 then
    return "Interline: asks"
  end
  for _, server in ipairs(require("interline.client").running()) do
    if server.turn then
      return "Interline: working"
    end
  end
  return ""
end

return M
