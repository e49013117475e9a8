--- Prompts that were sent and have not begun: when the server ends first, they are given back in
--- words, so that no one has to type one again.
local M = {}

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
end

--- The server took it: as a turn of this id, unless that one has begun already.
function M.taken(server, entry, turn)
  entry.turn = turn
  if server.begun and server.begun[turn] then
    M.gone(server, entry)
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

--- @return string[] texts of those that never began
function M.lost(server)
  return vim.tbl_map(function(entry)
    return entry.text
  end, server.sent or {})
end

return M
