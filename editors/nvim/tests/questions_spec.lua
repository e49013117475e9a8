--- Questions of the model are asked one at a time, and each gets exactly one answer.
local questions = require("interline.questions")

local function question(turn, options, free)
  return { turnId = turn, itemId = turn, question = "Which\none?", options = options, freeText = free }
end

--- Starts a request as Neovim does, in a coroutine; the answer comes into the returned table.
local function request(server, params)
  local answers = {}
  coroutine.wrap(function()
    table.insert(answers, questions.request(server, params))
  end)()
  return answers
end

--- A picker and a prompt that wait.
local function pickers()
  local open = { select = {}, input = {} }
  vim.ui.select = function(rows, _, on_choice)
    table.insert(open.select, { rows = rows, choose = on_choice })
  end
  vim.ui.input = function(_, on_confirm)
    table.insert(open.input, on_confirm)
  end
  return open
end

story("an option, own words, and a closed picker are distinguished", function()
  local server, open = {}, pickers()
  local first = request(server, question("a", { "old", "new" }, true))
  local second = request(server, question("b", { "old" }, true))
  same(1, #open.select, "one at a time")
  same(3, #open.select[1].rows)
  open.select[1].choose(open.select[1].rows[2])
  same({ { outcome = "answered", answer = "new" } }, first)
  await("the second question", function()
    return #open.select == 2
  end)
  open.select[2].choose(open.select[2].rows[2])
  open.input[1]("neither")
  same({ { outcome = "answered", answer = "neither" } }, second)
  local third = request(server, question("c", { "old" }, false))
  await("the third question", function()
    return #open.select == 3
  end)
  same(1, #open.select[3].rows, "no own words")
  open.select[3].choose(nil)
  same({ { outcome = "cancelled" } }, third)
end)

story("a question without options takes words, and none declines", function()
  local server, open = {}, pickers()
  local first = request(server, question("a", {}, true))
  open.input[1](" ")
  same({ { outcome = "declined" } }, first)
end)

story("a turn that ended takes its questions with it", function()
  local server, open = {}, pickers()
  local first, second = request(server, question("a", { "x" }, true)), request(server, question("b", {}, true))
  questions.forget(server, "b")
  same({ { outcome = "cancelled" } }, second)
  questions.forget(server, "a")
  same({ { outcome = "cancelled" } }, first)
  open.select[1].choose(open.select[1].rows[1])
  same(1, #first, "a late choice does nothing")
end)
