--- Where a piece of code from an answer belongs in a file: where it has the file's lines, or lines
--- that begin alike.
local M = {}

local diff_of = vim.text and vim.text.diff or vim.diff

--- Lines that are everywhere say nothing about a place.
local function is_trivial(line)
  return line:match("^[%s{}()%[%];,]*$") ~= nil or vim.tbl_contains({ "end", "else", "fi", "done" }, line)
end

--- A comment that stands for code that is left out, such as `// ... as before`.
local function leaves_out(line)
  local comment = line:match("^%s*//+%s*(.*)") or line:match("^%s*#%s*(.*)") or line:match("^%s*%-%-%s*(.*)")
  comment = comment or line:match("^%s*/%*%s*(.*)") or line:match("^%s*;+%s*(.*)") or line:match("^%s*<!%-%-%s*(.*)") or line
  return vim.startswith(vim.trim(comment), "...") or vim.startswith(vim.trim(comment), "…")
end

--- The first and the last line that both have, as pairs of indices.
local function common(old, code)
  local a, b = vim.tbl_map(vim.trim, old), vim.tbl_map(vim.trim, code)
  local hunks = diff_of(table.concat(a, "\n") .. "\n", table.concat(b, "\n") .. "\n", { result_type = "indices" })
  local first, last
  local row, at = 1, 1
  local function take(until_row)
    while row < until_row do
      if not is_trivial(a[row]) then
        first, last = first or { row, at }, { row, at }
      end
      row, at = row + 1, at + 1
    end
  end
  for _, hunk in ipairs(hunks) do
    -- Without removed lines a hunk is after its line.
    take(hunk[2] == 0 and hunk[1] + 1 or hunk[1])
    row, at = row + hunk[2], at + hunk[4]
  end
  take(#a + 1)
  return first, last
end

--- Whether one line is probably the other after a change.
local function resemble(a, b)
  a, b = vim.trim(a), vim.trim(b)
  local same, least = 0, math.min(#a, #b)
  while same < least and a:byte(same + 1) == b:byte(same + 1) do
    same = same + 1
  end
  return a == b or same >= 4 and same * 2 >= least
end

local function indent(line)
  return line:match("^[ \t]*")
end

--- A line of the code, indented as the file has it.
local function moved(line, own, margin)
  if own == margin or vim.trim(line) == "" then
    return line
  elseif vim.endswith(margin, own) then
    return margin:sub(1, #margin - #own) .. line
  end
  return vim.startswith(line, own) and margin .. line:sub(#own + 1) or line
end

--- @class interline.Placed
--- @field first integer the first line that the code replaces, from 1
--- @field last integer the last one; one less than the first where nothing is replaced
--- @field lines string[]

--- @param old string[] lines of the file
--- @param code string[]
--- @return interline.Placed? placed nil where the place is not clear
function M.find(old, code)
  if #code == 0 or vim.iter(code):any(leaves_out) or vim.startswith(code[1], "@@ -") then
    return nil
  end
  local first, last = common(old, code)
  if not first then
    local empty = vim.trim(table.concat(old)) == ""
    return empty and { first = 1, last = #old, lines = code } or nil
  end
  local from, at = first[1], first[2]
  while at > 1 and from > 1 and resemble(old[from - 1], code[at - 1]) do
    from, at = from - 1, at - 1
  end
  local to, before = last[1], last[2]
  while before < #code and to < #old and resemble(old[to + 1], code[before + 1]) do
    to, before = to + 1, before + 1
  end
  local own, margin = indent(code[first[2]]), indent(old[first[1]])
  local lines = vim.tbl_map(function(line)
    return moved(line, own, margin)
  end, code)
  return { first = from, last = to, lines = lines }
end

return M
