--- Notifications of the server about turns and sessions: what they change in the plugin's state, and
--- which parts of a stored session are shown.
local bar = require("interline.bar")
local chats = require("interline.chat")
local transcript = require("interline.transcript")

local M = {}

local function announce(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

M.bar = bar.refresh

--- Notes how far a session was shown.
local function note(server, params)
  if params.sessionId == server.session and type(params.seq) == "number" then
    server.seq = math.max(server.seq or 0, params.seq)
  end
end

local function has_files(params)
  return type(params.files) == "table" and params.files[1] ~= nil
end

function M.started(server, params)
  -- What was asked after the last turn is answered by this one.
  require("interline.questions").forget(server)
  note(server, params)
  -- Commands and code actions have a session of their own choice.
  server.session = server.session or params.sessionId
  server.turn, server.turn_session = params.turnId, params.sessionId
  if params.origin ~= "client" then
    chats.of(server):open()
  end
  require("interline.sent").begun(server, params.turnId)
  transcript.started(chats.of(server), params, true)
  bar.refresh(server)
  announce("InterlineStarted", params)
end

--- The context after a step; a step of a sub-agent has none.
local function note_context(server, event)
  if event.type == "usage" and type(event.context) == "table" then
    server.about = vim.tbl_extend("force", server.about or {}, { context = event.context })
  end
end

function M.event(server, params)
  note(server, params)
  local event = params.event
  if event.type == "approvalResolved" then
    require("interline.approvals").resolved(server, event.itemId)
  elseif event.type == "userMessage" and chats.of(server).turn and chats.of(server).turn.prompted then
    require("interline.sent").joined(server)
  end
  note_context(server, event)
  transcript.event(chats.of(server), params.turnId, event)
  if event.type == "usage" then
    bar.refresh(server)
  end
end

function M.ended(server, params)
  note(server, params)
  require("interline.approvals").forget(server, params.turnId)
  require("interline.questions").forget(server, params.turnId)
  if server.turn == params.turnId then
    server.turn = nil
  end
  if has_files(params) then
    server.changed_turn = params.turnId
  end
  require("interline.sent").joined(server, true)
  transcript.ended(chats.of(server), params)
  bar.refresh(server)
  announce("InterlineEnded", params)
end

--- `interline/session/didChange`.
function M.session(server, params)
  if params.sessionId == server.session then
    server.about = vim.tbl_extend("force", server.about or {}, params)
    bar.refresh(server)
  end
end

--- Shows stored items that were not shown yet.
--- @param items table[] envelopes
--- @param past? {seq: integer, turn: string?} what was shown last, and the turn that ran then
function M.replay(server, items, past)
  local chat = chats.of(server)
  for _, item in ipairs(items) do
    -- What streamed has numbers too and is not stored, so an end that was written afterwards can
    -- have a smaller one than what was shown.
    local cut_off = past and past.turn and item.turnId == past.turn and item.body.kind == "ended"
    if not past or item.seq > past.seq or cut_off then
      local body = item.body
      if body.kind == "started" then
        transcript.started(chat, { turnId = item.turnId, input = body.input }, false)
      elseif body.kind == "ended" then
        server.changed_turn = has_files(body) and item.turnId or server.changed_turn
        transcript.ended(chat, vim.tbl_extend("force", body, { turnId = item.turnId }))
      else
        transcript.event(chat, item.turnId, body.event)
      end
      server.seq = math.max(server.seq or 0, item.seq)
    end
  end
  chat:flush()
  bar.refresh(server)
end

return M
