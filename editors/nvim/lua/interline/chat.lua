--- The window of answers: one scratch buffer for each root folder, that text streams into. What
--- streams is gathered and written a few times a second, so that typing never waits for it.
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
--- @field bar string
--- @field streamed table<string, boolean> items whose text has begun to stream
--- @field prompted boolean? the prompt of the turn was shown

--- @type table<string, interline.Chat>
local chats = {}
local latest = nil

local namespace = vim.api.nvim_create_namespace("interline-chat")

--- @param server {root: string}
--- @return interline.Chat
function M.of(server)
  local root = server.root or vim.fn.getcwd()
  local chat = chats[root]
  if not chat then
    chat = setmetatable({ root = root, pending = {}, marks = {}, details = {}, bar = "", streamed = {} }, Chat)
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
  self.marks, self.details = {}, {}
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

--- Changes the buffer, and keeps the end in view where it was in view before.
function Chat:change(callback)
  local buffer = self:ensure()
  local count = vim.api.nvim_buf_line_count(buffer)
  local following = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= count
  end, vim.fn.win_findbuf(buffer))
  vim.bo[buffer].modifiable = true
  local ok, err = pcall(callback, buffer)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
  if not ok then
    error(err, 0)
  end
end

--- Writes what was gathered.
function Chat:flush()
  if self.timer then
    self.timer:close()
    self.timer = nil
  end
  if #self.pending == 0 then
    return
  end
  local text = table.concat(self.pending)
  self.pending = {}
  self:change(function(buffer)
    local row = vim.api.nvim_buf_line_count(buffer) - 1
    local last = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    local lines = vim.split(text, "\n", { plain = true })
    vim.api.nvim_buf_set_text(buffer, row, #last, row, #last, lines)
  end)
end

--- Appends text to the last line; newlines begin new lines.
function Chat:append(text)
  table.insert(self.pending, text)
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

--- Appends whole lines; a line may hold newlines.
function Chat:lines(lines)
  self:append("\n" .. table.concat(lines, "\n"))
  self:flush()
end

--- One line for an item, that changes with it; `detail` is what the line stands for.
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
      local last = vim.api.nvim_buf_get_lines(buffer, -2, -1, true)[1]
      local apart = last ~= "" and not vim.startswith(last, "- ")
      vim.api.nvim_buf_set_lines(buffer, -1, -1, true, apart and { "", line } or { line })
      row = vim.api.nvim_buf_line_count(buffer) - 1
    end
    self.marks[id] = vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { id = mark, right_gravity = false })
    self.details[self.marks[id]] = detail
  end)
end

--- What stands behind the line under the cursor.
function Chat:detail()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(self.buffer, namespace, { row, 0 }, { row, -1 }, {})) do
    if self.details[mark[1]] then
      return self.details[mark[1]]
    end
  end
end

--- The text as it is, with what was not written yet.
function Chat:text()
  self:flush()
  return table.concat(vim.api.nvim_buf_get_lines(self:ensure(), 0, -1, true), "\n")
end

--- Clears the text.
function Chat:clear()
  self.pending, self.marks, self.details = {}, {}, {}
  self:change(function(buffer)
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  end)
end

local function dress(window, bar)
  -- Cut at its end, not at its start.
  vim.wo[window][0].winbar = bar:gsub("%%", "%%%%") .. "%<"
end

--- Says above the text what the session is and does.
function Chat:title(bar)
  self.bar = bar
  if self.buffer and vim.api.nvim_buf_is_valid(self.buffer) then
    for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
      dress(window, bar)
    end
  end
end

--- Opens the window of answers without leaving the present one.
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
  for option, value in pairs({ wrap = true, linebreak = true, number = false, relativenumber = false, spell = false }) do
    vim.wo[window][0][option] = value
  end
  if vim.go.statusline == "" or vim.go.statusline:find("%<%f", 1, true) then
    -- Neovim's own would show the end of a long name; what the user or a plugin set stays.
    vim.wo[window][0].statusline = "Interline: " .. vim.fs.basename(self.root):gsub("%%", "%%%%") .. "%=%l/%L "
  end
  dress(window, self.bar)
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  vim.api.nvim_set_current_win(here)
end

return M
