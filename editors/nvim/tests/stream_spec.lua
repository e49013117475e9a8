--- An answer of 20,000 parts streams into the window of answers while a person types: how long
--- the main loop is busy at most is measured and printed.
local model = require("model")
local user = require("user")

local PARTS = 20000

--- Notes how long it is between two beats of a timer, and what of that Neovim worked itself: a
--- machine that does other things too makes pauses that are not Neovim's.
local BEAT = [[
  local function worked()
    local usage = vim.uv.getrusage()
    return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
  end
  local timer, last, before = vim.uv.new_timer(), nil, worked()
  _G.gaps, _G.work = {}, {}
  timer:start(0, 1, function()
    local now, done = vim.uv.hrtime() / 1e6, worked()
    if last then
      table.insert(_G.gaps, now - last)
      table.insert(_G.work, done - before)
    end
    last, before = now, done
  end)
]]

--- Some hundred parts for each key.
local function streamed(word, state)
  return function(reply)
    reply:block({ type = "text", text = "" })
    for number = 1, PARTS do
      reply:delta({ type = "text_delta", text = word(number) })
      if number % 400 == 0 then
        reply:wait(function()
          return state.typed >= number / 400
        end)
      end
    end
    reply:stop()
  end
end

local ANSWERS = {
  {
    "prose in lines",
    function(number)
      return number % 12 == 0 and "word.\n" or number % 300 == 1 and "\n## A heading\n\n- `code`, " or "word "
    end,
  },
  {
    "one line",
    function()
      return "word "
    end,
  },
}

story("20,000 parts of an answer do not hold up who types", function()
  for index, row in ipairs(ANSWERS) do
    local state = { typed = 0 }
    local said = model.start({ streamed(row[2], state) })
    local root = user.project({ ["a.txt"] = "one\n" })
    local ada = user.start({ home = user.home("stream" .. index), model = said, args = { root .. "/a.txt" } })
    ada:count_turns()
    ada:command("Interline ask tell me much")
    ada:sees("## Interline")
    ada:lua(BEAT)
    ada:keys("ggA")
    local keys = assert(vim.uv.new_timer())
    keys:start(
      90,
      90,
      vim.schedule_wrap(function()
        state.typed = state.typed + 1
        ada:keys("x")
      end)
    )
    ada:turns_end(1)
    keys:close()
    ada:text_becomes(root .. "/a.txt", "one" .. ("x"):rep(state.typed))
    same("endTurn", ada:lua("return _G.last_end"))
    local gaps = ada:lua([[
      table.sort(_G.gaps)
      table.sort(_G.work)
      return { _G.work[#_G.work], _G.gaps[#_G.gaps], _G.gaps[math.floor(#_G.gaps * 0.99)] }
    ]])
    local words = "   %s: %d keys meanwhile; Neovim's longest work %.1f ms; pauses with the machine's own: %.1f ms, 99 of 100 below %.1f ms\n"
    io.stdout:write(words:format(row[1], state.typed, gaps[1], gaps[2], gaps[3]))
    local shown = ada:lua("return select(2, require('interline.chat').text():gsub('word', ''))")
    same(PARTS, shown + select(2, ada:lua("return require('interline.chat').text()"):gsub("- `code`, ", "")), "every part")
    ada:stop()
    said.stop()
  end
end)

story("a conversation that fills the context window is compacted, and the chat says by how much", function()
  local summary = nil
  local said = model.start({
    function(reply)
      reply:say("Noted.")
    end,
    function(reply)
      reply:say("The window is nearly full.")
    end,
    function(reply)
      summary = reply:newest()
      reply:say("## Task\nMend the cart.\n## State\nOne is mended.\n## Next\nLook at tax.")
    end,
    function(reply)
      reply:say("We go on.")
    end,
  }, { [2] = 985000 })
  local root = user.project({ ["a.py"] = "one\n" })
  local ada = user.start({ home = user.home("shorter"), model = said, args = { root .. "/a.py" } })
  ada:count_turns()
  ada:lua("require('interline').ask(...)", "first " .. ("and so on "):rep(2000))
  ada:turns_end(1)
  ada:command("Interline ask second")
  ada:turns_end(2)
  local chat = ada:lua([[
    return table.concat(vim.tbl_map(function(buffer)
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
    end, vim.api.nvim_list_bufs()), "\n")
  ]])
  assert(chat:find("\n> Compacting the conversation…\n", 1, true), chat)
  assert(chat:find("\n> Compacted the conversation: %d+ → %d+ tokens"), chat)
  ada:sees("> Compacted the conversation")
  ada:keep("21-compaction")
  assert(summary:find("summary of the conversation", 1, true), summary)
  ada:command("Interline ask third")
  ada:turns_end(3)
  ada:sees("We go on.")
  local last = vim.json.encode(said.requests[#said.requests].messages)
  assert(last:find("Mend the cart.", 1, true) and not last:find("and so on and so on", 1, true), last)
  same(nil, said.failed)
  ada:stop()
  said.stop()
end)
