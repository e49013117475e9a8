--- A buffer as the text that the server mirrors: lines joined by the file's own line ends, no
--- byte order mark, and a final line end only where the file has one.
local M = {}

local ENDS = { unix = "\n", dos = "\r\n", mac = "\r" }

--- One empty line, or none.
function M.blank(buffer)
  return vim.api.nvim_buf_line_count(buffer) == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == ""
end

--- True for a buffer without any line. Neovim shows it as one empty line and calls its text
--- "\n", yet writes a file of no bytes.
local function empty(buffer)
  return M.blank(buffer) and vim.api.nvim_buf_call(buffer, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

function M.line_end(buffer)
  return ENDS[vim.bo[buffer].fileformat] or "\n"
end

--- Whether the last line is ended, as the file on disk would have it.
function M.ended(buffer)
  return vim.bo[buffer].endofline and not empty(buffer)
end

--- Whether `part` of the buffer's text has carriage returns that are no line ends to Neovim.
function M.raw(buffer, part)
  local format = vim.bo[buffer].fileformat
  return format == "unix" and part:find("\r", 1, true) ~= nil or format == "dos" and part:find("\r[^\n]") ~= nil
end

--- What else determines the text; line changes do not send it to the server.
function M.shape(buffer)
  return vim.bo[buffer].fileformat .. (M.ended(buffer) and "+" or "-")
end

--- Whether a shape says that the last line has no line end.
function M.open_ended(shape)
  return shape:sub(-1) == "-"
end

function M.full(buffer)
  local line_end = M.line_end(buffer)
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), line_end)
  return M.ended(buffer) and text .. line_end or text
end

function M.hash(buffer)
  return vim.fn.sha256(M.full(buffer))
end

return M
