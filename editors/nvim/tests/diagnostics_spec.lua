--- What other language servers and linters report goes to the server, and nothing else does.
local client = require("interline.client")
local diagnostics = require("interline.diagnostics")
local project = require("project")

local namespace = vim.api.nvim_create_namespace("a linter")

--- Notifications of diagnostics that go out from now on.
local function listen()
  local sent, notify = {}, client.notify
  client.notify = function(server, method, params)
    if method == "interline/diagnostics/didChange" then
      table.insert(sent, params)
    end
    return notify(server, method, params)
  end
  return sent, function()
    client.notify = notify
  end
end

local function report(buffer, row, from, to, message, severity)
  return { bufnr = buffer, lnum = row, col = from, end_lnum = row, end_col = to, message = message, severity = severity, source = "lint", code = 7, user_data = { fn = print } }
end

story("a prompt brings what is reported, in the server's columns", function()
  local root = project.make({ ["a.txt"] = "𝒳𝒳 bad\nfine\n" }, {
    { expect = { lastUserContains = "no such word" }, say = "I see it." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local sent, over = listen()
  vim.diagnostic.set(namespace, 0, { report(0, 0, 9, 12, "no such word", vim.diagnostic.severity.WARN) })
  local ended = project.ask("what is reported?")
  over()
  same("endTurn", ended.stopReason, vim.inspect(ended))
  local first = sent[1]
  local wide = client.encoding(server) == "utf-8" and { 9, 12 } or { 5, 8 }
  same({
    uri = vim.uri_from_bufnr(0),
    version = server.log:version(vim.api.nvim_get_current_buf()),
    diagnostics = {
      {
        range = { start = { line = 0, character = wide[1] }, ["end"] = { line = 0, character = wide[2] } },
        severity = 2,
        source = "lint",
        code = 7,
        message = "no such word",
      },
    },
  }, first)
  same(1, #sent, "once")
end)

story("a change is sent without a prompt, the same list is not, and an empty one clears", function()
  local root = project.make({ ["a.txt"] = "one\n", ["b.txt"] = "two\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local sent, over = listen()
  vim.diagnostic.set(namespace, 0, { report(0, 0, 0, 3, "first") })
  await("the first list", function()
    return #sent == 1
  end)
  vim.diagnostic.set(namespace, 0, { report(0, 0, 0, 3, "first") })
  diagnostics.flush(server)
  same(1, #sent)
  vim.diagnostic.reset(namespace, 0)
  await("the empty list", function()
    return #sent == 2
  end)
  over()
  same({}, sent[2].diagnostics)
end)

story("places outside of the text, and endless lists, are cut", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.cmd("edit " .. root .. "/a.txt")
  local server = project.server()
  local sent, over = listen()
  local all = { report(0, 90, 5, 9, "far away", vim.diagnostic.severity.ERROR) }
  for number = 1, 700 do
    table.insert(all, report(0, 0, 0, 3, "hint " .. number, vim.diagnostic.severity.HINT))
  end
  vim.diagnostic.set(namespace, 0, all)
  diagnostics.flush(server)
  over()
  vim.diagnostic.reset(namespace, 0)
  same(500, #sent[1].diagnostics)
  same("far away", sent[1].diagnostics[1].message, "errors come first")
  same({ line = 0, character = 3 }, sent[1].diagnostics[1].range["end"])
end)
