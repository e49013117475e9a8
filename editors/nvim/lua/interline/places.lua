--- Files and lines that a text names, and the window in which they open.
local M = {}

--- @class interline.Location
--- @field file string
--- @field line integer? from 1
--- @field column integer? from 1

local function is_file(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type == "file" or not stat and vim.fn.bufloaded(path) == 1
end

local function path_of(name, root)
  if name:match("^file://") then
    local ok, path = pcall(vim.uri_to_fname, name)
    return ok and path or nil
  elseif name:match("^[/~]") then
    return vim.fs.normalize(name)
  end
  return vim.fs.normalize(root .. "/" .. name)
end

--- `src/a.ts`, `src/a.ts:12`, `src/a.ts:12:3`, `src/a.ts:12-14`, `src/a.ts#L12`; also of a diff.
--- @return interline.Location?
local function location(word, root)
  local name = word:gsub("[.,;:?!]+$", "")
  local forms = {
    { name },
    { name:match("^(.-):(%d+):(%d+)$") },
    { name:match("^(.-):(%d+)%-?%d*$") },
    { name:match("^(.-)#L(%d+)") },
    { name:match("^@(.-):(%d+)%-?%d*$") },
    { name:match("^@(.+)$") },
    { name:match("^[ab]/(.+)$") },
  }
  for index = 1, 7 do
    local form = forms[index]
    local file = form[1] and form[1] ~= "" and path_of(form[1], root)
    if file and is_file(file) then
      return { file = file, line = tonumber(form[2]), column = tonumber(form[3]) }
    end
  end
end

--- The words of a line that may be names, with their first and last byte.
local function words(line)
  local found = {}
  for _, pattern in ipairs({ "()`([^`]+)`()", "()%]%(([^()%s]+)%)()", "()([^%s`'\"()%[%]{}<>,;|*]+)()" }) do
    for from, word, to in line:gmatch(pattern) do
      table.insert(found, { from, to - 1, word })
    end
  end
  return found
end

--- The location that is named at a byte of the line.
--- @param column integer from 1
--- @return interline.Location?
function M.at(line, column, root)
  for _, word in ipairs(words(line)) do
    local found = word[1] <= column and column <= word[2] and location(word[3], root)
    if found then
      return found
    end
  end
end

--- The only location in the line, or the first one.
function M.first(line, root)
  local all = words(line)
  table.sort(all, function(a, b)
    return a[1] < b[1]
  end)
  for _, word in ipairs(all) do
    -- A plain word is more often a word than a file.
    local found = word[3]:find("[/.]") and location(word[3], root)
    if found then
      return found
    end
  end
end

--- Where a line of a unified diff is in the new text.
--- @param lines string[]
--- @param row integer from 1
--- @return integer? line
function M.in_diff(lines, row)
  local ahead = 0
  for at = row, 1, -1 do
    local start = lines[at]:match("^@@ %-%d+,?%d* %+(%d+)")
    if start then
      return math.max(tonumber(start) + (at == row and 0 or ahead - 1), 1)
    end
    ahead = ahead + (lines[at]:sub(1, 1) == "-" and at ~= row and 0 or 1)
  end
end

local function is_normal(window)
  local buffer = vim.api.nvim_win_get_buf(window)
  return vim.api.nvim_win_get_config(window).relative == ""
    and not vim.wo[window].previewwindow
    and (vim.bo[buffer].buftype == "" and not vim.api.nvim_buf_get_name(buffer):match("^interline://"))
end

--- A window for files: the previous one, or another of the tab page.
--- @return integer?
function M.window()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local windows = vim.list_extend({ vim.api.nvim_get_current_win(), previous }, vim.api.nvim_tabpage_list_wins(0))
  for _, window in ipairs(windows) do
    if window ~= 0 and is_normal(window) then
      return window
    end
  end
end

--- Goes to a window for files.
--- @return boolean there is one
function M.enter()
  local window = M.window()
  if window then
    vim.api.nvim_set_current_win(window)
  end
  return window ~= nil
end

--- Goes to a window for files, or to a new one.
local function enter_window()
  if not M.enter() then
    vim.cmd("topleft vnew")
    vim.bo.bufhidden = "wipe"
  end
end

--- Opens a location beside the chat, never in its window.
--- @param place interline.Location
function M.open(place)
  enter_window()
  vim.cmd("normal! m'")
  local buffer = vim.fn.bufadd(place.file)
  vim.bo[buffer].buflisted = true
  local ok, err = pcall(vim.api.nvim_win_set_buf, 0, buffer)
  if not ok then
    return require("interline.say").error("the file cannot be opened: " .. tostring(err):gsub("^.-(E%d+:)", "%1"))
  end
  if place.line then
    local line = math.min(place.line, vim.api.nvim_buf_line_count(0))
    local width = #vim.api.nvim_buf_get_lines(0, line - 1, line, true)[1]
    vim.api.nvim_win_set_cursor(0, { line, math.min((place.column or 1) - 1, width) })
    vim.cmd("silent! normal! zvzz")
  end
end

--- Opens a file at the first change of a turn.
--- @param server interline.Server?
--- @param uri string
--- @param turn string
function M.open_change(server, uri, turn)
  local file = vim.uri_to_fname(uri)
  if not server or not server.session then
    return M.open({ file = file })
  end
  local params = { uri = uri, turnId = turn, all = true }
  require("interline.hunks").fetch(server, params, function(listed)
    M.open({ file = file, line = listed[1] and listed[1].range.start.line + 1 or nil })
  end)
end

return M
