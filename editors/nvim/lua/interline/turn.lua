--- Prompts, cancel, modes, trust: what the user does with the turns of the current session.
local attach = require("interline.attach")
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

local function start(server, session, entry, input, range, busy)
  diagnostics.flush(server)
  client.request(server, "interline/turn/start", {
    sessionId = session,
    input = input,
    context = context.now(server, range),
    whenBusy = busy or "queue",
  }, function(result)
    sent.taken(server, entry, result.turnId, result.state)
  end, function()
    give_back(server, entry)
  end)
end

--- Sends a prompt whose parts are known.
--- @param busy? "queue"|"steer"
function M.send_input(server, session, text, input, busy)
  start(server, session, sent.add(server, text), input, nil, busy)
end

--- @class interline.About what a prompt is about
--- @field buffer integer
--- @field lines integer[]? first and last
--- @field kept table[]? parts that it has besides its text

--- @param about interline.About
local function send(server, session, entry, about, busy)
  attach.input(server, entry.text, function(input)
    local range = nil
    if about.lines and vim.api.nvim_buf_is_loaded(about.buffer) then
      local part = resource(server, about.buffer, about.lines)
      range = part.range
      table.insert(input, part)
    end
    for _, part in ipairs(about.kept or {}) do
      local there = vim.iter(input):any(function(each)
        return vim.deep_equal(each, part)
      end)
      if not there then
        table.insert(input, part)
      end
    end
    start(server, session, entry, input, range, busy)
  end)
end

--- Sends a prompt.
--- @param text string
--- @param lines? integer[] first and last line that it is about
--- @param busy? "queue"|"steer"
--- @param more? {root: string?, buffer: integer?, kept: table[]?, resend: string?}
function M.ask(text, lines, busy, more)
  more = more or {}
  local about = { buffer = more.buffer or vim.api.nvim_get_current_buf(), lines = lines, kept = more.kept }
  local server = client.start_in(more.root or client.root())
  if not server then
    if more.root then
      require("interline.compose").give_back(more.root, text)
    end
    return
  end
  chats.of(server):open()
  if more.resend then
    return require("interline.fork").resend(server, more.resend, function()
      send(server, server.session, sent.add(server, text), about, busy)
    end)
  end
  local entry = sent.add(server, text)
  sessions.with(server, function(_, session)
    send(server, session, entry, about, busy)
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

--- Sends a request that waits for its next try now.
function M.retry()
  local server = client.of(client.root())
  local session = server and (server.turn_session or server.session)
  if not session then
    return say.info("nothing waits to be sent again")
  end
  client.request(server, "interline/turn/retry", { sessionId = session }, function(result)
    if not result.retried then
      say.info("nothing waits to be sent again")
    end
  end)
end

--- Replaces the older part of the conversation with a summary.
--- @param focus string what the summary must preserve
function M.compact(focus)
  local server = client.of(client.root())
  if not server or not server.session then
    return say.info("no session to compact; :Interline resume opens one")
  end
  chats.of(server):open()
  local params = { sessionId = server.session, focus = focus ~= "" and focus or nil }
  client.request(server, "interline/session/compact", params)
end

--- @param change table `{mode = …}`, `{model = …}` or `{thinking = …}`
function M.configure(change)
  sessions.with(client.start(), function(server, session)
    local params = vim.tbl_extend("force", { sessionId = session }, change)
    client.request(server, "interline/session/configure", params, function(result)
      local about = { mode = result.mode, model = result.model, context = result.context }
      server.about = vim.tbl_extend("force", server.about or {}, about)
      require("interline.events").bar(server)
      local key = next(change)
      say.info(("%s %s from the next turn on"):format(key, result[key] or change[key]), server)
    end)
  end)
end

--- @param decision "trust"|"untrust"
--- @param done? fun()
--- @param server? interline.Server
function M.trust(decision, done, server)
  server = server or client.start()
  if not server then
    return
  end
  local params = { folder = vim.uri_from_fname(server.root), decision = decision }
  client.request(server, "interline/trust/set", params, function()
    server.trusted = decision == "trust"
    require("interline.bar").refresh(server)
    local words = decision == "trust" and "is trusted" or "is not trusted"
    say.info(("%s %s"):format(vim.fs.basename(server.root), words), server)
    if done then
      done()
    end
  end)
end

--- Says whether the provider accepts its key.
local function test_key(server, provider)
  client.request(server, "interline/auth/test", { provider = provider }, function(result)
    local message = type(result.error) == "table" and result.error.message or ""
    if result.outcome == "accepted" then
      say.info(("%s accepts the key"):format(provider), server)
    elseif result.outcome == "refused" then
      say.error(message, server)
    else
      say.warn(("the key of %s is used, but could not be tested: %s"):format(provider, message), server)
    end
  end)
end

--- Asks for a provider's API key and gives it to the server, which keeps it in memory only.
--- @param provider string
--- @param done? fun()
function M.key(provider, done)
  local server = client.start()
  if not server then
    return
  end
  local ok, secret = pcall(vim.fn.inputsecret, ("API key of %s (empty: forget it): "):format(provider))
  if not ok then
    return
  end
  secret = vim.trim(secret)
  client.request(server, "interline/auth/set", { provider = provider, secret = secret }, function()
    if secret == "" then
      return say.info(("the key of %s is forgotten"):format(provider), server)
    end
    test_key(server, provider)
    if done then
      done()
    end
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
      require("interline.show").tab("interline://status", require("interline.show").status(status, server))
    end)
  end
end

return M
