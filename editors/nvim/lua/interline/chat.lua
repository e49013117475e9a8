--- The window of answers: a scratch buffer that text streams into.
local config = require("interline.config")

local M = {}

--- @type integer?
local buffer = nil
--- Items whose text has begun to stream.
local streamed = {}

local function ensure()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].undolevels = -1
  pcall(vim.api.nvim_buf_set_name, buffer, "interline://answers")
  -- A file type plugin that fails (a parser that is missing) is no reason to show nothing. Vim's
  -- own `try`: past a `pcall` such an error still ends the command that brought us here.
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("try\n setlocal filetype=markdown\n catch\n endtry")
  end)
  return buffer
end

--- Opens the window of answers without leaving the present one.
function M.open()
  local target = ensure()
  if vim.fn.bufwinid(target) ~= -1 then
    return
  end
  local here = vim.api.nvim_get_current_win()
  vim.cmd(config.get().split)
  vim.api.nvim_win_set_buf(0, target)
  vim.wo.wrap = true
  vim.wo.linebreak = true
  vim.api.nvim_set_current_win(here)
end

--- Keeps the end in view, unless the user reads there.
local function follow(target)
  for _, window in ipairs(vim.fn.win_findbuf(target)) do
    if window ~= vim.api.nvim_get_current_win() then
      vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(target), 0 })
    end
  end
end

--- Appends text to the last line; newlines begin new lines.
function M.append(text)
  local target = ensure()
  local row = vim.api.nvim_buf_line_count(target) - 1
  local last = vim.api.nvim_buf_get_lines(target, row, row + 1, true)[1]
  vim.api.nvim_buf_set_text(target, row, #last, row, #last, vim.split(text, "\n", { plain = true }))
  follow(target)
end

--- Appends whole lines; a line may hold newlines.
function M.lines(lines)
  local flat = {}
  for _, line in ipairs(lines) do
    vim.list_extend(flat, vim.split(line, "\n", { plain = true }))
  end
  local target = ensure()
  vim.api.nvim_buf_set_lines(target, -1, -1, true, flat)
  follow(target)
end

--- The text of the window.
function M.text()
  return table.concat(vim.api.nvim_buf_get_lines(ensure(), 0, -1, true), "\n")
end

local function announce(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

function M.started(server, params)
  -- What was asked after the last turn is answered by this one.
  require("interline.questions").forget(server)
  server.turn = params.turnId
  local lines = { "", "## You", "" }
  for _, part in ipairs(params.input or {}) do
    table.insert(lines, part.text or ("[" .. (part.uri or part.type) .. "]"))
  end
  M.lines(vim.list_extend(lines, { "", "## Interline", "" }))
  announce("InterlineStarted", params)
end

local BOXES = { in_progress = "[>]", completed = "[x]", cancelled = "[-]" }

local MARKS = { completed = "✓", failed = "✗", rejected = "✗", cancelled = "✗" }

local shown = {
  textDelta = function(event)
    if not streamed[event.itemId] then
      streamed[event.itemId] = true
      M.lines({ "" })
    end
    M.append(event.text)
  end,
  text = function(event)
    if not streamed[event.itemId] then
      M.lines({ "", event.text })
    end
  end,
  toolCall = function(event)
    if MARKS[event.status] then
      M.lines({ ("- %s %s"):format(MARKS[event.status], event.title) })
    end
  end,
  plan = function(event)
    local lines = { "" }
    for _, todo in ipairs(event.todos) do
      local text = vim.trim(require("interline.approvals").visible(todo.text):gsub("%s+", " "))
      table.insert(lines, ("- %s %s"):format(BOXES[todo.status] or "[ ]", text))
    end
    M.lines(lines)
  end,
  notice = function(event)
    M.lines({ "", "> " .. tostring(event.text) })
  end,
  retry = function(event)
    M.lines({ "", ("> %s Again in %d s."):format(event.reason, math.ceil(event.inMs / 1000)) })
  end,
}

function M.event(server, params)
  local event = params.event
  if event.type == "approvalResolved" then
    require("interline.approvals").resolved(server, event.itemId)
  elseif shown[event.type] then
    shown[event.type](event)
  end
end

local STOPS = {
  cancelled = "cancelled",
  maxSteps = "stopped at the limit of steps; ask to continue",
  maxTokens = "stopped at the model's limit of output; ask to continue",
  budget = "stopped at the budget of `limits`",
  refusal = "the model refused",
}

local function closing(params)
  local lines = {}
  if type(params.error) == "table" then
    local hint = params.error.hint
    lines = { "", ("> %s%s"):format(params.error.message, type(hint) == "string" and "\n> " .. hint or "") }
  elseif STOPS[params.stopReason] then
    lines = { "", "> " .. STOPS[params.stopReason] }
  end
  for _, file in ipairs(params.files or {}) do
    local name = vim.fn.fnamemodify(vim.uri_to_fname(file.uri), ":.")
    table.insert(lines, ("- changed %s (+%d −%d)"):format(name, file.added, file.removed))
  end
  return lines
end

function M.ended(server, params)
  streamed = {}
  require("interline.approvals").forget(server, params.turnId)
  require("interline.questions").forget(server, params.turnId)
  if server.turn == params.turnId then
    server.turn = nil
  end
  M.lines(closing(params))
  announce("InterlineEnded", params)
end

return M
