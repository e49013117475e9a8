--- What the session is and does, in the bar above the chat and for status lines: mode, model, the
--- tokens of the context, cost, trust.
local visible = require("interline.visible")

local M = {}

--- Tokens in few characters.
function M.tokens(count)
  if count < 1000 then
    return tostring(count)
  elseif count < 10000 then
    return ("%.1fk"):format(count / 1000)
  elseif count < 1000000 then
    return ("%dk"):format(math.floor(count / 1000 + 0.5))
  end
  return (("%.1fM"):format(count / 1000000):gsub("%.0M", "M"))
end

--- @class interline.Info
--- @field state "idle"|"working"|"asks"|"stopped"
--- @field mode string?
--- @field model string?
--- @field context integer? tokens that the next request would send
--- @field window integer? tokens that the model can read
--- @field cost number? of the session, in US dollars
--- @field trusted boolean?
--- @field queued integer prompts that wait
--- @field title string?

local function word(value)
  return type(value) == "string" and value ~= "" and visible.line(value) or nil
end

--- @param server interline.Server
--- @return interline.Info
function M.info(server)
  local about = server.about or {}
  local use = type(about.context) == "table" and about.context or {}
  local state = server.over and "stopped" or server.turn and "working" or "idle"
  if require("interline.approvals").count(server) > 0 or require("interline.questions").count(server) > 0 then
    state = "asks"
  end
  return {
    state = state,
    mode = word(about.mode),
    model = word(about.model),
    context = use.used ~= 0 and use.used or nil,
    window = use.window,
    -- Less than a cent would read as nothing.
    cost = type(about.cost) == "number" and about.cost >= 0.005 and about.cost or nil,
    trusted = server.trusted,
    queued = #require("interline.sent").queued(server),
    title = word(about.title),
  }
end

--- @param info interline.Info
--- @return string[]
function M.parts(info)
  local parts = { info.mode }
  if info.model then
    -- Without its provider: what is left is unique nearly always.
    table.insert(parts, (info.model:gsub("^[^/]+/", "")))
  end
  if info.context then
    local window = info.window and "/" .. M.tokens(info.window) or ""
    table.insert(parts, "context " .. M.tokens(info.context) .. window)
  end
  if info.cost then
    table.insert(parts, ("$%.2f"):format(info.cost))
  end
  if info.trusted ~= nil then
    table.insert(parts, info.trusted and "trusted" or "untrusted")
  end
  return parts
end

--- Updates the bar of the server's chat, and tells status lines.
--- @param server interline.Server
function M.refresh(server)
  local info = M.info(server)
  local foot = {}
  if info.cost then
    table.insert(foot, ("$%.2f"):format(info.cost))
  end
  if info.trusted ~= nil then
    table.insert(foot, info.trusted and "trusted" or "untrusted")
  end
  local bar = { parts = vim.list_extend({ info.state }, M.parts(info)), foot = foot, title = info.title }
  local chat = require("interline.chat").of(server)
  if not vim.deep_equal(chat.bar, bar) or not vim.deep_equal(server.shown_info, info) then
    server.shown_info = info
    chat:title(bar)
    vim.api.nvim_exec_autocmds("User", { pattern = "InterlineStatus", modeline = false, data = info })
  end
end

--- Asks whether the folder is trusted.
--- @param server interline.Server
function M.ask_trust(server)
  require("interline.client").request(server, "interline/status", vim.empty_dict(), function(status)
    local trust = type(status.trust) == "table" and status.trust or {}
    local real = vim.uv.fs_realpath(server.root)
    local known = trust[server.root]
    if known == nil then
      known = trust[real]
    end
    server.trusted = known
    M.refresh(server)
  end)
end

return M
