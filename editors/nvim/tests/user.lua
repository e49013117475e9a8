--- A person at a Neovim in a terminal of its own: keys go in through the pty, the screen is what
--- the terminal shows, and buffers are read over a socket.
local M = {}

local User = {}
User.__index = User

local count = 0

--- A home of its own, as a table of environment variables.
function M.home(name)
  local home = vim.fn.getcwd(-1, -1) .. "/home-" .. name
  local env = { HOME = home, TMPDIR = home .. "/tmp", XDG_RUNTIME_DIR = home .. "/tmp" }
  for variable, folder in pairs({ CONFIG = "/.config", DATA = "/.local/share", STATE = "/.local/state", CACHE = "/.cache" }) do
    env["XDG_" .. variable .. "_HOME"] = home .. folder
  end
  for _, folder in pairs(env) do
    vim.fn.mkdir(folder, "p", "0o700")
  end
  -- What a command does depends on the machine's sandbox: one story elsewhere turns it on.
  vim.fn.mkdir(env.XDG_CONFIG_HOME .. "/interline", "p", "0o700")
  vim.fn.writefile({ 'sandbox.mode = "off"' }, env.XDG_CONFIG_HOME .. "/interline/config.toml")
  env.TERM, env.COLORTERM = "xterm-256color", "truecolor"
  env.NVIM, env.NVIM_LISTEN_ADDRESS = "", ""
  return env
end

--- The usual set-up: the plugin on the runtime path, and a server that asks this model.
local SETUP = [[
vim.opt.runtimepath:prepend(%q)
vim.cmd("runtime! plugin/interline.lua")
vim.cmd("filetype plugin on")
vim.o.hidden, vim.o.swapfile, vim.o.shortmess = true, %s, vim.o.shortmess .. "I"
vim.g.interline = {
  cmd = { %q, "lsp" },
  settings = { model = "anthropic/claude-opus-5-5" },
  env = { ANTHROPIC_BASE_URL = %q, ANTHROPIC_API_KEY = "test" },
}
]]

--- @param options {home: table, model: Model?, args?: string[], swap?: boolean, init?: string, cwd?: string}
function M.start(options)
  count = count + 1
  local home = options.home
  local socket = ("%s/s%d"):format(home.TMPDIR, count)
  local command = vim.split(vim.env.NVIM_COMMAND, " ")
  if options.init ~= "" then
    local init = home.HOME .. "/init.lua"
    local setup = options.init
      or SETUP:format(vim.env.INTERLINE_PLUGIN, tostring(options.swap == true), vim.env.INTERLINE_BIN, options.model and options.model.url or "http://127.0.0.1:9")
    vim.fn.writefile(vim.split(setup, "\n"), init)
    vim.list_extend(command, { "--clean", "-i", "NONE", "-u", init })
  end
  local user = setmetatable({ socket = socket, requests = {} }, User)
  local screen = vim.list_extend(vim.split(vim.env.NVIM_COMMAND, " "), { "--server", socket, "--remote-ui" })
  local unpacked = (vim.env.VIMRUNTIME or "") .. "/../../../lib/nvim"
  if vim.fn.isdirectory(unpacked .. "/parser") == 1 then
    -- A Neovim that is not where it was built for does not find its parsers.
    vim.list_extend(command, { "--cmd", "set runtimepath+=" .. vim.fn.resolve(unpacked) })
  end
  vim.list_extend(command, { "--cmd", "set columns=" .. (vim.env.WIDTH or "80") })
  vim.list_extend(command, { "--headless", "--listen", socket })
  vim.list_extend(command, options.args or {})
  -- Two processes, because an unpacked Neovim that starts its own core starts the loader.
  user.core = vim.fn.jobstart(command, {
    cwd = options.cwd,
    env = home,
    -- Where an older Neovim writes what is meant for the terminal.
    on_stderr = function(_, data)
      table.insert(user.requests, table.concat(data, "\n"))
    end,
    on_exit = function(_, code)
      user.ended = code
    end,
  })
  await("Neovim's socket", function()
    local ok, channel = pcall(vim.fn.sockconnect, "pipe", socket, { rpc = true })
    user.channel = ok and channel > 0 and channel or nil
    return user.channel ~= nil
  end)
  user:attach(screen, home)
  return user
end

--- Opens the terminal, with Neovim's own interface in it: 80 columns and about 24 lines, as a
--- Neovim without a screen is (0.12.4 corrupts its memory when it is resized), or `WIDTH` columns.
function User:attach(command, home)
  vim.cmd("silent! only!")
  vim.o.columns = tonumber(vim.env.WIDTH) or 80
  if vim.api.nvim_win_get_width(0) ~= vim.o.columns then
    -- A window that was there before keeps its width.
    vim.cmd("tabnew | tabonly")
  end
  vim.o.laststatus, vim.o.showtabline = 0, 0
  self.buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(0, self.buffer)
  vim.api.nvim_create_autocmd("TermRequest", {
    buffer = self.buffer,
    callback = function(event)
      table.insert(self.requests, type(event.data) == "table" and event.data.sequence or event.data)
    end,
  })
  if vim.fn.has("nvim-0.11") == 1 then
    self.job = vim.fn.jobstart(command, { env = home, term = true })
  else
    self.job = vim.fn.termopen(command, { env = home })
  end
  await("the interface", function()
    return #vim.fn.rpcrequest(self.channel, "nvim_list_uis") > 0
  end)
end

--- Runs Lua there. While Neovim waits for a key it would never answer, so that is an error.
function User:lua(code, ...)
  await(function()
    return "a Neovim that waits for no key\n" .. self:screen()
  end, function()
    return not vim.fn.rpcrequest(self.channel, "nvim_get_mode").blocking
  end)
  return vim.fn.rpcrequest(self.channel, "nvim_exec_lua", code, { ... })
end

--- `requests`: what Neovim asked of the terminal by escape sequences.
function User:mode()
  return vim.fn.rpcrequest(self.channel, "nvim_get_mode").mode
end

--- Types these bytes.
function User:keys(bytes)
  vim.fn.chansend(self.job, bytes)
end

function User:mode_becomes(mode)
  await(function()
    return "mode " .. mode .. "\n" .. self:screen()
  end, function()
    return self:mode() == mode
  end)
end

--- Leaves Insert mode; alone, because a terminal's <Esc> together with a key is <M-key>. Where
--- an answer of the terminal follows it closely, it is taken for a part of that, and pressed again.
function User:escape()
  for _ = 1, 10 do
    self:keys("\27")
    if vim.wait(2000, function()
      return self:mode() == "n"
    end, 5) then
      return
    end
  end
  self:mode_becomes("n")
end

--- Types a command of the command line.
function User:command(words)
  self:keys(":" .. words .. "\r")
end

--- What the terminal shows.
function User:screen()
  local lines = vim.api.nvim_buf_get_lines(self.buffer, 0, -1, true)
  return table.concat(vim.list_slice(lines, math.max(#lines - vim.o.lines + 1, 1)), "\n")
end

--- Waits until the screen shows this text.
function User:sees(part, limit)
  await(function()
    return "on the screen: " .. part .. "\n" .. self:screen()
  end, function()
    return self:screen():find(part, 1, true) ~= nil
  end, limit)
end

--- Waits until the screen does not show it any more.
function User:sees_no(part)
  await(function()
    return "gone from the screen: " .. part .. "\n" .. self:screen()
  end, function()
    return self:screen():find(part, 1, true) == nil
  end)
end

--- Keeps the screen below `SCREENS`, to be looked at.
function User:keep(name)
  if not vim.env.SCREENS then
    return
  end
  vim.fn.mkdir(vim.env.SCREENS, "p")
  vim.fn.writefile(vim.split(self:screen(), "\n"), ("%s/%s.txt"):format(vim.env.SCREENS, name))
end

--- The lines of a file's buffer.
function User:text(path)
  return self:lua("return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true), '\\n')", path)
end

--- Waits until a file's buffer has this text.
function User:text_becomes(path, wanted)
  local got
  local ok = vim.wait(20000, function()
    got = self:text(path)
    return got == wanted
  end, 5)
  same(wanted, got, ok and "" or "waited for the text\n" .. self:screen())
end

--- Waits until this many turns have ended.
function User:turns_end(wanted)
  await(function()
    return ("%d ended turns\n%s"):format(wanted, self:screen())
  end, function()
    return self:lua([[
      if not _G.ended_turns then
        _G.ended_turns = 0
      end
      return _G.ended_turns
    ]]) >= wanted
  end, 60000)
end

--- Counts ended turns from now on.
function User:count_turns()
  self:lua([[
    _G.ended_turns = 0
    vim.api.nvim_create_autocmd("User", { pattern = "InterlineEnded", callback = function(event)
      _G.ended_turns, _G.last_end = _G.ended_turns + 1, event.data.stopReason
    end })
  ]])
end

--- The process ids of the servers that this Neovim started.
function User:servers()
  local parent = self:lua("return vim.uv.os_getpid()")
  local out = vim.system({ "pgrep", "-P", tostring(parent), "interline" }):wait().stdout
  return vim.tbl_map(tonumber, vim.split(vim.trim(out), "\n", { trimempty = true }))
end

--- Ends it as a power cut does.
function User:kill()
  local process = self:lua("return vim.uv.os_getpid()")
  vim.fn.chanclose(self.channel)
  vim.uv.kill(process, "sigkill")
  await("Neovim's end", function()
    return self.ended ~= nil
  end)
end

function User:stop()
  if not self.ended then
    pcall(vim.fn.rpcnotify, self.channel, "nvim_command", "qall!")
    if not vim.wait(10000, function()
      return self.ended ~= nil
    end, 5) then
      vim.fn.jobstop(self.job)
    end
  end
  pcall(vim.api.nvim_buf_delete, self.buffer, { force = true })
end

--- A folder with these files.
function M.project(files)
  count = count + 1
  local root = ("%s/w%d"):format(vim.fn.getcwd(-1, -1), count)
  vim.fn.mkdir(root .. "/.git", "p")
  for name, content in pairs(files) do
    vim.fn.mkdir(vim.fs.dirname(root .. "/" .. name), "p")
    local file = assert(io.open(root .. "/" .. name, "wb"))
    file:write(content)
    file:close()
  end
  return root
end

return M
