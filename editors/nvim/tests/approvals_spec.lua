--- Approvals are asked one at a time, show what would be done, and are never answered by accident.
local approvals = require("interline.approvals")
local chats = require("interline.chat")
local subject = require("interline.subject")

local CHOICES = {
  { id = "yes", label = "Allow", kind = "allowOnce" },
  { id = "no", label = "Reject", kind = "rejectOnce" },
}

local function about(item, what)
  return {
    turnId = "t",
    itemId = item,
    hash = "hash of " .. item,
    title = "Do it",
    reason = "Not sandboxed: the command can do anything that you can.",
    subject = what,
    choices = CHOICES,
  }
end

local function command(item, line)
  return about(item, { kind = "command", command = line or "make", cwd = "/project", timeoutMs = 120000, unsaved = {} })
end

local SERVER = { root = "/project" }

--- Starts a request as Neovim does, in a coroutine; the answer comes into the returned table.
local function request(server, params)
  local answers = {}
  coroutine.wrap(function()
    table.insert(answers, approvals.request(server, params))
  end)()
  return answers
end

--- The text of the one floating window.
local function float_text()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true), "\n"), window
    end
  end
end

local function shows(part)
  await("the window with " .. part, function()
    return (float_text() or ""):find(part, 1, true) ~= nil
  end)
end

local function nothing_is_shown()
  await("no window", function()
    return float_text() == nil
  end)
end

story("nothing of an approval is out of sight", function()
  local far, below = (" "):rep(500), ("\n"):rep(500)
  for _, case in ipairs({
    { { kind = "fetch", url = "https://a.b/" .. far .. "x\226\128\174y" }, "https://a.b/ ⟨500 blanks⟩ x\\u{202e}y" },
    { { kind = "setting", key = "k", change = "a" .. below .. "b" }, "⟨500 line ends⟩" },
    { { kind = "command", command = "ls" .. far .. "; rm x", cwd = "/project" }, "ls ⟨500 blanks⟩ ; rm x" },
    { { kind = "edit", uri = "file:///project/a", diff = "+a" .. far .. "b\n" }, "+a ⟨500 blanks⟩ b" },
  }) do
    local page = subject.page(about("a", case[1]), "/project")
    same(true, vim.list_contains(page.lines, case[2]), table.concat(page.lines, "\n"))
  end
end)

story("two requests are asked one after the other", function()
  local first, second = request(SERVER, command("a", "make a")), request(SERVER, command("b", "make b"))
  shows("make a")
  approvals.answer("allowOnce")
  same({ { choice = "yes", hash = "hash of a" } }, first)
  shows("make b")
  same({}, second)
  approvals.answer("rejectOnce", "not now")
  same({ { choice = "no", hash = "hash of b", feedback = "not now" } }, second)
  nothing_is_shown()
end)

story("what was answered elsewhere, or whose turn ended, is not asked any more", function()
  local first, second = request(SERVER, command("a")), request(SERVER, command("b"))
  approvals.resolved(SERVER, "b")
  same("no", second[1].choice)
  approvals.forget(SERVER, "another turn")
  same({}, first)
  approvals.forget(SERVER, "t")
  same("no", first[1].choice)
  nothing_is_shown()
  approvals.answer("allowOnce")
  same(1, #first, "a late answer does nothing")
end)

story("closing the window answers nothing, and it can be opened again", function()
  local answers, notices = request(SERVER, command("a", "make a")), {}
  vim.notify = function(words)
    table.insert(notices, words)
  end
  local _, window = float_text()
  vim.api.nvim_win_close(window, true)
  nothing_is_shown()
  same({ {}, 1 }, { answers, approvals.count() })
  await("a word that it waits", function()
    return notices[1] ~= nil
  end)
  approvals.go()
  shows("make a")
  approvals.answer("allowOnce")
  same("yes", answers[1].choice)
end)

story("an answer that was not offered is ignored", function()
  local answers = request(SERVER, command("a"))
  approvals.answer("allowSession")
  same({}, answers)
  approvals.answer("rejectOnce")
  same("no", answers[1].choice)
end)

story("a choice that lasts is offered with its rule", function()
  local asked = command("a", "make a")
  asked.choices = vim.list_extend({
    { id = "here", label = "Always allow `make …` in this folder", kind = "allowFolder", rule = "make …" },
  }, CHOICES)
  local answers = request(SERVER, asked)
  shows("stores make …")
  vim.cmd("Interline allow folder")
  same("here", answers[1].choice)
end)

story("an approval that was never shown is not answered", function()
  local mode = vim.api.nvim_get_mode
  vim.api.nvim_get_mode = function()
    return { mode = "c", blocking = false }
  end
  local answers = request(SERVER, command("a"))
  vim.api.nvim_get_mode = mode
  same(nil, (float_text()))
  approvals.answer("allowOnce")
  same({}, answers, "the command that was being typed was meant for another one")
  vim.api.nvim_exec_autocmds("CmdlineLeave", { pattern = ":" })
  shows("make")
  approvals.answer("rejectOnce")
  same("no", answers[1].choice)
end)

story("if no window opens, the request is shown in the chat before it can be allowed", function()
  local float, chat = require("interline.float"), chats.of(SERVER)
  local open = float.open
  float.open = function()
    return nil, "E36: Not enough room"
  end
  chat.open = function() end
  local answers = request(SERVER, command("a", "make hidden"))
  approvals.answer("allowOnce")
  same({ {}, -1 }, { answers, vim.fn.bufwinid(chat.buffer) }, "nothing shows it")
  chat:lines({ "something else" })
  chat.open = nil
  approvals.answer("allowOnce")
  same({}, answers, "it is only shown now")
  local window = vim.fn.bufwinid(chat.buffer)
  assert(window ~= -1, "the answers are open")
  assert(chat:text():find("something else\n.*```sh\nmake hidden\n"), "it stands at the end")
  same(vim.api.nvim_buf_line_count(chat.buffer), vim.api.nvim_win_get_cursor(window)[1])
  approvals.answer("allowOnce")
  same("yes", answers[1].choice)
  float.open = open
  vim.api.nvim_win_close(window, true)
end)

story("nothing hides in what is shown", function()
  local hidden = "echo \226\128\174evil\27[2K\216\156\243\160\129\129\243\160\191\191\225\160\142\239\191\187 ```\nrm -rf x"
  request(SERVER, command("a", hidden))
  local wanted = "echo \\u{202e}evil\\x1b[2K\\u{061c}\\u{e0041}\\u{e0fff}\\u{180e}\\u{fffb} ```\nrm -rf x"
  assert(float_text():find(wanted, 1, true), (float_text()))
  local shown = chats.of(SERVER):text()
  assert(shown:find(wanted, 1, true), shown)
  assert(shown:find("````sh\n", 1, true), "the fence does not occur in the text")
  approvals.forget(SERVER)
end)

--- What persons read, for each kind of subject.
local PAGES = {
  {
    { kind = "command", command = "make\nmake test", cwd = "/project/sub", timeoutMs = 90000, unsaved = { "file:///project/a.c" } },
    "make\nmake test\nin sub, killed after 90 s\nunsaved files, written first: a.c",
  },
  {
    { kind = "edit", uri = "file:///project/a.c", diff = "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-x\n+y\n", after = "h" },
    "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-x\n+y",
  },
  {
    { kind = "edit", uri = "file:///etc/a.c", diff = "@@ -1 +1 @@\n-x\n+y\n", after = "h" },
    "/etc/a.c\n@@ -1 +1 @@\n-x\n+y",
  },
  { { kind = "path", path = "/etc/hosts", access = "read" }, "/etc/hosts\nwill be read" },
  { { kind = "path", path = "/project/x", access = "write" }, "x\nwill be written" },
  { { kind = "fetch", url = "https://a.example/?q=1" }, "https://a.example/?q=1\nwill be fetched; the address itself can carry data" },
  {
    { kind = "mcp", server = "files", tool = "remove", arguments = { path = "x", list = { 1, true } } },
    'remove\nof the MCP server files, with\n{\n  "list": [\n    1,\n    true\n  ],\n  "path": "x"\n}',
  },
  {
    { kind = "trust", folder = "/project", hash = "9f" },
    "/project\nits instruction files then apply, and edits there need no approval",
  },
  {
    { kind = "trust", folder = "/project", file = "/project/.interline/agents/a.md", hash = "9f" },
    ".interline/agents/a.md\nwith exactly its current content, which then controls the agent\nread it first; its hash is 9f",
  },
  {
    { kind = "setting", key = "skills.tidy", change = "copy 2 files of x into y:\nSKILL.md\nrun.sh", hash = "9f" },
    "skills.tidy\ncopy 2 files of x into y:\nSKILL.md\nrun.sh",
  },
  { { kind = "newer", what = "something" }, '{\n  "kind": "newer",\n  "what": "something"\n}' },
  { { kind = "edit", uri = 7 }, '{\n  "kind": "edit",\n  "uri": 7\n}' },
}

story("each kind of subject reads well, and what is not known is shown whole", function()
  for _, row in ipairs(PAGES) do
    same(row[2], table.concat(subject.page(about("a", row[1]), "/project").lines, "\n"))
  end
  local reasons = subject.reasons({ reason = "Because.", remember = "exactly `make` in /project for this session" })
  same({ "Reason: Because.", "“For this session” allows exactly `make` in /project." }, reasons.lines)
end)
