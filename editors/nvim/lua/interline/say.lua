--- Messages on one line that fits: a longer one would make Neovim wait for <Enter>, and take the
--- keys of a user who is typing. A longer one is shown in full in the chat window.
local M = {}

local function fits(words)
  return not words:find("\n", 1, true) and vim.fn.strdisplaywidth(words) <= vim.v.echospace
end

local function cut(words, width)
  local line = vim.trim((words:gsub("%s*\n.*$", "")))
  while line ~= "" and vim.fn.strdisplaywidth(line) > width do
    line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1)
  end
  return line
end

--- @param words string
--- @param level? integer of `vim.log.levels`
--- @param server? {root: string} whose window of answers it may go to
local function say(words, level, server)
  local message = "interline: " .. words
  if fits(message) then
    return vim.notify(message, level)
  end
  local chats = require("interline.chat")
  local chat = server and chats.of(server) or chats.of({ root = require("interline.client").root() })
  chat:lines({ "", "> " .. words:gsub("\n", "\n> ") })
  local where = " … (:Interline open)"
  vim.notify(cut(message, vim.v.echospace - #where) .. where, level)
end

M.warn = function(words, server)
  say(words, vim.log.levels.WARN, server)
end

M.error = function(words, server)
  say(words, vim.log.levels.ERROR, server)
end

M.info = function(words, server)
  say(words, vim.log.levels.INFO, server)
end

return M
