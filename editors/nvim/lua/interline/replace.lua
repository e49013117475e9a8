--- Replaces ranges of a buffer's text. A position may lie behind the final line end, which
--- Neovim keeps as an option and not as a line; such edits are turned into ones on real lines.
local columns = require("interline.columns")
local text = require("interline.text")
local undo = require("interline.undo")

local M = {}

--- @class interline.Replacement
--- @field first integer[] row, byte column
--- @field last integer[]
--- @field lines string[]
--- @field ended? boolean whether the text has a final line end afterwards
--- @field clear? boolean nothing is left

local function line(buffer, row)
  return vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
end

--- A wire position where lines hold carriage returns, which the server takes for line ends.
local function raw_position(full, at, encoding)
  local from = 1
  for _ = 1, at.line do
    local stop = full:find("[\r\n]", from)
    if not stop then
      return nil
    end
    from = stop + (full:sub(stop, stop + 1) == "\r\n" and 2 or 1)
  end
  local content = full:match("^[^\r\n]*", from)
  local bytes = columns.to_bytes(content, at.character, encoding)
  if not bytes then
    return nil
  end
  local before = full:sub(1, from - 1 + bytes)
  local _, rows = before:gsub("\n", "")
  return { rows, #before:match("[^\n]*$") }
end

--- A wire position in bytes; the final line end's far side is row `count`, column 0.
local function position(buffer, at, encoding)
  local count, ended = vim.api.nvim_buf_line_count(buffer), text.ended(buffer)
  local full = text.full(buffer)
  if text.raw(buffer, full) then
    return raw_position(full, at, encoding)
  elseif at.line == count and at.character == 0 and ended then
    return { count, 0 }
  elseif at.line >= count then
    return nil
  end
  local bytes = columns.to_bytes(line(buffer, at.line), at.character, encoding)
  return bytes and { at.line, bytes }
end

M.position = position

--- In the buffer's own line ends: lines without them.
local function normal(buffer, new)
  local line_end = text.line_end(buffer)
  if line_end ~= "\n" then
    new = new:gsub("\r\n", "\n")
  end
  return line_end == "\r" and new:gsub("\r", "\n") or new
end

M.normal = normal

local function at_end(buffer, replacement, new, count)
  local first = replacement.first
  if first[2] == 0 and first[1] > 0 then
    -- From the end of the line above, so that no empty line stays behind.
    first = { first[1] - 1, #line(buffer, first[1] - 1) }
    new = "\n" .. new
  end
  replacement.clear = new == "" and first[1] == 0 and first[2] == 0
  replacement.ended = new:sub(-1) == "\n"
  if replacement.ended then
    new = new:sub(1, -2)
  end
  replacement.first = first
  replacement.last = { count - 1, #line(buffer, count - 1) }
  return new
end

--- @param edit table LSP text edit
--- @return interline.Replacement? replacement nil: the range is not in the text
local function plan(buffer, edit, encoding)
  local count = vim.api.nvim_buf_line_count(buffer)
  local ended = text.ended(buffer)
  local first = position(buffer, edit.range.start, encoding)
  local last = position(buffer, edit.range["end"], encoding)
  if not first or not last then
    return nil
  end
  local replacement = { first = first, last = last }
  local new = normal(buffer, edit.newText)
  local final = ended and { count, 0 } or { count - 1, #line(buffer, count - 1) }
  if last[1] == final[1] and last[2] == final[2] then
    new = at_end(buffer, replacement, new, count)
  end
  replacement.lines = vim.split(new, "\n", { plain = true })
  return replacement
end

local function carry_out(buffer, replacement)
  if replacement.clear then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
    return
  end
  if replacement.ended ~= nil and vim.bo[buffer].endofline ~= replacement.ended then
    vim.bo[buffer].endofline = replacement.ended
  end
  local first, last = replacement.first, replacement.last
  if replacement.ended and #replacement.lines == 1 and replacement.lines[1] == "" and text.full(buffer) == "" then
    -- From no line to one empty line: the same lines to Neovim, which would not see a change.
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, { "", "" })
    vim.api.nvim_buf_set_lines(buffer, 1, 2, true, {})
    return
  end
  vim.api.nvim_buf_set_text(buffer, first[1], first[2], last[1], last[2], replacement.lines)
end

--- Neovim can leave a cursor inside a character of the new text.
local function settle_cursors(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local at = vim.api.nvim_win_get_cursor(window)
    local here = line(buffer, at[1] - 1)
    if at[2] < #here then
      local back = vim.str_utf_start(here, at[2] + 1)
      if back < 0 then
        vim.api.nvim_win_set_cursor(window, { at[1], at[2] + back })
      end
    end
  end
end

--- Neighbours that touch become one: a replacement at the end reaches back over its line's start.
local function merged(edits)
  local out = {}
  for _, edit in ipairs(edits) do
    local before = out[#out]
    if before and vim.deep_equal(before.range["end"], edit.range.start) then
      before.range["end"] = edit.range["end"]
      before.newText = before.newText .. edit.newText
    else
      table.insert(out, vim.deepcopy(edit))
    end
  end
  return out
end

local function lines_between(buffer, first, last)
  return table.concat(vim.api.nvim_buf_get_text(buffer, first[1], first[2], last[1], last[2], {}), "\n")
end

--- The text of a range; empty if the range is not in the buffer.
function M.replaced(buffer, range, encoding)
  local count = vim.api.nvim_buf_line_count(buffer)
  local first = position(buffer, range.start, encoding)
  local last = position(buffer, range["end"], encoding)
  if not first or not last or first[1] == count then
    return ""
  elseif last[1] == count then
    return lines_between(buffer, first, { count - 1, #line(buffer, count - 1) }) .. "\n"
  end
  return lines_between(buffer, first, last)
end

--- Applies edits (ascending, not overlapping) as one undo step of their own.
--- @return boolean ok false: a range is not in the text, and nothing changed
function M.all(buffer, edits, encoding)
  local replacements = {}
  for _, edit in ipairs(merged(edits)) do
    local replacement = plan(buffer, edit, encoding)
    if not replacement then
      return false
    end
    table.insert(replacements, 1, replacement)
  end
  undo.close_step(buffer)
  undo.keep_final_line_end(buffer, function()
    for _, replacement in ipairs(replacements) do
      carry_out(buffer, replacement)
    end
  end)
  undo.close_step(buffer)
  settle_cursors(buffer)
  return true
end

return M
