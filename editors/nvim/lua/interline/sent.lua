--- Prompts that were sent and have not begun: shown below the chat's text while they wait, and given
--- back when the server ends first, so that no one has to type one again.
local M = {}

local MAX_WIDTH = 200

local function first_line(text)
  local line = require("interline.visible").line((text:gsub("^%s+", ""):gsub("\n.*$", "…")))
  return vim.fn.strcharpart(line, 0, MAX_WIDTH)
end

local function show(server)
  local lines = {}
  for _, text in ipairs(server.joining or {}) do
    table.insert(lines, "> Added to this turn: " .. first_line(text))
  end
  for _, entry in ipairs(M.queued(server)) do
    table.insert(lines, "> Queued: " .. first_line(entry.text))
  end
  local chat = require("interline.chat").of(server)
  chat:section("queue", #lines > 0 and lines or nil, { queue = true })
  require("interline.bar").refresh(server)
end

--- @param server interline.Server
--- @return table entry
function M.add(server, text)
  local entry = { text = text }
  server.sent = server.sent or {}
  table.insert(server.sent, entry)
  return entry
end

local function remove(server, gone)
  server.sent = vim.tbl_filter(function(entry)
    return not gone(entry)
  end, server.sent or {})
  show(server)
end

--- The server took it: as a turn of this id, unless that one has begun already.
--- @param state "running"|"queued"|"steered"|"ended"
function M.taken(server, entry, turn, state)
  entry.turn = turn
  entry.queued = state == "queued"
  if state == "steered" then
    server.joining = server.joining or {}
    table.insert(server.joining, entry.text)
  end
  if server.begun and server.begun[turn] or state == "steered" or state == "ended" then
    M.gone(server, entry)
  else
    show(server)
  end
end

--- The running turn has read the first prompt that was added to it; `all`: the turn ended.
function M.joined(server, all)
  if server.joining and server.joining[1] then
    if all then
      server.joining = {}
    else
      table.remove(server.joining, 1)
    end
    show(server)
  end
end

--- It was refused, or joined a turn that runs.
function M.gone(server, entry)
  remove(server, function(each)
    return each == entry
  end)
end

function M.begun(server, turn)
  server.begun = server.begun or {}
  server.begun[turn] = true
  remove(server, function(entry)
    return entry.turn == turn
  end)
end

--- Those that wait for the end of the running turn, the next one first.
--- @return table[] entries
function M.queued(server)
  return vim.tbl_filter(function(entry)
    return entry.queued == true
  end, server.sent or {})
end

--- @return string[] texts of those that never began
function M.lost(server)
  return vim.tbl_map(function(entry)
    return entry.text
  end, server.sent or {})
end

--- Removes them from the chat.
function M.forget(server)
  server.sent, server.joining = {}, {}
  show(server)
end

return M
