--- The steps of README.md in a clean home, and pages that are complete: every subcommand, setting,
--- key and highlight group is in the help, and nothing else.
local model = require("model")
local user = require("user")

local PLUGIN = vim.fn.fnamemodify(vim.env.INTERLINE_PLUGIN, ":p"):gsub("/tests/%.%./?$", ""):gsub("/$", "")

local function page(name)
  return table.concat(vim.fn.readfile(PLUGIN .. "/" .. name), "\n")
end

--- A code block of README.md that holds `part`, without its indent.
local function block(kind, part)
  for text in page("README.md"):gmatch("```" .. kind .. "\n(.-)\n *```") do
    if text:find(part, 1, true) then
      return (text:gsub("/path/to/interline/editors/nvim", PLUGIN))
    end
  end
  error("README.md has no block with " .. part)
end

--- A clean home whose PATH has the server, and this Neovim by its name.
local function clean_home(name, url)
  local home = user.home(name)
  local bin = home.HOME .. "/bin"
  vim.fn.mkdir(bin, "p")
  assert(vim.uv.fs_symlink(vim.env.INTERLINE_BIN, bin .. "/interline"))
  vim.fn.writefile({ "#!/bin/sh", "exec " .. vim.env.NVIM_COMMAND .. ' "$@"' }, bin .. "/nvim")
  vim.uv.fs_chmod(bin .. "/nvim", 493)
  home.PATH = bin .. ":" .. vim.env.PATH
  home.ANTHROPIC_BASE_URL, home.ANTHROPIC_API_KEY = url, "test"
  return home
end

story("walk from a clean home by the steps of the page: first prompt, approval, unsaved buffer, undo, cancel", function()
  local said = model.start({
    function(reply)
      reply:say("One word.")
    end,
    function(reply)
      reply:call("read", { path = "a.py" })
    end,
    function(reply)
      reply:call("edit", { path = "a.py", old_string = "one", new_string = "two" })
    end,
    function(reply)
      reply:say("It says two.")
    end,
    function(reply)
      reply:block({ type = "text", text = "" })
      reply:delta({ type = "text_delta", text = "I think about it" })
      reply:wait(function()
        return false
      end)
    end,
  })
  local home = clean_home("clean", said.url)
  local done = vim.system({ "sh", "-eu", "-c", block("sh", "pack/interline/start") }, { env = home, text = true }):wait()
  same(0, done.code, done.stderr)
  local root = user.project({ ["a.py"] = "one\n" })
  local ada = user.start({ home = home, init = "", args = { "-n", root .. "/a.py" } })
  local path = root .. "/a.py"
  ada:count_turns()
  ada:command("Interline ask Explain what this file does")
  ada:turns_end(1)
  ada:sees("One word.")
  ada:keep("walk-1-first-prompt")
  ada:keys("otyped")
  ada:text_becomes(path, "one\ntyped")
  ada:escape()
  ada:command("Interline ask say two")
  ada:sees("Interline asks: Edit a.py")
  ada:keep("walk-2-approval")
  ada:command("Interline allow")
  ada:turns_end(2)
  ada:sees("It says two.")
  same("two\ntyped", ada:text(path))
  same({ "one" }, vim.fn.readfile(path), "nothing is on disk")
  ada:keep("walk-3-edit-of-the-unsaved-buffer")
  ada:keys("u")
  ada:text_becomes(path, "one\ntyped")
  await("the undo on the screen", function()
    return vim.startswith(ada:screen(), "one")
  end)
  ada:keep("walk-4-undo")
  ada:command("Interline ask think")
  ada:sees("I think about it")
  ada:command("Interline cancel")
  ada:turns_end(3)
  ada:sees("> cancelled")
  ada:keep("walk-5-cancel")
  same("cancelled", ada:lua("return _G.last_end"))
  ada:command("help interline-approvals")
  ada:sees("APPROVALS AND QUESTIONS")
  ada:keep("18-help")
  ada:command("checkhealth interline")
  ada:sees("interline 0.")
  ada:keep("19-checkhealth")
  local health = ada:lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')")
  assert(not health:find("ERROR", 1, true) and health:find("vim.g.interline is not set", 1, true), health)
  ada:stop()
  said.stop()
end)

story("without a model the first prompt and the health check say what to do", function()
  local home = clean_home("no-model", "http://127.0.0.1:9")
  home.ANTHROPIC_API_KEY = ""
  local done = vim.system({ "sh", "-eu", "-c", block("sh", "pack/interline/start") }, { env = home, text = true }):wait()
  same(0, done.code, done.stderr)
  local root = user.project({ ["a.py"] = "one\n" })
  local ada = user.start({ home = home, init = "", args = { "-n", root .. "/a.py" } })
  ada:command("Interline ask hello")
  ada:sees("No API key found")
  ada:keep("20-no-model")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:sees("hello")
  ada:escape()
  ada:command("quit")
  ada:command("checkhealth interline")
  ada:sees("WARNING model")
  ada:stop()
end)

local function subcommands()
  return vim.fn.getcompletion("Interline ", "cmdline")
end

story("every subcommand has its paragraph in the help and a word in README.md, and no other", function()
  local help, readme, documented = page("doc/interline.txt"), page("README.md"), {}
  for name in help:gmatch("%*:Interline%-(%w+)%*") do
    table.insert(documented, name)
  end
  table.sort(documented)
  same(subcommands(), documented)
  for _, name in ipairs(documented) do
    assert(readme:find("`[:Interline ]*" .. name .. "[ `\\]"), name .. " is not in README.md")
  end
end)

story("settings, highlight groups, autocommands and keys of the help are those that there are", function()
  local help, readme = page("doc/interline.txt"), page("README.md")
  local ok, reason = pcall(require("interline").setup, { nonsense = 1 })
  assert(not ok)
  for name in reason:match("known: (.*)$"):gmatch("[%w_]+") do
    assert(help:find("\n" .. name .. "\t", 1, true), name .. " is not in the help")
    assert(readme:find("\n  " .. name .. " = ", 1, true), name .. " is not in README.md")
  end
  local links = table.concat(vim.fn.readfile(PLUGIN .. "/lua/interline/groups.lua"), "\n")
  for name in links:gmatch("\n  (Interline%w+) = ") do
    assert(help:find(name, 1, true), name .. " is not in the help")
  end
  for _, name in ipairs({ "InterlineStarted", "InterlineAsks", "InterlineEnded" }) do
    assert(help:find("*" .. name .. "*", 1, true) and readme:find(name:gsub("Interline", ""), 1, false), name)
  end
end)

story("links of the help lead somewhere, and completion knows the words of subcommands", function()
  vim.cmd("helptags " .. vim.fn.fnameescape(PLUGIN .. "/doc"))
  local tags = {}
  for _, line in ipairs(vim.fn.readfile(PLUGIN .. "/doc/tags")) do
    tags[line:match("^[^\t]+")] = true
  end
  vim.fn.delete(PLUGIN .. "/doc/tags")
  for name in page("doc/interline.txt"):gmatch("|([%w:.()-]*[Ii]nterline[%w:.()-]*)|") do
    assert(tags[name], name .. " leads nowhere")
  end
  same({ "agent", "ask", "plan" }, vim.fn.getcompletion("Interline mode ", "cmdline"))
  same({ "session" }, vim.fn.getcompletion("Interline allow s", "cmdline"))
  same({}, vim.fn.getcompletion("Interline ask a", "cmdline"))
end)
