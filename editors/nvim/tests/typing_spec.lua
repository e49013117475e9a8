--- A person types in Insert mode above, below and between the agent's edits of the same file. The
--- buffer is the oracle's, and undo goes back state by state without mixing authors.
local model = require("model")
local typist = require("typist")
local user = require("user")

local seed = tonumber(vim.env.SEED) or 4
math.randomseed(seed)

--- What is special about a set-up: the file's bytes, and commands before the first key.
local SETUPS = {
  plain = {},
  windows = { commands = { "split", "normal! G", "wincmd p", "normal! gg" } },
  folds = { commands = { "setlocal foldmethod=manual", "3,12fold", "14,23fold", "25,34fold" } },
  formatter = {
    commands = {
      "autocmd BufWritePre * let g:saves = get(g:, 'saves', 0) + 1 | call setline(1, 'head, formatted ' .. g:saves)",
    },
    saves = true,
  },
  -- An editor so slow that keys come between the edit's version and its arrival.
  slow = { delay = 250 },
  bytes = { bom = "\239\187\191", line_end = "\r\n", open = true },
}

local function content(setup)
  local line_end = setup.line_end or "\n"
  return (setup.bom or "") .. table.concat(typist.lines(), line_end) .. (setup.open and "" or line_end)
end

--- The agent waits for some more keys before each edit.
local function steps(setup, state)
  local out = {
    function(reply)
      reply:call("read", { path = "a.txt" })
    end,
  }
  for index, edit in ipairs(typist.edits()) do
    table.insert(out, function(reply)
      reply:wait(function()
        return state.typist and (state.typist.done or state.typist.keys >= index * 9)
      end)
      reply:say("Row " .. edit.row .. ".")
      state.during = state.during + (state.typist.done and 0 or 1)
      if setup.saves and index % 4 == 0 then
        reply:call("exec", { command = "cat a.txt" })
      end
      reply:call("edit", { path = "a.txt", old_string = edit.old, new_string = edit.new })
    end)
  end
  return out
end

local DELAY = [[
  local delay = ...
  local handlers = vim.lsp.get_client_by_id(require("interline.client").running()[1].id).handlers
  local handler = handlers["interline/edit/apply"]
  _G.rebased = 0
  handlers["interline/edit/apply"] = function(err, params, context)
    local routine = coroutine.running()
    vim.defer_fn(function() coroutine.resume(routine) end, delay)
    coroutine.yield()
    local answer = handler(err, params, context)
    _G.rebased = _G.rebased + (answer.status == "rebased" and 1 or 0)
    return answer
  end
]]

local function begin(name, setup)
  local state = { name = name, setup = setup, during = 0, root = user.project({ ["a.txt"] = content(setup) }) }
  state.path = state.root .. "/a.txt"
  state.model = model.start(steps(setup, state))
  local person = user.start({ home = user.home(name), model = state.model, args = { state.path } })
  state.person = person
  person:lua("vim.o.fixendofline = false")
  person:lua("vim.cmd(...)", typist.GOTO)
  person:count_turns()
  person:command("Interline trust")
  person:sees("is trusted")
  person:command("Interline ask edit the rows")
  person:sees("## Interline")
  for _, command in ipairs(setup.commands or {}) do
    person:lua("vim.cmd(...)", command)
  end
  if setup.delay then
    person:lua(DELAY, setup.delay)
  end
  if setup.saves then
    -- The consent comes from elsewhere: this story is about the keys.
    person:lua([[vim.api.nvim_create_autocmd("User", { pattern = "InterlineAsks", callback = function()
      vim.schedule(function() require("interline.approvals").answer("allowOnce") end)
    end })]])
  end
  return state
end

local function whole(state)
  return state.person:text(state.path)
end

--- Presses a key until the state with this number is there; every text on the way, the present
--- one first.
local function walk(state, key, last)
  local texts = { whole(state) }
  local function place()
    return state.person:lua("return vim.fn.undotree().seq_cur")
  end
  while place() ~= last do
    local before = place()
    state.person:keys(key)
    await(state.name .. ": another state than " .. before, function()
      return place() ~= before
    end)
    table.insert(texts, whole(state))
    assert(#texts < 300, "undo has no end")
  end
  return texts
end

local function check_steps(state, texts)
  local names = { "user", "agent", "head" }
  for at = 2, #texts do
    local one, other = typist.authors(texts[at - 1]), typist.authors(texts[at])
    local changed = vim.tbl_filter(function(author)
      return one[author] ~= other[author]
    end, names)
    assert(#changed <= 1, ("%s: step %d mixes %s\n%s\n----\n%s"):format(state.name, at, table.concat(changed, " and "), texts[at - 1], texts[at]))
  end
end

local function mirror(state)
  return state.person:lua([[
    local path, client, found = ..., require("interline.client"), nil
    local server = client.running()[1]
    client.request(server, "interline/status", vim.empty_dict(), function(status)
      for _, document in ipairs(status.documents) do
        if document.uri == vim.uri_from_fname(path) then found = document end
      end
    end)
    vim.wait(10000, function() return found ~= nil end, 5)
    return { found.hash, found.synced, require("interline.text").hash(vim.fn.bufnr(path)) }
  ]], state.path)
end

local function finish(state)
  local person, saves = state.person, 0
  person:turns_end(1)
  person:escape()
  same(nil, state.model.failed, state.name)
  same("endTurn", person:lua("return _G.last_end"), state.name .. "\n" .. person:screen())
  if state.setup.saves then
    saves = person:lua("return vim.g.saves")
    assert(saves >= 1, "it was saved")
  end
  assert(state.during >= 8, state.name .. ": most edits come while keys do, not " .. state.during)
  local mapped = state.setup.delay and person:lua("return _G.rebased")
  assert(not mapped or mapped >= 5, state.name .. ": edits were mapped over keys, " .. tostring(mapped))
  local wanted = typist.oracle(saves > 0 and "head, formatted " .. saves or nil)
  same(wanted, whole(state), state.name .. ": the buffer")
  local seen = mirror(state)
  same({ seen[3], true }, { seen[1], seen[2] }, state.name .. ": the server's mirror")
  local newest = person:lua("return vim.fn.undotree().seq_last")
  local back = walk(state, "u", 0)
  same(table.concat(typist.lines(), "\n"), back[#back], state.name .. ": the first text")
  check_steps(state, back)
  local forth = walk(state, "\18", newest)
  same(wanted, forth[#forth], state.name .. ": all again")
  local rate = state.typist.keys / (state.typist.took / 1000)
  io.stdout:write(("   %s: %d keys, %.1f a second with pauses and bursts; %d undo steps\n"):format(state.name, state.typist.keys, rate, #back - 1))
end

story("the buffer equals the oracle, and every undo step has one author", function()
  local states = {}
  for name, setup in pairs(SETUPS) do
    table.insert(states, begin(name, setup))
  end
  for _, state in ipairs(states) do
    state.typist = typist.type(state.person, math.random)
  end
  await("all typing", function()
    return vim.iter(states):all(function(state)
      return state.typist.done
    end)
  end, 120000)
  for _, state in ipairs(states) do
    finish(state)
  end
  for _, state in ipairs(states) do
    if state.setup.bom then
      state.person:command("write")
      await("the file", function()
        local file = assert(io.open(state.path, "rb"))
        local bytes = file:read("*a")
        file:close()
        return bytes == state.setup.bom .. typist.oracle():gsub("\n", state.setup.line_end)
      end)
    end
    state.person:stop()
    state.model.stop()
  end
end)
