--- Review in the buffers: marks at each change with the removed text, keys from one to the next,
--- keep, undo, amend, the quickfix list, and reverts with a preview.
local client = require("interline.client")
local marks = require("interline.marks")
local project = require("project")

local TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
local CHANGED = "one\nTWO\nthree\nfive\nsix\nSEVEN\nand\neight"

local function edit(path, old, new)
  return { "edit", { path = path, old_string = old, new_string = new } }
end

--- One turn that changes, removes and adds lines of a file, and changes another.
local function steps()
  return {
    { calls = { { "read", { path = "a.txt" } }, { "read", { path = "b.txt" } } } },
    { calls = { edit("a.txt", "two", "TWO"), edit("a.txt", "four\n", "") } },
    { calls = { edit("a.txt", "seven", "SEVEN\nand"), edit("b.txt", "beta", "BETA") } },
    { say = "Done." },
    { say = "I see." },
  }
end

local function rows()
  return vim.tbl_map(function(each)
    return each.row
  end, marks.list(vim.api.nvim_get_current_buf()))
end

local function rows_become(wanted)
  await(function()
    return "hunks in rows " .. vim.inspect(wanted) .. ", and there are " .. vim.inspect(rows()) .. vim.inspect(project.notices)
  end, function()
    return vim.deep_equal(rows(), wanted)
  end)
end

--- Runs the turn in a project with a.txt and b.txt, which are open; the root.
local function changed(settings)
  local root = project.make({ ["a.txt"] = TEXT, ["b.txt"] = "alpha\nbeta\n" }, steps(), { approvals = "edits" })
  vim.g.interline = vim.tbl_extend("force", vim.g.interline, settings or {})
  vim.cmd("edit " .. root .. "/b.txt | edit " .. root .. "/a.txt")
  project.trust()
  same("endTurn", project.ask("shout").stopReason)
  vim.cmd("buffer " .. root .. "/a.txt")
  same(CHANGED, project.text())
  rows_become({ 1, 3, 5 })
  return root
end

--- The marks of the buffer: row, colour of the line, sign, removed lines.
local function shown()
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, marks.namespace, 0, -1, { details = true })) do
    local about = mark[4]
    for _, line in ipairs(about.virt_lines or {}) do
      table.insert(found, { mark[2], vim.trim(line[1][1]), line[1][2] })
    end
    if about.sign_text then
      table.insert(found, { mark[2], about.line_hl_group or "", about.sign_hl_group })
    end
  end
  table.sort(found, function(a, b)
    return vim.inspect(a) < vim.inspect(b)
  end)
  return found
end

local function noticed(part)
  await(function()
    return "a message with " .. part .. vim.inspect(project.notices)
  end, function()
    return vim.iter(project.notices):any(function(notice)
      return notice.message:find(part, 1, true) ~= nil
    end)
  end)
end

local function at(line)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
end

local function text_becomes(wanted)
  await(function()
    return ("the text %q, and it is %q %s"):format(wanted, project.text(), vim.inspect(project.notices))
  end, function()
    return project.text() == wanted
  end)
end

local CHANGES = {
  { 1, "InterlineChange", "InterlineHunk" },
  { 1, "two", "InterlineDelete" },
  { 3, "", "InterlineRemoved" },
  { 3, "four", "InterlineDelete" },
  { 5, "InterlineChange", "InterlineHunk" },
  { 5, "seven", "InterlineDelete" },
  { 6, "InterlineChange", "InterlineHunk" },
}

story("changed lines are marked, with the removed text above them", function()
  local root = changed()
  same(CHANGES, shown())
  vim.cmd("buffer " .. root .. "/b.txt")
  rows_become({ 1 })
  same({ { 1, "InterlineChange", "InterlineHunk" }, { 1, "beta", "InterlineDelete" } }, shown())
end)

story("marks move with the user's typing, and come back after :edit and a restart of the server", function()
  changed()
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { "typed" })
  rows_become({ 2, 4, 6 })
  vim.cmd("silent undo")
  rows_become({ 1, 3, 5 })
  vim.cmd("silent write | edit")
  rows_become({ 1, 3, 5 })
  same(CHANGES, shown())
  vim.cmd("Interline restart")
  noticed("the server is running again")
  rows_become({ 1, 3, 5 })
  await("the marks", function()
    return vim.deep_equal(CHANGES, shown())
  end)
end)

story("a new session shows no changes of the one before", function()
  changed()
  vim.cmd("Interline new")
  rows_become({})
  same({}, shown())
  same("", vim.fn.maparg("]h", "n"))
end)

story("keys go from change to change, with a count and around the end", function()
  changed()
  at(1)
  local function press(keys, line)
    vim.cmd("normal " .. keys)
    same(line, vim.api.nvim_win_get_cursor(0)[1], keys)
  end
  press("]h", 2)
  press("2]h", 6)
  press("]h", 2)
  press("[h", 6)
  press("[h", 4)
  at(5)
  press("[h", 4)
end)

story("keys that the user mapped stay theirs, and settings turn marks and keys off", function()
  vim.keymap.set("n", "]h", "<Cmd>let g:mine = 1<CR>")
  local ok, reason = pcall(function()
    changed()
    same("", vim.fn.maparg("]h", "n", false, true).desc or "")
    same("Interline: previous change", vim.fn.maparg("[h", "n", false, true).desc)
  end)
  vim.keymap.del("n", "]h")
  assert(ok, reason)
  changed({ review = { marks = false, keys = false } })
  same({ {}, "" }, { shown(), vim.fn.maparg("[h", "n") })
  at(1)
  vim.cmd(vim.keycode("normal <Plug>(interline-next-hunk)"))
  same(2, vim.api.nvim_win_get_cursor(0)[1])
end)

story("a change of the first line shows what was removed above it, on the screen too", function()
  local root = project.make({ ["a.txt"] = "\tone\ntwo\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "\tone", "ONE") } },
    { say = "Done." },
  }, { approvals = "edits" })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  same("endTurn", project.ask("shout").stopReason)
  rows_become({ 0 })
  same(1, vim.fn.winsaveview().topfill)
  local width = vim.bo.tabstop
  local above = vim.tbl_filter(function(mark)
    return mark[4].virt_lines ~= nil
  end, vim.api.nvim_buf_get_extmarks(0, marks.namespace, 0, -1, { details = true }))
  same((" "):rep(width) .. "one ", above[1][4].virt_lines[1][1][1]:sub(1, width + 4))
end)

story("removed lines at the end of a file are shown below its last line", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "two\nthree\n", "") } },
    { say = "Done." },
  }, { approvals = "edits" })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  same("endTurn", project.ask("cut").stopReason)
  rows_become({ 0 })
  same({ { 0, "", "InterlineRemoved" }, { 0, "three", "InterlineDelete" }, { 0, "two", "InterlineDelete" } }, shown())
  vim.cmd("Interline undo")
  text_becomes("one\ntwo\nthree")
end)

story("a change is kept, one is undone as one undo step, and the undo of the editor brings it back", function()
  changed()
  at(2)
  vim.cmd("Interline keep")
  noticed("kept 1 change")
  rows_become({ 3, 5 })
  at(7)
  vim.cmd("Interline undo")
  text_becomes("one\nTWO\nthree\nfive\nsix\nseven\neight")
  noticed("undid 1 change")
  rows_become({ 3 })
  vim.cmd("silent undo")
  same(CHANGED, project.text())
  vim.cmd("silent redo")
  text_becomes("one\nTWO\nthree\nfive\nsix\nseven\neight")
  at(1)
  vim.cmd("Interline undo")
  noticed("no change on these lines")
end)

story("a range, the whole buffer and the whole session are decided at once", function()
  local root = changed()
  vim.cmd("1,4Interline undo")
  text_becomes("one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\nand\neight")
  noticed("undid 2 changes")
  vim.cmd("Interline revert!")
  await("the preview", function()
    return vim.api.nvim_win_get_config(0).relative ~= ""
  end)
  vim.cmd(vim.keycode("normal <CR>"))
  text_becomes(CHANGED)
  rows_become({ 1, 3, 5 })
  vim.cmd("Interline keep!")
  noticed("kept 3 changes")
  rows_become({})
  vim.cmd("Interline undo all")
  await("the other file", function()
    return project.text(vim.fn.bufnr(root .. "/b.txt")) == "alpha\nbeta"
  end)
  same(CHANGED, project.text())
end)

story("a change that the user amended is marked so, and kept but not undone", function()
  changed()
  vim.api.nvim_buf_set_text(0, 1, 0, 1, 3, { "Two!" })
  await("the state", function()
    local first = marks.list(vim.api.nvim_get_current_buf())[1]
    return first and first.hunk.state == "amended"
  end)
  at(2)
  vim.cmd("Interline undo")
  noticed("1 change not undone: the text has changed since")
  same("Two!", vim.api.nvim_buf_get_lines(0, 1, 2, true)[1])
  vim.cmd("Interline keep")
  noticed("kept 1 change")
  rows_become({ 3, 5 })
end)

story("the quickfix list has every change, also of closed files, and is decided in", function()
  local root = changed()
  vim.cmd("wall | bwipeout " .. root .. "/b.txt")
  vim.cmd("Interline review")
  await("the list", function()
    return vim.bo.buftype == "quickfix"
  end)
  same(
    { "a.txt:2: +1 −1  TWO", "a.txt:4: +0 −1  four", "a.txt:6: +2 −1  SEVEN", "b.txt:2: +1 −1  BETA" },
    vim.tbl_map(function(item)
      return ("%s:%d: %s"):format(vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum, item.text)
    end, vim.fn.getqflist())
  )
  vim.cmd("2,$Interline undo")
  noticed("undid 3 changes")
  await("one entry", function()
    return #vim.fn.getqflist() == 1
  end)
  same("alpha\nbeta", project.text(vim.fn.bufnr(root .. "/b.txt")))
  vim.cmd("Interline keep")
  await("an empty list", function()
    return #vim.fn.getqflist() == 0
  end)
  vim.cmd("cclose")
  same("one\nTWO\nthree\nfour\nfive\nsix\nseven\neight", project.text(vim.fn.bufnr(root .. "/a.txt")))
end)

local function float_text()
  await("the preview " .. vim.inspect(project.notices), function()
    return vim.api.nvim_win_get_config(0).relative ~= ""
  end)
  return project.text()
end

story("a turn is reverted after a preview, and the revert too", function()
  changed()
  vim.cmd("Interline revert")
  local preview = float_text()
  for _, part in ipairs({ "a.txt (+3 −3)", "-TWO\n", "+two\n", "b.txt (+1 −1)" }) do
    assert(preview:find(part, 1, true), part .. "\n" .. preview)
  end
  vim.cmd("normal q")
  same(CHANGED, project.text())
  vim.cmd("Interline revert")
  float_text()
  vim.cmd(vim.keycode("normal <CR>"))
  text_becomes((TEXT:gsub("\n$", "")))
  noticed("reverted 2 files")
  rows_become({})
  vim.cmd("Interline redo")
  float_text()
  vim.cmd(vim.keycode("normal <CR>"))
  text_becomes(CHANGED)
  rows_become({ 1, 3, 5 })
end)

story("a revert takes a new file that was never saved out of its window, and leaves the window", function()
  local root = project.make({ ["a.txt"] = TEXT }, {
    { calls = { { "write", { path = "new.txt", content = "new\n" } } } },
    { say = "Done." },
  }, { approvals = "edits" })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  same("endTurn", project.ask("create it").stopReason)
  vim.cmd("split " .. root .. "/new.txt")
  same("new", project.text())
  local windows = #vim.api.nvim_list_wins()
  vim.cmd("Interline revert")
  float_text()
  vim.cmd(vim.keycode("normal <CR>"))
  noticed("reverted 1 file")
  await("the buffer to be gone", function()
    return vim.fn.bufnr(root .. "/new.txt") == -1 or not vim.api.nvim_buf_is_loaded(vim.fn.bufnr(root .. "/new.txt"))
  end)
  same(windows, #vim.api.nvim_list_wins())
  same(nil, vim.uv.fs_stat(root .. "/new.txt"))
end)

story("one file of a turn is reverted, and one tool call from its line in the answers", function()
  local root = changed()
  vim.cmd("buffer " .. root .. "/b.txt")
  vim.cmd("Interline revert file")
  local preview = float_text()
  assert(preview:find("b.txt", 1, true) and not preview:find("a.txt", 1, true), preview)
  vim.cmd(vim.keycode("normal <CR>"))
  text_becomes("alpha\nbeta")
  noticed("reverted 1 file")
  vim.cmd("buffer " .. root .. "/a.txt")
  vim.cmd("Interline open")
  vim.api.nvim_set_current_win(vim.fn.bufwinid("interline://answers" .. root))
  vim.fn.search("^- ✓ Edit a.txt")
  vim.cmd("normal u")
  float_text()
  vim.cmd(vim.keycode("normal <CR>"))
  await("the first edit's end", function()
    return project.text(vim.fn.bufnr(root .. "/a.txt")) == (CHANGED:gsub("TWO", "two"))
  end)
  vim.fn.search("^- ✓ Read a.txt")
  vim.cmd("normal u")
  noticed("nothing to revert on this line")
end)

story("a revert leaves what the user changed, and says so in one sentence", function()
  local root = changed()
  local other = vim.fn.bufnr(root .. "/b.txt")
  vim.api.nvim_buf_set_text(other, 1, 0, 1, 4, { "Beta!" })
  vim.cmd("Interline revert")
  local preview = float_text()
  assert(preview:find("stays, line 2: the text has changed since", 1, true), preview)
  vim.cmd(vim.keycode("normal <CR>"))
  noticed("reverted 1 file; 1 change stays")
  local chat = require("interline.chat").text()
  assert(chat:find("1 change stays, line 2: the text has changed since", 1, true), chat)
  same((TEXT:gsub("\n$", "")), project.text())
  same("alpha\nBeta!", project.text(other))
end)

story("without a session or a revert there is nothing to do, and that is said", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("Interline keep")
  noticed("nothing to review; :Interline resume opens a session")
  project.server()
  require("interline.sessions").with(client.start(), function() end)
  await("a session", function()
    return client.start().session ~= nil
  end)
  vim.cmd("Interline revert!")
  noticed("no revert to undo since Neovim started")
  vim.cmd("Interline review")
  noticed("no changes to review in this session")
end)

story("a proposed change is marked, and nothing is applied until it is kept", function()
  local root = project.make({ ["a.txt"] = TEXT }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { { "write", { path = "a.txt", content = (TEXT:gsub("two", "TWO"):gsub("seven", "SEVEN")) } } } },
    { say = "Done." },
  }, { approvals = "edits", edits = { review = "before" } })
  vim.cmd("edit " .. root .. "/a.txt")
  local window, unchanged = vim.api.nvim_get_current_win(), project.text()
  project.trust()
  vim.cmd("Interline ask shout")
  await("the proposed change", function()
    vim.api.nvim_set_current_win(window)
    return #rows() == 2
  end)
  rows_become({ 1, 6 })
  same({
    { 1, "InterlineDelete", "InterlineHunk" },
    { 2, "TWO", "InterlineAdd" },
    { 6, "InterlineDelete", "InterlineHunk" },
    { 7, "SEVEN", "InterlineAdd" },
  }, shown())
  at(2)
  vim.cmd("Interline keep")
  rows_become({ 6 })
  same(unchanged, project.text())
  at(7)
  vim.cmd("Interline undo")
  text_becomes((unchanged:gsub("two", "TWO")))
  project.wait_for_end()
  rows_become({})
end)
