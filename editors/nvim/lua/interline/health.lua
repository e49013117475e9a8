--- `:checkhealth interline`.
local M = {}

local function program(health)
  local settings = require("interline.config").get()
  local name = settings.cmd[1]
  if vim.fn.executable(name) == 0 then
    health.error(("%s is not an executable program"):format(name), {
      "cargo install --path . in the project's folder, or name the program:",
      "vim.g.interline = { cmd = { '/path/to/interline', 'lsp' } }",
    })
    return
  end
  local function run(argument)
    local ok, done = pcall(function()
      return vim.system({ name, argument }, { text = true, env = settings.env, timeout = 5000 }):wait()
    end)
    return ok and done.code == 0 and vim.trim(done.stdout) or nil
  end
  local version = run("--version")
  if not version then
    health.error(("%s --version fails"):format(vim.fn.exepath(name)))
    return
  end
  health.ok(("%s at %s"):format(version, vim.fn.exepath(name)))
  for _, line in ipairs(vim.split(run("doctor") or "`doctor` fails", "\n")) do
    health.info(line)
  end
end

local function servers(health)
  local running = require("interline.client").running()
  if #running == 0 then
    health.info("no server runs; the first :Interline command starts one")
  end
  for _, server in ipairs(running) do
    local client = vim.lsp.get_client_by_id(server.id)
    local words = "%s: %d buffers, columns in %s, session %s"
    local session = server.session or "none yet"
    local buffers = vim.tbl_count(server.log.documents)
    health.ok(words:format(server.root, buffers, client and client.offset_encoding or "?", session))
  end
end

function M.check()
  local health = vim.health
  health.start("interline")
  if vim.fn.has("nvim-0.10") == 0 then
    health.error("Neovim 0.10 or newer is needed")
    return
  end
  health.ok("Neovim " .. tostring(vim.version()))
  program(health)
  servers(health)
end

return M
