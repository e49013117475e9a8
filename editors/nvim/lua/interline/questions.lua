--- `interline/question/request`: the model asks the user, one question at a time, and not while
--- the user types: a picker would take the keys.
local chats = require("interline.chat")
local config = require("interline.config")
local idle = require("interline.idle")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

local OTHER = "other…"

--- @type {server: table, params: table, done: fun(answer: table)}[]
local queue = {}
local asking = nil

--- Asks for own words; nothing typed declines, a closed prompt leaves it without an answer.
local function type_in(question, answered)
  vim.ui.input({ prompt = visible.line(question.params.question) .. " " }, function(text)
    if not text then
      answered({ outcome = "cancelled" })
    elseif vim.trim(text) == "" then
      answered({ outcome = "declined" })
    else
      answered({ outcome = "answered", answer = text })
    end
  end)
end

local function choose(question, answered)
  local params = question.params
  local rows = {}
  for _, option in ipairs(params.options) do
    table.insert(rows, { label = visible.line(option), answer = option })
  end
  if params.freeText then
    table.insert(rows, { label = OTHER })
  end
  vim.ui.select(rows, {
    prompt = visible.line(params.question),
    kind = "interline_question",
    format_item = function(row)
      return row.label
    end,
  }, function(row)
    if not row then
      answered({ outcome = "cancelled" })
    elseif row.answer then
      answered({ outcome = "answered", answer = row.answer })
    elseif question.done then
      type_in(question, answered)
    end
  end)
end

local function ask_next()
  if asking or not queue[1] then
    return
  end
  local question = table.remove(queue, 1)
  asking = question
  local function answered(answer)
    if asking == question then
      asking = nil
    end
    local done = question.done
    question.done = nil
    question.wait()
    if done then
      done(answer)
    end
    require("interline.bar").refresh(question.server)
    vim.schedule(ask_next)
  end
  question.answered = answered
  question.ask = function()
    question.wait()
    local ask = #question.params.options > 0 and choose or type_in
    local ok, err = pcall(ask, question, answered)
    if not ok then
      say.error("the question could not be shown, so it is unanswered: " .. tostring(err), question.server)
      answered({ outcome = "cancelled" })
    end
  end
  question.wait = function() end
  local take = config.get().take_focus
  if take and idle.now() then
    return question.ask()
  end
  say.info("the agent has a question; :Interline answer shows it", question.server)
  if take then
    question.wait = idle.soon(question.ask)
  end
end

--- Asks at once what waits.
function M.go()
  if asking then
    asking.ask()
  else
    say.info("no question is open")
  end
end

--- How many wait for an answer.
--- @param server? interline.Server only of this one
function M.count(server)
  local open = vim.list_extend({ asking }, queue)
  return #vim.tbl_filter(function(question)
    return not server or question.server == server
  end, open)
end

--- Drops a server's questions that no longer need an answer; `turn`: only this turn's.
function M.forget(server, turn)
  local function over(question)
    return question.server == server and (not turn or question.params.turnId == turn)
  end
  queue = vim.tbl_filter(function(question)
    if over(question) then
      question.done({ outcome = "cancelled" })
      return false
    end
    return true
  end, queue)
  if asking and over(asking) then
    asking.answered({ outcome = "cancelled" })
  end
end

--- Neovim runs this in a coroutine: the answer may come later.
function M.request(server, params)
  chats.of(server):lines({ "", ("**Question**: %s"):format(visible.prose(params.question)) })
  local routine = assert(coroutine.running())
  local result = nil
  table.insert(queue, {
    server = server,
    params = params,
    done = function(answer)
      result = answer
      if coroutine.status(routine) == "suspended" then
        coroutine.resume(routine)
      end
    end,
  })
  ask_next()
  require("interline.bar").refresh(server)
  vim.api.nvim_exec_autocmds("User", { pattern = "InterlineQuestion", modeline = false, data = params })
  if not result then
    coroutine.yield()
  end
  if result.answer then
    chats.of(server):lines({ "> " .. visible.prose(result.answer):gsub("\n", "\n> ") })
  end
  return result
end

return M
