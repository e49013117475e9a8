--- `interline/approval/request`: shows exactly what would be done and asks, one at a time.
local chat = require("interline.chat")

local M = {}

--- @type {server: table, params: table, done: fun(choice: table?)}[]
local queue = {}
local asking = nil

--- Control, bidirectional and invisible characters as escapes: nothing hides in what is shown.
function M.visible(text)
  text = text:gsub("[%z\1-\8\11-\31\127]", function(character)
    return ("\\x%02x"):format(character:byte())
  end)
  local function escape(sequence)
    return ("\\u{%04x}"):format(vim.fn.char2nr(sequence))
  end
  text = text:gsub("\226\128[\139-\143\168-\175]", escape):gsub("\226\129[\160-\175]", escape)
  return (text:gsub("\239\187\191", escape):gsub("\194[\128-\159\173]", escape))
end

local visible = M.visible

--- A fence that does not occur in the text.
local function fenced(kind, text)
  local fence = "```"
  while text:find(fence, 1, true) do
    fence = fence .. "`"
  end
  return { fence .. kind, visible(text), fence }
end

local function content(subject)
  if subject.kind == "command" then
    local lines = fenced("sh", subject.command)
    table.insert(lines, "in " .. visible(subject.cwd))
    if type(subject.unsaved) == "table" and #subject.unsaved > 0 then
      table.insert(lines, "unsaved: " .. visible(table.concat(subject.unsaved, ", ")))
    end
    return lines
  elseif subject.kind == "edit" then
    return fenced("diff", subject.diff)
  end
  return fenced("json", vim.json.encode(subject))
end

local function rejection(choices)
  for _, choice in ipairs(choices) do
    if choice.kind == "rejectOnce" then
      return choice
    end
  end
  return { id = "reject" }
end

local function ask_next()
  if asking or not queue[1] then
    return
  end
  local approval = table.remove(queue, 1)
  asking = approval
  local function answered(choice)
    if asking == approval then
      asking = nil
    end
    local done = approval.done
    approval.done = nil
    if done then
      done(choice)
    end
    vim.schedule(ask_next)
  end
  approval.answered = answered
  local ok, err = pcall(vim.ui.select, approval.params.choices, {
    prompt = ("Interline: %s?"):format(visible(approval.params.title)),
    kind = "interline_approval",
    format_item = function(choice)
      return choice.label
    end,
  }, answered)
  if not ok then
    vim.notify("interline: asking failed, so it counts as rejected: " .. tostring(err), vim.log.levels.ERROR)
    answered(nil)
  end
end

--- Drops questions that are over: answered elsewhere, or their turn ended.
local function drop(matches)
  queue = vim.tbl_filter(function(approval)
    if not matches(approval) then
      return true
    end
    approval.done(nil)
    return false
  end, queue)
  if asking and matches(asking) then
    asking.answered(nil)
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

--- Neovim runs this in a coroutine: the answer may come later. Closed without an answer counts
--- as rejected, and the model is told that nothing happened.
function M.request(server, params)
  local lines = { "", ("**%s**: %s"):format(visible(params.title), visible(params.reason or "")) }
  chat.lines(vim.list_extend(lines, content(params.subject)))
  local routine = assert(coroutine.running())
  local answered, chosen = false, nil
  table.insert(queue, {
    server = server,
    params = params,
    done = function(choice)
      answered, chosen = true, choice
      if coroutine.status(routine) == "suspended" then
        coroutine.resume(routine)
      end
    end,
  })
  ask_next()
  if not answered then
    coroutine.yield()
  end
  chosen = chosen or rejection(params.choices)
  return { choice = chosen.id, hash = params.hash }
end

return M
