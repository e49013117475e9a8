--- Runs one story file inside Neovim: `story("name", function() … end)` for each behaviour.
--- Results go to standard output (`nvim -l` prints on standard error).
vim.opt.runtimepath:prepend(vim.env.INTERLINE_PLUGIN)
package.path = vim.env.INTERLINE_PLUGIN .. "/tests/?.lua;" .. package.path
vim.cmd("runtime! plugin/interline.lua")
-- File types without their plugins: some need parsers that an unpacked Neovim does not find.
vim.cmd("filetype on | filetype plugin off")
vim.o.hidden = true


local stories = {}

function _G.story(name, run)
  table.insert(stories, { name = name, run = run })
end

--- @param wanted any
--- @param got any
function _G.same(wanted, got, what)
  if not vim.deep_equal(wanted, got) then
    local words = "%s\n  wanted %s\n  got    %s"
    error(words:format(what or "different", vim.inspect(wanted), vim.inspect(got)), 2)
  end
end

--- Waits until the condition holds; never sleeps for a fixed time.
function _G.await(what, condition, limit)
  if not vim.wait(limit or 20000, condition, 5) then
    error("waited in vain: " .. (type(what) == "function" and what() or what), 2)
  end
end

local passed, failed = 0, 0
local only = vim.env.STORY
local loaded, err = pcall(dofile, arg[1] or _G.arg[1])
if not loaded then
  failed = 1
  io.stdout:write("FAIL loading: ", tostring(err), "\n")
end
for _, each in ipairs(stories) do
  if not only or each.name:find(only, 1, true) then
    local ok, reason = xpcall(each.run, debug.traceback)
    if ok then
      passed = passed + 1
      io.stdout:write("ok ", each.name, "\n")
    else
      failed = failed + 1
      io.stdout:write("FAIL ", each.name, ": ", tostring(reason), "\n")
      if vim.env.MESSAGES then
        io.stdout:write(vim.api.nvim_exec2("messages", { output = true }).output, "\n")
      end
    end
  end
end
io.stdout:write(("COUNT %d %d\n"):format(passed, failed))
io.stdout:flush()
for _, client in ipairs(vim.lsp.get_clients()) do
  client.stop(client, true)
end
vim.cmd(failed == 0 and "qall!" or "cquit! 1")
