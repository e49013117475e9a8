--- Keys of the chat window, and what is behind its lines.
local float = require("interline.float")
local places = require("interline.places")
local say = require("interline.say")
local subject = require("interline.subject")
local visible = require("interline.visible")

local M = {}

local HELP = {
  "i     write a prompt (also a and o)",
  "<CR>  on a call: its arguments, output and diff; on a file or a",
  "      changed file: open it; on \"files changed\": quickfix list",
  "gf    open the file under the cursor, or of the line's call",
  "gy    yank the code block under the cursor",
  "gp    put it below the cursor of the file's window",
  "ga    apply it to the file that it is for, after a preview",
  "e     edit the prompt above the cursor and send it again",
  "F     continue in a copy of the session up to that prompt's answer",
  "K     keep the turn's changes (on \"files changed\" or a file)",
  "u     revert the line's call, file or turn, after a preview",
  "<C-c> cancel the turn",
  "]]    the next prompt or answer",
  "[[    the previous one",
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
  if event.printed then
    section(lines, "Output until it stopped", (event.printed:gsub("\27%[[%d;?]*%a", "")))
  else
    section(lines, event.truncated and "Output (its beginning)" or "Output", event.output)
  end
  section(lines, "Diff", event.diff, function(line)
    return DIFF[line:sub(1, 1)]
  end)
  return lines
end

--- @param footer? string
local function read(title, text, groups, footer)
  local opened = float.open({ title = title, lines = text, groups = groups, footer = footer or "q close", enter = true })
  if opened then
    for _, key in ipairs({ "q", "<Esc>", "<CR>" }) do
      vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = opened.buffer, nowait = true, desc = "close" })
    end
  end
  return opened
end

--- The first file that a call changed.
local function file_of(event)
  local file = type(event.files) == "table" and event.files[1]
  if file then
    return { file = vim.uri_to_fname(file.uri) }
  end
end

--- The location under the cursor of a call's page: named there, or a line of its diff.
local function place_in_page(event, root)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  local named = places.at(lines[row], column + 1, root)
  if named then
    return named
  end
  local place = file_of(event)
  local line = place and places.in_diff(lines, row)
  for at = line and row or 0, 1, -1 do
    local name = lines[at]:match("^%+%+%+ b/(.+)$")
    if name then
      place.file = root .. "/" .. name
      break
    end
  end
  if place then
    place.line = line
  end
  return place
end

local function server_of(chat)
  return require("interline.client").of(chat.root)
end

--- The conversation of a sub-agent.
local function show_child(chat, event)
  local server = server_of(chat)
  if not server then
    return say.info("the server is not running; :Interline restart")
  end
  local params = { sessionId = event.child, format = "markdown" }
  require("interline.client").request(server, "interline/session/export", params, function(result)
    require("interline.show").tab("interline://" .. event.child, { "# " .. visible.line(event.title), "", result.text })
  end)
end

local function show_call(chat, event)
  local page, child = M.page(event), type(event.child) == "string"
  local footer = (child and "gt transcript · " or "") .. "gf open file · q close"
  local opened = read(visible.line(event.title), page.text, page.groups, footer)
  if opened and child then
    vim.keymap.set("n", "gt", function()
      float.close(opened)
      show_child(chat, event)
    end, { buffer = opened.buffer, nowait = true, desc = "Interline: the sub-agent's transcript" })
  end
  if opened then
    vim.keymap.set("n", "gf", function()
      local place = place_in_page(event, chat.root)
      if not place then
        return say.info("no file is named here")
      end
      float.close(opened)
      places.open(place)
    end, { buffer = opened.buffer, nowait = true, desc = "Interline: open the file" })
  end
end

--- The location under the cursor, or else the first one of its line.
local function place_here(chat, anywhere)
  local line, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2] + 1
  return places.at(line, column, chat.root) or anywhere and places.first(line, chat.root) or nil
end

local function enter(chat)
  local detail = chat:detail()
  if detail and detail.queue then
    return require("interline.queue").pick()
  elseif detail and detail.retry then
    return require("interline.turn").retry()
  elseif detail and detail.more then
    return require("interline.sessions").show_more()
  elseif detail and detail.changes then
    return require("interline.review").list({ turn = detail.changes })
  elseif detail and detail.file then
    return places.open_change(server_of(chat), detail.file, detail.turn)
  elseif detail and detail.title then
    return show_call(chat, detail)
  end
  local place = place_here(chat, true)
  if place then
    return places.open(place)
  end
  say.info("nothing to open on this line; g? lists the keys")
end

local function go_to_file(chat)
  local detail = chat:detail()
  local place = place_here(chat, true)
  if place then
    places.open(place)
  elseif detail and detail.file then
    places.open_change(server_of(chat), detail.file, detail.turn)
  elseif detail and file_of(detail) then
    places.open(file_of(detail))
  else
    say.info("no file is named on this line")
  end
end

local function undo(chat)
  local detail, revert = chat:detail() or {}, require("interline.revert")
  if detail.changes then
    revert.turn(nil, detail.changes)
  elseif detail.file then
    revert.turn(detail.file, detail.turn)
  elseif type(detail.diff) == "string" and detail.diff ~= "" then
    revert.call(detail.itemId)
  else
    say.info("nothing to revert on this line; g? lists the keys")
  end
end

local function keep(chat)
  local detail = chat:detail() or {}
  if detail.changes or detail.file then
    return require("interline.review").keep_turn(detail.changes or detail.turn, detail.file)
  end
  say.info("nothing to keep on this line; g? lists the keys")
end

--- The prompt at or above the cursor.
local function prompt_above(chat)
  for row = vim.api.nvim_win_get_cursor(0)[1] - 1, 0, -1 do
    local detail = chat:detail(row)
    if detail and detail.prompt then
      return detail
    end
  end
  say.info("no prompt is above the cursor")
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
  map("<CR>", "details of the line, or open its file", function()
    enter(chat)
  end)
  map("gf", "open the file under the cursor", function()
    go_to_file(chat)
  end)
  for key, run in pairs({ gy = "yank", gp = "put", ga = "apply" }) do
    map(key, run .. " the code block", function()
      require("interline.code")[run](chat)
    end)
  end
  map("e", "edit the prompt and send it again", function()
    local prompt = prompt_above(chat)
    if prompt then
      require("interline.fork").edit(chat.root, prompt)
    end
  end)
  map("F", "fork the session after this prompt's answer", function()
    local prompt = prompt_above(chat)
    if prompt then
      require("interline.fork").after(chat, prompt.turn)
    end
  end)
  map("u", "revert the line's call, file or turn", function()
    undo(chat)
  end)
  map("K", "keep the turn's changes", function()
    keep(chat)
  end)
  map("<C-c>", "cancel the turn", function()
    require("interline.turn").cancel()
  end)
  map("]]", "the next prompt or answer", "<Cmd>silent! call search('^## ', 'W')<CR>")
  map("[[", "the previous prompt or answer", "<Cmd>silent! call search('^## ', 'bW')<CR>")
  map("q", "close the window", "<Cmd>close<CR>")
  map("g?", "the keys", function()
    read("Keys of this window", HELP)
  end)
end

return M
