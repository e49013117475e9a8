--- How a turn is shown in the chat: its prompt, each event, and its end. The same for events that
--- arrive and for those of a stored session.
local attach = require("interline.attach")
local visible = require("interline.visible")

local M = {}

--- @class interline.ShownTurn
--- @field id string
--- @field live boolean its events arrive now, so that times can be measured
--- @field prompted boolean? its own `userMessage` was received
--- @field began table<string, integer> when an item began, in ms
--- @field output table<string, string> what a running call printed
--- @field plan table[]? the last list of todos
--- @field verdicts table<string, string> how an approval was answered, by item

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
  allowSession = "allowed for this session",
  allowFolder = "always allowed in this folder",
  allowAlways = "allowed always",
}

--- Lines of a running command's output that are shown, and bytes that are stored.
local OUTPUT_LINES, OUTPUT_BYTES = 5, 65536

local STOPS = {
  cancelled = "cancelled",
  maxSteps = "stopped at the step limit; ask to continue",
  maxTokens = "stopped at the model's output limit; ask to continue",
  budget = "stopped at a budget in `limits`",
  refusal = "the model refused",
}

local function now()
  return vim.uv.hrtime() / 1e6
end

--- How long something took; nothing for less than a second.
local function span(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 1 then
    return nil
  elseif seconds < 60 then
    return seconds .. " s"
  end
  return ("%d min %d s"):format(seconds / 60, seconds % 60)
end

local function duration(turn, item)
  local began = turn.live and turn.began[item]
  return began and span(now() - began) or nil
end

function M.count(added, removed)
  return ("+%d −%d"):format(added, removed)
end

local function of_call(turn, event)
  local notes = { NOTES[event.status] }
  local added, removed = 0, 0
  for _, file in ipairs(type(event.files) == "table" and event.files or {}) do
    added, removed = added + file.added, removed + file.removed
  end
  if added + removed > 0 and event.status == "completed" then
    table.insert(notes, M.count(added, removed))
  end
  if MARKS[event.status] ~= "…" and event.status ~= "awaitingApproval" then
    table.insert(notes, turn.verdicts[event.itemId])
    table.insert(notes, duration(turn, event.itemId))
  end
  local line = ("- %s %s"):format(MARKS[event.status] or "·", visible.line(event.title))
  return #notes > 0 and ("%s (%s)"):format(line, table.concat(notes, ", ")) or line
end

--- The last lines of what a terminal would show.
local function last_lines(text)
  local lines = vim.split((text:gsub("\27%[[%d;?]*%a", ""):gsub("\r\n", "\n"):gsub("\n+$", "")), "\n", { plain = true })
  local shown = {}
  for _, line in ipairs(vim.list_slice(lines, math.max(#lines - OUTPUT_LINES + 1, 1))) do
    table.insert(shown, "  │ " .. visible.text((line:gsub("^.*\r", ""))))
  end
  return shown
end

local function plan_lines(todos)
  local lines = {}
  for _, todo in ipairs(todos) do
    table.insert(lines, ("- %s %s"):format(BOXES[todo.status] or "[ ]", visible.line(todo.text)))
  end
  return lines
end

--- @type table<string, fun(chat: interline.Chat, event: table, turn: interline.ShownTurn)>
local shown = {}

function shown.textDelta(chat, event)
  if not chat.open_items[event.itemId] then
    chat:begin(event.itemId)
    chat:append("\n\n")
  end
  chat:append(event.text)
end

function shown.text(chat, event)
  if not chat.open_items[event.itemId] and event.text ~= "" then
    chat:begin(event.itemId)
    chat:lines({ "", event.text })
  end
end

function shown.thoughtDelta(chat, event, turn)
  if not turn.began[event.itemId] then
    turn.began[event.itemId] = now()
    chat:begin(event.itemId)
    chat:item(event.itemId, "- … Thinking")
  end
end

function shown.thought(chat, event, turn)
  if not chat.open_items[event.itemId] then
    chat:begin(event.itemId)
  end
  local time = duration(turn, event.itemId)
  local words = time and "- ✓ Thought for " .. time or "- ✓ Thought"
  chat:item(event.itemId, words, { title = "Thought", thought = event.text })
end

function shown.toolCall(chat, event, turn)
  local id = event.itemId
  if event.status == "pending" and not chat.marks[id] then
    chat:begin(id)
  elseif event.status ~= "pending" and event.status ~= "cancelled" then
    chat:settle()
  end
  if event.status == "running" then
    turn.began[id] = turn.began[id] or now()
  elseif MARKS[event.status] ~= "…" then
    chat:section("output")
    if (event.output == nil or event.output == vim.NIL or event.status == "cancelled") and turn.output[id] then
      event.printed = turn.output[id]
    end
  end
  chat:item(id, of_call(turn, event), event)
end

function shown.toolOutputDelta(chat, event, turn)
  local text = (turn.output[event.itemId] or "") .. event.text
  turn.output[event.itemId] = text:sub(-OUTPUT_BYTES)
  local mark = chat.marks[event.itemId]
  chat:section("output", last_lines(turn.output[event.itemId]), mark and chat.details[mark])
end

function shown.userMessage(chat, event, turn)
  if not turn.prompted then
    -- The first one of a turn is its own prompt, which began it.
    turn.prompted = true
    return
  end
  local lines = { "", "## You", "" }
  chat:lines(vim.list_extend(vim.list_extend(lines, attach.words(event.input, chat.root)), { "", "## Interline" }))
end

function shown.approvalResolved(_, event, turn)
  local by = event.by ~= "user" and "by " .. visible.line(event.by) or nil
  local words = VERDICTS[event.choice] or by and (event.choice == "rejectOnce" and "rejected" or "allowed")
  turn.verdicts[event.itemId] = words and (by and words .. " " .. by or words)
end

function shown.plan(chat, event, turn)
  turn.plan = event.todos[1] and event.todos or nil
  chat:section("plan", turn.plan and plan_lines(turn.plan))
end

function shown.compaction(chat, event)
  local words = "Compacting the conversation…"
  if event.status == "completed" then
    words = ("Compacted the conversation: %d → %d tokens"):format(event.tokensBefore, event.tokensAfter or 0)
  elseif event.status ~= "running" then
    words = "Not compacted. " .. (type(event.text) == "string" and event.text or "")
  end
  chat:lines({ "", "> " .. visible.line(words) })
end

function shown.notice(chat, event)
  chat:lines({ "", "> " .. tostring(event.text) })
end

function shown.step(chat)
  chat:settle()
end

--- One line with a countdown, until the next try brings something.
function shown.retry(chat, event, turn)
  chat:drop_open_items()
  local deadline, reason = now() + event.inMs, visible.line(event.reason)
  local stop
  local function show()
    local left = math.max(math.ceil((deadline - now()) / 1000), 0)
    local words = ("> %s Retrying in %d s (attempt %d of %d)."):format(reason, left, event.attempt, event.attempts)
    chat:section("retry", { words, "> <CR> retries now" }, { retry = true })
    if left == 0 then
      stop()
    end
  end
  local timer = assert(vim.uv.new_timer())
  stop = function()
    if not timer:is_closing() then
      timer:close()
    end
  end
  M.calm(chat)
  turn.stop_countdown = stop
  timer:start(1000, 1000, vim.schedule_wrap(function()
    if not timer:is_closing() then
      show()
    end
  end))
  if turn.live then
    show()
  else
    stop()
  end
end

--- Ends a countdown.
function M.calm(chat)
  if chat.turn and chat.turn.stop_countdown then
    chat.turn.stop_countdown()
    chat.turn.stop_countdown = nil
  end
  chat:section("retry")
end

--- The beginning of a turn.
--- @param params {turnId: string, input: table[]}
--- @param live boolean
function M.started(chat, params, live)
  M.calm(chat)
  chat.turn = { id = params.turnId, live = live, began = {}, output = {}, verdicts = {} }
  local lines = vim.list_extend({ "", "## You", "" }, attach.words(params.input, chat.root))
  local detail = { prompt = params.input, turn = params.turnId }
  chat:lines(vim.list_extend(lines, { "", "## Interline" }), { [2] = detail })
end

local QUIET = { usage = true, step = true, retry = true }

--- @param turn_id string
function M.event(chat, turn_id, event)
  chat.turn = chat.turn or { id = turn_id, live = true, began = {}, output = {}, verdicts = {} }
  if not QUIET[event.type] then
    M.calm(chat)
  end
  if shown[event.type] then
    shown[event.type](chat, event, chat.turn)
  end
end

local function reason_of(params)
  if type(params.error) == "table" then
    local hint, kind = params.error.hint, params.error.kind
    if kind == "auth" or kind == "noModel" then
      hint = ":Interline key asks for a key and tests it; `interline login` stores one."
    end
    return ("> %s%s"):format(params.error.message, type(hint) == "string" and "\n> " .. hint or "")
  end
  return STOPS[params.stopReason] and "> " .. STOPS[params.stopReason]
end

--- The end of a turn: why it stopped, the plan, and the changed files.
--- @param params {turnId: string, stopReason: string, error: table?, files: table[]?}
function M.ended(chat, params)
  local turn = chat.turn or {}
  M.calm(chat)
  chat:settle()
  chat:section("output")
  chat:section("plan")
  local lines, details = {}, {}
  if turn.plan then
    vim.list_extend(vim.list_extend(lines, { "" }), plan_lines(turn.plan))
  end
  local reason = reason_of(params)
  if reason then
    vim.list_extend(lines, { "", reason })
  end
  local files = type(params.files) == "table" and params.files or {}
  if files[1] then
    local added, removed = 0, 0
    for _, file in ipairs(files) do
      added, removed = added + file.added, removed + file.removed
    end
    local words = ("%d %s changed (%s)"):format(#files, #files == 1 and "file" or "files", M.count(added, removed))
    vim.list_extend(lines, { "", words })
    details[#lines] = { changes = params.turnId }
  end
  for _, file in ipairs(files) do
    local what = file.created and "created" or file.deleted and "deleted" or "changed"
    local name = visible.path(file.uri, chat.root)
    table.insert(lines, ("- %s %s (%s)"):format(what, name, M.count(file.added, file.removed)))
    details[#lines] = { file = file.uri, turn = params.turnId }
  end
  if #lines > 0 then
    chat:lines(lines, details)
  else
    chat:flush()
  end
  chat.turn = nil
end

return M
