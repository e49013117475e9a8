--- What a session is and does: pickers, the bar, compaction, export, logins, maps, notifications.
local model = require("model")
local user = require("user")

local FILES = { ["a.txt"] = "one\ntwo\nthree\n" }

local function answer(...)
  local steps = {}
  for _, words in ipairs({ ... }) do
    table.insert(steps, function(reply)
      reply:say(words)
    end)
  end
  return steps
end

local function begin(name, said, args)
  local root = user.project(FILES)
  local ada = user.start({ home = user.home(name), model = said, args = { root .. "/a.txt", unpack(args or {}) } })
  ada:count_turns()
  return ada, root
end

local function bar(person)
  return person:lua([[
    local window = vim.fn.bufwinid(require("interline.chat").latest().buffer)
    return vim.wo[window].winbar
  ]])
end

local function bar_has(person, part)
  await(function()
    return "in the bar: " .. part .. ", which is " .. bar(person)
  end, function()
    return bar(person):find(part, 1, true) ~= nil
  end)
end

story("model, mode and thinking are chosen from lists that mark the current one", function()
  local said = model.start({})
  local ada = begin("pickers", said)
  ada:command("Interline mode")
  ada:sees("● agent: reads, edits and runs what you allow")
  ada:keep("50-mode-picker")
  ada:keys("3\r")
  ada:sees("mode plan from the next turn on")
  ada:command("Interline mode")
  ada:sees("● plan")
  ada:keys("\r")
  ada:command("Interline model")
  ada:sees("● anthropic/claude-opus-5-5")
  ada:sees("(no key)")
  ada:keep("54-model-picker")
  assert(not ada:screen():find("replay/@", 1, true), ada:screen())
  ada:keys("q\r")
  ada:command("Interline thinking")
  ada:sees("medium")
  ada:keys("3\r")
  ada:sees("thinking medium from the next turn on")
  ada:stop()
  said.stop()
end)

story("the bar shows the tokens of the context, not their sum, and cost and trust", function()
  local said = model.start(answer("One.", "Two."), { 30000, 31000 })
  local ada, root = begin("bar", said)
  ada:command("Interline ask first")
  ada:turns_end(1)
  bar_has(ada, "claude-opus-5-5 · context 30k/1M")
  ada:command("Interline ask second")
  ada:turns_end(2)
  bar_has(ada, "context 31k/1M")
  ada:sees("untrusted")
  ada:command("Interline trust")
  ada:sees("is trusted")
  await("the trust", function()
    return ada:lua("return require('interline').info().trusted")
  end)
  assert(ada:lua("return require('interline').statusline()"):find("context 31k/1M · $%d.%d%d · trusted"))
  ada:command("Interline status")
  ada:sees("# Interline")
  ada:sees("- context 31k/1M")
  ada:keep("51-status")
  ada:command("tabclose")
  ada:command("Interline prompt")
  ada:sees("# The next prompt:")
  ada:keep("52-prompt")
  ada:stop()
  said.stop()
end)

story("autocommands follow a session, its turns and its state", function()
  local said = model.start(answer("One."))
  local ada = begin("autocommands", said)
  ada:lua([[
    _G.seen = {}
    vim.api.nvim_create_autocmd("User", { pattern = "Interline*", callback = function(event)
      table.insert(_G.seen, event.match .. (event.data.state and " " .. event.data.state or ""))
    end })
  ]])
  ada:command("Interline ask first")
  ada:turns_end(1)
  local seen = table.concat(ada:lua("return _G.seen"), ", ")
  for _, each in ipairs({ "InterlineSession", "InterlineStarted", "InterlineStatus working", "InterlineEnded" }) do
    assert(seen:find(each, 1, true), seen)
  end
  ada:stop()
  said.stop()
end)

story("a conversation is compacted and exported by command", function()
  local said = model.start(answer("One.", "Two.", "## Task\nThe summary."))
  local ada = begin("compact", said)
  ada:lua("require('interline').ask(...)", "first " .. ("and so on "):rep(2000))
  ada:turns_end(1)
  ada:command("Interline ask second")
  ada:turns_end(2)
  ada:command("Interline compact the parser")
  ada:turns_end(3)
  ada:sees("> Compacted the conversation")
  assert(vim.json.encode(said.requests[3].messages):find("the parser", 1, true))
  ada:command("Interline export talk.md")
  ada:sees("the session as text")
  same("talk.md", ada:lua("return vim.fn.expand('%:t')"))
  local text = ada:lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')")
  assert(text:find("second", 1, true) and text:find("Two.", 1, true), text)
  same(0, ada:lua("return vim.fn.filereadable('talk.md')"))
  ada:stop()
  said.stop()
end)

story("a session is copied and another one deleted", function()
  local said = model.start(answer("One.", "Two."))
  local ada = begin("copies", said)
  ada:command("Interline ask first")
  ada:turns_end(1)
  local original = ada:lua("return require('interline.client').running()[1].session")
  ada:command("Interline fork")
  ada:sees("this is a copy; :Interline sessions")
  assert(original ~= ada:lua("return require('interline.client').running()[1].session"))
  ada:sees("One.")
  ada:command("Interline ask second")
  ada:turns_end(2)
  ada:command("Interline delete")
  ada:sees("Delete a session")
  ada:keys("1\r")
  ada:sees("and its log?")
  ada:keys("d")
  ada:sees("is deleted")
  ada:stop()
  said.stop()
end)

--- A page that the server opens: the user agrees there, and the browser goes back.
local BROWSER = [[
  _G.pages = {}
  vim.ui.open = function(page)
    table.insert(_G.pages, page)
    return vim.system({ "python3", "-c", "import sys, urllib.request as u; u.urlopen(sys.argv[1])", page })
  end
]]

story("an MCP server is logged in to in the browser, and its tools are there", function()
  local script = vim.env.INTERLINE_PLUGIN .. "/../../tests/fixtures/mcp/login.py"
  local ports
  local job = vim.fn.jobstart({ "python3", script, "good", vim.fn.tempname() }, {
    on_stdout = function(_, data)
      ports = ports or data[1]
    end,
  })
  await("the MCP server's ports", function()
    return ports ~= nil and ports:find("%d")
  end)
  local said = model.start(answer("Hello.", "Here."))
  local ada = begin("login", said)
  ada:lua(BROWSER)
  local url = ("http://127.0.0.1:%s/mcp"):format(ports:match("%d+"))
  ada:lua("vim.g.interline = vim.tbl_deep_extend('force', vim.g.interline, { settings = { mcpServers = { docs = { url = ..., waitMs = 20000 } } } })", url)
  ada:command("Interline restart")
  ada:command("Interline ask hello")
  ada:turns_end(1)
  ada:command("Interline mcp login")
  ada:sees("docs (needsLogin)")
  ada:keys("1\r")
  ada:sees("logged in to docs")
  same(1, #ada:lua("return _G.pages"))
  ada:command("Interline ask what tools?")
  ada:turns_end(2)
  assert(vim.json.encode(said.requests[2]):find("echo", 1, true), "its tool is offered")
  vim.fn.jobstop(job)
  ada:stop()
  said.stop()
end)

story("a login of an MCP server names what is wrong", function()
  local said = model.start({})
  local ada = begin("mcp", said)
  ada:command("Interline mcp login nowhere")
  ada:sees("Not logged in to the MCP server")
  ada:command("Interline mcp logout")
  ada:sees("no MCP server fits; :Interline status lists them")
  ada:command("Interline mcp")
  ada:sees(":Interline mcp login|logout [SERVER]")
  ada:stop()
  said.stop()
end)

story("the maps are there under a prefix of the user's choice only, and leave the user's own", function()
  local said = model.start({})
  local ada = begin("maps", said)
  same("", ada:lua("return vim.fn.maparg('<Space>io', 'n')"))
  assert(ada:lua("return vim.fn.maparg('<Plug>(interline-open)', 'n')") ~= "")
  ada:lua([[
    vim.keymap.set("n", "<Space>ic", "<Cmd>let g:mine = 1<CR>")
    require("interline").setup(vim.tbl_extend("force", vim.g.interline, { prefix = "<Space>i" }))
  ]])
  ada:keys(" io")
  ada:sees("in it attaches a file")
  ada:keep("53-an-empty-chat")
  ada:keys(" ia")
  ada:sees("<C-s> sends")
  ada:escape()
  ada:keys("q ic")
  await("the user's own map", function()
    return ada:lua("return vim.g.mine") == 1
  end)
  ada:command("Interline")
  ada:stop()
  said.stop()
end)

story("the terminal is notified when the agent asks and when a turn ends", function()
  local said = model.start({
    function(reply)
      reply:call("exec", { command = "echo hello" })
    end,
    function(reply)
      reply:say("Done.")
    end,
  })
  local ada = begin("notify", said)
  ada:lua([[
    require("interline").setup(vim.tbl_extend("force", vim.g.interline, { notify = { how = "osc777", when = "always" } }))
  ]])
  ada:command("Interline ask run it")
  ada:sees("Interline asks:")
  ada:command("Interline allow")
  ada:turns_end(1)
  await(function()
    return "two notifications in " .. vim.inspect(ada.requests)
  end, function()
    local sent = table.concat(ada.requests)
    local asked = sent:find("\27]777;notify;Interline;Interline asks: Run echo hello", 1, true)
    return asked and sent:find("\27]777;notify;Interline;Interline: the turn finished", asked, true)
  end)
  ada:stop()
  said.stop()
end)

story("a long session shows its end first, and all of it on request", function()
  local said = model.start(answer("One.", "Two.", "Three."))
  local ada = begin("long", said)
  for number, words in ipairs({ "first", "second", "third" }) do
    ada:command("Interline ask " .. words)
    ada:turns_end(number)
  end
  ada:lua("require('interline.sessions').items = 4")
  ada:command("Interline new")
  ada:command("Interline resume")
  ada:sees("> Earlier messages are not shown")
  ada:sees("Three.")
  assert(not ada:screen():find("One.", 1, true), ada:screen())
  ada:lua([[
    vim.api.nvim_set_current_win(vim.fn.bufwinid(require("interline.chat").latest().buffer))
    vim.fn.search("Earlier messages", "cw")
  ]])
  ada:keys("\r")
  ada:sees_no("Earlier messages")
  local shown = ada:lua("return require('interline.chat').text()")
  assert(shown:find("first.*One.*Two.*Three"), shown)
  ada:stop()
  said.stop()
end)

story("the chat is as wide as the setting says", function()
  local said = model.start({})
  local ada = begin("width", said)
  local function width(setting)
    return ada:lua([[
      require("interline").setup(vim.tbl_extend("force", vim.g.interline, { width = ... }))
      vim.cmd("only | Interline open")
      return vim.api.nvim_win_get_width(vim.fn.bufwinid(require("interline.chat").latest().buffer))
    ]], setting)
  end
  same({ 40, 30, 20 }, { width(), width(30), width(0.25) })
  ada:command("Interline ask hello")
  ada:turns_end(1)
  assert(not bar(ada):find("agent", 1, true), "left out where it does not fit: " .. bar(ada))
  ada:lua([[
    vim.api.nvim_win_set_width(vim.fn.bufwinid(require("interline.chat").latest().buffer), 70)
  ]])
  bar_has(ada, "idle · agent · claude-opus-5-5 · context")
  ada:stop()
  said.stop()
end)

local WITHOUT_KEY = [[
vim.opt.runtimepath:prepend(%q)
vim.cmd("runtime! plugin/interline.lua")
vim.o.swapfile = false
vim.g.interline = {
  cmd = { %q, "lsp" },
  settings = { model = "anthropic/claude-opus-5-5" },
  env = { ANTHROPIC_BASE_URL = %q },
}
]]

story("a key that is typed in is used, and is not shown", function()
  local said = model.start(answer("Hello."))
  local root = user.project(FILES)
  local init = WITHOUT_KEY:format(vim.env.INTERLINE_PLUGIN, vim.env.INTERLINE_BIN, said.url)
  local ada = user.start({ home = user.home("key"), init = init, args = { root .. "/a.txt" } })
  ada:count_turns()
  ada:command("Interline ask hello")
  ada:turns_end(1)
  same("error", ada:lua("return _G.last_end"))
  ada:command("Interline key anthropic")
  ada:sees("API key of anthropic")
  ada:keys("sk-typed-by-ada\r")
  ada:sees("the key of anthropic is used until the server ends")
  assert(not ada:screen():find("sk-typed", 1, true), ada:screen())
  ada:command("Interline ask hello")
  ada:turns_end(2)
  ada:sees("Hello.")
  ada:stop()
  said.stop()
end)
