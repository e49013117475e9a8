--- Types into a file with three places of its own, while a model edits the rows between them; and
--- says whose the text is. Keys come one at a time, 8 to 15 a second, with pauses and bursts.
local M = {}

M.ZONES = { "A>", "B>", "C>" }
local ROWS = 10

--- @return string[] lines
function M.lines()
  local lines, row = { "head" }, 0
  for _, zone in ipairs(M.ZONES) do
    table.insert(lines, zone)
    for _ = 1, ROWS do
      row = row + 1
      table.insert(lines, "row " .. row)
    end
  end
  return lines
end

--- The edits of the model: some rows become two, some lose a part, some go.
function M.edits()
  local edits = {}
  for index, row in ipairs({ 3, 14, 22, 9, 11, 29, 5, 18, 26, 1 }) do
    local old = "row " .. row .. "\n"
    local new = index % 3 == 1 and ("ROW %d\nADDED %d é𝒳\n"):format(row, row) or index % 3 == 2 and ("ROW %d, AS IT IS NOW\n"):format(row) or ""
    table.insert(edits, { old = old, new = new, row = row })
  end
  return edits
end

--- What is typed: a place, then words. "\r" is <CR>; a number is a pause in milliseconds; a table
--- is a burst.
function M.script()
  return {
    "A>", "first words ", 700, "above\rsecond line",
    "B>", "between ", { "a burst of keys" }, " und über\r", 400, "more",
    "C>", "below it all", 900, "\r\rend ",
    "A>", " again at the top",
    "B>", { "\rburst " }, "last",
  }
end

--- What stands behind each place in the end.
function M.typed()
  local typed, zone = {}, nil
  for _, part in ipairs(M.script()) do
    if type(part) == "string" and vim.tbl_contains(M.ZONES, part) then
      zone = part
    elseif type(part) ~= "number" then
      typed[zone] = (typed[zone] or "") .. (type(part) == "table" and part[1] or part):gsub("\r", "\n")
    end
  end
  return typed
end

local function is_row(line)
  return line:match("^row %d") or line:match("^ROW %d") or line:match("^ADDED %d")
end

--- The text by author: the user's behind each place, the agent's rows, and the head line.
--- @return {user: string, agent: string, head: string}
function M.authors(text)
  local user, agent, head, zone = {}, {}, {}, nil
  for _, line in ipairs(vim.split(text, "\n", { plain = true })) do
    local marker = line:sub(1, 2)
    if vim.tbl_contains(M.ZONES, marker) then
      zone = true
      table.insert(user, line)
    elseif is_row(line) then
      zone = false
      table.insert(agent, line)
    elseif zone then
      table.insert(user, line)
    else
      table.insert(head, line)
    end
  end
  return { user = table.concat(user, "\n"), agent = table.concat(agent, "\n"), head = table.concat(head, "\n") }
end

--- The whole text in the end: the user's history and the agent's edits, which are disjoint.
function M.oracle(head)
  local typed, lines = M.typed(), M.lines()
  local text = table.concat(lines, "\n") .. "\n"
  for _, edit in ipairs(M.edits()) do
    local from, to = text:find(edit.old, 1, true)
    text = text:sub(1, from - 1) .. edit.new .. text:sub(to + 1)
  end
  for zone, words in pairs(typed) do
    text = text:gsub(zone, function()
      return zone .. words
    end)
  end
  return (text:gsub("^head", head or "head"):gsub("\n$", ""))
end

--- Where each zone's cursor was left is its end: a search for the next row, and up.
local function go(user, zone)
  local number = vim.fn.index(M.ZONES, zone)
  -- From Insert mode, one Normal mode command at a time, as a person does it.
  user:keys("\15:call GoTo(" .. number .. ")\r")
end

--- Vim script that goes to the end of a place's text.
M.GOTO = [[
function! GoTo(number)
  let zone = ['A>', 'B>', 'C>'][a:number]
  call cursor(1, 1)
  call search('^' .. zone, 'c')
  let next = search('\v^(row|ROW|ADDED) \d', 'nW')
  call cursor(next - 1, 1)
  call cursor(next - 1, col('$'))
endfunction
]]

--- Types it all; `typist.keys` counts, `typist.done` says when.
function M.type(user, random)
  local typist = { keys = 0, done = false, began = vim.uv.now() }
  local queue = {}
  for _, part in ipairs(M.script()) do
    if type(part) == "string" and vim.tbl_contains(M.ZONES, part) then
      table.insert(queue, { zone = part })
    elseif type(part) == "number" then
      table.insert(queue, { pause = part })
    elseif type(part) == "table" then
      table.insert(queue, { burst = part[1] })
    else
      for _, character in ipairs(vim.fn.split(part, "\\zs")) do
        table.insert(queue, { key = character })
      end
    end
  end
  local function step()
    local next = table.remove(queue, 1)
    if not next then
      typist.done, typist.took = true, vim.uv.now() - typist.began
      return
    end
    local pause = random(67, 125)
    if next.zone then
      go(user, next.zone)
    elseif next.pause then
      pause = next.pause
    else
      user:keys(next.key or next.burst)
      typist.keys = typist.keys + vim.fn.strchars(next.key or next.burst)
    end
    vim.defer_fn(step, pause)
  end
  user:keys("i")
  vim.defer_fn(step, 200)
  return typist
end

return M
