--- Columns on the wire against columns in bytes. Neovim 0.10 speaks UTF-16 with every server (it
--- mixes encodings up when the servers of one buffer differ); newer ones speak UTF-8 with us.
local M = {}

local modern = vim.fn.has("nvim-0.11") == 1

--- Encodings to offer, the best first.
M.offered = modern and { "utf-8", "utf-16" } or { "utf-16" }

--- @param line string
--- @param column integer column on the wire
--- @return integer? bytes nil past the line's end
function M.to_bytes(line, column, encoding)
  if encoding == "utf-8" then
    return column <= #line and column or nil
  end
  local ok, bytes
  if modern then
    ok, bytes = pcall(vim.str_byteindex, line, encoding, column, true)
  else
    ok, bytes = pcall(vim.str_byteindex, line, column, encoding == "utf-16")
  end
  return ok and bytes or nil
end

--- @param line string
--- @param bytes integer clamped to the line's end
--- @return integer column on the wire
function M.from_bytes(line, bytes, encoding)
  bytes = math.min(bytes, #line)
  if encoding == "utf-8" then
    return bytes
  elseif modern then
    return vim.str_utfindex(line, encoding, bytes, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, bytes)
  return encoding == "utf-16" and utf16 or utf32
end

return M
