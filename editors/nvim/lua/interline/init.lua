--- Interline for Neovim: starts the server, shows what it says, applies its edits. Holds no
--- agent logic. Works without setup(); `setup` only changes settings.
local M = {}

--- @param settings? interline.Config
function M.setup(settings)
  require("interline.config").set(settings or {})
end

--- Asks in the session of the current buffer's folder.
--- @param text string
--- @param lines? integer[] first and last line (1-based) that the prompt is about
function M.ask(text, lines)
  require("interline.turn").ask(text, lines)
end

--- For a status line: empty unless a turn runs or an approval is pending.
function M.status()
  if require("interline.approvals").count() > 0 or require("interline.questions").count() > 0 then
    return "Interline: asks"
  end
  for _, server in ipairs(require("interline.client").running()) do
    if server.turn then
      return "Interline: working"
    end
  end
  return ""
end

--- The session of the current buffer's folder; nil where none was started.
--- @return interline.Info?
function M.info()
  local client = require("interline.client")
  local server = client.of(client.root())
  return server and require("interline.bar").info(server) or nil
end

--- For a status line: state, mode, model, context, cost and trust; empty where no server runs.
function M.statusline()
  local info = M.info()
  if not info then
    return ""
  end
  local parts = require("interline.bar").parts(info)
  if info.state ~= "idle" then
    table.insert(parts, 1, info.state)
  end
  return table.concat(parts, " · ")
end

return M
