--- The plugin with the real server and recorded models: unsaved text, edits, approvals, saves.
local project = require("project")
local chat = require("interline.chat")

local function result(name, contains, more)
  return { toolResult = vim.tbl_extend("force", { name = name, contains = contains }, more or {}) }
end

local function edit(path, old, new)
  return { "edit", { path = path, old_string = old, new_string = new } }
end

story("a prompt reads the unsaved text and edits it; one undo takes the edit back", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, {
    { expect = { lastUserContains = "please" }, say = "I look.", calls = { { "read", { path = "a.txt" } } } },
    { expect = result("read", "two typed"), calls = { edit("a.txt", "two typed", "two edited") } },
    { expect = result("edit", nil, { isError = false }), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd("normal! A typed")
  local ended = project.ask("please edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("one\ntwo edited\nthree", project.text())
  same("one\ntwo\nthree\n", project.read(root .. "/a.txt"), "the file on disk")
  same(true, vim.bo.modified)
  vim.cmd("silent undo")
  same("one\ntwo typed\nthree", project.text(), "after one undo")
  vim.cmd("silent undo")
  same("one\ntwo\nthree", project.text(), "after two")
  local shown = chat.text()
  for _, part in ipairs({ "please edit it", "I look.", "Done.", "changed " }) do
    assert(shown:find(part, 1, true), part .. " is not in the answers:\n" .. shown)
  end
end)

story("an untrusted folder asks before an edit; a rejected one changes nothing", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "one", "ONE") } },
    { expect = result("edit", nil, { isError = true }), calls = { edit("a.txt", "one", "uno") } },
    { expect = result("edit", nil, { isError = false }), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  local texts = {}
  project.in_front(project.server(), "interline/approval/request", function()
    table.insert(texts, project.text())
  end)
  project.answer_with({ "rejectOnce", "allowOnce" })
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same({ "one", "one" }, texts)
  same("uno", project.text())
  local calls = "- ✗ Edit a.txt (rejected)\n- ✓ Edit a.txt (+1 −1)\n"
  assert(chat.text():find(calls, 1, true), chat.text())
end)

story("a command runs only when it is allowed, and unsaved text is written first", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {
    { calls = { { "exec", { command = "cat a.txt" } } } },
    { expect = result("exec", nil, { isError = true }), calls = { { "exec", { command = "cat a.txt" } } } },
    { expect = result("exec", "one typed"), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("normal! A typed")
  local asked = project.answer_with("rejectOnce")
  project.in_front(project.server(), "interline/approval/request", function()
    if #asked == 1 then
      same("one\n", project.read(root .. "/a.txt"), "nothing is written for a rejected command")
      asked = project.answer_with("allowOnce")
      table.insert(asked, "first")
    end
  end)
  local ended = project.ask("run it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same(2, #asked)
  same("one typed\n", project.read(root .. "/a.txt"))
  same(false, vim.bo.modified)
end)

story("typing elsewhere between the prompt and the edit: the edit lands, the typing stays", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "three", "drei") } },
    { expect = result("edit", nil, { isError = false }), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  local answers = {}
  local handlers = vim.lsp.get_client_by_id(project.server().id).handlers
  local handler = handlers["interline/edit/apply"]
  handlers["interline/edit/apply"] = function(err, params, context)
    vim.api.nvim_buf_set_lines(0, 0, 0, true, { "über", "typed" })
    vim.api.nvim_buf_set_text(0, 4, 0, 4, 0, { "𝒳 " })
    local answer = handler(err, params, context)
    table.insert(answers, answer)
    return answer
  end
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("über\ntyped\none\ntwo\n𝒳 drei", project.text())
  same({ "rebased" }, vim.tbl_map(function(answer)
    return answer.status
  end, answers))
end)

story("a digit typed beside the edited one is a conflict", function()
  local root = project.make({ ["a.txt"] = "qty = 5\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "qty = 5", "qty = 6") } },
    { expect = result("edit", nil, { isError = true }), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  project.in_front(project.server(), "interline/edit/apply", function()
    vim.api.nvim_buf_set_text(0, 0, 7, 0, 7, { "5" })
  end)
  same("endTurn", project.ask("raise it").stopReason)
  same("qty = 55", project.text())
end)

story("typing in the same text is a conflict: nothing changes, and the model learns of it", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "two", "zwei") } },
    { expect = result("edit", "tyPEDwo", { isError = true }), say = "I see." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  project.in_front(project.server(), "interline/edit/apply", function()
    if not project.text():find("PED") then
      vim.api.nvim_buf_set_text(0, 1, 1, 1, 1, { "yPED" })
    end
  end)
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("one\ntyPEDwo\nthree", project.text())
end)

story("a closed file is loaded into a buffer and changed there, not on disk", function()
  local root = project.make({ ["a.txt"] = "one\n", ["sub/b.zzz"] = "eins\r\nzwei\r\n" }, {
    { calls = { { "read", { path = "sub/b.zzz" } } } },
    { calls = { edit("sub/b.zzz", "zwei", "ZWEI\ndrei") } },
    { expect = result("edit", nil, { isError = false }), calls = { { "read", { path = "sub/b.zzz" } } } },
    { expect = result("read", "drei"), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  local buffer = vim.fn.bufnr(root .. "/sub/b.zzz")
  same("eins\nZWEI\ndrei", project.text(buffer))
  same({ true, true, "dos" }, { vim.bo[buffer].modified, vim.bo[buffer].buflisted, vim.bo[buffer].fileformat })
  same("eins\r\nzwei\r\n", project.read(root .. "/sub/b.zzz"))
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("silent write")
  end)
  same("eins\r\nZWEI\r\ndrei\r\n", project.read(root .. "/sub/b.zzz"))
end)

story("a new file becomes an unsaved buffer; a command finds it written", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {
    { calls = { { "write", { path = "new/c.txt", content = "fresh\nlines\n" } } } },
    { expect = result("write", nil, { isError = false }), calls = { { "exec", { command = "cat new/c.txt" } } } },
    { expect = result("exec", "fresh\nlines"), say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  local on_disk = nil
  project.answer_with("allowOnce")
  project.in_front(project.server(), "interline/approval/request", function(params)
    if params.subject.kind == "command" then
      on_disk = project.read(root .. "/new/c.txt") or "nothing"
    end
  end)
  local ended = project.ask("write it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("nothing", on_disk, "before the command")
  same("fresh\nlines\n", project.read(root .. "/new/c.txt"))
end)

story("files without a final line end, empty files and BOMs are edited truly", function()
  local root = project.make({ ["n.txt"] = "one\ntwo", ["e.txt"] = "", ["b.txt"] = "\239\187\191one\n" }, {
    { calls = { { "read", { path = "n.txt" } }, { "read", { path = "e.txt" } }, { "read", { path = "b.txt" } } } },
    {
      calls = {
        edit("n.txt", "two", "zwei"),
        { "write", { path = "e.txt", content = "full\n" } },
        edit("b.txt", "one", "eins"),
      },
    },
    {
      expect = { toolResults = { { name = "edit", isError = false }, { name = "write", isError = false } } },
      calls = { { "exec", { command = "cat n.txt e.txt b.txt" } } },
    },
    { expect = result("exec", "eins"), say = "Done." },
  })
  vim.o.fixendofline = false
  vim.cmd("edit " .. root .. "/n.txt")
  vim.cmd("edit " .. root .. "/e.txt")
  project.trust()
  project.answer_with("allowOnce")
  local ended = project.ask("edit them")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("one\nzwei", project.read(root .. "/n.txt"))
  same("full\n", project.read(root .. "/e.txt"))
  same("\239\187\191eins\n", project.read(root .. "/b.txt"))
end)

story("a file that gets its final line end from :write is not dirty afterwards", function()
  local root = project.make({ ["n.txt"] = "one" }, { { say = "Hello." } })
  vim.cmd("edit " .. root .. "/n.txt")
  local server = project.server()
  vim.cmd("normal! A typed")
  vim.cmd("silent write")
  same("one typed\n", project.read(root .. "/n.txt"))
  local dirty = nil
  require("interline.client").request(server, "interline/status", vim.empty_dict(), function(status)
    dirty = status.documents[1].dirty
  end)
  await("the status", function()
    return dirty ~= nil
  end)
  same(false, dirty)
end)

story("a buffer that must not change refuses, and the model learns of it", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit("a.txt", "one", "ONE") } },
    { expect = result("edit", "not modifiable", { isError = true }), say = "I see." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  vim.bo.modifiable = false
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("one", project.text())
end)

story("a file type plugin that fails does not keep a prompt from being sent", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "Hello." } })
  vim.cmd("edit " .. root .. "/a.txt")
  local id = vim.api.nvim_create_autocmd("FileType", { pattern = "markdown", command = "throw 'no parser'" })
  local shown = vim.fn.bufnr("interline://answers" .. root)
  if shown ~= -1 then
    vim.cmd("bwipeout! " .. shown)
  end
  local ok, ended = pcall(project.ask, "hello")
  vim.api.nvim_del_autocmd(id)
  same({ true, "endTurn" }, { ok, ok and ended.stopReason or ended })
  same("markdown", vim.bo[vim.fn.bufnr("interline://answers" .. root)].filetype)
end)

story("cancel ends a turn that streams", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "A long story begins.", delay = 60000 } })
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("Interline ask tell me")
  await("the first words", function()
    return chat.text():find("A long st", 1, true) ~= nil
  end)
  same("Interline: working", require("interline").status())
  vim.cmd("Interline cancel")
  local ended = project.wait_for_end()
  same("cancelled", ended.stopReason)
  same("", require("interline").status())
end)

story("the preview shows the segments, with the unsaved AGENTS.md", function()
  local root = project.make({ ["AGENTS.md"] = "Use tabs.\n" }, { { say = "Hello." } })
  vim.cmd("edit " .. root .. "/AGENTS.md")
  project.trust()
  vim.cmd("normal! AOnly tabs.")
  vim.cmd("Interline prompt")
  await("the preview", function()
    return vim.api.nvim_buf_get_name(0):find("interline://prompt", 1, true) ~= nil
  end)
  local shown = project.text()
  assert(shown:find("## instructions", 1, true), shown)
  assert(shown:find("Only tabs.", 1, true), shown)
end)

story("an error about a missing key names the command that asks for one", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {}, { model = "anthropic/claude-opus-5-5" })
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("Interline ask hello")
  await("words about the key", function()
    local words = chat.text() .. vim.inspect(project.notices)
    return words:find(":Interline key asks for a key", 1, true) ~= nil
  end)
end)

story("a server that dies is reported, and the next prompt starts a new one", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "Hello again." } })
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local status = nil
  vim.system({ "pgrep", "-P", tostring(vim.uv.os_getpid()), "interline" }, {}, function(done)
    status = done.stdout
  end)
  await("the server's process", function()
    return status ~= nil
  end)
  vim.uv.kill(assert(tonumber(status:match("%d+"))), "sigkill")
  await("a message", function()
    return vim.iter(project.notices):any(function(notice)
      return notice.message:find("the server was killed", 1, true) ~= nil
    end)
  end)
  same("endTurn", project.ask("hello").stopReason)
  assert(project.server().id ~= server.id)
end)
