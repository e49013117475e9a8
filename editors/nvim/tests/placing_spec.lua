--- Where code of an answer goes in a file; and code blocks among the lines of an answer.
local code = require("interline.code")
local placing = require("interline.placing")

local function lines(text)
  return vim.split(text, "\n", { plain = true })
end

local FILE = lines("import a\n\ndef total(prices):\n    sum = 0\n    for price in prices:\n        sum += price\n    return sum\n\ndef last(prices):\n    return prices[-1]")

--- The file with the code in its place.
local function placed(file, text)
  local found = placing.find(file, lines(text))
  if found then
    local new = vim.list_slice(file, 1, found.first - 1)
    return table.concat(vim.list_extend(vim.list_extend(new, found.lines), vim.list_slice(file, found.last + 1)), "\n")
  end
end

story("a function replaces its earlier form, and the rest of the file stays", function()
  local got = placed(FILE, "def total(prices, rate=1):\n    sum = 0\n    for price in prices:\n        sum += price\n    return sum * rate")
  local wanted = table.concat(FILE, "\n"):gsub("total%(prices%)", "total(prices, rate=1)"):gsub("return sum\n", "return sum * rate\n")
  same(wanted, got)
end)

story("code that is indented less than its place is moved there", function()
  local got = placed(FILE, "sum = 0\nfor price in prices:\n    sum += price * 2")
  same((table.concat(FILE, "\n"):gsub("sum %+= price", "sum += price * 2")), got)
end)

story("an empty file takes the code, and a line at its end is added to the line before", function()
  same("one", placed({ "" }, "one"))
  same("one\ntwo\nthree", placed({ "one", "two" }, "two\nthree"))
end)

story("code without a line of the file, with parts left out, or a diff has no clear place", function()
  same(nil, placed(FILE, "print(1)"))
  same(nil, placed(FILE, "def total(prices):\n    # ... as before\n    return sum"))
  same(nil, placed(FILE, "@@ -1 +1 @@\n-import a\n+import b"))
end)

story("the code block around a line ends at its own fence, and its indent is removed", function()
  local answer = lines("Text\n````md\n```lua\nx\n```\n````\n- item\n  ```sh\n  ls\n  ```\nlast\n```\nopen")
  same({ lines = { "```lua", "x", "```" }, info = "md" }, code.block(answer, 4))
  same({ lines = { "ls" }, info = "sh" }, code.block(answer, 9))
  same({ lines = { "open" }, info = "" }, code.block(answer, 13))
  same({}, { code.block(answer, 7), code.block(answer, 11) })
end)
