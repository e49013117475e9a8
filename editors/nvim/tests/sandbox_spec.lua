--- Commands in the sandbox see what is on the screen; what they write comes back as an edit.
local project = require("project")

local BEFORE = "pub fn total(prices: &[u32]) -> u32 {\n    prices.len() as u32\n}\n\n#[test]\nfn sum() {\n    assert_eq!(total(&[2, 3]), 5);\n}\n"
local CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
-- The toolchain is found below the user's own home, which the stories do not have.
local HOME = ("HOME='%s' "):format(vim.env.REAL_HOME)

local function skipped()
  local doctor = vim.system({ vim.env.INTERLINE_BIN, "doctor" }, { text = true }):wait().stdout or ""
  if not doctor:find("\nsandbox +full") then
    return "the sandbox is not complete here"
  end
  local cargo = vim.system({ "sh", "-c", HOME .. "cargo fmt --version" }, { text = true }):wait()
  return cargo.code ~= 0 and "cargo or rustfmt is not installed" or nil
end

story("a fix that is not saved is tested, and a formatter's change is an edit to review", function()
  local settings = vim.env.XDG_CONFIG_HOME .. "/interline/config.toml"
  vim.fn.writefile({ 'sandbox.mode = "auto"' }, settings)
  local why = skipped()
  if why then
    io.stdout:write("   skipped: " .. why .. "\n")
    return
  end
  local function call(command, contains)
    return { expect = contains and { toolResult = { name = "exec", contains = contains, isError = false } },
      calls = { { "exec", { command = HOME .. command } } } }
  end
  local root = project.make({ ["Cargo.toml"] = CARGO, ["src/lib.rs"] = BEFORE }, {
    call("cargo test --offline --quiet 2>&1"),
    call("cargo fmt", "1 passed"),
    { expect = { toolResult = { name = "exec", contains = "The command changed `src/lib.rs`", isError = false } }, say = "Done." },
  })
  vim.cmd("edit " .. root .. "/src/lib.rs")
  project.trust()
  vim.api.nvim_buf_set_lines(0, 1, 2, true, { "  prices.iter().sum()" })
  project.answer_with("allowOnce")
  local ended = project.ask("test it and format it")
  same("endTurn", ended.stopReason, vim.inspect(ended))
  local formatted = (BEFORE:gsub("prices.len%(%) as u32", "prices.iter().sum()"))
  same(formatted, project.text() .. "\n")
  same(BEFORE, project.read(root .. "/src/lib.rs"), "the file on disk")
  same(true, vim.bo.modified)
  local window = vim.api.nvim_get_current_win()
  vim.cmd("Interline review")
  await("the change to review", function()
    return #vim.fn.getqflist() == 1
  end)
  vim.api.nvim_set_current_win(window)
  vim.cmd("silent undo")
  same("  prices.iter().sum()", vim.api.nvim_buf_get_lines(0, 1, 2, true)[1], "after one undo")
end)
