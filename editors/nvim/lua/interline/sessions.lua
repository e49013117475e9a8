--- Sessions of a root folder: the present one, those of before, and what happened to them.
local chats = require("interline.chat")
local client = require("interline.client")
local events = require("interline.events")
local visible = require("interline.visible")

local M = {}

local PAGE = 50

--- Makes `session` the present one.
local function enter(server, session, about)
  server.session, server.seq = session, 0
  server.about = about
  events.bar(server)
end

local function say(server, words)
  chats.of(server):lines({ "", "> " .. words })
end

--- Shows an opened session's items after the one with `seq`.
local function opened(server, result, seq)
  enter(server, result.session.sessionId, result.session)
  events.replay(server, result.items, seq)
  server.seq = math.max(server.seq, result.seq)
  if result.access == "readOnly" then
    say(server, "Another process writes this session, so here it can only be read; :Interline new begins one of your own.")
  end
end

--- Opens a stored session.
--- @param seq integer items up to here are shown already
local function open(server, session, seq, done, failed)
  client.request(server, "interline/session/open", { sessionId = session, limit = 200 }, function(result)
    opened(server, result, seq)
    done(result)
  end, failed)
end

--- Says, once for each server, that the newest session of before did not end by itself.
local function tell_interrupted(server)
  local params = { cwd = vim.uri_from_fname(server.root), limit = 2 }
  client.request(server, "interline/session/list", params, function(result)
    for _, row in ipairs(result.sessions) do
      if row.sessionId ~= server.session then
        if row.state == "interrupted" then
          local words = "The last session here (%s) was interrupted in a turn. :Interline resume opens it; nothing of it is lost."
          say(server, words:format(visible.line(row.title ~= "" and row.title or "untitled")))
        end
        return
      end
    end
  end)
end

local function create(server, settle)
  client.request(server, "interline/session/new", { cwd = vim.uri_from_fname(server.root) }, function(result)
    enter(server, result.sessionId, result)
    tell_interrupted(server)
    settle(true)
  end, function()
    settle(false)
  end)
end

--- Goes on where the server before this one ended.
local function go_on(server, before, settle)
  open(server, before.session, before.seq, function()
    say(server, "A new server goes on with this session.")
    settle(true)
  end, function()
    say(server, "The session of before does not open, so a new one begins; :Interline sessions shows those that there are.")
    create(server, settle)
  end)
end

--- Calls back with a server and its session, made or opened where there is none.
--- @param server interline.Server?
function M.with(server, callback)
  if not server then
    return
  elseif server.session then
    return callback(server, server.session)
  elseif server.opening then
    return table.insert(server.opening, callback)
  end
  server.opening = { callback }
  local function settle(ok)
    local waiting = server.opening
    server.opening = nil
    for _, go in ipairs(ok and waiting or {}) do
      go(server, server.session)
    end
  end
  local before = client.take_past(server.root)
  if before then
    go_on(server, before, settle)
  else
    create(server, settle)
  end
end

--- Whether another session may be shown; a turn's answers belong to its own.
local function free(server)
  if server.turn then
    vim.notify("interline: a turn runs; wait for it, or :Interline cancel", vim.log.levels.WARN)
  end
  return not server.turn
end

function M.new()
  local server = client.start()
  if not server or not free(server) then
    return
  end
  client.take_past(server.root)
  server.session, server.about = nil, nil
  server.opening = { function() end }
  create(server, function(ok)
    local waiting = server.opening
    server.opening = nil
    if ok then
      chats.of(server):lines({ "", "---", "", "A new session." })
      for _, go in ipairs(waiting) do
        go(server, server.session)
      end
    end
  end)
end

local function switch(server, row)
  if not free(server) then
    return
  end
  client.take_past(server.root)
  local chat = chats.of(server)
  chat:open()
  local shown = server.session == row.sessionId and server.seq or 0
  if shown == 0 then
    chat:lines({ "", "---", "", "# " .. visible.line(row.title ~= "" and row.title or "untitled") })
  end
  open(server, row.sessionId, shown, function(result)
    if result.access ~= "readOnly" then
      say(server, "The session is open; a prompt goes on with it.")
    end
  end)
end

local function list(callback)
  local server = client.start()
  if not server then
    return
  end
  local params = { cwd = vim.uri_from_fname(server.root), limit = PAGE }
  client.request(server, "interline/session/list", params, function(result)
    callback(server, result.sessions)
  end)
end

--- Opens the newest session that is not the present one.
function M.resume()
  list(function(server, rows)
    for _, row in ipairs(rows) do
      if row.sessionId ~= server.session and row.turns > 0 then
        return switch(server, row)
      end
    end
    vim.notify("interline: there is no earlier session of " .. server.root)
  end)
end

local function described(server, row)
  local title = visible.line(row.title ~= "" and row.title or "untitled")
  local here = row.sessionId == server.session and ", open here" or ""
  local when = row.updatedAt:sub(1, 16):gsub("T", " ")
  return ("%s  %s (%d turns, %s%s)"):format(when, title, row.turns, row.state, here)
end

--- Lets the user choose one.
function M.pick()
  list(function(server, rows)
    if #rows == 0 then
      return vim.notify("interline: there is no session of " .. server.root .. " yet")
    end
    vim.ui.select(rows, {
      prompt = "Sessions of " .. vim.fs.basename(server.root),
      kind = "interline_session",
      format_item = function(row)
        return described(server, row)
      end,
    }, function(row)
      if row then
        switch(server, row)
      end
    end)
  end)
end

--- @param title string
function M.rename(title)
  M.with(client.start(), function(server, session)
    client.request(server, "interline/session/rename", { sessionId = session, title = title }, function()
      vim.notify("interline: the session is called " .. title)
    end)
  end)
end

--- Ends the server of the present root and starts another one that goes on with the session.
function M.restart()
  local root = client.root()
  local function again()
    local server = client.start_in(root)
    M.with(server, function()
      vim.notify("interline: the server of " .. root .. " runs again; its session is open")
    end)
  end
  local server = client.of(root)
  if server then
    client.stop(server, again)
  else
    again()
  end
end

return M
