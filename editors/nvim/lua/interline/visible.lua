--- Text of others as it may be shown: nothing hides in it, nothing reorders it.
local M = {}

local tables = require("interline.hidden")

--- Blanks of a command in a row that are shown as they are, inside a line and before it.
local BLANKS, INDENT = 8, 40
--- The same for other texts, and line ends in a row.
local WIDE, LINES = 120, 8

local function among(ranges, code)
  local low, high = 1, #ranges
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local range = ranges[middle]
    if code < range[1] then
      high = middle - 1
    elseif code > range[2] then
      low = middle + 1
    else
      return true
    end
  end
  return false
end

local function escaped(text, kept)
  return (text:gsub("[%z\1-\8\11-\31\127\194-\244][\128-\191]*", function(sequence)
    local code = vim.fn.char2nr(sequence)
    if #sequence == 1 then
      return sequence:byte() < 128 and ("\\x%02x"):format(sequence:byte()) or nil
    end
    if among(tables.hidden, code) and not (kept and among(kept, code)) then
      return ("\\u{%04x}"):format(code)
    end
  end))
end

--- Everything hidden as escapes; tabs and line feeds stay.
function M.text(text)
  return escaped(text)
end

--- The same, with the characters that words and emoji need.
function M.prose(text)
  return escaped(text, tables.prose)
end

--- Everything hidden as escapes. A run of blanks or line ends that could push a part of the text out
--- of sight is shown with its length.
local function folded(text, inside, indent)
  text = text:gsub("[\194-\227][\128-\191]+", function(sequence)
    -- Spaces of other widths count as spaces.
    local code = vim.fn.char2nr(sequence)
    local space = code == 0xa0 or code == 0x1680 or (code >= 0x2000 and code <= 0x200a) or code == 0x202f
    return (space or code == 0x205f or code == 0x2800 or code == 0x3000 or code == 0x3164) and " " or nil
  end)
  text = text:gsub("\n[ \t\n]*\n", function(empty)
    local _, count = empty:gsub("\n", "")
    if count > LINES then
      return ("\n⟨%d line ends⟩\n"):format(count)
    end
  end)
  local lines = vim.split(text, "\n", { plain = true })
  for index, line in ipairs(lines) do
    line = line:gsub("()([ \t]+)", function(at, blanks)
      if #blanks > (at == 1 and indent or inside) then
        return (" ⟨%d blanks⟩ "):format(#blanks)
      end
    end)
    lines[index] = line
  end
  return M.text(table.concat(lines, "\n"))
end

--- A command.
function M.command(text)
  return folded(text, BLANKS, INDENT)
end

--- What else an approval shows: only runs that no ordinary text has are folded.
function M.content(text)
  return folded(text, WIDE, WIDE)
end

--- On one line.
function M.line(text)
  return vim.trim((M.text(text):gsub("%s+", " ")))
end

--- @return string[]
function M.lines(text)
  return vim.split(M.text(text), "\n", { plain = true })
end

--- A file, a folder or a URI for display: below `root` as seen from there, else with `~`.
function M.path(place, root)
  local name = place
  if place:match("^file://") then
    local ok, path = pcall(vim.uri_to_fname, place)
    name = ok and path or place
  end
  if root and name ~= root and vim.startswith(name, root .. "/") then
    return M.line(name:sub(#root + 2))
  end
  return M.line(vim.fn.fnamemodify(name, ":~"))
end

return M
