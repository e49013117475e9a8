--- `interline/approval/request`: shows exactly what would be done in a floating window, and waits
--- for the user's answer. One at a time. The window takes the cursor only from a user at rest,
--- and hiding it answers nothing.
local chats = require("interline.chat")
local config = require("interline.config")
local float = require("interline.float")
local idle = require("interline.idle")
local say = require("interline.say")
local subject = require("interline.subject")
local visible = require("interline.visible")

local M = {}

--- A window that took the cursor by itself listens to keys only after this long without one.
M.arm_ms = 500

--- @class interline.Approval
--- @field server interline.Server
--- @field params table
--- @field done fun(answer: table)? until it is answered
--- @field seen boolean? it was shown

--- Waiting, the oldest first; the first one is shown.
--- @type interline.Approval[]
local waiting = {}
--- The window, the approval that it shows, and the chat that it may cover.
local shown = { float = nil, approval = nil, chat = nil, armed = false, timer = nil, wait = nil }

local KEYS = {
  { kind = "allowOnce", key = "a" },
  { kind = "allowSession", key = "s" },
  { kind = "allowFolder", key = "F" },
  { kind = "allowAlways", key = "A" },
  { kind = "rejectOnce", key = "r" },
}

local COMMANDS = { allowOnce = "allow", allowSession = "allow session", rejectOnce = "reject" }

local function choice_of(approval, kind)
  for _, choice in ipairs(approval.params.choices) do
    if choice.kind == kind then
      return choice
    end
  end
end

--- Whether trusting the folder would spare the user this question.
local function can_trust(approval)
  return approval.server.trusted == false and approval.params.subject.kind == "edit"
end

local function more()
  return #waiting > 1 and (" · %d more wait"):format(#waiting - 1) or ""
end

--- What the lower border says: keys inside, commands outside.
local function footer(approval)
  local inside = float.is_open(shown.float) and vim.api.nvim_get_current_win() == shown.float.window
  if inside and not shown.armed then
    return "keys work once you stop typing" .. more()
  end
  local parts = {}
  for _, row in ipairs(KEYS) do
    local choice = choice_of(approval, row.kind)
    if choice and inside then
      table.insert(parts, row.key .. " " .. visible.line(choice.label):lower())
    elseif choice and COMMANDS[row.kind] then
      table.insert(parts, COMMANDS[row.kind])
    end
  end
  if inside then
    if can_trust(approval) then
      table.insert(parts, math.min(2, #parts + 1), "t trust folder")
    end
    return table.concat(vim.list_extend(parts, { "f feedback", "q later" }), " · ") .. more()
  end
  return ":Interline " .. table.concat(vim.list_extend(parts, { "approvals (goes here)" }), " · ") .. more()
end

local function disarm()
  if shown.timer then
    shown.timer:close()
    shown.timer = nil
  end
end

local function refresh()
  if shown.approval then
    float.refresh(shown.float, footer(shown.approval))
    shown.chat:cover(float.top(shown.float))
  end
end

--- Keys count from the next pause on.
local function arm_later()
  disarm()
  shown.armed = false
  local timer = assert(vim.uv.new_timer())
  shown.timer = timer
  timer:start(
    M.arm_ms,
    0,
    vim.schedule_wrap(function()
      if shown.timer == timer then
        disarm()
        shown.armed = true
        refresh()
      end
    end)
  )
end

--- Nothing is shown any more.
local function forget_window()
  disarm()
  if shown.chat then
    shown.chat:cover(nil)
  end
  if shown.wait then
    shown.wait()
  end
  shown = { float = nil, approval = nil, chat = nil, armed = false, timer = nil, wait = nil }
end

local function hide()
  local window = shown.float
  forget_window()
  float.close(window)
end

--- Gives the window the cursor of a user at rest.
local function enter()
  vim.api.nvim_set_current_win(shown.float.window)
  arm_later()
  refresh()
end

local show_next

--- Settles one approval; `answer` goes to the server.
local function settle(approval, answer)
  local done = approval.done
  approval.done = nil
  waiting = vim.tbl_filter(function(each)
    return each ~= approval
  end, waiting)
  local inside = false
  if shown.approval == approval then
    inside = float.is_open(shown.float) and vim.api.nvim_get_current_win() == shown.float.window
    hide()
  end
  if done then
    done(answer)
  end
  require("interline.bar").refresh(approval.server)
  vim.schedule(function()
    show_next(inside)
  end)
end

local function rejection(approval)
  return choice_of(approval, "rejectOnce") or { id = "reject" }
end

local function pick(approval, kind, feedback)
  local choice = choice_of(approval, kind)
  if not choice then
    return false
  end
  settle(approval, { choice = choice.id, hash = approval.params.hash, feedback = feedback })
  return true
end

local function reject_with_words(approval)
  vim.ui.input({ prompt = "Reason for rejecting: " }, function(words)
    if words and approval.done then
      pick(approval, "rejectOnce", vim.trim(words) ~= "" and words or nil)
    end
  end)
end

local function still_waits()
  say.info("postponed; :Interline approvals shows it again")
end

local function later()
  hide()
  still_waits()
end

local function map_keys(approval)
  local function map(key, what, run)
    vim.keymap.set("n", key, function()
      if shown.armed then
        run()
      else
        arm_later()
      end
    end, { buffer = shown.float.buffer, nowait = true, desc = "Interline: " .. what })
  end
  for _, row in ipairs(KEYS) do
    local choice = choice_of(approval, row.kind)
    if choice then
      map(row.key, visible.line(choice.label), function()
        pick(approval, row.kind)
      end)
    end
  end
  map("f", "reject with feedback", function()
    reject_with_words(approval)
  end)
  if can_trust(approval) then
    map("t", "trust the folder and allow", function()
      require("interline.turn").trust("trust", function()
        pick(approval, "allowOnce")
      end, approval.server)
    end)
  end
  map("g?", "what the keys do", function()
    say.info(footer(approval), approval.server)
  end)
  map("q", "decide later", later)
  map("<Esc>", "decide later", later)
end

local function lines_of(approval)
  local page = subject.page(approval.params, approval.server.root)
  local reasons = subject.reasons(approval.params)
  if #reasons.lines > 0 then
    table.insert(page.lines, "")
    for number, line in ipairs(reasons.lines) do
      table.insert(page.lines, line)
      page.groups[#page.lines] = reasons.groups[number]
    end
  end
  return page
end

local function follow_window(opened)
  local group = vim.api.nvim_create_augroup("interline-approval", { clear = true })
  vim.api.nvim_create_autocmd({ "WinEnter", "WinLeave" }, {
    group = group,
    callback = function()
      -- A user who goes there on purpose may answer at once.
      vim.schedule(function()
        if shown.float == opened and vim.api.nvim_get_current_win() == opened.window and not shown.timer then
          shown.armed = true
        end
        refresh()
      end)
    end,
  })
  vim.api.nvim_create_autocmd("VimResized", { group = group, callback = refresh })
  vim.api.nvim_create_autocmd("TabEnter", {
    group = group,
    callback = function()
      vim.schedule(function()
        -- It is where the user is, and never under a cursor that went elsewhere.
        if shown.float == opened and vim.api.nvim_win_get_tabpage(opened.window) ~= vim.api.nvim_get_current_tabpage() then
          local approval = shown.approval
          hide()
          M.show(approval, false)
        end
      end)
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(opened.window),
    callback = function()
      if shown.float == opened then
        forget_window()
        vim.schedule(still_waits)
      end
    end,
  })
end

--- A fence that does not occur in the text.
local function fenced(kind, lines)
  local text, fence = table.concat(lines, "\n"), "```"
  while text:find(fence, 1, true) do
    fence = fence .. "`"
  end
  return vim.list_extend({ fence .. kind }, vim.list_extend(vim.deepcopy(lines), { fence }))
end

local FENCES = { command = "sh", edit = "diff" }

--- How the window of answers tells it.
local function written(server, params)
  local reason = type(params.reason) == "string" and params.reason or ""
  local page = subject.page(params, server.root)
  local lines = { "", ("**%s**: %s"):format(visible.line(params.title), visible.line(reason)) }
  return vim.list_extend(lines, fenced(FENCES[params.subject.kind] or "", page.lines))
end

--- Where its own window does not open, it is shown at the end of the answers; where these do not
--- open either, it was not seen, and cannot be allowed.
local function show_in_chat(approval, reason)
  local chat, lines = chats.of(approval.server), written(approval.server, approval.params)
  if not vim.endswith(chat:body(), table.concat(lines, "\n")) then
    chat:lines(lines)
  end
  chat:open()
  local window = vim.fn.bufwinid(chat.buffer)
  local title = visible.line(approval.params.title)
  if window == -1 then
    local words = ":Interline approvals shows the request: %s (its window could not open: %s)"
    return say.warn(words:format(title, reason), approval.server)
  end
  approval.seen = true
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(chat.buffer), 0 })
  local words = ":Interline allow or :Interline reject? %s (shown in the chat; its window could not open: %s)"
  say.warn(words:format(title, reason), approval.server)
end

--- @param focus boolean
function M.show(approval, focus)
  local page = lines_of(approval)
  local title = "Interline asks: " .. visible.line(approval.params.title)
  local opened, reason = float.open({
    title = title,
    lines = page.lines,
    groups = page.groups,
    enter = focus,
    -- Wide enough for every footer, so that it does not change its size with them.
    least = choice_of(approval, "allowSession") and 74 or 64,
  })
  if not opened then
    return show_in_chat(approval, reason)
  end
  shown = { float = opened, approval = approval, chat = chats.of(approval.server), armed = false, timer = nil, wait = nil }
  approval.seen = true
  follow_window(opened)
  map_keys(approval)
  if focus then
    arm_later()
  end
  refresh()
end

--- @param inside? boolean the user has just answered the one before in its window
function show_next(inside)
  if shown.approval or not waiting[1] then
    return refresh()
  elseif vim.api.nvim_get_mode().mode:sub(1, 1) == "c" then
    -- The command that is being typed may be an answer, and was meant for another one.
    vim.api.nvim_create_autocmd("CmdlineLeave", {
      once = true,
      callback = vim.schedule_wrap(function()
        show_next()
      end),
    })
    return
  end
  local take = config.get().take_focus
  M.show(waiting[1], take and (inside or idle.now()))
  local opened = shown.float
  if take and opened and not shown.timer then
    -- Not at rest yet. Once it has the cursor, or was left, it does not come back by itself.
    shown.wait = idle.soon(function()
      if shown.float == opened and float.is_open(opened) then
        enter()
      end
    end)
  end
end

--- Goes to the window of the approval that waits, or opens it again.
function M.go()
  if not waiting[1] then
    return say.info("no approval is pending")
  end
  if float.is_open(shown.float) then
    vim.api.nvim_set_current_win(shown.float.window)
  else
    M.show(waiting[1], true)
  end
  disarm()
  if shown.wait then
    shown.wait()
  end
  shown.armed = true
  refresh()
end

--- Answers the approval that was shown first of those that wait.
--- @param kind "allowOnce"|"allowSession"|"allowAlways"|"rejectOnce"
--- @param feedback? string words for the model
function M.answer(kind, feedback)
  local approval = waiting[1]
  if not approval then
    say.info("no approval is pending")
  elseif not approval.seen then
    M.show(approval, false)
    say.info("read the request first, then answer again")
  elseif not pick(approval, kind, feedback) then
    say.error("that is not one of its choices; :Interline approvals shows them")
  end
end

--- How many wait.
--- @param server? interline.Server only of this one
function M.count(server)
  return #vim.tbl_filter(function(approval)
    return not server or approval.server == server
  end, waiting)
end

--- Drops those that are over: answered elsewhere, or their turn ended.
local function drop(matches)
  for _, approval in ipairs(vim.tbl_filter(matches, waiting)) do
    settle(approval, { choice = rejection(approval).id, hash = approval.params.hash })
  end
end

function M.resolved(server, item)
  drop(function(approval)
    return approval.server == server and approval.params.itemId == item
  end)
end

--- @param turn? string only this turn's
function M.forget(server, turn)
  drop(function(approval)
    return approval.server == server and (not turn or approval.params.turnId == turn)
  end)
end

--- Neovim runs this in a coroutine: the answer may come later. Only what the user chose is
--- allowed; anything else is a rejection, and the model learns that nothing happened.
function M.request(server, params)
  if not chats.of(server).marks[params.itemId] then
    -- No call's line stands for it there.
    chats.of(server):lines(written(server, params))
  end
  local routine, result = assert(coroutine.running()), nil
  table.insert(waiting, {
    server = server,
    params = params,
    done = function(answer)
      result = answer
      if coroutine.status(routine) == "suspended" then
        coroutine.resume(routine)
      end
    end,
  })
  require("interline.bar").refresh(server)
  vim.api.nvim_exec_autocmds("User", { pattern = "InterlineAsks", modeline = false, data = params })
  show_next()
  if not result then
    coroutine.yield()
  end
  return result
end

return M
