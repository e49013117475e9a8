--- Neovim or its server is killed in a turn, and two Neovims work in one project: nothing is lost,
--- the next start continues, and says what happened.
local model = require("model")
local user = require("user")

--- A model that reads, edits, and then streams until the story lets it go.
local function endless(reply)
  reply:block({ type = "text", text = "" })
  reply:delta({ type = "text_delta", text = "I think about the rest" })
  reply:wait(function()
    return false
  end)
end

local function steps()
  return {
    function(reply)
      reply:call("read", { path = "a.txt" })
    end,
    function(reply)
      reply:call("edit", { path = "a.txt", old_string = "two", new_string = "TWO" })
    end,
    endless,
    function(reply)
      reply:say("I go on: ", "all is there.")
    end,
  }
end

local FILES = { ["a.txt"] = "one\ntwo\nthree\n" }

--- Opens the file, trusts the project, types, asks, and waits until the edit is there.
local function until_it_streams(person, path)
  person:count_turns()
  person:command("Interline trust")
  person:sees("is trusted")
  person:keys("ggA typed")
  person:text_becomes(path, "one typed\ntwo\nthree")
  person:escape()
  person:command("Interline ask please go on for long")
  person:sees("I think about the rest")
  same("one typed\nTWO\nthree", person:text(path))
end

local function kill_server(person)
  local before = person:servers()
  same(1, #before)
  vim.uv.kill(before[1], "sigkill")
  person:sees("the server was killed (signal 9); :Interline restart")
end

story("a server that is killed in a turn: the buffers stay, and the next prompt continues", function()
  local said = model.start(steps())
  local root = user.project(FILES)
  local path = root .. "/a.txt"
  local ada = user.start({ home = user.home("killed1"), model = said, args = { path } })
  until_it_streams(ada, path)
  kill_server(ada)
  ada:keep("7-the-server-was-killed")
  same("one typed\nTWO\nthree", ada:text(path))
  ada:command("Interline ask go on")
  ada:turns_end(1)
  ada:sees("all is there.")
  ada:keep("8-the-next-prompt-goes-on")
  same("endTurn", ada:lua("return _G.last_end"))
  local shown = ada:lua("return require('interline.chat').text()")
  assert(shown:find("The turn was interrupted when Interline ended.", 1, true), shown)
  assert(shown:find("A new server continues this session.", 1, true), shown)
  local request = vim.json.encode(said.requests[#said.requests].messages)
  assert(request:find("please go on for long", 1, true), "it is the same conversation:\n" .. request)
  ada:keys("u")
  ada:text_becomes(path, "one typed\ntwo\nthree")
  ada:stop()
  said.stop()
end)

story(":Interline restart starts a killed server again, and ends one that runs", function()
  local said = model.start(steps())
  local root = user.project(FILES)
  local path = root .. "/a.txt"
  local ada = user.start({ home = user.home("killed2"), model = said, args = { path } })
  until_it_streams(ada, path)
  kill_server(ada)
  ada:command("Interline restart")
  ada:sees("is running again")
  local first = ada:servers()
  same(1, #first)
  ada:command("Interline restart")
  await("another server", function()
    local now = ada:servers()
    return #now == 1 and now[1] ~= first[1]
  end)
  ada:sees("is running again")
  ada:command("Interline ask go on")
  ada:turns_end(1)
  ada:sees("all is there.")
  ada:stop()
  said.stop()
end)

story("a Neovim that is killed in a turn: the next one says so, and :Interline resume continues", function()
  local said = model.start(steps())
  local root, home = user.project(FILES), user.home("killed3")
  local path = root .. "/a.txt"
  local ada = user.start({ home = home, model = said, args = { path }, swap = true })
  until_it_streams(ada, path)
  -- What a person relies on for unsaved text.
  ada:lua("vim.cmd('silent preserve')")
  local servers = ada:servers()
  ada:kill()
  await("the server's end", function()
    return vim.uv.kill(servers[1], 0) ~= 0
  end)
  local again = user.start({ home = home, model = said, args = { "-r", path }, swap = true })
  again:text_becomes(path, "one typed\nTWO\nthree")
  again:keys("\r")
  again:count_turns()
  again:command("Interline ask what happened?")
  again:turns_end(1)
  again:sees("The last session here")
  again:keep("9-the-last-session-was-interrupted")
  again:command("Interline resume")
  again:sees("the session is open")
  again:keep("10-resumed")
  local shown = again:lua("return require('interline.chat').text()")
  assert(shown:find("please go on for long", 1, true), shown)
  assert(shown:find("I think about the rest", 1, true) or shown:find("> cancelled", 1, true), shown)
  again:command("Interline ask go on")
  again:turns_end(2)
  local request = vim.json.encode(said.requests[#said.requests].messages)
  assert(request:find("please go on for long", 1, true), "it is the same conversation:\n" .. request)
  again:stop()
  said.stop()
end)

story("two Neovims in one project: each has its session, and a file that one changed is not overwritten", function()
  local root, home = user.project({ ["a.txt"] = "one\n", ["b.txt"] = "two\n" }), user.home("two")
  local told = {}
  local function script(name, file, old)
    return {
      function(reply)
        reply:call("read", { path = file })
      end,
      function(reply)
        reply:call("edit", { path = file, old_string = old, new_string = old:upper() })
      end,
      function(reply)
        told[name] = reply:newest()
        reply:say(name .. " is done.")
      end,
    }
  end
  local first, second = model.start(script("Ada", "a.txt", "one")), model.start(script("Bob", "a.txt", "one"))
  local ada = user.start({ home = home, model = first, args = { root .. "/a.txt" } })
  local bob = user.start({ home = home, model = second, args = { root .. "/b.txt" } })
  for _, person in ipairs({ ada, bob }) do
    person:count_turns()
    person:command("Interline trust")
    person:sees("is trusted")
  end
  ada:keys("ggA typed")
  ada:text_becomes(root .. "/a.txt", "one typed")
  ada:escape()
  ada:command("Interline ask shout")
  bob:command("Interline ask shout")
  ada:turns_end(1)
  bob:turns_end(1)
  same("ONE typed", ada:text(root .. "/a.txt"))
  same({ nil, nil }, { first.failed, second.failed })
  assert(ada:lua("return require('interline.client').running()[1].session") ~= bob:lua("return require('interline.client').running()[1].session"))
  ada:command("silent write")
  local function disk()
    local file = assert(io.open(root .. "/a.txt", "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end
  await("the write", function()
    return disk() == "ONE typed\n"
  end)
  same("ONE", bob:text(root .. "/a.txt"), "in the other one it is an unsaved buffer")
  local refused = bob:lua("return require('interline.save').write(vim.fn.bufnr(...))", root .. "/a.txt")
  assert(refused:find("changed on disk", 1, true), refused)
  same("ONE typed\n", disk())
  -- A session of another process can be read here, and not written.
  bob:command("Interline resume")
  bob:sees("Another process has this")
  bob:keep("11-a-session-of-another-process")
  for _, person in ipairs({ ada, bob }) do
    person:stop()
  end
  first.stop()
  second.stop()
end)

story("a prompt that the server did not take up before it was killed is given back", function()
  local said = model.start({})
  local root = user.project(FILES)
  local ada = user.start({ home = user.home("killed5"), model = said, args = { root .. "/a.txt" } })
  ada:count_turns()
  ada:command("Interline open")
  ada:command("Interline trust")
  ada:sees("is trusted")
  -- It still runs and does not answer.
  local server = ada:servers()[1]
  vim.uv.kill(server, "sigstop")
  ada:command("Interline ask a long prompt that no one answers")
  await("the prompt is on its way", function()
    return ada:lua("return #require('interline.sent').lost(require('interline.client').running()[1])") == 1
  end)
  vim.uv.kill(server, "sigkill")
  ada:sees("This prompt was not sent")
  ada:command("Interline ask")
  ada:sees("<C-s> sends")
  ada:keys(" any more\19")
  ada:turns_end(1)
  local request = vim.json.encode(said.requests[1].messages)
  assert(request:find("a long prompt that no one answers any more", 1, true), request)
  ada:stop()
  said.stop()
end)
