--- Text of others as it may be shown: nothing hides in it, nothing reorders it.
local M = {}

--- Control, bidirectional and invisible characters as escapes; tabs and line feeds stay.
function M.text(text)
  text = text:gsub("[%z\1-\8\11-\31\127]", function(character)
    return ("\\x%02x"):format(character:byte())
  end)
  local function escape(sequence)
    return ("\\u{%04x}"):format(vim.fn.char2nr(sequence))
  end
  text = text:gsub("\226\128[\139-\143\168-\175]", escape):gsub("\226\129[\160-\175]", escape)
  text = text:gsub("\216\156", escape):gsub("\225\160\142", escape):gsub("\243\160[\128-\191][\128-\191]", escape)
  text = text:gsub("\239\187\191", escape):gsub("\239\191[\185-\187]", escape)
  return (text:gsub("\194[\128-\159\173]", escape))
end

--- On one line.
function M.line(text)
  return vim.trim((M.text(text):gsub("%s+", " ")))
end

--- @return string[]
function M.lines(text)
  return vim.split(M.text(text), "\n", { plain = true })
end

--- A file, a folder or a URI for persons: below `root` as seen from there, else with `~`.
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
