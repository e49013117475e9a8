--- With the real rust-analyzer, in a Neovim in a terminal: a rename while a person types, and
--- problems that reach the model. Skipped where there is no rust-analyzer.
local model = require("model")
local user = require("user")

local ANALYZER = vim.fn.exepath("rust-analyzer")
-- rustup's proxy is there without the component, too.
if ANALYZER ~= "" and vim.system({ ANALYZER, "--version" }, { env = { HOME = vim.env.REAL_HOME } }):wait().code ~= 0 then
  ANALYZER = ""
end
local CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
local CART = "pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}"
local MAIN = 'mod cart;\n\nfn main() {\n    println!("{}", cart::total(&[1, 2]));\n}'

local START = [[
  local program, home = ...
  vim.api.nvim_create_autocmd("FileType", { pattern = "rust", callback = function(event)
    -- Its tools are found below the user's own home, which the stories do not have.
    vim.lsp.start({
      name = "rust-analyzer", cmd = { program }, cmd_env = { HOME = home }, root_dir = vim.fn.getcwd(),
    }, { bufnr = event.buf })
  end })
  vim.cmd("edit src/main.rs")
]]

--- Whether rust-analyzer finds a definition at the end of the word before this column.
local READY = [[
  local row, column = ...
  local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = row, character = column } }
  local client = vim.lsp.get_clients({ bufnr = 0, name = "rust-analyzer" })[1]
  local answers = client and client.initialized and vim.lsp.buf_request_sync(0, "textDocument/definition", params, 5000) or {}
  local answer = client and answers[client.id]
  return answer ~= nil and type(answer.result) == "table" and next(answer.result) ~= nil
]]

local function begin(name, main, steps)
  local said = model.start(steps)
  local root = user.project({ ["Cargo.toml"] = CARGO, ["src/main.rs"] = main .. "\n", ["src/cart.rs"] = CART .. "\n" })
  local ada = user.start({ home = user.home(name), model = said, cwd = root })
  ada:lua(START, ANALYZER, vim.env.REAL_HOME)
  ada:count_turns()
  ada:command("Interline trust")
  ada:sees("is trusted")
  await("rust-analyzer\n" .. ada:screen(), function()
    return ada:lua(READY, 3, 27)
  end, 120000)
  return ada, said, root
end

local function with_rust(name, run)
  story(name, function()
    if ANALYZER ~= "" then
      return run()
    end
    io.stdout:write("   skipped: rust-analyzer is not installed (rustup component add rust-analyzer rust-src)\n")
  end)
end

with_rust("a rename by rust-analyzer reaches an unsaved and a closed file while a person types", function()
  local typed, state = "// rake, sow, mow, dig, and so on, while the agent renames", {}
  local function rename(reply)
    reply:call("rename_symbol", { path = "src/cart.rs", line = 1, symbol = "total", new_name = "sum_of" })
  end
  local ada, said, root = begin("rename", MAIN, {
    function(reply)
      reply:wait(function()
        return state.keys and state.keys > 5
      end)
      state.began = state.keys
      rename(reply)
    end,
    function(reply)
      state.answer = reply:newest()
      state.ended = state.keys
      reply:say("Renamed.")
    end,
  })
  -- Not saved: only the editor and its servers know of it.
  ada:keys("Gkolet more = cart::total(&[3]);")
  ada:escape()
  ada:command("Interline ask rename total")
  ada:keys("ggo")
  state.keys = 0
  local function key()
    state.keys = state.keys + 1
    ada:keys(typed:sub(state.keys, state.keys))
    if state.keys < #typed then
      vim.defer_fn(key, 80)
    end
  end
  key()
  ada:turns_end(1)
  await("all keys", function()
    return state.keys == #typed
  end)
  ada:escape()
  local function renamed(text)
    return (text:gsub("total", "sum_of"))
  end
  local wanted = "mod cart;\n" .. typed .. "\n\nfn main() {\n" .. '    println!("{}", cart::total(&[1, 2]));\n    let more = cart::total(&[3]);\n}'
  ada:text_becomes(root .. "/src/main.rs", renamed(wanted))
  same(renamed(CART), ada:text(root .. "/src/cart.rs"), state.answer)
  assert(state.began > 5 and state.ended < #typed, "it was renamed between keys")
  for name, text in pairs({ ["main.rs"] = MAIN, ["cart.rs"] = CART }) do
    local file = assert(io.open(root .. "/src/" .. name))
    same(text .. "\n", file:read("*a"), "nothing is saved")
    file:close()
  end
  same(nil, said.failed)
  ada:stop()
  said.stop()
end)

with_rust("problems that rust-analyzer reports after an edit reach the model in the same turn", function()
  local state = {}
  local function reported(words)
    return state.ada:lua("local words = ... return vim.iter(vim.diagnostic.get(0)):any(function(it) return it.message == words end)", words)
  end
  local steps = {
    function(reply)
      reply:call("read", { path = "src/main.rs" })
    end,
    function(reply)
      reply:call("edit", { path = "src/main.rs", old_string = "total(&[1, 2], 3)", new_string = "total()" })
    end,
    function(reply)
      state.seen = reply:newest()
      if state.seen:find("found 0", 1, true) then
        return reply:say("Broken.")
      end
      -- A busy machine: rust-analyzer took longer than the wait after an edit, so it is asked for.
      reply:wait(function()
        return reported("expected 1 argument, found 0")
      end)
      reply:call("diagnostics", { path = "src/main.rs" })
    end,
    function(reply)
      state.seen = reply:newest()
      reply:say("Broken.")
    end,
  }
  local ada, said, root = begin("problems", (MAIN:gsub("%]%)", "], 3)")), steps)
  state.ada = ada
  await("the first problem", function()
    return ada:lua("return #vim.diagnostic.get(0) > 0")
  end, 60000)
  ada:command("Interline ask break it elsewhere")
  ada:turns_end(1)
  assert(state.seen:find("expected 1 argument, found 0", 1, true), state.seen)
  same(nil, said.failed)
  ada:stop()
  said.stop()
end)
