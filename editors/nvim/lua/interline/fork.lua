--- Copies of a session: from here, from an earlier prompt, or with a prompt that was edited.
local client = require("interline.client")
local say = require("interline.say")
local sessions = require("interline.sessions")

local M = {}

--- Copies the session, opens the copy, and calls back.
--- @param turn? string the copy ends before this turn
local function fork(server, turn, callback)
  if server.turn then
    return say.warn("a turn is running; wait for it, or use :Interline cancel", server)
  end
  local params = { sessionId = server.session, turnId = turn }
  client.request(server, "interline/session/fork", params, function(result)
    sessions.enter_copy(server, result.sessionId, callback)
  end)
end

--- @return interline.Server?
local function present(root)
  local server = client.of(root)
  if server and server.session then
    return server
  end
  say.info("no session to copy; :Interline resume opens one")
end

--- Continues in a copy of the whole session.
function M.all()
  local server = present(client.root())
  if server then
    fork(server, nil, function()
      say.info("this is a copy; :Interline sessions lists the original", server)
    end)
  end
end

--- Continues in a copy that ends with this turn.
--- @param chat interline.Chat
function M.after(chat, turn)
  local server = present(chat.root)
  if not server then
    return
  end
  fork(server, chat:turn_after(turn), function()
    say.info("this is a copy up to that answer; :Interline sessions lists the original", server)
  end)
end

--- Opens the prompt for editing; sending it continues in a copy that ends before it.
--- @param prompt {prompt: table[], turn: string}
function M.edit(root, prompt)
  local attach = require("interline.attach")
  require("interline.compose").open({
    root = root,
    text = attach.text(prompt.prompt),
    kept = attach.kept(prompt.prompt),
    resend = prompt.turn,
  })
end

--- Sends an edited prompt in a copy that ends before the turn.
function M.resend(server, turn, callback)
  if not server.session then
    return say.info("the session is not open; :Interline sessions opens it")
  end
  fork(server, turn, callback)
end

return M
