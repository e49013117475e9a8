--- What the editor's other language servers know goes to the server as data. They are stood in for
--- by the toy server that the tests of all editors share.
local client = require("interline.client")
local languages = require("interline.languages")
local model = require("model")
local project = require("project")

local TOY = vim.fn.fnamemodify(vim.env.INTERLINE_PLUGIN, ":p") .. "../../tests/editors/toy_server.py"
vim.filetype.add({ extension = { toy = "toy" } })

local function place(row, from, to)
  return { start = { line = row, character = from }, ["end"] = { line = row, character = to } }
end

--- Starts a toy server for a buffer, and waits until it is ready.
local function toy(root, flags, buffer)
  local config = { name = "toy", cmd = vim.list_extend({ "python3", TOY }, flags or {}), root_dir = root }
  local id = assert(vim.lsp.start(config, { bufnr = buffer or 0, reuse_client = function() return false end }))
  await("the toy server", function()
    local started = vim.lsp.get_client_by_id(id)
    return started and started.initialized and started.attached_buffers[buffer or vim.api.nvim_get_current_buf()]
  end)
  return vim.lsp.get_client_by_id(id)
end

--- The version of the present buffer that the server has.
local function version_of(server)
  return server.log:version(vim.api.nvim_get_current_buf())
end

--- What the plugin answers to a query about the present buffer.
local function ask(server, asked)
  local answer
  local params = vim.tbl_extend("keep", asked, { uri = vim.uri_from_bufnr(0) })
  local handler = vim.lsp.get_client_by_id(server.id).handlers["interline/editor/query"]
  coroutine.wrap(function()
    answer = handler(nil, params, {})
  end)()
  await("the answer to " .. params.kind, function()
    return answer ~= nil
  end)
  return answer
end

local function stop_toys()
  for _, client in ipairs(vim.lsp.get_clients({ name = "toy" })) do
    client.stop(client, true)
  end
  await("the end of the toy servers", function()
    return #vim.lsp.get_clients({ name = "toy", _uninitialized = true }) == 0
  end)
end

local function begin(files, flags, name)
  local root = project.make(files, {})
  stop_toys()
  vim.cmd("edit " .. root .. "/" .. (name or "a.toy"))
  local server = project.server()
  return root, server, toy(root, flags)
end

story("definitions and references come from the unsaved text, in the server's columns", function()
  for _, encoding in ipairs({ "utf-8", "utf-16" }) do
    local root, server = begin({ ["a.toy"] = "nothing\n", ["b.toy"] = "𝒳 use total\n" }, { "--encoding", encoding })
    local uri, other = vim.uri_from_bufnr(0), vim.uri_from_fname(root .. "/b.toy")
    vim.api.nvim_buf_set_lines(0, 0, -1, true, { "𝒳 def total", "use total" })
    local wide = client.encoding(server) == "utf-8" and { 9, 14 } or { 7, 12 }
    local found = ask(server, { kind = "definition", minVersion = version_of(server), position = { line = 1, character = 5 } })
    same({ status = "ok", version = version_of(server), items = { { uri = uri, range = place(0, wide[1], wide[2]) } } }, found)
    found = ask(server, { kind = "references", position = { line = 0, character = wide[1] } })
    same({
      { uri = uri, range = place(0, wide[1], wide[2]) },
      { uri = uri, range = place(1, 4, 9) },
      { uri = other, range = place(0, wide[1], wide[2]) },
    }, found.items, "with the file that no buffer has")
    same(-1, vim.fn.bufnr(root .. "/b.toy"), "it was not opened")
    found = ask(server, { kind = "definition", uri = other, position = { line = 0, character = wide[1] } })
    same({ { uri = uri, range = place(0, wide[1], wide[2]) } }, found.items, "from a closed file")
  end
end)

story("hover, symbols and problems are read, and several servers' answers are merged", function()
  local root, server = begin({ ["a.toy"] = "def cart\n  def total\nuse tax\n" })
  toy(root, { "--without", "rename" })
  same({ { contents = "**def** total" } }, ask(server, { kind = "hover", position = { line = 1, character = 7 } }).items)
  local outline = ask(server, { kind = "documentSymbols" }).items
  same({ { "cart", 12 }, { "total", 12, "cart" } }, { { outline[1].name, outline[1].kind }, { outline[2].name, outline[2].kind, outline[2].container } })
  same(place(1, 6, 11), outline[2].selectionRange)
  same(2, #outline, "the same of two servers counts once")
  local found = ask(server, { kind = "workspaceSymbols", query = "tot" }).items
  same({ { name = "total", kind = 12, uri = vim.uri_from_bufnr(0), range = place(1, 6, 11) } }, found)
  await("the problem", function()
    return #vim.diagnostic.get(0) == 2
  end)
  local problems = ask(server, { kind = "diagnostics" }).items
  same({ "cannot find tax", version_of(server) }, { problems[1].diagnostics[1].message, problems[1].version })
end)

story("a rename is data: of unsaved and closed files, with versions, and no buffer changes", function()
  local root, server = begin({ ["a.toy"] = "def total\n", ["b.toy"] = "use total\n", ["c.toy"] = "use total\n" })
  vim.cmd("edit " .. root .. "/b.toy")
  vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = "toy" })[1].id)
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { "use 𝒳 total" })
  local before, b = project.text(), vim.api.nvim_get_current_buf()
  local wide = client.encoding(server) == "utf-8" and 9 or 7
  local answer = ask(server, { kind = "rename", uri = vim.uri_from_fname(root .. "/a.toy"), position = { line = 0, character = 4 }, newName = "sum" })
  same({ "ok", {} }, { answer.status, answer.items })
  local edits = {}
  for _, change in ipairs(answer.edit.documentChanges) do
    edits[vim.fs.basename(change.textDocument.uri)] = change
  end
  same({ { range = place(0, wide, wide + 5), newText = "sum" }, { range = place(1, 4, 9), newText = "sum" } }, edits["b.toy"].edits)
  same(server.log:version(b), edits["b.toy"].textDocument.version)
  same(vim.NIL, edits["c.toy"].textDocument.version)
  same({ before, "use total\n" }, { project.text(b), project.read(root .. "/c.toy") }, "nothing was applied")
  local refused = ask(server, { kind = "rename", position = { line = 1, character = 4 }, newName = "two words" })
  same({ "error", "two words is not a name" }, { refused.status, refused.message })
end)

story("an edit that was computed while keys came is asked for again", function()
  local root, server, other = begin({ ["a.toy"] = "def total\nuse total\n" })
  local request, asked = other.request, 0
  other.request = function(...)
    local given = { ... }
    local handler = table.remove(given)
    table.insert(given, function(err, result)
      asked = asked + 1
      if asked == 1 then
        vim.api.nvim_buf_set_lines(0, 0, 0, true, { "typed in the meantime" })
      end
      handler(err, result)
    end)
    return request(unpack(given))
  end
  local answer = ask(server, { kind = "rename", position = { line = 0, character = 4 }, newName = "sum" })
  same(2, asked)
  same("ok", answer.status)
  local document = answer.edit.documentChanges[1].textDocument
  same({ vim.uri_from_fname(root .. "/a.toy"), version_of(server) }, { document.uri, document.version })
end)

story("code actions with an edit are listed, and resolved where they have none yet", function()
  local _, server = begin({ ["a.toy"] = "def total\ntotal\n" })
  local answer = ask(server, { kind = "codeActions", range = place(1, 0, 5) })
  local titles = vim.tbl_map(function(item)
    return { item.title, item.kind, item.preferred, item.edit.documentChanges[1].edits[1].newText }
  end, answer.items)
  same({ { "Use it", "quickfix", true, "use " }, { "Use it later", "refactor", nil, "use " } }, titles)
  same("def total\ntotal", project.text())
end)

story("a server that starts is waited for, and one that lacks the request is not asked", function()
  local root, server = begin({ ["a.toy"] = "def total\n", starting = "" }, { "--without", "hover" })
  local question = { kind = "definition", position = { line = 0, character = 4 } }
  await("the toy server's progress", function()
    return ask(server, question).status == "starting"
  end)
  assert(ask(server, question).retryAfterMs > 0)
  vim.fn.delete(root .. "/starting")
  same(1, #ask(server, question).items)
  same({ status = "unsupported", items = {} }, ask(server, { kind = "hover", position = { line = 0, character = 4 } }))
  vim.cmd("edit " .. root .. "/b.txt")
  same({ status = "unsupported", items = {} }, ask(server, question))
  same("error", ask(server, { kind = "definition", uri = vim.uri_from_fname(root .. "/c.toy"), minVersion = 3, position = question.position }).status)
end)

story("the server learns which languages can be asked about, as servers come and go", function()
  stop_toys()
  local root = project.make({ ["a.toy"] = "def total\n" }, {})
  vim.cmd("edit " .. root .. "/a.toy")
  local server, lists = project.server(), {}
  local own = vim.lsp.get_client_by_id(server.id)
  local notify = own.rpc.notify
  own.rpc.notify = function(method, params)
    if method == "interline/languages/didChange" then
      table.insert(lists, params.languages)
    end
    return notify(method, params)
  end
  same({}, languages.list(own))
  local linter = toy(root, { "--without", "definition,references,rename" })
  local other = toy(root)
  await("the language", function()
    return #lists == 1
  end)
  linter.stop(linter, true)
  other.stop(other, true)
  await("no language", function()
    return #lists == 2
  end)
  same({ { "toy" }, {} }, lists)
end)

story("problems that are reported after an edit reach the model in the same turn", function()
  local seen
  local scripted = model.start({
    function(reply)
      reply:call("read", { path = "a.toy" })
    end,
    function(reply)
      reply:call("edit", { path = "a.toy", old_string = "use tax", new_string = "use nothing" })
    end,
    function(reply)
      seen = reply:newest()
      reply:say("Used.")
    end,
  })
  stop_toys()
  local root = project.make({ ["a.toy"] = "def total\nuse tax\n" }, {})
  vim.g.interline = {
    cmd = { vim.env.INTERLINE_BIN, "lsp" },
    settings = { model = "anthropic/claude-opus-5-5" },
    env = { ANTHROPIC_BASE_URL = scripted.url, ANTHROPIC_API_KEY = "test" },
  }
  vim.cmd("edit " .. root .. "/a.toy")
  project.trust()
  toy(root)
  await("the first problem", function()
    return #vim.diagnostic.get(0) == 1
  end)
  same("endTurn", project.ask("use what is not there").stopReason)
  scripted.stop()
  same(nil, scripted.failed)
  for _, part in ipairs({ "reports new problems after these changes", "a.toy:2: error: cannot find nothing", "that these changes fixed" }) do
    assert(seen:find(part, 1, true), seen)
  end
end)
