--- A floating window for reading, with a title and, in its lower border, what can be done there.
--- It is wiped when it is closed.
local groups = require("interline.groups")

local M = {}

--- @class interline.Float
--- @field buffer integer
--- @field window integer
--- @field options table

local function widest(lines)
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  return width
end

--- Rows that the lines take where they are wrapped at `width`.
local function rows(lines, width)
  local count = 0
  for _, line in ipairs(lines) do
    count = count + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return count
end

--- The end of `text` is left out where it is wider than `width`.
local function fit(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  while vim.fn.strdisplaywidth(text) > width - 1 do
    text = vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - 1)
  end
  return text .. "…"
end

local function layout(options)
  local columns, lines = vim.o.columns, vim.o.lines - vim.o.cmdheight - 2
  local footer = options.footer or ""
  local wanted = math.max(widest(options.lines), vim.fn.strdisplaywidth(footer), vim.fn.strdisplaywidth(options.title), options.least or 40)
  local width = math.max(math.min(wanted, columns - 6, 110), 10)
  local height = math.max(math.min(rows(options.lines, width), math.floor(lines * 0.7)), 1)
  return {
    relative = "editor",
    width = width,
    height = height,
    -- Low, so that the lines it is about stay in sight; the chat's end scrolls above it.
    row = math.max(lines - height - 1, 0),
    col = math.max(math.floor((columns - width) / 2) - 1, 0),
    style = "minimal",
    border = "rounded",
    title = { { " " .. fit(options.title, width - 2) .. " ", "InterlineTitle" } },
    footer = footer ~= "" and { { " " .. fit(footer, width - 2) .. " ", "InterlineKeys" } } or "",
    zindex = options.zindex or 60,
  }
end

--- @param options {title: string, lines: string[], groups?: table<integer, string>, footer?: string, enter?: boolean, least?: integer}
--- @return interline.Float? float nil with a reason where no window can be opened
function M.open(options)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, options.lines)
  groups.paint(buffer, options.groups or {})
  vim.bo[buffer].modifiable = false
  local ok, window = pcall(vim.api.nvim_open_win, buffer, options.enter == true, layout(options))
  if not ok then
    pcall(vim.api.nvim_buf_delete, buffer, { force = true })
    return nil, tostring(window)
  end
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].breakindent = true
  return { buffer = buffer, window = window, options = options }
end

--- @param float interline.Float?
function M.is_open(float)
  return float ~= nil and vim.api.nvim_win_is_valid(float.window) and vim.api.nvim_win_get_buf(float.window) == float.buffer
end

--- Fits it to the screen again; `footer` replaces what its lower border says.
function M.refresh(float, footer)
  if M.is_open(float) then
    float.options.footer = footer or float.options.footer
    pcall(vim.api.nvim_win_set_config, float.window, layout(float.options))
  end
end

--- The row of its upper border.
--- @param float interline.Float?
function M.top(float)
  return M.is_open(float) and vim.api.nvim_win_get_config(float.window).row or nil
end

function M.close(float)
  if M.is_open(float) then
    pcall(vim.api.nvim_win_close, float.window, true)
  end
end

return M
