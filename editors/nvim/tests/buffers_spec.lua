--- Buffers, names and files against the real server's own view of them (`interline/status`).
local client = require("interline.client")
local project = require("project")
local text = require("interline.text")

local function documents(server)
  local status = nil
  client.request(server, "interline/status", vim.empty_dict(), function(result)
    status = result
  end)
  await("the status", function()
    return status ~= nil
  end)
  local by_uri = {}
  for _, document in ipairs(status.documents) do
    by_uri[document.uri] = document
  end
  return by_uri
end

story("the server's mirror is the buffer's text, whatever is done to it", function()
  local root = project.make({ ["u.txt"] = "eins\nzwei\n", ["d.txt"] = "a\r\nb\r\n", ["n.txt"] = "x\ny", ["e.txt"] = "" }, {})
  for name in vim.gsplit("u.txt d.txt n.txt e.txt", " ") do
    vim.cmd("edit " .. root .. "/" .. name)
    local server, buffer = project.server(), vim.api.nvim_get_current_buf()
    for _, command in ipairs({
      "normal! Agrün 𝒳",
      "normal! olast",
      "normal! ggdd",
      "silent! %substitute/a/ä𝒳/g",
      "silent undo",
      "silent redo",
      "normal! Gdd",
      "normal! ggdG",
      "silent undo",
      "set fileformat=mac",
      "set fileformat=unix",
      "normal! Gonew",
      "set noendofline",
      "normal! yyp",
      "silent write",
      "silent! 1,$delete",
    }) do
      vim.cmd(command)
      -- What undo leaves of an empty buffer is settled after it.
      vim.wait(0)
      local mirror = documents(server)[vim.uri_from_bufnr(buffer)]
      same({ text.hash(buffer), true }, { mirror.hash, mirror.synced }, name .. ": " .. command)
      same(server.log:version(buffer), mirror.version)
    end
    vim.cmd("bwipeout!")
  end
end)

story("buffers below the root are attached, others and plugins' are not", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  local outside = vim.fn.tempname()
  vim.cmd("edit " .. outside)
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  vim.cmd("edit " .. root .. "/new.txt")
  vim.cmd("enew | setlocal buftype=nofile | file scratch")
  vim.cmd("enew")
  local names = vim.iter(vim.tbl_keys(documents(server))):map(vim.fs.basename):totable()
  table.sort(names)
  same({ "a.txt", "new.txt" }, names)
end)

story("a buffer under another name is another document", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  vim.cmd("file " .. root .. "/b.txt")
  vim.cmd("normal! Atyped")
  local open = documents(server)
  same({ vim.uri_from_fname(root .. "/b.txt") }, vim.tbl_keys(open))
  same(text.hash(0), open[vim.uri_from_fname(root .. "/b.txt")].hash)
  vim.cmd("silent write")
  vim.cmd("normal! Amore")
  open = documents(server)
  same({ vim.uri_from_fname(root .. "/b.txt") }, vim.tbl_keys(open))
  same({ text.hash(0), true }, { open[vim.uri_from_fname(root .. "/b.txt")].hash, open[vim.uri_from_fname(root .. "/b.txt")].synced })
end)

story("an edit that is not for the current text is a conflict, whatever its version says", function()
  local root = project.make({ ["a.txt"] = "one\n", ["b.txt"] = "two\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local version, hash = server.log:version(vim.api.nvim_get_current_buf()), text.hash(0)
  local function apply(name, at, of)
    local range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 3 } }
    local uri = vim.uri_from_fname(root .. "/" .. name)
    local params = { uri = uri, version = at, hash = of, edits = { { range = range, newText = "X" } } }
    return require("interline.edit").apply(server, params).status
  end
  same("conflict", apply("a.txt", version, "another text's"))
  same("conflict", apply("a.txt", version + 100, hash))
  same("conflict", apply("a.txt", vim.NIL, "another text's"))
  same("conflict", apply("b.txt", 3, vim.fn.sha256("two\n")), "a version of a file that is not open")
  same(-1, vim.fn.bufnr(root .. "/b.txt"), "and it is not loaded for that")
  same("conflict", apply("b.txt", vim.NIL, "another text's"))
  same("one", project.text())
  same("applied", apply("a.txt", vim.NIL, hash), "opened since the server looked")
  same("applied", apply("b.txt", nil, vim.fn.sha256("two\n")))
  same({ "X", "X" }, { project.text(), project.text(vim.fn.bufnr(root .. "/b.txt")) })
end)

story("an edit for exactly one text is refused once there is a newer one, and changes nothing", function()
  local root = project.make({ ["a.txt"] = "one\n\ntwo\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local version, hash = server.log:version(vim.api.nvim_get_current_buf()), text.hash(0)
  local range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 3 } }
  local params = { uri = vim.uri_from_fname(root .. "/a.txt"), version = version, hash = hash }
  params.edits = { { range = range, newText = "X" } }
  params.exact = true
  vim.cmd("normal! Gotyped")
  same("refused", require("interline.edit").apply(server, params).status)
  same("one\n\ntwo\ntyped", project.text())
  params.exact = nil
  same("rebased", require("interline.edit").apply(server, params).status)
end)

story("a file that changed on disk behind a changed buffer is not overwritten by a save", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  local path = root .. "/a.txt"
  vim.cmd("edit " .. path)
  vim.cmd("normal! Atyped")
  vim.fn.writefile({ "theirs" }, path)
  vim.uv.fs_utime(path, 2000000000, 2000000000)
  local reason = require("interline.save").write(vim.api.nvim_get_current_buf())
  assert(reason and reason:find("changed on disk", 1, true), vim.inspect(reason))
  same("theirs\n", project.read(path))
  same(true, vim.bo.modified)
end)

story("a save that fails says why", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("normal! Atyped")
  vim.bo.readonly = true
  local reason = require("interline.save").write(vim.api.nvim_get_current_buf())
  assert(reason and reason:find("^E45:"), vim.inspect(reason))
end)

story("a prompt about lines carries them, unsaved", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, {
    { expect = { lastUserContains = "two typed" }, say = "I see them." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("2substitute/$/ typed/")
  local started = nil
  vim.api.nvim_create_autocmd("User", {
    pattern = "InterlineStarted",
    once = true,
    callback = function(event)
      started = event.data
    end,
  })
  vim.cmd("2,3Interline ask what is this")
  local ended = project.wait_for_end()
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same({ start = { line = 1, character = 0 }, ["end"] = { line = 2, character = 5 } }, started.input[2].range)
end)

story("models of the running server are completed", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  project.server()
  local models = vim.fn.getcompletion("Interline model anthropic/", "cmdline")
  assert(#models > 1 and vim.startswith(models[1], "anthropic/"), vim.inspect(models))
end)

story("the health check names the program and the servers", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  project.server()
  vim.cmd("silent checkhealth interline")
  local shown = project.text()
  for _, part in ipairs({ "interline 0.", "config ", root .. ": 1 buffers" }) do
    assert(shown:find(part, 1, true), part .. " is not in\n" .. shown)
  end
end)

story("a program that is not there is said, and nothing else happens", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.g.interline = { cmd = { "/no/such/interline", "lsp" } }
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("Interline ask hello")
  assert(project.notices[1].message:find("/no/such/interline", 1, true), vim.inspect(project.notices))
  same({}, client.running())
end)

story("unknown subcommands and settings are named with those that there are", function()
  project.make({}, {})
  vim.cmd("Interline nonsense")
  assert(project.notices[1].message:find("ask, cancel", 1, true))
  local ok, reason = pcall(require("interline").setup, { comand = {} })
  assert(not ok and reason:find("known: clipboard, cmd", 1, true), reason)
  same({ "mcp", "mode", "model" }, vim.fn.getcompletion("Interline m", "cmdline"))
end)

story("the Visual mode selection is sent as the selection", function()
  local root = project.make({ ["a.txt"] = "one\nz𝒳𝒳 two\nthree\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server, context = project.server(), require("interline.context")
  local wide = client.encoding(server) == "utf-8" and 9 or 5
  local function selection(keys)
    local got = nil
    vim.keymap.set("x", "<F5>", function()
      got = context.now(server).editors[1].selections[1]
    end)
    vim.api.nvim_feedkeys(vim.keycode(keys .. "<F5><Esc>"), "xt", false)
    return { got.start.line, got.start.character, got["end"].line, got["end"].character }
  end
  same({ 0, 1, 1, wide }, selection("gg0lvjl"), "by characters")
  same({ 0, 0, 2, 5 }, selection("ggVG"), "by lines")
end)

story("two projects in one Neovim have servers and answers of their own", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "Said once." } })
  local other = root .. "-other"
  vim.fn.mkdir(other .. "/.git", "p")
  vim.fn.writefile({ "two" }, other .. "/b.txt")
  vim.cmd("edit " .. root .. "/a.txt")
  same("endTurn", project.ask("first").stopReason)
  vim.cmd("edit " .. other .. "/b.txt")
  same("endTurn", project.ask("second").stopReason)
  same(2, #client.running())
  local chats = require("interline.chat")
  local one, two = chats.of({ root = root }):text(), chats.of({ root = other }):text()
  assert(one:find("first", 1, true) and not one:find("second", 1, true), one)
  assert(two:find("second", 1, true) and not two:find("first", 1, true), two)
  same(1, select(2, two:gsub("Said once.", "")))
end)

story("a command of the server begins a turn that is shown, and can be cancelled", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "A long answer begins.", delay = 60000 } })
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  client.request(server, "workspace/executeCommand", {
    command = "interline.ask",
    arguments = { { text = "from a code action", uri = vim.uri_from_bufnr(0) } },
  })
  await("the answer", function()
    return require("interline.chat").text():find("A long ans", 1, true) ~= nil
  end)
  assert(vim.fn.bufwinid(vim.fn.bufnr("interline://answers" .. root)) ~= -1, "the window of answers opens")
  vim.cmd("Interline cancel")
  same("cancelled", project.wait_for_end().stopReason)
end)
