--- Prompts, cancel, modes: what the user says about the present session's turns.
local chats = require("interline.chat")
local client = require("interline.client")
local context = require("interline.context")
local diagnostics = require("interline.diagnostics")
local say = require("interline.say")
local sent = require("interline.sent")
local sessions = require("interline.sessions")

local M = {}

--- The buffer that a prompt is about, and the lines.
local function resource(server, buffer, lines)
  local count = vim.api.nvim_buf_line_count(buffer)
  local range = context.lines(server, buffer, math.min(lines[1], count), math.min(lines[2], count))
  return {
    type = "resource",
    uri = vim.uri_from_bufnr(buffer),
    range = range,
    version = server.log:version(buffer),
  }
end

--- It goes back to the user, who may have written much.
local function give_back(server, entry)
  sent.gone(server, entry)
  require("interline.compose").give_back(server.root, entry.text)
end

local function send(server, session, entry, about, busy)
  local text = entry.text
  local input = { { type = "text", text = text } }
  if about and vim.api.nvim_buf_is_loaded(about.buffer) then
    table.insert(input, resource(server, about.buffer, about.lines))
  end
  diagnostics.flush(server)
  client.request(server, "interline/turn/start", {
    sessionId = session,
    input = input,
    context = context.now(server, input[2] and input[2].range),
    whenBusy = busy or "queue",
  }, function(result)
    sent.taken(server, entry, result.turnId)
    if result.state ~= "running" then
      chats.of(server):lines({ "", "> " .. result.state .. ": " .. text })
    end
    if result.state ~= "running" and result.state ~= "queued" then
      sent.gone(server, entry)
    end
  end, function()
    give_back(server, entry)
  end)
end

--- Sends a prompt.
--- @param text string
--- @param lines? integer[] first and last line that it is about
--- @param busy? "queue"|"steer"
function M.ask(text, lines, busy)
  local buffer = vim.api.nvim_get_current_buf()
  local server = client.start()
  if not server then
    return
  end
  chats.of(server):open()
  local entry = sent.add(server, text)
  sessions.with(server, function(_, session)
    send(server, session, entry, lines and { buffer = buffer, lines = lines }, busy)
  end, function()
    give_back(server, entry)
  end)
end

function M.cancel()
  local server = client.of(client.root())
  if not server or not server.session then
    return say.info("nothing is running")
  end
  local session = server.turn and server.turn_session or server.session
  client.request(server, "interline/turn/cancel", { sessionId = session }, function(result)
    if #result.cancelled == 0 then
      say.info("nothing is running")
    end
  end)
end

--- @param change table `{mode = …}` or `{model = …}`
function M.configure(change)
  sessions.with(client.start(), function(server, session)
    local params = vim.tbl_extend("force", { sessionId = session }, change)
    client.request(server, "interline/session/configure", params, function(result)
      server.about = vim.tbl_extend("force", server.about or {}, { mode = result.mode, model = result.model })
      require("interline.events").bar(server)
      say.info(("mode %s, model %s"):format(result.mode, result.model), server)
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
    say.info(("%s %s"):format(vim.fs.basename(server.root), words), server)
  end)
end

--- Shows the next prompt: every segment, why it is there, and its text.
function M.prompt()
  sessions.with(client.start(), function(server, session)
    diagnostics.flush(server)
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
