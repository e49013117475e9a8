--- A person reviews by keys alone, in a Neovim in a terminal: keeps one change, undoes one, amends
--- one by typing, undoes and redoes, and reverts the turn. `SCREENS=FOLDER` keeps the screens.
local model = require("model")
local user = require("user")

local TEXT = {
  "def total(prices):",
  "    sum = 0",
  "    for p in prices:",
  "        sum += p",
  "    return sum",
  "",
  "",
  "def mean(prices):",
  "    return total(prices) / len(prices)",
  "",
  "",
  'print("Mean", mean([1, 2]))',
}

local function with(changes)
  local lines = vim.list_slice(TEXT)
  for row, line in pairs(changes) do
    lines[row] = line
  end
  return table.concat(lines, "\n")
end

local AMOUNT, GUARD, SAYS = "    amount = 0", "    return total(prices) / max(len(prices), 1)", 'print("Average", mean([1, 2]))'

local function scripted()
  local seen = {}
  local said = model.start({
    function(reply)
      reply:call("read", { path = "shop.py" })
    end,
    function(reply)
      reply:call("edit", { path = "shop.py", old_string = "    sum = 0\n", new_string = AMOUNT .. "\n" })
      reply:call("edit", { path = "shop.py", old_string = "/ len(prices)", new_string = "/ max(len(prices), 1)" })
      reply:call("edit", { path = "shop.py", old_string = '"Mean"', new_string = '"Average"' })
    end,
    function(reply)
      reply:say("Three changes.")
    end,
    function(reply)
      seen.prompt = reply:newest()
      reply:say("I see.")
    end,
  })
  return said, seen
end

--- Waits until the buffer has this many changes to review.
local function reviews(ada, wanted)
  await(function()
    return wanted .. " changes to review\n" .. ada:screen()
  end, function()
    return ada:lua("return #require('interline.marks').list(vim.api.nvim_get_current_buf())") == wanted
  end)
end

story("review by keys alone: keep, undo, amend, undo, redo, revert the turn", function()
  local said, seen = scripted()
  local root = user.project({ ["shop.py"] = table.concat(TEXT, "\n") .. "\n" })
  local ada = user.start({ home = user.home("rita"), model = said, args = { root .. "/shop.py" } })
  local path = root .. "/shop.py"
  ada:count_turns()
  ada:command("Interline trust")
  ada:sees("is trusted")
  ada:command("Interline ask tidy up")
  ada:turns_end(1)
  ada:text_becomes(path, with({ [2] = AMOUNT, [9] = GUARD, [12] = SAYS }))
  ada:sees("    sum = 0")
  ada:sees("▎")
  ada:keep("review-1-marks")
  ada:keys("gg]h")
  ada:sees("change 1 of 3")
  ada:command("Interline keep")
  ada:sees("kept 1 change")
  ada:sees_no("    sum = 0")
  reviews(ada, 2)
  ada:keys("gg]h")
  ada:sees("change 1 of 2")
  ada:command("Interline undo")
  ada:sees("undid 1 change")
  ada:text_becomes(path, with({ [2] = AMOUNT, [12] = SAYS }))
  ada:keys("u")
  ada:text_becomes(path, with({ [2] = AMOUNT, [9] = GUARD, [12] = SAYS }))
  ada:keys("\18")
  ada:text_becomes(path, with({ [2] = AMOUNT, [12] = SAYS }))
  reviews(ada, 1)
  ada:keys("G[h")
  ada:sees("change 1 of 1")
  ada:keys("fAcwMiddle")
  ada:escape()
  ada:sees("amended")
  ada:keep("review-2-kept-undone-amended")
  ada:command("Interline review")
  ada:sees("+1 −1 amended")
  ada:keep("review-3-quickfix")
  ada:command("cclose")
  ada:command("Interline ask and now?")
  ada:turns_end(2)
  for _, part in ipairs({ "kept these changes of yours: shop.py:2.", "rejected these changes of yours: shop.py:9." }) do
    assert(seen.prompt:find(part, 1, true), seen.prompt)
  end
  ada:command("Interline revert")
  ada:sees("<CR> revert")
  ada:keep("review-4-preview-of-a-revert")
  ada:keys("\r")
  local after = with({ [12] = 'print("Middle", mean([1, 2]))' })
  ada:text_becomes(path, after)
  ada:sees("reverted 1 file")
  ada:command("Interline redo")
  ada:sees("<CR> revert")
  ada:keys("\r")
  ada:text_becomes(path, with({ [2] = AMOUNT, [12] = 'print("Middle", mean([1, 2]))' }))
  same(nil, said.failed)
  ada:stop()
  said.stop()
end)
