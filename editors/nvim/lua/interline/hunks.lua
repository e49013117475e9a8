--- The changes of a session as the server lists them, and the lines of a text that each changed.
local client = require("interline.client")
local columns = require("interline.columns")
local replace = require("interline.replace")

local M = {}

--- @class interline.Part lines that were added, changed or removed together
--- @field row integer the first new line; for removed lines the one below them
--- @field count integer new lines
--- @field removed string[] old lines

--- @class interline.Place a hunk in whole lines
--- @field hunk interline.Hunk
--- @field first integer row
--- @field last integer row
--- @field parts interline.Part[]
--- @field added integer
--- @field removed integer

--- Lists hunks of the session, all pages.
--- @param more table e.g. `{ uri = … }`
--- @param callback fun(hunks: interline.Hunk[])
--- @param failed? fun()
function M.fetch(server, more, callback, failed)
  local hunks, session = {}, server.session
  local function page(cursor)
    local params = vim.tbl_extend("force", { sessionId = session, cursor = cursor }, more)
    client.request(server, "interline/review/list", params, function(result)
      vim.list_extend(hunks, result.hunks)
      if type(result.nextCursor) == "string" then
        page(result.nextCursor)
      else
        callback(hunks)
      end
    end, failed)
  end
  page()
end

--- The name of a hunk's file.
function M.file(hunk)
  return vim.uri_to_fname(hunk.uri)
end

local diff = vim.text and vim.text.diff or vim.diff

--- @return interline.Part[]
local function parts_of(old, new, row)
  local parts = {}
  local from, to = table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n"
  for _, each in ipairs(diff(from, to, { result_type = "indices" })) do
    table.insert(parts, {
      -- Of no new line the index of the line above is given.
      row = row + each[3] - (each[4] > 0 and 1 or 0),
      count = each[4],
      removed = vim.list_slice(old, each[1], each[1] + each[2] - 1),
    })
  end
  return parts
end

--- @param line fun(row: integer): string? a line of the current text
--- @param count integer its lines
--- @param first integer[] row and byte column of the hunk's start
--- @param last integer[] of its end
--- @return interline.Place
local function place(hunk, line, count, first, last, normal)
  local lead = (line(first[1]) or ""):sub(1, first[2])
  local trail = (line(last[1]) or ""):sub(last[2] + 1)
  local function lines(text)
    return vim.split(lead .. normal(text) .. trail, "\n", { plain = true })
  end
  local found = { hunk = hunk, first = first[1], last = first[1], added = 0, removed = 0 }
  local before, after = lines(hunk.before), lines(hunk.after)
  if hunk.state == "proposed" then
    -- The buffer still has the text before: `removed` are the lines to come.
    before, after = after, before
  end
  found.parts = parts_of(before, after, first[1])
  for index, part in ipairs(found.parts) do
    found.first = index == 1 and part.row or found.first
    found.last = part.row + math.max(part.count, 1) - 1
    found.added, found.removed = found.added + part.count, found.removed + #part.removed
  end
  if hunk.state == "proposed" then
    found.added, found.removed = found.removed, found.added
  end
  found.first, found.last = math.min(found.first, count - 1), math.min(found.last, count - 1)
  return found
end

--- @return interline.Place? place nil: the hunk is not of the buffer's current text
function M.in_buffer(server, buffer, hunk)
  local encoding = client.encoding(server)
  local first = replace.position(buffer, hunk.range.start, encoding)
  local last = replace.position(buffer, hunk.range["end"], encoding)
  if not first or not last then
    return nil
  end
  local function line(row)
    return vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  end
  return place(hunk, line, vim.api.nvim_buf_line_count(buffer), first, last, function(text)
    return replace.normal(buffer, text)
  end)
end

--- The same in a file that is not open.
--- @param lines string[]
--- @return interline.Place
function M.in_lines(server, lines, hunk)
  local encoding = client.encoding(server)
  local function position(at)
    local line = lines[at.line + 1] or ""
    return { at.line, columns.to_bytes(line, at.character, encoding) or #line }
  end
  local function line(row)
    return lines[row + 1]
  end
  return place(hunk, line, math.max(#lines, 1), position(hunk.range.start), position(hunk.range["end"]), function(text)
    return (text:gsub("\r\n", "\n"))
  end)
end

return M
