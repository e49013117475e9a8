--- Decisions about the agent's changes: keep or undo them by line, by buffer or all, and a quickfix
--- list of them.
local client = require("interline.client")
local hunks = require("interline.hunks")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

local TITLE = "Interline: changes to review"
local TURN_TITLE = "Interline: changes of the turn"

--- The turn of the list that was made last; nil: the whole session.
--- @type string?
local listed_turn = nil

--- @class interline.Target what a decision is about
--- @field lines? integer[] first and last line
--- @field whole? boolean the buffer
--- @field all? boolean the session

--- The server of the current buffer, if it has a session.
local function present()
  local server = client.of(client.root())
  if server and server.session then
    return server
  end
  say.info("nothing to review; :Interline resume opens a session")
end

M.present = present

local function plural(count, noun)
  return ("%d %s%s"):format(count, noun, count == 1 and "" or "s")
end

--- What was done, and what was not and why.
local function report(server, decision, results)
  local done, reasons = 0, {}
  for _, result in ipairs(results) do
    if result.status == "done" then
      done = done + 1
    else
      local reason = type(result.reason) == "string" and result.reason or "it is no longer in the list"
      reasons[reason] = (reasons[reason] or 0) + 1
    end
  end
  local words = {}
  if done > 0 then
    table.insert(words, (decision == "keep" and "kept " or "undid ") .. plural(done, "change"))
  end
  for reason, count in pairs(reasons) do
    table.insert(words, ("%s not %s: %s"):format(plural(count, "change"), decision == "keep" and "kept" or "undone", reason))
  end
  local level = next(reasons) and say.warn or say.info
  level(table.concat(words, "; "), server)
end

--- @return boolean whether the list of changes is the current quickfix list
local function is_listed()
  local title = vim.fn.getqflist({ title = true }).title
  return title == TITLE or title == TURN_TITLE
end

local function decide(server, decision, ids)
  local decisions = vim.tbl_map(function(id)
    return { hunkId = id, decision = decision }
  end, ids)
  local params = { sessionId = server.session, decisions = decisions }
  client.request(server, "interline/review/decide", params, function(result)
    if type(result.itemId) == "string" then
      require("interline.revert").remember(params.sessionId, result.itemId)
    end
    report(server, decision, result.results)
    if is_listed() then
      M.list({ turn = listed_turn, again = true })
    end
  end)
end

--- The hunks of the entries on these lines of the quickfix window.
local function entries(lines)
  local ids = {}
  for _, item in ipairs(vim.list_slice(vim.fn.getqflist(), lines[1], lines[2])) do
    if type(item.user_data) == "table" and item.user_data.hunkId then
      table.insert(ids, item.user_data.hunkId)
    end
  end
  return ids
end

--- @param target interline.Target
local function chosen(server, buffer, listed, target)
  local ids = {}
  for _, hunk in ipairs(listed) do
    local place = target.lines and not target.whole and hunks.in_buffer(server, buffer, hunk)
    local here = not place or place.first < target.lines[2] and place.last + 1 >= target.lines[1]
    if target.all or target.whole or place and here then
      table.insert(ids, hunk.hunkId)
    end
  end
  return ids
end

--- @param decision "keep"|"reject"
--- @param target interline.Target
function M.decide(decision, target)
  local server, buffer = present(), vim.api.nvim_get_current_buf()
  if not server then
    return
  end
  if vim.bo[buffer].buftype == "quickfix" and is_listed() and not target.all then
    local lines = target.whole and { 1, vim.api.nvim_buf_line_count(buffer) } or target.lines
    return decide(server, decision, entries(lines))
  end
  local ask = not target.all and { uri = vim.uri_from_bufnr(buffer) } or {}
  hunks.fetch(server, ask, function(listed)
    local ids = vim.api.nvim_buf_is_loaded(buffer) and chosen(server, buffer, listed, target) or {}
    if #ids > 0 then
      return decide(server, decision, ids)
    elseif target.all or target.whole or #listed == 0 then
      return say.info("no changes to review here; :Interline review lists all", server)
    end
    say.info("no change on these lines; :Interline review lists all", server)
  end)
end

--- Lines of a file: of its buffer, or of the disk.
local function lines_of(name)
  local ok, lines = pcall(vim.fn.readfile, name)
  if not ok then
    return {}
  end
  return vim.tbl_map(function(line)
    return (line:gsub("\r$", ""))
  end, lines)
end

--- A hunk as an entry of the quickfix list.
local function entry(server, hunk, buffer, lines)
  local place = buffer and hunks.in_buffer(server, buffer, hunk) or hunks.in_lines(server, lines(), hunk)
  local part = place.parts[1]
  local words = part and part.count == 0 and part.removed[1]
  if not words then
    local row = part and part.row or place.first
    words = buffer and vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or not buffer and lines()[row + 1] or ""
  end
  local state = require("interline.marks").STATES[hunk.state] and " " .. hunk.state or ""
  return {
    bufnr = buffer,
    filename = not buffer and hunks.file(hunk) or nil,
    lnum = place.first + 1,
    text = ("+%d −%d%s  %s"):format(place.added, place.removed, state, visible.line(words)),
    user_data = { hunkId = hunk.hunkId },
  }
end

local function open_buffers(server)
  local found = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.lsp.buf_is_attached(buffer, server.id) then
      found[vim.api.nvim_buf_get_name(buffer)] = buffer
    end
  end
  return found
end

local function fill(options, items)
  local list = { title = options.turn and TURN_TITLE or TITLE, items = items }
  if options.again then
    vim.fn.setqflist({}, "r", list)
  else
    vim.fn.setqflist({}, " ", list)
    vim.cmd("botright copen")
  end
end

--- Puts hunks into the quickfix list and opens it.
--- @param options {turn: string?, again: boolean?} only this turn's; only fill the current list again
function M.list(options)
  local server = present()
  if not server then
    return
  end
  hunks.fetch(server, { turnId = options.turn }, function(listed)
    local open, disk, items = open_buffers(server), {}, {}
    for _, hunk in ipairs(listed) do
      local name = hunks.file(hunk)
      table.insert(items, entry(server, hunk, open[name], function()
        disk[name] = disk[name] or lines_of(name)
        return disk[name]
      end))
    end
    if #items == 0 and not options.again then
      local where = options.turn and "the turn" or "this session"
      return say.info(("no changes to review in %s"):format(where), server)
    end
    listed_turn = options.turn
    fill(options, items)
  end)
end

--- Lists the changes of the last turn that changed files.
function M.list_turn()
  local server = present()
  if server and not server.changed_turn then
    say.info("no turn of this session changed files", server)
  elseif server then
    M.list({ turn = server.changed_turn })
  end
end

--- Keeps all changes of a turn.
--- @param uri? string only in this file
function M.keep_turn(turn, uri)
  local server = present()
  if not server then
    return
  end
  hunks.fetch(server, { turnId = turn, uri = uri }, function(listed)
    if #listed == 0 then
      return say.info("no changes to review in the turn", server)
    end
    decide(server, "keep", vim.tbl_map(function(hunk)
      return hunk.hunkId
    end, listed))
  end)
end

return M
