--- `:checkhealth interline`.
local M = {}

local WAIT_MS = 3000

local function run(settings, argument)
  local ok, done = pcall(function()
    return vim.system({ settings.cmd[1], argument }, { text = true, env = settings.env, timeout = 5000 }):wait()
  end)
  return ok and done.code == 0 and vim.trim(done.stdout) or nil
end

--- @return boolean there is a program that says its version
local function program(health, settings)
  local name = settings.cmd[1]
  if vim.fn.executable(name) == 0 then
    health.error(("%s is not an executable"):format(name), {
      "cargo install --path . in the project's folder, or name the program in init.lua:",
      "vim.g.interline = { cmd = { '/path/to/interline', 'lsp' } }",
    })
    return false
  end
  local version = run(settings, "--version")
  if not version then
    health.error(("%s --version fails"):format(vim.fn.exepath(name)), { "Run it in a shell to see why." })
    return false
  end
  health.ok(("%s at %s"):format(version, vim.fn.exepath(name)))
  return true
end

--- What the program says of itself. It does not know the settings of Neovim.
local function doctor(health, settings)
  local said = run(settings, "doctor")
  if not said then
    return health.warn("interline doctor fails", { "Run it in a shell to see why." })
  end
  for _, line in ipairs(vim.split(said, "\n")) do
    local model = line:match("^model%s+(.*)$")
    if model and settings.settings.model then
      health.info("model    " .. settings.settings.model .. " (vim.g.interline)")
    elseif model and vim.startswith(model, "none") then
      health.warn("model    " .. model:gsub("^none%. *", "none. "), {
        "or name one in init.lua: vim.g.interline = { settings = { model = 'PROVIDER/ID' } }",
      })
    elseif not vim.startswith(line, "interline ") then
      health.info(line)
    end
  end
end

local function settings_of_neovim(health)
  local problem = require("interline.config").problem()
  if problem then
    health.error("vim.g.interline is not used: " .. problem)
  elseif vim.g.interline ~= nil then
    health.ok("vim.g.interline is used")
  else
    health.ok("vim.g.interline is not set: using the defaults")
  end
end

--- What a running server answers to `interline/status`.
local function asked(server)
  local status = nil
  require("interline.client").request(server, "interline/status", vim.empty_dict(), function(result)
    status = result
  end)
  vim.wait(WAIT_MS, function()
    return status ~= nil
  end, 10)
  return status
end

local function documents(health, status)
  for _, document in ipairs(status.documents or {}) do
    if document.synced == false or tostring(document.state):find("^outOfSync") then
      health.warn(("%s differs from the buffer (%s)"):format(document.uri, document.state), { ":edit reloads it" })
    end
  end
end

local function running(health, server)
  local client = require("interline.client")
  local words = "%s: %d buffers, columns in %s, session %s"
  local buffers = vim.tbl_count(server.log.documents)
  health.ok(words:format(server.root, buffers, client.encoding(server), server.session or "none yet"))
  local status = asked(server)
  if not status then
    return health.error("it does not answer", { ":Interline restart ends it and starts another one" })
  end
  health.info("models: " .. (status.models[1] and table.concat(status.models, ", ") or "none; see model above"))
  local trusted = (status.trust or {})[server.root]
  health.info(trusted and "the folder is trusted" or "the folder is not trusted: every edit asks; :Interline trust")
  for _, setting in ipairs(status.ignoredSettings or {}) do
    health.warn(("the setting %s (%s) is ignored: %s"):format(setting.key, setting.source, setting.reason))
  end
  documents(health, status)
end

function M.check()
  local health = vim.health
  health.start("interline")
  if vim.fn.has("nvim-0.10") == 0 then
    return health.error("Neovim 0.10 or newer is needed")
  end
  health.ok("Neovim " .. tostring(vim.version()))
  if vim.fn.exists(":Interline") == 0 then
    health.error("there is no command :Interline", { "plugin/interline.lua was not loaded: is the plugin on the runtimepath?" })
  end
  settings_of_neovim(health)
  local settings = require("interline.config").get()
  if program(health, settings) then
    doctor(health, settings)
  end
  health.start("interline: servers")
  local servers = require("interline.client").running()
  if #servers == 0 then
    health.info("none runs; the first :Interline command starts one")
  end
  for _, server in ipairs(servers) do
    running(health, server)
  end
  health.info("what servers write to their standard error is in " .. require("vim.lsp.log").get_filename())
end

return M
