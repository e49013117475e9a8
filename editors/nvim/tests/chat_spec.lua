--- The chat: prompts that wait, output of running commands, a plan, retries, files and changes that
--- open, copies of a session.
local model = require("model")
local user = require("user")

local FILES = { ["a.txt"] = "one\ntwo\nthree\n", ["src/b.txt"] = "eins\nzwei\ndrei\n" }

local function begin(name, said, files, trusted)
  local root = user.project(files or FILES)
  local ada = user.start({ home = user.home(name), model = said, args = { root .. "/a.txt" } })
  ada:count_turns()
  if trusted then
    ada:command("Interline trust")
    ada:sees("is trusted")
  end
  return ada, root
end

--- The lines of the chat.
local function chat(person)
  return person:lua("return require('interline.chat').text()")
end

local function chat_has(person, part)
  await(function()
    return "in the chat: " .. part .. "\n" .. chat(person)
  end, function()
    return chat(person):find(part, 1, true) ~= nil
  end)
end

--- Goes to the first line of the chat with these words.
local function go_to(person, words)
  person:lua([[
    local buffer = require("interline.chat").latest().buffer
    vim.api.nvim_set_current_win(vim.fn.bufwinid(buffer))
    for row, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) do
      local from = line:find(..., 1, true)
      if from then
        return vim.api.nvim_win_set_cursor(0, { row, from - 1 })
      end
    end
    error("not in the chat: " .. ...)
  ]], words)
end

local function place(person)
  return person:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }")
end

local function place_becomes(person, file, line)
  await(function()
    return ("at %s:%d\n%s"):format(file, line, person:screen())
  end, function()
    return vim.deep_equal({ file, line }, place(person))
  end)
end

--- A model that begins an answer, waits for `state.on`, and ends it.
local function slow(state, ...)
  local more = { ... }
  return model.start(vim.list_extend({
    function(reply)
      reply:block({ type = "text", text = "" })
      reply:delta({ type = "text_delta", text = "The answer begins" })
      reply:wait(function()
        return state.on
      end)
      reply:delta({ type = "text_delta", text = " and ends." })
      reply:stop()
    end,
  }, more))
end

story("queued prompts wait below the answer, never in it; they can be removed and added to the turn", function()
  local state = {}
  local said = slow(state)
  local ada = begin("queued", said)
  ada:command("Interline ask first")
  ada:sees("The answer begins")
  ada:command("Interline ask second thing")
  ada:sees("> Queued: second thing")
  ada:command("Interline ask third thing")
  ada:sees("> Queued: third thing")
  same(2, ada:lua("return require('interline').info().queued"))
  ada:keep("30-queued-prompts")
  ada:command("Interline queue")
  ada:sees("Queued prompts")
  ada:keys("1\r")
  ada:sees("Queued: second thing")
  ada:keys("2\r")
  ada:sees_no("> Queued: second thing")
  ada:command("Interline queue")
  ada:sees("Add to the running turn now")
  ada:keys("3\r")
  ada:sees("> Added to this turn: third thing")
  state.on = true
  ada:turns_end(1)
  local shown = chat(ada)
  assert(shown:find("The answer begins and ends.", 1, true), shown)
  assert(not shown:find("Queued", 1, true) and not shown:find("Added", 1, true), shown)
  assert(shown:find("## You\n\nthird thing", 1, true), shown)
  ada:stop()
  said.stop()
end)

story("a queued prompt can be edited", function()
  local state = {}
  local said = slow(state)
  local ada = begin("queue-edit", said)
  ada:command("Interline ask first")
  ada:sees("The answer begins")
  ada:command("Interline ask second thing")
  ada:sees("> Queued: second thing")
  ada:command("Interline queue")
  ada:sees("1: Edit")
  ada:keys("1\r")
  ada:sees("Prompt · ")
  ada:sees_no("> Queued: second thing")
  ada:keys(" is better\19")
  ada:sees("> Queued: second thing is better")
  state.on = true
  ada:turns_end(2)
  assert(vim.json.encode(said.requests[2].messages):find("second thing is better", 1, true))
  ada:stop()
  said.stop()
end)

story("the output of a running command is shown while it runs, and stays readable when it is stopped", function()
  local said = model.start({
    function(reply)
      reply:call("exec", { command = "for n in 1 2 3 4 5 6 7; do echo line-$n; done; read -r _ < wait" })
    end,
  })
  local ada, root = begin("output", said, nil, true)
  vim.fn.system({ "mkfifo", root .. "/wait" })
  ada:command("Interline ask run it")
  ada:sees("Interline asks:")
  ada:command("Interline allow")
  ada:sees("│ line-7")
  ada:sees("│ line-3")
  assert(not chat(ada):find("│ line-2", 1, true), chat(ada))
  ada:keep("31-live-output")
  ada:command("Interline cancel")
  ada:turns_end(1)
  assert(not chat(ada):find("│ line", 1, true), chat(ada))
  go_to(ada, "- ✗ ")
  ada:keys("\r")
  ada:sees("line-1")
  ada:keys("G")
  ada:sees("line-7")
  ada:stop()
  said.stop()
end)

story("a plan stays below the text while the turn runs, and in the text afterwards", function()
  local state = {}
  local function todos(first, second)
    return { todos = { { text = "Read the code", status = first }, { text = "Change it", status = second } } }
  end
  local said = model.start({
    function(reply)
      reply:call("write_todos", todos("in_progress", "pending"))
    end,
    function(reply)
      reply:call("write_todos", todos("completed", "in_progress"))
      reply:wait(function()
        return state.on
      end)
    end,
    function(reply)
      reply:say("That was it.")
    end,
  })
  local ada = begin("plan", said, nil, true)
  ada:command("Interline ask plan it")
  ada:sees("- [>] Read the code")
  state.on = true
  ada:turns_end(1)
  local shown = chat(ada)
  assert(shown:find("That was it.\n\n- [x] Read the code\n- [>] Change it", 1, true), shown)
  same(1, select(2, shown:gsub("Change it", "")), shown)
  ada:stop()
  said.stop()
end)

--- A turn that changes two files.
local function two_changes()
  return model.start({
    function(reply)
      reply:call("read", { path = "a.txt" })
      reply:call("read", { path = "src/b.txt" })
    end,
    function(reply)
      reply:call("edit", { path = "a.txt", old_string = "two", new_string = "TWO" })
      reply:call("edit", { path = "src/b.txt", old_string = "drei", new_string = "DREI" })
    end,
    function(reply)
      reply:say("See src/b.txt:2 and `a.txt`.")
    end,
  })
end

story("<CR> and gf open files, lines and changes, never in the chat's window", function()
  local said = two_changes()
  local ada, root = begin("places", said, nil, true)
  ada:command("Interline ask change both")
  ada:turns_end(1)
  ada:sees("2 files changed (+2 −2)")
  ada:keep("32-changed-files")
  go_to(ada, "src/b.txt:2")
  ada:keys("\r")
  place_becomes(ada, "b.txt", 2)
  go_to(ada, "a.txt`.")
  ada:keys("gf")
  place_becomes(ada, "a.txt", 1)
  go_to(ada, "- changed src/b.txt")
  ada:keys("\r")
  place_becomes(ada, "b.txt", 3)
  go_to(ada, "- ✓ Edit a.txt")
  ada:keys("\r")
  ada:sees("Arguments")
  ada:keys("/+TWO\rgf")
  place_becomes(ada, "a.txt", 2)
  ada:sees("## Interline")
  same(root, ada:lua("return require('interline.client').root()"))
  go_to(ada, "## Interline")
  ada:keys("\r")
  ada:sees("nothing to open on this line")
  ada:stop()
  said.stop()
end)

local CODE = "Use this:\n\n```lua\nreturn {\n  two = 22,\n}\n```\n\nAnd in another file:\n\n```text src/b.txt\neins\nzwei!\n```\n\nOr:\n\n```\nelsewhere\n```\n"

story("code of an answer is yanked, put, and applied to its file after a preview", function()
  local said = model.start({
    function(reply)
      reply:say(CODE)
    end,
  })
  local ada, root = begin("code", said, { ["a.txt"] = "local t = {\n    two = 2,\n}\n", ["src/b.txt"] = FILES["src/b.txt"] })
  ada:command("Interline ask show code")
  ada:turns_end(1)
  go_to(ada, "And in")
  ada:keys("gy")
  ada:sees("the cursor is not in a code block")
  go_to(ada, "return {")
  ada:keys("gy")
  ada:sees("3 lines yanked")
  same("return {\n  two = 22,\n}\n", ada:lua("return vim.fn.getreg('\"')"))
  go_to(ada, "elsewhere")
  ada:keys("gp")
  ada:text_becomes(root .. "/a.txt", "local t = {\nelsewhere\n    two = 2,\n}")
  ada:keys("u")
  go_to(ada, "zwei!")
  ada:keys("ga")
  ada:sees("Apply to src/b.txt")
  ada:sees("+zwei!")
  ada:keep("36-code-to-apply")
  ada:keys("\r")
  ada:text_becomes(root .. "/src/b.txt", "eins\nzwei!\ndrei")
  ada:stop()
  said.stop()
end)

story("code whose place is not clear is left to the agent", function()
  local said = model.start({
    function(reply)
      reply:say(CODE)
    end,
    function(reply)
      reply:say("I see.")
    end,
  })
  local ada = begin("unplaced", said)
  ada:command("Interline ask show code")
  ada:turns_end(1)
  go_to(ada, "elsewhere")
  ada:keys("ga")
  ada:sees("It is not clear where this belongs in a.txt")
  ada:keys("1\r")
  ada:turns_end(2)
  local asked = said.requests[2].messages
  local words = vim.json.encode(asked[#asked])
  assert(words:find("Apply this code to @a.txt:\\n\\n```\\nelsewhere\\n```", 1, true), words)
  assert(words:find("three", 1, true), "the file is attached: " .. words)
  ada:stop()
  said.stop()
end)

story("a turn's changes fill the quickfix list, and can be kept or reverted from the chat", function()
  local said = two_changes()
  local ada, root = begin("quickfix", said, nil, true)
  ada:command("Interline ask change both")
  ada:turns_end(1)
  go_to(ada, "2 files changed")
  ada:keys("\r")
  ada:sees("a.txt|2| +1 −1  TWO")
  ada:sees("b.txt|3| +1 −1  DREI")
  ada:keep("33-quickfix-of-a-turn")
  ada:command("cclose")
  go_to(ada, "- changed a.txt")
  ada:keys("K")
  ada:sees("kept 1 change")
  ada:command("Interline changes")
  ada:sees("b.txt|3| +1 −1  DREI")
  same(1, ada:lua("return #vim.fn.getqflist()"))
  ada:command("cclose")
  go_to(ada, "- changed src/b.txt")
  ada:keys("u")
  ada:sees("Revert the turn in this file")
  ada:keys("\r")
  ada:text_becomes(root .. "/src/b.txt", "eins\nzwei\ndrei")
  ada:stop()
  said.stop()
end)

story("an edited prompt is sent again in a copy of the session that ends before it", function()
  local said = model.start({
    function(reply)
      reply:say("The first answer.")
    end,
    function(reply)
      reply:say("The second answer.")
    end,
    function(reply)
      reply:say("A better answer.")
    end,
  })
  local ada = begin("resend", said)
  ada:command("Interline ask first")
  ada:turns_end(1)
  ada:command("Interline ask second")
  ada:turns_end(2)
  local session = ada:lua("return require('interline.client').running()[1].session")
  go_to(ada, "The second answer.")
  ada:keys("e")
  ada:sees("Edit and send in a copy")
  ada:keys(" thought\19")
  ada:turns_end(3)
  chat_has(ada, "A better answer.")
  local shown = chat(ada)
  assert(shown:find("The first answer.", 1, true) and not shown:find("The second answer.", 1, true), shown)
  assert(shown:find("\nsecond thought\n", 1, true), shown)
  local sent = vim.json.encode(said.requests[3].messages)
  assert(sent:find("second thought", 1, true) and not sent:find("The second answer", 1, true), sent)
  assert(ada:lua("return require('interline.client').running()[1].session") ~= session)
  go_to(ada, "The first answer.")
  ada:keys("F")
  ada:sees("this is a copy up to that answer")
  assert(chat(ada):find("The first answer.", 1, true) and not chat(ada):find("A better answer.", 1, true), chat(ada))
  ada:stop()
  said.stop()
end)

story("an answer that was interrupted is replaced by the next try, and the retry is one line", function()
  local said = model.start({
    function(reply)
      reply:block({ type = "text", text = "" })
      reply:delta({ type = "text_delta", text = "Half an ans" })
      reply:wait(function()
        return reply.model.seen
      end)
      reply.socket:close()
    end,
    function(reply)
      reply:wait(function()
        return reply.model.released
      end)
      reply:say("The complete answer.")
    end,
  })
  local ada = begin("retry", said)
  ada:command("Interline ask go")
  ada:sees("Half an ans")
  said.seen = true
  ada:sees("Retrying in")
  ada:sees_no("Half an ans")
  ada:keep("34-retry")
  said.released = true
  ada:turns_end(1)
  local shown = chat(ada)
  assert(shown:find("The complete answer.", 1, true) and not shown:find("Retrying", 1, true), shown)
  assert(not shown:find("Half an ans", 1, true), shown)
  ada:stop()
  said.stop()
end)

story("a request that waits for its next try is sent now by <CR> on its line", function()
  local refusals = 0
  local said = model.start({
    function(reply)
      reply:say("Here it is.")
    end,
  }, nil, function()
    refusals = refusals + 1
    return refusals == 1 and 60
  end)
  local ada = begin("retry-now", said)
  ada:command("Interline ask go")
  ada:sees("> <CR> retries now")
  chat_has(ada, "> Anthropic rate limit (429): too many requests. Retrying in ")
  chat_has(ada, " s (attempt 2 of 10).")
  ada:keep("37-retry-now")
  go_to(ada, "<CR> retries now")
  ada:keys("\r")
  chat_has(ada, "Here it is.")
  ada:turns_end(1)
  ada:command("Interline retry")
  ada:sees("nothing waits to be sent again")
  ada:stop()
  said.stop()
end)

story("the transcript of a sub-agent is behind its call", function()
  local said = model.start({
    function(reply)
      reply:call("delegate", { task = "Count the lines" })
    end,
    function(reply)
      reply:say("There are three lines.")
    end,
    function(reply)
      reply:say("Three, it says.")
    end,
  })
  local ada = begin("child", said, nil, true)
  ada:command("Interline ask how many lines?")
  ada:turns_end(1)
  chat_has(ada, "Three, it says.")
  go_to(ada, "- ✓ ")
  ada:keys("\r")
  ada:sees("gt transcript")
  ada:keys("gt")
  ada:sees("There are three lines.")
  ada:sees("Count the lines")
  ada:keep("35-a-sub-agent")
  ada:stop()
  said.stop()
end)
