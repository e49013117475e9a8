--- Sessions of a root folder: the current one, earlier ones, and their state.
local chats = require("interline.chat")
local client = require("interline.client")
local events = require("interline.events")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

local PAGE = 50
--- Stored items that are shown of a session that is opened.
M.items = 200

--- Makes `session` the present one.
local function enter(server, session, about)
  if server.session ~= session then
    server.changed_turn = nil
  end
  server.session, server.seq = session, 0
  server.about = about
  events.bar(server)
  require("interline.marks").session(server)
  vim.api.nvim_exec_autocmds("User", { pattern = "InterlineSession", modeline = false, data = about })
end

local function note(server, words)
  chats.of(server):lines({ "", "> " .. words })
end

--- Shows what of an opened session was not shown yet.
local function opened(server, result, past, title)
  enter(server, result.session.sessionId, vim.tbl_extend("force", { title = title }, result.session))
  if not past and type(result.prevCursor) == "string" then
    chats.of(server):lines({ "> Earlier messages are not shown; <CR> on this line shows all." }, { { more = true } })
  end
  events.replay(server, result.items, past)
  server.seq = math.max(server.seq, result.seq)
  if result.access == "readOnly" then
    note(server, "Another process has this session open, so it is read-only here. :Interline new starts a new one.")
  end
end

--- Opens a stored session.
--- @param past? table what of it is shown already
--- @param more? {title: string?, limit: integer?}
local function open(server, session, past, done, failed, more)
  more = more or {}
  client.request(server, "interline/session/open", { sessionId = session, limit = more.limit or M.items }, function(result)
    if not past then
      chats.of(server):clear()
      if more.title then
        chats.of(server):lines({ "# " .. more.title })
      end
    end
    opened(server, result, past, more.title)
    done(result)
  end, failed)
end

--- Shows the current session with all of its messages.
function M.show_more()
  local server = client.of(client.root())
  if server and server.session and not server.turn then
    local title = server.about and server.about.title
    open(server, server.session, nil, function() end, nil, { title = title, limit = 1000000 })
  end
end

--- Opens a copy that was just made.
function M.enter_copy(server, session, done)
  local title = server.about and type(server.about.title) == "string" and server.about.title or nil
  open(server, session, nil, function()
    done()
  end, nil, { title = title and "Copy of " .. visible.line(title) or "Copy" })
end

--- When a session was last written to, for display.
local function when(row)
  local year, month, day, hour, minute, second = row.updatedAt:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return row.updatedAt
  end
  local parts = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  -- `os.time` reads local time.
  local taken = os.time(parts)
  local stamp = taken + os.difftime(taken, os.time(vim.tbl_extend("force", os.date("!*t", taken), { isdst = false })))
  local clock = os.date("%H:%M", stamp)
  if os.date("%F", stamp) == os.date("%F") then
    return "today " .. clock
  elseif os.date("%F", stamp) == os.date("%F", os.time() - 86400) then
    return "yesterday " .. clock
  end
  return os.date("%F ", stamp) .. clock
end

local function titled(row)
  return visible.line(row.title ~= "" and row.title or "untitled")
end

--- Says which session was the last one here, and whether it was cut off.
local function tell_last(server)
  local params = { cwd = vim.uri_from_fname(server.root), limit = 2 }
  client.request(server, "interline/session/list", params, function(result)
    for _, row in ipairs(result.sessions) do
      if row.sessionId ~= server.session then
        if row.turns > 0 and row.state ~= "running" then
          local how = row.state == "interrupted" and "was interrupted during a turn" or "is stored"
          local words = "The last session here (%s, %s) %s. :Interline resume opens it."
          note(server, words:format(titled(row), when(row), how))
        end
        return
      end
    end
  end)
end

--- @param again? boolean the user asked for a new one
local function create(server, settle, again)
  client.request(server, "interline/session/new", { cwd = vim.uri_from_fname(server.root) }, function(result)
    enter(server, result.sessionId, result)
    if not again then
      tell_last(server)
    end
    settle(true)
  end, function()
    settle(false)
  end)
end

--- Continues the session of the previous server.
local function go_on(server, before, settle)
  open(server, before.session, before, function()
    note(server, "A new server continues this session.")
    settle(true)
  end, function()
    note(server, "The previous session could not be opened, so a new one starts. :Interline sessions lists the others.")
    create(server, settle)
  end)
end

--- Runs everything that waited for a session.
local function settle_all(server, ok)
  local waiting = server.opening
  server.opening = nil
  for _, each in ipairs(waiting) do
    if ok then
      each.go(server, server.session)
    else
      each.failed()
    end
  end
end

--- Calls back with a server and its session, which is created or opened if needed.
--- @param server interline.Server?
--- @param failed? fun() called where that is not possible
function M.with(server, callback, failed)
  if not server then
    return
  elseif server.session then
    return callback(server, server.session)
  end
  local waits = { go = callback, failed = failed or function() end }
  if server.opening then
    return table.insert(server.opening, waits)
  end
  server.opening = { waits }
  local function settle(ok)
    settle_all(server, ok)
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
    say.warn("a turn is running; wait for it, or use :Interline cancel", server)
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
  server.opening = {}
  chats.of(server):clear()
  create(server, function(ok)
    if ok then
      say.info("new session; :Interline sessions lists the others", server)
    end
    settle_all(server, ok)
  end, true)
end

local function switch(server, row)
  if not free(server) then
    return
  end
  client.take_past(server.root)
  local chat = chats.of(server)
  chat:open()
  local past = server.session == row.sessionId and { seq = server.seq } or nil
  open(server, row.sessionId, past, function(result)
    if result.access ~= "readOnly" then
      say.info("the session is open; send a prompt to continue it", server)
    end
  end, nil, { title = titled(row) })
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
    say.info("this project has no earlier session", server)
  end)
end

local function described(server, row)
  local here = row.sessionId == server.session and ", open here" or ""
  local turns = row.turns == 1 and "1 turn" or row.turns .. " turns"
  return ("%s (%s, %s, %s%s)"):format(titled(row), turns, when(row), row.state, here)
end

--- Lets the user choose one.
function M.pick()
  list(function(server, rows)
    if #rows == 0 then
      return say.info("this project has no sessions yet", server)
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

--- Lets the user choose a session to delete, and asks once more.
function M.delete()
  list(function(server, rows)
    local others = vim.tbl_filter(function(row)
      return row.sessionId ~= server.session
    end, rows)
    if #others == 0 then
      return say.info("this project has no other sessions", server)
    end
    vim.ui.select(others, {
      prompt = "Delete a session",
      kind = "interline_session",
      format_item = function(row)
        return described(server, row)
      end,
    }, function(row)
      local question = row and ("Delete %q and its log? "):format(titled(row))
      if row and vim.fn.confirm(question, "&Delete\n&Cancel", 2) == 1 then
        client.request(server, "interline/session/delete", { sessionId = row.sessionId }, function()
          say.info(titled(row) .. " is deleted", server)
        end)
      end
    end)
  end)
end

--- Opens the session's text in a buffer; with a name it can be written there.
--- @param name string
function M.export(name)
  local server = client.of(client.root())
  if not server or not server.session then
    return say.info("no session to export; :Interline resume opens one")
  end
  local params = { sessionId = server.session, format = "markdown" }
  client.request(server, "interline/session/export", params, function(result)
    vim.cmd("tabnew")
    local buffer = vim.api.nvim_get_current_buf()
    if name ~= "" then
      vim.cmd("silent file " .. vim.fn.fnameescape(name))
    end
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.split(result.text, "\n", { plain = true }))
    vim.cmd("try\n setlocal filetype=markdown\n catch\n endtry")
    say.info(name ~= "" and "the session as text; :write stores it" or "the session as text; :write NAME stores it")
  end)
end

--- @param title string
function M.rename(title)
  M.with(client.start(), function(server, session)
    client.request(server, "interline/session/rename", { sessionId = session, title = title }, function()
      say.info("the session is renamed to " .. title, server)
    end)
  end)
end

--- Ends the server of the present root and starts another one that continues the session.
function M.restart()
  local root = client.root()
  local function again()
    local server = client.start_in(root)
    M.with(server, function()
      say.info("the server is running again; the session is open", server)
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
