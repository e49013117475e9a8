--- A user at the keys: a child Neovim gets typed keys over RPC while edits arrive.
local child = nil

local function lua(code, ...)
  return vim.fn.rpcrequest(child, "nvim_exec_lua", code, { ... })
end

local function type_keys(keys)
  vim.fn.rpcrequest(child, "nvim_input", keys)
end

--- Typed keys are worked off after the request returns.
local function text_becomes(wanted)
  local got
  local ok = vim.wait(5000, function()
    got = lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
    return vim.deep_equal(got, wanted)
  end, 5)
  same(wanted, got, ok and "" or "waited for the text")
end

local function mode_becomes(wanted)
  await("mode " .. wanted, function()
    return vim.fn.rpcrequest(child, "nvim_get_mode").mode == wanted
  end)
end

local function start(lines)
  local command = vim.split(vim.env.NVIM_COMMAND, " ")
  vim.list_extend(command, { "--clean", "-i", "NONE", "-n", "--embed", "--headless" })
  child = vim.fn.jobstart(command, { rpc = true })
  lua("vim.opt.runtimepath:prepend(...)", vim.env.INTERLINE_PLUGIN)
  lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", lines)
end

--- Replaces line `row` from column 0 to `width`, as a server request would.
local function edit(row, width, new)
  return lua(
    [[
    local row, width, new = ...
    local all = { {
      range = { start = { line = row, character = 0 }, ["end"] = { line = row, character = width } },
      newText = new,
    } }
    return require("interline.replace").all(0, all, "utf-8")
  ]],
    row,
    width,
    new
  )
end

local function stop()
  vim.fn.jobstop(child)
end

story("an edit while the user is in Insert mode is an undo step of its own", function()
  start({ "one", "two", "three" })
  type_keys("Ahello ")
  text_becomes({ "onehello ", "two", "three" })
  same(true, edit(2, 5, "DREI\nVIER"))
  type_keys("world")
  text_becomes({ "onehello world", "two", "DREI", "VIER" })
  type_keys("<Esc>")
  mode_becomes("n")
  type_keys("u")
  text_becomes({ "onehello ", "two", "DREI", "VIER" })
  type_keys("u")
  text_becomes({ "onehello ", "two", "three" })
  type_keys("u")
  text_becomes({ "one", "two", "three" })
  type_keys("3<C-r>")
  text_becomes({ "onehello world", "two", "DREI", "VIER" })
  stop()
end)

story("edits between keys in one line: every author's part is undone alone", function()
  start({ "one", "two" })
  type_keys("Aab")
  text_becomes({ "oneab", "two" })
  edit(0, 1, "O")
  type_keys("cd")
  text_becomes({ "Oneabcd", "two" })
  edit(0, 1, "0\n0")
  type_keys("e<CR>f")
  text_becomes({ "0", "0neabcde", "f", "two" })
  edit(3, 3, "")
  type_keys("g<Esc>")
  text_becomes({ "0", "0neabcde", "fg", "" })
  mode_becomes("n")
  for _, wanted in ipairs({
    { "0", "0neabcde", "f", "" },
    { "0", "0neabcde", "f", "two" },
    { "0", "0neabcd", "two" },
    { "Oneabcd", "two" },
    { "Oneab", "two" },
    { "oneab", "two" },
    { "one", "two" },
  }) do
    type_keys("u")
    text_becomes(wanted)
  end
  type_keys("7<C-r>")
  text_becomes({ "0", "0neabcde", "fg", "" })
  stop()
end)

story("the cursor stays at the user's text when lines above or before it change", function()
  start({ "one", "two", "three" })
  type_keys("jAab")
  text_becomes({ "one", "twoab", "three" })
  edit(0, 3, "1\n2\n3")
  type_keys("c")
  text_becomes({ "1", "2", "3", "twoabc", "three" })
  edit(3, 1, "TTT")
  type_keys("d")
  text_becomes({ "1", "2", "3", "TTTwoabcd", "three" })
  edit(0, 1, "")
  edit(0, 0, "\n")
  type_keys("e<Esc>")
  text_becomes({ "", "", "2", "3", "TTTwoabcde", "three" })
  stop()
end)

story("in Normal mode too, the cursor's text stays under it", function()
  start({ "one", "two", "three" })
  type_keys("jjll")
  edit(0, 3, "1\n2")
  type_keys("x")
  text_becomes({ "1", "2", "two", "thee" })
  stop()
end)
