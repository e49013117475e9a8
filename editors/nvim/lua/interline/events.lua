--- Turns as they are shown: the notifications of the server, and the stored items of a session
--- that is opened again, in the window of answers.
local chats = require("interline.chat")
local visible = require("interline.visible")

local M = {}

local function announce(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

--- The session in the bar above the answers; what matters most stands first.
function M.bar(server)
  local about = server.about or {}
  local parts = { server.turn and "working (:Interline cancel)" or "idle" }
  for _, part in ipairs({ about.mode or "", about.model or "" }) do
    if type(part) == "string" and part ~= "" then
      table.insert(parts, visible.line(part))
    end
  end
  if type(about.tokens) == "number" and about.tokens > 0 then
    table.insert(parts, about.tokens < 10000 and about.tokens .. " tokens" or ("%dk tokens"):format(about.tokens / 1000))
  end
  if type(about.title) == "string" and about.title ~= "" then
    table.insert(parts, visible.line(about.title))
  end
  chats.of(server):title(table.concat(parts, " · "))
end

local function words_of(input, root)
  local lines = {}
  for _, part in ipairs(input or {}) do
    if part.type == "text" then
      table.insert(lines, part.text)
    elseif part.uri then
      local from = type(part.range) == "table" and (":%d"):format(part.range.start.line + 1) or ""
      table.insert(lines, "[" .. visible.path(part.uri, root) .. from .. "]")
    else
      table.insert(lines, "[" .. tostring(part.type) .. "]")
    end
  end
  return lines
end

local BOXES = { in_progress = "[>]", completed = "[x]", cancelled = "[-]" }

local MARKS = {
  pending = "…",
  awaitingApproval = "?",
  awaitingSave = "…",
  running = "…",
  completed = "✓",
  failed = "✗",
  rejected = "✗",
  cancelled = "✗",
}

local NOTES = {
  awaitingApproval = "needs your approval",
  awaitingSave = "waits for a save",
  rejected = "rejected",
  cancelled = "cancelled",
  failed = "failed",
}

local VERDICTS = {
  allowOnce = "allowed",
  allowSession = "allowed for this session",
  allowAlways = "allowed always",
  rejectOnce = "rejected",
}

local function call_line(event)
  local line = ("- %s %s"):format(MARKS[event.status] or "·", visible.line(event.title))
  if NOTES[event.status] then
    line = line .. " (" .. NOTES[event.status] .. ")"
  end
  return line
end

--- @type table<string, fun(chat: interline.Chat, event: table)>
local shown = {
  textDelta = function(chat, event)
    if not chat.streamed[event.itemId] then
      chat.streamed[event.itemId] = true
      chat:append("\n\n")
    end
    chat:append(event.text)
  end,
  text = function(chat, event)
    if not chat.streamed[event.itemId] then
      chat:lines({ "", event.text })
    end
  end,
  thought = function(chat, event)
    chat:item(event.itemId, "- ✓ Thought about it", { title = "Thought", thought = event.text })
  end,
  toolCall = function(chat, event)
    chat:item(event.itemId, call_line(event), event)
  end,
  userMessage = function(chat, event)
    if not chat.prompted then
      -- The first one of a turn is its own prompt, which began it.
      chat.prompted = true
      return
    end
    local lines = { "", "## You", "" }
    chat:lines(vim.list_extend(vim.list_extend(lines, words_of(event.input, chat.root)), { "", "## Interline" }))
  end,
  approvalResolved = function(chat, event)
    local words = VERDICTS[event.choice] or tostring(event.choice)
    chat:lines({ "> " .. words .. (event.by == "user" and "" or " (" .. visible.line(event.by) .. ")") })
  end,
  plan = function(chat, event)
    local lines = { "" }
    for _, todo in ipairs(event.todos) do
      table.insert(lines, ("- %s %s"):format(BOXES[todo.status] or "[ ]", visible.line(todo.text)))
    end
    chat:lines(lines)
  end,
  compaction = function(chat, event)
    local words = "Compacting the conversation…"
    if event.status == "completed" then
      words = ("Compacted the conversation: %d → %d tokens"):format(event.tokensBefore, event.tokensAfter or 0)
    elseif event.status ~= "running" then
      words = "Not compacted. " .. (type(event.text) == "string" and event.text or "")
    end
    chat:lines({ "", "> " .. visible.line(words) })
  end,
  notice = function(chat, event)
    chat:lines({ "", "> " .. tostring(event.text) })
  end,
  retry = function(chat, event)
    chat:lines({ "", ("> %s Retrying in %d s."):format(event.reason, math.ceil(event.inMs / 1000)) })
  end,
}

local STOPS = {
  cancelled = "cancelled",
  maxSteps = "stopped at the step limit; ask to continue",
  maxTokens = "stopped at the model's output limit; ask to continue",
  budget = "stopped at a budget in `limits`",
  refusal = "the model refused",
}

local function closing(params, root)
  local lines = {}
  if type(params.error) == "table" then
    local hint = params.error.hint
    lines = { "", ("> %s%s"):format(params.error.message, type(hint) == "string" and "\n> " .. hint or "") }
  elseif STOPS[params.stopReason] then
    lines = { "", "> " .. STOPS[params.stopReason] }
  end
  if type(params.files) == "table" and params.files[1] then
    table.insert(lines, "")
    for _, file in ipairs(params.files) do
      local name = visible.path(file.uri, root)
      local what = file.created and "created" or "changed"
      table.insert(lines, ("- %s %s (+%d −%d)"):format(what, name, file.added, file.removed))
    end
  end
  return lines
end

local function show_start(chat, input)
  chat.prompted = false
  local lines = vim.list_extend({ "", "## You", "" }, words_of(input, chat.root))
  chat:lines(vim.list_extend(lines, { "", "## Interline" }))
end

local function show_end(chat, params)
  chat.streamed = {}
  local lines = closing(params, chat.root)
  if #lines > 0 then
    chat:lines(lines)
  else
    chat:flush()
  end
end

--- Notes how far a session was shown.
local function note(server, params)
  if params.sessionId == server.session and type(params.seq) == "number" then
    server.seq = math.max(server.seq or 0, params.seq)
  end
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
  show_start(chats.of(server), params.input)
  M.bar(server)
  announce("InterlineStarted", params)
end

function M.event(server, params)
  note(server, params)
  local event = params.event
  if event.type == "approvalResolved" then
    require("interline.approvals").resolved(server, event.itemId)
  end
  if shown[event.type] then
    shown[event.type](chats.of(server), event)
  end
end

function M.ended(server, params)
  note(server, params)
  require("interline.approvals").forget(server, params.turnId)
  require("interline.questions").forget(server, params.turnId)
  if server.turn == params.turnId then
    server.turn = nil
  end
  show_end(chats.of(server), params)
  M.bar(server)
  announce("InterlineEnded", params)
end

--- `interline/session/didChange`.
function M.session(server, params)
  if params.sessionId == server.session then
    server.about = params
    M.bar(server)
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
        show_start(chat, body.input)
      elseif body.kind == "ended" then
        show_end(chat, body)
      elseif shown[body.event.type] then
        shown[body.event.type](chat, body.event)
      end
      server.seq = math.max(server.seq or 0, item.seq)
    end
  end
  chat:flush()
end

return M
