--- Buffers that vanish, change their names or are huge, windows that cannot be opened: everything
--- is answered, and nothing is made up.
local chat = require("interline.chat")
local project = require("project")
local text = require("interline.text")

local function edit_call(path, old, new)
  return { "edit", { path = path, old_string = old, new_string = new } }
end

local function steps(contains)
  return {
    { calls = { { "read", { path = "a.txt" } } } },
    { calls = { edit_call("a.txt", "one", "ONE") } },
    { expect = { toolResult = { name = "edit", isError = contains ~= nil, contains = contains } }, say = "I see." },
  }
end

--- A project whose file is open, trusted, and about to be edited; `before` runs in front of that.
local function about_to_be_edited(expected, before)
  local root = project.make({ ["a.txt"] = "one\ntwo\n" }, steps(expected))
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  local once = true
  project.in_front(project.server(), "interline/edit/apply", function()
    if once then
      once = false
      before(root)
    end
  end)
  return root, project.ask("edit it")
end

for _, command in ipairs({ "bwipeout!", "bdelete!", "bunload!" }) do
  story("a buffer that is gone by :" .. command .. " before its edit arrives: the model learns of it", function()
    local root, ended = about_to_be_edited("", function()
      vim.cmd("enew | " .. command .. " #")
    end)
    same("endTurn", ended.stopReason, vim.inspect(ended))
    local buffer = vim.fn.bufnr(root .. "/a.txt")
    assert(buffer == -1 or not vim.api.nvim_buf_is_loaded(buffer), "it was not made again")
    same("one\ntwo\n", project.read(root .. "/a.txt"))
  end)
end

story("a buffer that got another name before its edit comes keeps its text", function()
  local _, ended = about_to_be_edited("", function(root)
    vim.cmd("silent file " .. root .. "/b.txt")
  end)
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("one\ntwo", project.text())
end)

story("a window of answers that was wiped out is made again", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "First." }, { say = "Second." } })
  vim.cmd("edit " .. root .. "/a.txt")
  project.ask("one")
  vim.cmd("bwipeout! " .. vim.fn.bufnr("interline://answers" .. root))
  same("endTurn", project.ask("two").stopReason)
  local shown = chat.text()
  assert(shown:find("Second.", 1, true) and not shown:find("First.", 1, true), shown)
end)

story("a window of answers cannot be changed by hand, and says where the cursor is no less", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "First." } })
  vim.cmd("edit " .. root .. "/a.txt")
  project.ask("one")
  local buffer = vim.fn.bufnr("interline://answers" .. root)
  same({ false, "nofile" }, { vim.bo[buffer].modifiable, vim.bo[buffer].buftype })
end)

story("who reads further up stays there; who is at the end follows", function()
  local long = ("a line\n"):rep(200)
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = long }, { say = "more" } })
  vim.cmd("edit " .. root .. "/a.txt")
  project.ask("one")
  local window = vim.fn.bufwinid(vim.fn.bufnr("interline://answers" .. root))
  local function line()
    return vim.api.nvim_win_get_cursor(window)[1]
  end
  same(vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window)), line())
  vim.api.nvim_win_set_cursor(window, { 5, 0 })
  project.ask("two")
  same(5, line())
end)

story("without room for the window of answers, the prompt is sent and the reason told", function()
  local root = project.make({ ["a.txt"] = "one\n" }, { { say = "First." } })
  vim.g.interline = vim.tbl_extend("force", vim.g.interline, { split = "throw 'no room'" })
  vim.cmd("edit " .. root .. "/a.txt")
  local ended = project.ask("one")
  same("endTurn", ended.stopReason)
  assert(project.notices[1].message:find(":Interline open tries again", 1, true), vim.inspect(project.notices))
end)

story("a prompt about lines that are gone by the time it is sent is about those that are left", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\nthree\n" }, { { expect = { lastUserContains = "one" }, say = "Yes." } })
  vim.cmd("edit " .. root .. "/a.txt")
  vim.cmd("2,3Interline ask what")
  vim.cmd("2,3delete")
  same("endTurn", project.wait_for_end().stopReason)
end)

story("a file of 200,000 lines is mirrored and edited, and a key in it costs little", function()
  local lines = {}
  for number = 1, 200000 do
    lines[number] = "a line of text, number " .. number
  end
  local root = project.make({ ["a.txt"] = table.concat(lines, "\n") .. "\n" }, {
    { calls = { { "read", { path = "a.txt", offset = 199990, limit = 5 } } } },
    { calls = { edit_call("a.txt", "a line of text, number 199992\n", "CHANGED\n") } },
    { expect = { toolResult = { name = "edit", isError = false } }, say = "Done." },
  })
  vim.cmd("edit " .. root .. "/a.txt")
  project.trust()
  local ended = project.ask("edit it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  same("CHANGED", vim.api.nvim_buf_get_lines(0, 199991, 199992, true)[1])
  local began = vim.uv.hrtime()
  for _ = 1, 100 do
    vim.cmd("normal! Ax")
  end
  io.stdout:write(("   100 changes of a file of 200,000 lines: %.1f ms each\n"):format((vim.uv.hrtime() - began) / 1e8))
  local server = project.server()
  same(text.hash(0), (function()
    local found
    require("interline.client").request(server, "interline/status", vim.empty_dict(), function(status)
      found = status.documents[1].hash
    end)
    await("the mirror", function()
      return found ~= nil
    end)
    return found
  end)())
end)

story("wrong settings are reported once, and the defaults apply", function()
  local root = project.make({ ["a.txt"] = "one\n" }, {})
  vim.g.interline = { cmd = "interline" }
  local config = require("interline.config")
  same({ "interline", "lsp" }, config.get().cmd)
  config.get()
  same(1, #project.notices)
  assert(project.notices[1].message:find("cmd is a string", 1, true), vim.inspect(project.notices))
  for _, wrong in ipairs({ { take_focus = 1 }, { cmd = {} }, { nonsense = true } }) do
    local ok, reason = pcall(require("interline").setup, wrong)
    assert(not ok and reason:find("^interline: "), reason)
  end
end)

story("nothing of the plugin is a global variable", function()
  local before = {}
  for name in pairs(_G) do
    before[name] = true
  end
  for _, path in ipairs(vim.api.nvim_get_runtime_file("lua/interline/*.lua", true)) do
    local name = "interline." .. vim.fn.fnamemodify(path, ":t:r")
    dofile(path)
    require(name)
  end
  local new = vim.tbl_filter(function(name)
    return not before[name]
  end, vim.tbl_keys(_G))
  same({}, new)
end)
