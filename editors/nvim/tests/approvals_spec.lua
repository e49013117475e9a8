--- Approvals are asked one at a time, show what would be done, and are never answered by accident.
local approvals = require("interline.approvals")
local chat = require("interline.chat")

local CHOICES = {
  { id = "yes", label = "Allow", kind = "allowOnce" },
  { id = "no", label = "Reject", kind = "rejectOnce" },
}

local function command(item, line)
  return {
    turnId = "t",
    itemId = item,
    hash = "hash of " .. item,
    title = "Run",
    reason = "commands always ask",
    subject = { kind = "command", command = line or "make", cwd = "/work", unsaved = {} },
    choices = CHOICES,
  }
end

--- Starts a request as Neovim does, in a coroutine; the answer comes into the returned table.
local function request(server, params)
  local answers = {}
  coroutine.wrap(function()
    table.insert(answers, approvals.request(server, params))
  end)()
  return answers
end

--- A picker that waits.
local function picker()
  local open = {}
  vim.ui.select = function(_, _, on_choice)
    table.insert(open, on_choice)
  end
  return open
end

story("two requests are asked one after the other", function()
  local server, open = {}, picker()
  local first, second = request(server, command("a")), request(server, command("b"))
  same(1, #open)
  open[1](CHOICES[1])
  same({ { choice = "yes", hash = "hash of a" } }, first)
  await("the second question", function()
    return #open == 2
  end)
  same({}, second)
  open[2](nil)
  same({ { choice = "no", hash = "hash of b" } }, second, "closed without an answer")
end)

story("what was answered elsewhere, or whose turn ended, is not asked any more", function()
  local server, open = {}, picker()
  local first, second = request(server, command("a")), request(server, command("b"))
  approvals.resolved(server, "b")
  same("no", second[1].choice)
  approvals.forget(server, "another turn")
  same({}, first)
  approvals.forget(server, "t")
  same("no", first[1].choice)
  open[1](CHOICES[1])
  same(1, #first, "a late choice does nothing")
  vim.wait(20, function()
    return false
  end)
  same(1, #open)
end)

story("a picker that fails counts as rejected", function()
  vim.ui.select = function()
    error("broken")
  end
  vim.notify = function() end
  same("no", request({}, command("a"))[1].choice)
end)

story("nothing hides in what is shown", function()
  picker()
  local server = {}
  request(server, command("a", "echo \226\128\174evil\27[2K ```\nrm -rf x"))
  local shown = chat.text()
  assert(shown:find("echo \\u{202e}evil\\x1b[2K ```\nrm -rf x", 1, true), shown)
  assert(shown:find("````sh\n", 1, true), "the fence does not occur in the text")
  approvals.forget(server)
end)
