--- The chat window: one scratch buffer for each root folder. Text streams into it, collected and
--- written a few times a second, so that typing never waits for it. Below the text is the tail:
--- lines that change in place (running output, a retry, the plan, queued prompts).
local config = require("interline.config")

local Chat = {}
Chat.__index = Chat

local M = {}

--- Text is written at most this often.
local FLUSH_MS = 40

--- @class interline.Chat
--- @field root string
--- @field buffer integer?
--- @field pending string[] text that is not written yet
--- @field timer uv.uv_timer_t?
--- @field marks table<string, integer> extmark of the line that an item has
--- @field details table<integer, table> what stands behind a line, by its extmark
--- @field bar interline.Bar
--- @field open_items table<string, integer> items of the current attempt of a step, with the extmark of
--- their beginning: the next attempt repeats them
--- @field sections table<string, {lines: string[], detail: table?}> of the tail
--- @field tail integer lines of the tail in the buffer
--- @field tail_details table<integer, table> by the line's place in the tail
--- @field changed_tail boolean? it is not written yet
--- @field turn interline.ShownTurn? the turn that is being shown

--- @type table<string, interline.Chat>
local chats = {}
local latest = nil

local namespace = vim.api.nvim_create_namespace("interline-chat")
local hints = vim.api.nvim_create_namespace("interline-chat-hints")

--- Sections of the tail, from above.
local SECTIONS = { "output", "retry", "plan", "queue" }

local function fresh()
  return {
    pending = {},
    marks = {},
    details = {},
    open_items = {},
    sections = {},
    tail = 0,
    tail_details = {},
  }
end

--- @param server {root: string}
--- @return interline.Chat
function M.of(server)
  local root = server.root or vim.fn.getcwd()
  local chat = chats[root]
  if not chat then
    chat = setmetatable(vim.tbl_extend("force", fresh(), { root = root, bar = { parts = {} } }), Chat)
    chats[root] = chat
  end
  latest = chat
  return chat
end

--- The one that was written to last.
--- @return interline.Chat?
function M.latest()
  return latest
end

--- The chat whose buffer this is.
--- @return interline.Chat?
function M.at(buffer)
  for _, chat in pairs(chats) do
    if chat.buffer == buffer then
      return chat
    end
  end
end

--- The text of the chat that was written to last.
function M.text()
  return latest and latest:text() or ""
end

function Chat:ensure()
  if self.buffer and vim.api.nvim_buf_is_loaded(self.buffer) then
    return self.buffer
  end
  self.marks, self.details, self.open_items, self.tail, self.tail_details = {}, {}, {}, 0, {}
  self.changed_tail = next(self.sections) ~= nil
  local buffer = vim.api.nvim_create_buf(false, true)
  self.buffer = buffer
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].undolevels = -1
  pcall(vim.api.nvim_buf_set_name, buffer, "interline://answers" .. self.root)
  -- A file type plugin that fails (a parser that is missing) is no reason to show nothing. Vim's
  -- own `try`: past a `pcall` such an error still ends the command that brought us here.
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("try\n setlocal filetype=markdown\n catch\n endtry")
  end)
  vim.bo[buffer].modifiable = false
  require("interline.keys").chat(self)
  return buffer
end

--- The row of the text's last line.
function Chat:last()
  return vim.api.nvim_buf_line_count(self.buffer) - self.tail - 1
end

--- The windows whose cursor is at the end.
local function following_windows(self, buffer)
  local last = self:last()
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] > last
  end, vim.fn.win_findbuf(buffer))
end

--- Scrolls a window so that the last line is the lowest one above `front`, a row of the screen.
local function scroll_above(window, front)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  local bottom = vim.api.nvim_win_get_position(window)[1] + vim.api.nvim_win_get_height(window)
  local rows = vim.fn.getwininfo(window)[1].height - math.max(bottom - front, 0)
  local top = last
  while top > 1 and vim.api.nvim_win_text_height(window, { start_row = top - 2, end_row = last - 1 }).all <= rows do
    top = top - 1
  end
  vim.api.nvim_win_call(window, function()
    vim.fn.winrestview({ topline = top })
  end)
end

local function show_end(self, windows)
  for _, window in ipairs(windows) do
    if vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() then
      scroll_above(window, self.front or vim.o.lines)
    end
  end
end

--- Keeps the end in view above a window in front of the chat.
--- @param front integer? the first row of the screen that is covered; nil: none is
function Chat:cover(front)
  local changed = self.front ~= front
  self.front = front
  if changed and self.buffer and vim.api.nvim_buf_is_loaded(self.buffer) then
    show_end(self, following_windows(self, self.buffer))
  end
end

--- Changes the buffer, and keeps the end in view where it was in view before.
function Chat:change(callback)
  local buffer = self:ensure()
  local following = following_windows(self, buffer)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_clear_namespace(buffer, hints, 0, -1)
  local ok, err = pcall(callback, buffer)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
  if self.front then
    show_end(self, following)
  end
  if not ok then
    error(err, 0)
  end
end

--- Writes the tail again.
local function write_tail(self, buffer)
  local lines = {}
  self.tail_details = {}
  for _, name in ipairs(SECTIONS) do
    local section = self.sections[name]
    if section then
      table.insert(lines, "")
      for _, line in ipairs(section.lines) do
        table.insert(lines, line)
        self.tail_details[#lines] = section.detail
      end
    end
  end
  local from = self:last() + 1
  vim.api.nvim_buf_set_lines(buffer, from, -1, true, lines)
  self.tail, self.changed_tail = #lines, nil
end

--- Writes what was collected.
function Chat:flush()
  if self.timer then
    self.timer:close()
    self.timer = nil
  end
  if #self.pending == 0 and not self.changed_tail then
    return
  end
  local text = table.concat(self.pending)
  self.pending = {}
  self:change(function(buffer)
    if text ~= "" then
      local row = self:last()
      local last = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
      local lines = vim.split(text, "\n", { plain = true })
      vim.api.nvim_buf_set_text(buffer, row, #last, row, #last, lines)
    end
    if self.changed_tail then
      write_tail(self, buffer)
    end
  end)
end

local function flush_soon(self)
  if not self.timer then
    self.timer = assert(vim.uv.new_timer())
    self.timer:start(
      FLUSH_MS,
      0,
      vim.schedule_wrap(function()
        self:flush()
      end)
    )
  end
end

--- Appends text to the last line; newlines begin new lines.
function Chat:append(text)
  table.insert(self.pending, text)
  flush_soon(self)
end

--- Replaces a section of the tail; without lines it is removed.
--- @param name "output"|"retry"|"plan"|"queue"
--- @param lines? string[]
--- @param detail? table what is behind its lines
function Chat:section(name, lines, detail)
  if lines or self.sections[name] then
    self.sections[name] = lines and { lines = lines, detail = detail } or nil
    self.changed_tail = true
    flush_soon(self)
  end
end

local function put_mark(self, row, column, id)
  return vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, column, { id = id, right_gravity = false })
end

--- Appends whole lines; a line may contain newlines.
--- @param lines string[]
--- @param details? table<integer, table> what is behind a line, by its index
function Chat:lines(lines, details)
  self:flush()
  self:ensure()
  local first, skipped = self:last() + 1, 0
  if vim.api.nvim_buf_get_lines(self.buffer, first - 1, first, true)[1] == "" then
    -- A blank line is there already, or the text begins with these lines.
    first = first == 1 and 0 or first
    while lines[skipped + 1] == "" do
      skipped = skipped + 1
    end
    lines = vim.list_slice(lines, skipped + 1)
  end
  self:append((first > 0 and "\n" or "") .. table.concat(lines, "\n"))
  self:flush()
  for key, detail in pairs(details or {}) do
    local index = key - skipped
    local before = table.concat(vim.list_slice(lines, 1, index - 1), "\n") .. (index > 1 and "\n" or "")
    self.details[put_mark(self, first + select(2, before:gsub("\n", "")), 0)] = detail
  end
end

--- Notes that an item begins at the end of the text.
function Chat:begin(id)
  self:flush()
  local buffer = self:ensure()
  local row = self:last()
  local last = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
  self.open_items[id] = put_mark(self, row, #last)
end

--- Notes that what was shown is final.
function Chat:settle()
  self.open_items = {}
end

--- Removes the items that are not final, and everything after the first of them.
function Chat:drop_open_items()
  if not next(self.open_items) then
    return
  end
  self:flush()
  local first
  for _, mark in pairs(self.open_items) do
    local at = vim.api.nvim_buf_get_extmark_by_id(self.buffer, namespace, mark, {})
    if at[1] and (not first or at[1] < first[1] or at[1] == first[1] and at[2] < first[2]) then
      first = at
    end
  end
  self.open_items = {}
  if not first then
    return
  end
  self:change(function(buffer)
    local row = self:last()
    local width = #vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    for id, mark in pairs(self.marks) do
      local at = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, mark, {})
      if at[1] and at[1] > first[1] then
        vim.api.nvim_buf_del_extmark(buffer, namespace, mark)
        self.marks[id], self.details[mark] = nil, nil
      end
    end
    vim.api.nvim_buf_set_text(buffer, first[1], first[2], row, width, {})
  end)
end

--- One line for an item, which changes with it; `detail` is what is behind the line.
function Chat:item(id, line, detail)
  self:flush()
  self:change(function(buffer)
    local mark = self.marks[id]
    local at = mark and vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, mark, {})
    local row = at and at[1]
    if row then
      -- Only the text within the line: replacing the line itself would move the next line's mark to it.
      local old = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
      vim.api.nvim_buf_set_text(buffer, row, 0, row, #old, { line })
    else
      row = self:last()
      local last = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
      local apart = last ~= "" and not vim.startswith(last, "- ")
      local added = apart and { "", line } or { line }
      vim.api.nvim_buf_set_lines(buffer, row + 1, row + 1, true, added)
      row = row + #added
    end
    self.marks[id] = put_mark(self, row, 0, mark)
    self.details[self.marks[id]] = detail
  end)
end

--- What is behind a line.
--- @param row? integer default: of the cursor
function Chat:detail(row)
  row = row or vim.api.nvim_win_get_cursor(0)[1] - 1
  local last = self:last()
  if row > last then
    return self.tail_details[row - last]
  end
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(self.buffer, namespace, { row, 0 }, { row, -1 }, {})) do
    if self.details[mark[1]] then
      return self.details[mark[1]]
    end
  end
end

--- The turn whose prompt is shown after that of this one.
--- @return string?
function Chat:turn_after(turn)
  local found = false
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(self:ensure(), namespace, 0, -1, {})) do
    local detail = self.details[mark[1]]
    if detail and detail.prompt then
      if found then
        return detail.turn
      end
      found = detail.turn == turn
    end
  end
end

--- The text as it is, with what was not written yet.
function Chat:text()
  self:flush()
  return table.concat(vim.api.nvim_buf_get_lines(self:ensure(), 0, -1, true), "\n")
end

--- The text without the tail.
function Chat:body()
  self:flush()
  return table.concat(vim.api.nvim_buf_get_lines(self:ensure(), 0, self:last() + 1, true), "\n")
end

--- Clears the text and the tail.
function Chat:clear()
  local buffer = self:ensure()
  for key, value in pairs(fresh()) do
    self[key] = value
  end
  self.turn = nil
  self:change(function()
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  end)
end

--- The end of `text` is left out where it is wider than `width`.
local function fit(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(width - 1, 0)) .. "…"
end

local function literal(text)
  return (text:gsub("%%", "%%%%"))
end

--- The bar of a window, in which what is less urgent is left out where it does not fit.
local function dress(chat, window)
  local bar, width = chat.bar, vim.api.nvim_win_get_width(window)
  local own = vim.w[window].interline_statusline
  local parts = vim.list_extend(vim.deepcopy(bar.parts), { bar.title })
  local function drop(part)
    if vim.fn.strdisplaywidth(table.concat(parts, " · ")) > width then
      parts = vim.tbl_filter(function(each)
        return each ~= part
      end, parts)
    end
  end
  drop(bar.title)
  for _, part in ipairs(own and bar.foot or {}) do
    -- It is in the line below the text too.
    drop(part)
  end
  drop("trusted")
  drop("idle")
  drop("agent")
  if vim.fn.strdisplaywidth(table.concat(parts, " · ")) > width then
    parts = vim.tbl_map(function(part)
      return (part:gsub("^context ", ""))
    end, parts)
  end
  -- Truncated at its end, not at its beginning.
  vim.wo[window][0].winbar = literal(table.concat(parts, " · ")) .. "%<"
  if own then
    local foot = table.concat(bar.foot or {}, " · ")
    local name = fit(bar.title or vim.fs.basename(chat.root), width - vim.fn.strdisplaywidth(foot) - 12)
    vim.wo[window][0].statusline = literal(foot ~= "" and name .. " · " .. foot or name) .. "%=%l/%L "
  end
end

--- @class interline.Bar
--- @field parts string[] what the session is and does
--- @field foot string[]? what is repeated below the text
--- @field title string?

--- Shows above the text what the session is and does.
--- @param bar interline.Bar
function Chat:title(bar)
  self.bar = bar
  if self.buffer and vim.api.nvim_buf_is_valid(self.buffer) then
    for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
      dress(self, window)
    end
  end
end

--- Fits the bars to their windows again.
local function redress()
  for _, chat in pairs(chats) do
    if chat.buffer and vim.api.nvim_buf_is_valid(chat.buffer) then
      for _, window in ipairs(vim.fn.win_findbuf(chat.buffer)) do
        dress(chat, window)
      end
    end
  end
end

--- Columns of a window that is as high as the screen: half of it at most.
local function width()
  local wanted, columns = config.get().width, vim.o.columns
  if wanted then
    return math.max(math.floor(wanted < 1 and columns * wanted or wanted), 20)
  end
  return math.floor(math.min(math.max(columns * 0.4, 60), columns / 2))
end

local WELCOME = {
  "Ask about this project:",
  "",
  "  i   write a prompt",
  "  @   in it attaches a file or folder",
  "  /   at its beginning runs a skill",
  "  g?  lists the keys of this window",
  "",
  ":Interline model  chooses the model",
  ":Interline trust  asks less in this",
  "                  folder",
  ":checkhealth interline  checks the",
  "                        installation",
}

--- What to do first, in a chat without text.
local function welcome(buffer)
  local empty = vim.api.nvim_buf_line_count(buffer) == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == ""
  vim.api.nvim_buf_clear_namespace(buffer, hints, 0, -1)
  if empty then
    local lines = vim.tbl_map(function(line)
      return { { line, "Comment" } }
    end, WELCOME)
    vim.api.nvim_buf_set_extmark(buffer, hints, 0, 0, { virt_lines = lines })
  end
end

--- Opens the chat window without leaving the current one.
function Chat:open()
  local buffer = self:ensure()
  if vim.fn.bufwinid(buffer) ~= -1 then
    return
  end
  local here = vim.api.nvim_get_current_win()
  local ok, err = pcall(vim.cmd, config.get().split)
  if not ok then
    local reason = tostring(err):gsub("^.-(E%d+:)", "%1")
    return require("interline.say").warn(":Interline open tries again; the chat cannot open: " .. reason, self)
  end
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  if vim.api.nvim_win_get_width(window) < vim.o.columns - 10 then
    vim.api.nvim_win_set_width(window, width())
  end
  for option, value in pairs({ wrap = true, linebreak = true, number = false, relativenumber = false, spell = false }) do
    vim.wo[window][0][option] = value
  end
  if vim.go.statusline == "" or vim.go.statusline:find("%<%f", 1, true) then
    -- Neovim's own would show the end of a long name; what the user or a plugin set stays.
    vim.w[window].interline_statusline = true
  end
  dress(self, window)
  local group = vim.api.nvim_create_augroup("interline-chat", { clear = true })
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized" }, { group = group, callback = redress })
  welcome(buffer)
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  if self.front then
    show_end(self, { window })
  end
  vim.api.nvim_set_current_win(here)
end

return M
