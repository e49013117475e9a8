--- Keys of the window of answers, and what stands behind its lines.
local float = require("interline.float")
local subject = require("interline.subject")
local visible = require("interline.visible")

local M = {}

local HELP = {
  "i     write a prompt",
  "<CR>  what is behind the line: a call's arguments, output and diff",
  "u     revert the changes of the line's call, after a preview",
  "<C-c> cancel the turn",
  "]]    the next prompt or answer",
  "[[    the one before",
  "q     close the window",
  "g?    this",
}

local function section(lines, title, text, group)
  if type(text) == "string" and text ~= "" then
    vim.list_extend(lines.text, { "", title })
    lines.groups[#lines.text] = "InterlineReason"
    for _, line in ipairs(visible.lines((text:gsub("\n$", "")))) do
      table.insert(lines.text, line)
      lines.groups[#lines.text] = group and group(line) or nil
    end
  end
end

local DIFF = { ["+"] = "InterlineAdded", ["-"] = "InterlineRemoved", ["@"] = "InterlineHunk" }

--- A tool call, whole.
--- @param event table of `interline/turn/event`
function M.page(event)
  local lines = { text = {}, groups = {} }
  if event.thought then
    section(lines, "", event.thought)
    return lines
  end
  table.insert(lines.text, ("%s: %s"):format(visible.line(event.tool), event.status))
  lines.groups[1] = "InterlineExact"
  local input = event.input
  section(lines, "Arguments", type(input) == "table" and subject.pretty(input) or input)
  section(lines, event.truncated and "Output (its beginning)" or "Output", event.output)
  section(lines, "Diff", event.diff, function(line)
    return DIFF[line:sub(1, 1)]
  end)
  return lines
end

local function read(title, text, groups)
  local opened = float.open({ title = title, lines = text, groups = groups, footer = "q close", enter = true })
  if opened then
    for _, key in ipairs({ "q", "<Esc>", "<CR>" }) do
      vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = opened.buffer, nowait = true, desc = "close" })
    end
  end
end

local function show_detail(chat)
  local event = chat:detail()
  if not event then
    return require("interline.say").info("nothing is behind this line; g? tells the keys")
  end
  local page = M.page(event)
  read(visible.line(event.title), page.text, page.groups)
end

local function revert_call(chat)
  local event = chat:detail()
  if not event or type(event.diff) ~= "string" or event.diff == "" then
    return require("interline.say").info("no call that changed files is on this line")
  end
  require("interline.revert").call(event.itemId)
end

--- @param chat interline.Chat
function M.chat(chat)
  local function map(key, what, run)
    vim.keymap.set("n", key, run, { buffer = chat.buffer, nowait = true, desc = "Interline: " .. what })
  end
  for _, key in ipairs({ "i", "a", "o" }) do
    map(key, "write a prompt", function()
      require("interline.compose").open()
    end)
  end
  map("<CR>", "what is behind the line", function()
    show_detail(chat)
  end)
  map("u", "revert the changes of the line's call", function()
    revert_call(chat)
  end)
  map("<C-c>", "cancel the turn", function()
    require("interline.turn").cancel()
  end)
  map("]]", "the next prompt or answer", "<Cmd>silent! call search('^## ', 'W')<CR>")
  map("[[", "the prompt or answer before", "<Cmd>silent! call search('^## ', 'bW')<CR>")
  map("q", "close the window", "<Cmd>close<CR>")
  map("g?", "the keys", function()
    read("Keys of this window", HELP)
  end)
end

return M
