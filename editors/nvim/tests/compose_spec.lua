--- The prompt window: completion of files and skills, images, and what a prompt attaches.
local model = require("model")
local user = require("user")

local PNG = "\137PNG\r\n\26\n0123"
local FILES = {
  ["a.txt"] = "one\ntwo\nthree\n",
  ["src/parser.txt"] = "eins\nzwei\n",
  ["src/printer.txt"] = "x\n",
  ["src/two words.txt"] = "deux\nmots\n",
  ["shot.png"] = PNG,
}

local SKILL = { "---", "name: tidy", "description: Tidies a file", "---", "Tidy it." }

local function begin(name, answers)
  local steps = {}
  for _ = 1, answers or 1 do
    table.insert(steps, function(reply)
      reply:say("I see.")
    end)
  end
  local said = model.start(steps)
  local root, home = user.project(FILES), user.home(name)
  vim.fn.mkdir(home.HOME .. "/.interline/skills/tidy", "p")
  vim.fn.writefile(SKILL, home.HOME .. "/.interline/skills/tidy/SKILL.md")
  local ada = user.start({ home = home, model = said, args = { root .. "/a.txt" } })
  ada:count_turns()
  ada:command("Interline trust")
  ada:sees("is trusted")
  return ada, said, root
end

local function request(said, number)
  return (vim.json.encode(said.requests[number].messages):gsub("\\/", "/"))
end

story("files are completed after @, and the prompt attaches them", function()
  local ada, said = begin("files")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys("read @src/p")
  ada:sees("src/printer.txt")
  ada:keep("40-completion-of-files")
  ada:keys("ars")
  ada:sees_no("src/printer.txt")
  ada:sees("src/parser.txt")
  ada:keys("\14\25")
  ada:sees("read @src/parser.txt")
  ada:keys(" and @a.txt:2-3 in @src/.\19")
  ada:turns_end(1)
  local sent = request(said, 1)
  assert(sent:find("eins", 1, true), "the file is attached: " .. sent)
  assert(sent:find("two\\nthree", 1, true) and not sent:find("one\\ntwo", 1, true), "the lines are attached: " .. sent)
  ada:sees("[src/parser.txt]")
  ada:sees("[a.txt:2-3]")
  assert(sent:find("Folder: src\\nparser.txt\\nprinter.txt", 1, true), "the folder's names are attached: " .. sent)
  ada:sees("[src/]")
  ada:stop()
  said.stop()
end)

story("a name with spaces is completed with backslashes, and the prompt attaches the file", function()
  local ada, said = begin("spaces")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys("read @src/two")
  ada:sees("src/two words.txt")
  ada:keys("\14\25")
  ada:sees("read @src/two\\ words.txt")
  ada:keys(", and @src/two\\ words.txt:2\19")
  ada:turns_end(1)
  local sent = request(said, 1)
  assert(sent:find("deux\\nmots", 1, true), "the file is attached: " .. sent)
  ada:sees("[src/two words.txt]")
  ada:sees("[src/two words.txt:2]")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys("in a new window @src/pr")
  ada:sees("src/printer.txt")
  ada:stop()
  said.stop()
end)

story("skills are completed after / at the beginning, and run", function()
  local ada, said = begin("skills")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys("/ti")
  ada:sees("tidy ")
  ada:keys("\14\25 a.txt\19")
  ada:turns_end(1)
  assert(request(said, 1):find("Tidy it.", 1, true), request(said, 1))
  ada:sees("/tidy a.txt")
  ada:stop()
  said.stop()
end)

story("images are attached by path and from the clipboard", function()
  local ada, said, root = begin("images", 2)
  local data = vim.base64.encode(PNG)
  ada:command("Interline image " .. root .. "/shot.png")
  ada:sees("@shot.png")
  ada:keys("what is it?\19")
  ada:turns_end(1)
  assert(request(said, 1):find('"image/png"', 1, true) and request(said, 1):find(data, 1, true), request(said, 1))
  ada:sees("[image]")
  ada:lua([[vim.g.interline = vim.tbl_extend("force", vim.g.interline, { clipboard = { "cat", ... } })]], root .. "/shot.png")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys("and this ")
  ada:lua("require('interline.command').run({ args = 'image' })")
  ada:sees("and this [image 1]")
  ada:keys("\19")
  ada:turns_end(2)
  local newest = said.requests[2].messages
  local parts = vim.json.encode(newest[#newest]):gsub("\\/", "/")
  assert(parts:find(data, 1, true), parts)
  ada:lua([[vim.g.interline = vim.tbl_extend("force", vim.g.interline, { clipboard = { "echo", "text" } })]])
  ada:command("Interline image")
  ada:sees("the clipboard has no image")
  ada:stop()
  said.stop()
end)

story("the code action ask in chat opens the prompt window about its lines, and no transcript", function()
  local ada, said = begin("action")
  ada:command("2")
  ada:lua([[
    vim.ui.select = function(items, options, done)
      for _, item in ipairs(items) do
        if options.format_item(item):find("ask in chat", 1, true) then
          return done(item)
        end
      end
    end
  ]])
  ada:command("lua vim.lsp.buf.code_action()")
  ada:sees("Prompt about line 2")
  ada:keys("why?\19")
  ada:turns_end(1)
  assert(request(said, 1):find("two", 1, true), request(said, 1))
  local names = ada:lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
  for _, name in ipairs(names) do
    assert(not name:find("%.md$"), name)
  end
  ada:stop()
  said.stop()
end)
