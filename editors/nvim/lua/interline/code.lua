--- Code blocks of answers: they are yanked, put below the cursor of a file, or applied to the file
--- that they are for, after a preview.
local float = require("interline.float")
local placing = require("interline.placing")
local places = require("interline.places")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

local diff_of = vim.text and vim.text.diff or vim.diff

--- @class interline.Code
--- @field lines string[]
--- @field info string what follows the opening fence

--- The fence that a line begins a block with: its indent, its characters, and what follows.
local function fence(line)
  for _, pattern in ipairs({ "^( *)(```+)([^`]*)$", "^( *)(~~~+)(.*)$" }) do
    local indent, ticks, info = line:match(pattern)
    if indent then
      return indent, ticks, vim.trim(info)
    end
  end
end

local function closes(line, ticks)
  local own = line:match("^ *(" .. ticks:sub(1, 1) .. "+)%s*$")
  return own ~= nil and #own >= #ticks
end

--- The code block around a line, its fences included.
--- @param lines string[]
--- @param row integer from 1
--- @return interline.Code?
function M.block(lines, row)
  local at = 1
  while at <= row do
    local indent, ticks, info = fence(lines[at])
    local last = at
    while ticks and last < #lines and not closes(lines[last + 1], ticks) do
      last = last + 1
    end
    if ticks and row <= last + 1 then
      local code = vim.tbl_map(function(line)
        return vim.startswith(line, indent) and line:sub(#indent + 1) or line
      end, vim.list_slice(lines, at + 1, last))
      return { lines = code, info = info }
    end
    at = ticks and last + 2 or at + 1
  end
end

--- The block under the cursor of the chat.
local function here(chat)
  local lines = vim.api.nvim_buf_get_lines(chat.buffer, 0, chat:last() + 1, true)
  local block = M.block(lines, math.min(vim.api.nvim_win_get_cursor(0)[1], #lines))
  if not block or #block.lines == 0 then
    return say.info("the cursor is not in a code block")
  end
  return block
end

local function count(lines)
  return #lines == 1 and "1 line" or #lines .. " lines"
end

--- @param chat interline.Chat
function M.yank(chat)
  local block = here(chat)
  if block then
    vim.fn.setreg(vim.v.register, block.lines, "l")
    say.info(count(block.lines) .. " yanked")
  end
end

--- Puts the block below the cursor of the window with a file.
--- @param chat interline.Chat
function M.put(chat)
  local block = here(chat)
  if not block then
    return
  elseif not places.enter() then
    return say.info("open the file that this code is for")
  end
  vim.api.nvim_put(block.lines, "l", true, false)
end

--- The file that a block names in its opening line, or else the one of the window with a file.
local function file_of(block, root)
  local named = places.first(block.info:gsub("^%S+%s*", ""), root) or places.first(block.info, root)
  local current = places.window()
  local buffer = current and vim.api.nvim_win_get_buf(current)
  local path = buffer and vim.api.nvim_buf_get_name(buffer) or ""
  return named and named.file or path ~= "" and path or nil
end

local GROUPS = { ["+"] = "InterlineAdded", ["-"] = "InterlineRemoved", ["@"] = "InterlineHunk" }

--- Shows what would change; a key does it.
local function preview(title, diff, run)
  local lines, groups = visible.lines((diff:gsub("\n$", ""))), {}
  for row, line in ipairs(lines) do
    groups[row] = GROUPS[line:sub(1, 1)]
  end
  local opened, reason = float.open({ title = title, lines = lines, groups = groups, footer = "<CR> apply · q cancel", enter = true })
  if not opened then
    return say.error("the preview cannot be shown: " .. reason)
  end
  vim.keymap.set("n", "<CR>", function()
    float.close(opened)
    run()
  end, { buffer = opened.buffer, nowait = true, desc = "Interline: apply" })
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = opened.buffer, nowait = true, desc = "Interline: cancel" })
  end
end

local function text_of(lines)
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

--- The agent finds the place.
local function ask_agent(name, block)
  vim.ui.select({ "let the agent apply it", "cancel" }, {
    prompt = ("It is not clear where this belongs in %s"):format(name),
    kind = "interline_apply",
  }, function(_, index)
    if index ~= 1 then
      return
    end
    local ticks = "```"
    while table.concat(block.lines, "\n"):find(ticks, 1, true) do
      ticks = ticks .. "`"
    end
    local parts = { ("Apply this code to @%s:"):format(require("interline.attach").escape(name)), "", ticks }
    vim.list_extend(vim.list_extend(parts, block.lines), { ticks })
    require("interline.turn").ask(table.concat(parts, "\n"), nil, "queue")
  end)
end

--- Applies the block to its file, after a preview, as one undo step.
--- @param chat interline.Chat
function M.apply(chat)
  local block = here(chat)
  local file = block and file_of(block, chat.root)
  if not block then
    return
  elseif not file then
    return say.info("open the file that this code is for")
  end
  local buffer = vim.fn.bufadd(file)
  vim.fn.bufload(buffer)
  local old = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local placed = placing.find(old, block.lines)
  local name = visible.path(vim.uri_from_fname(file), chat.root)
  if not placed then
    return ask_agent(name, block)
  end
  local new = vim.list_slice(old, 1, placed.first - 1)
  vim.list_extend(vim.list_extend(new, placed.lines), vim.list_slice(old, placed.last + 1))
  if vim.deep_equal(old, new) then
    return say.info(name .. " has this code already")
  end
  local diff = diff_of(text_of(old), text_of(new), { ctxlen = 3 })
  preview("Apply to " .. name, diff, function()
    if not vim.deep_equal(old, vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) then
      return say.warn(name .. " has changed: apply the code again")
    end
    places.open({ file = file, line = placed.first })
    vim.api.nvim_buf_set_lines(buffer, placed.first - 1, placed.last, true, placed.lines)
  end)
end

return M
