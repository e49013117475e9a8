--- Sessions and turns: one session for each server, prompts, cancel, modes.
local chat = require("interline.chat")
local client = require("interline.client")
local context = require("interline.context")

local M = {}

--- Calls back with the server of the present buffer and its session.
local function with_session(callback)
  local server = client.start()
  if not server then
    return
  elseif server.session then
    return callback(server, server.session)
  elseif server.opening then
    return table.insert(server.opening, callback)
  end
  server.opening = { callback }
  local function settle(session)
    local waiting = server.opening
    server.opening, server.session = nil, session
    for _, go in ipairs(session and waiting or {}) do
      go(server, session)
    end
  end
  client.request(server, "interline/session/new", { cwd = vim.uri_from_fname(server.root) }, function(result)
    settle(result.sessionId)
  end, function()
    settle(nil)
  end)
end

--- Sends a prompt.
--- @param text string
--- @param lines? integer[] first and last line that it is about
--- @param busy? "queue"|"steer"
function M.ask(text, lines, busy)
  local buffer = vim.api.nvim_get_current_buf()
  chat.open()
  with_session(function(server, session)
    local input = { { type = "text", text = text } }
    local range = nil
    if lines and vim.api.nvim_buf_is_loaded(buffer) then
      range = context.lines(server, buffer, lines[1], lines[2])
      table.insert(input, {
        type = "resource",
        uri = vim.uri_from_bufnr(buffer),
        range = range,
        version = server.log:version(buffer),
      })
    end
    client.request(server, "interline/turn/start", {
      sessionId = session,
      input = input,
      context = context.now(server, range),
      whenBusy = busy or "queue",
    }, function(result)
      if result.state ~= "running" then
        chat.lines({ "", "> " .. result.state })
      end
    end)
  end)
end

function M.cancel()
  with_session(function(server, session)
    client.request(server, "interline/turn/cancel", { sessionId = session }, function(result)
      if #result.cancelled == 0 then
        vim.notify("interline: nothing is running")
      end
    end)
  end)
end

function M.new()
  local server = client.start()
  if server then
    server.session = nil
    with_session(function()
      chat.lines({ "", "---", "A new session." })
    end)
  end
end

--- @param change table `{mode = …}` or `{model = …}`
function M.configure(change)
  with_session(function(server, session)
    local params = vim.tbl_extend("force", { sessionId = session }, change)
    client.request(server, "interline/session/configure", params, function(result)
      vim.notify(("interline: mode %s, model %s"):format(result.mode, result.model))
    end)
  end)
end

function M.trust(decision)
  local server = client.start()
  if not server then
    return
  end
  local params = { folder = vim.uri_from_fname(server.root), decision = decision }
  client.request(server, "interline/trust/set", params, function()
    local words = decision == "trust" and "is trusted" or "is not trusted"
    vim.notify(("interline: %s %s"):format(server.root, words))
  end)
end

--- Shows the next prompt: every segment, why it is there, and its text.
function M.prompt()
  with_session(function(server, session)
    client.request(server, "interline/prompt/preview", {
      sessionId = session,
      context = context.now(server),
      text = "all",
    }, function(preview)
      require("interline.show").tab("interline://prompt", require("interline.show").preview(preview))
    end)
  end)
end

function M.status()
  local server = client.start()
  if server then
    client.request(server, "interline/status", vim.empty_dict(), function(status)
      local lines = vim.split(vim.inspect(status), "\n")
      table.insert(lines, 1, "-- " .. server.root)
      require("interline.show").tab("interline://status", lines, "lua")
    end)
  end
end

return M
