--- One server for each root folder; attached to every normal buffer below it, so that closed
--- files that it edits are mirrored as soon as they are loaded.
local changes = require("interline.changes")
local columns = require("interline.columns")
local config = require("interline.config")

local M = {}

--- @class interline.Server
--- @field root string
--- @field id integer id of the LSP client
--- @field log table what the server was told
--- @field ready boolean initialized
--- @field waiting function[] run once it is
--- @field session string?
--- @field turn string? the running turn

--- @type table<string, interline.Server>
local servers = {}
local latest = nil

local CAPABILITIES = {
  version = 1,
  events = true,
  approvals = true,
  questions = true,
  save = true,
  edit = true,
  context = true,
  userSettings = true,
}

--- @return boolean a file's own buffer, not a plugin's
local function is_file(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  return vim.bo[buffer].buftype == "" and name ~= "" and not name:match("^%a[%w+.-]+://")
end

local function below(root, name)
  if root == "/" or vim.startswith(name, root .. "/") then
    return true
  end
  local real = vim.uv.fs_realpath(root)
  return real ~= nil and vim.startswith(vim.uv.fs_realpath(name) or name, real .. "/")
end

local function root_of(buffer)
  local cwd = vim.fs.normalize(vim.fn.getcwd())
  local from = cwd
  if is_file(buffer) then
    from = vim.fs.dirname(vim.fs.normalize(vim.api.nvim_buf_get_name(buffer)))
  end
  local marker = vim.fs.find({ ".git", ".interline" }, { upward = true, path = from })[1]
  if marker then
    return vim.fs.dirname(marker)
  end
  return (from == cwd or below(cwd, from)) and cwd or from
end

local function handlers(server)
  local chat = require("interline.chat")
  local function with(callback)
    return function(_, params, context)
      return callback(server, params, context)
    end
  end
  return {
    ["interline/turn/started"] = with(chat.started),
    ["interline/turn/event"] = with(chat.event),
    ["interline/turn/ended"] = with(chat.ended),
    ["interline/session/didChange"] = function() end,
    ["interline/status/didChange"] = function() end,
    ["interline/review/didChange"] = function() end,
    ["workspace/applyEdit"] = with(require("interline.edit").workspace),
    ["interline/edit/apply"] = with(require("interline.edit").apply),
    ["interline/approval/request"] = with(require("interline.approvals").request),
    ["interline/question/request"] = with(require("interline.questions").request),
    ["interline/workspace/save"] = with(require("interline.save").save),
  }
end

local function ended(server, code, signal)
  local waiting = #server.waiting > 0
  if servers[server.root] == server then
    servers[server.root] = nil
  end
  pcall(vim.api.nvim_del_augroup_by_name, "interline-" .. server.id)
  require("interline.approvals").forget(server)
  require("interline.questions").forget(server)
  if code ~= 0 or signal ~= 0 and signal ~= 15 or server.turn or waiting then
    local words = ("interline: the server ended (code %d, signal %d)."):format(code, signal)
    words = words .. " The next prompt starts a new one; why is in " .. require("vim.lsp.log").get_filename()
    require("interline.chat").lines({ "", "> " .. words })
    vim.notify(words, vim.log.levels.ERROR)
  end
  server.turn = nil
end

local function options(server)
  local settings = config.get()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { interline = CAPABILITIES }
  capabilities.general = capabilities.general or {}
  capabilities.general.positionEncodings = columns.offered
  return {
    name = "interline",
    cmd = function(dispatchers)
      local spawn = { env = settings.env, cwd = server.root }
      return server.log:through(vim.lsp.rpc.start(settings.cmd, dispatchers, spawn))
    end,
    root_dir = server.root,
    workspace_folders = { { uri = vim.uri_from_fname(server.root), name = vim.fs.basename(server.root) } },
    capabilities = capabilities,
    init_options = { user = next(settings.settings) and settings.settings or vim.empty_dict() },
    -- Every change is sent at once: edits name versions, and an answer may not overtake a change.
    flags = { debounce_text_changes = 0 },
    handlers = handlers(server),
    on_init = function()
      server.ready = true
      for _, callback in ipairs(server.waiting) do
        vim.schedule(callback)
      end
      server.waiting = {}
    end,
    on_exit = function(code, signal)
      vim.schedule(function()
        ended(server, code, signal)
      end)
    end,
  }
end

--- Attaches the server to a buffer below its root; `always`: also to one that the settings skip.
function M.attach(server, buffer, always)
  if not vim.api.nvim_buf_is_loaded(buffer) or not is_file(buffer) then
    return
  end
  local filetypes = config.get().filetypes
  if not always then
    local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buffer))
    if not below(server.root, name) or filetypes and not vim.tbl_contains(filetypes, vim.bo[buffer].filetype) then
      return
    end
  end
  if not vim.lsp.buf_is_attached(buffer, server.id) then
    vim.lsp.buf_attach_client(buffer, server.id)
  end
end

local function follow_renames(server, on)
  on("BufFilePre", function(event)
    -- Under its new name it is another document.
    if vim.lsp.buf_is_attached(event.buf, server.id) then
      vim.lsp.buf_detach_client(event.buf, server.id)
    end
  end)
  on("BufFilePost", function(event)
    M.attach(server, event.buf)
  end)
end

local function follow_line_ends(server, on)
  on("OptionSet", function(event)
    if vim.tbl_contains({ "fileformat", "endofline" }, event.match) then
      server.log:reshape(vim.api.nvim_get_current_buf())
    end
  end)
  on("BufWritePost", function(event)
    local options = vim.bo[event.buf]
    if options.fixendofline and not options.binary and not options.endofline then
      -- Written with a final line end; the option does not say so.
      options.endofline = true
    end
    server.log:reshape(event.buf)
  end)
end

local function watch(server)
  local group = vim.api.nvim_create_augroup("interline-" .. server.id, { clear = true })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on({ "BufReadPost", "BufNewFile", "FileType", "BufWinEnter", "BufWritePost" }, function(event)
    M.attach(server, event.buf)
  end)
  follow_renames(server, on)
  follow_line_ends(server, on)
  on({ "BufEnter", "CursorHold", "CursorHoldI" }, function()
    require("interline.context").tell(server)
  end)
end

local function launch(server)
  local id, reason
  if vim.fn.has("nvim-0.11") == 1 then
    id = vim.lsp.start(options(server), {
      attach = false,
      reuse_client = function()
        return false
      end,
    })
  else
    -- Here `vim.lsp.start` attaches the present buffer, whatever it is.
    id, reason = vim.lsp.start_client(options(server))
  end
  return id, reason
end

--- The server of `buffer`'s root (default: the present one's); starts it when there is none.
--- @return interline.Server?
function M.start(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  if not is_file(buffer) and latest and servers[latest.root] == latest then
    return latest
  end
  local root = root_of(buffer)
  local server = servers[root]
  if not server then
    local program = config.get().cmd[1]
    if vim.fn.executable(program) == 0 then
      local words = "interline: %s is not an executable program; see :checkhealth interline"
      vim.notify(words:format(program), vim.log.levels.ERROR)
      return nil
    end
    server = { root = root, ready = false, waiting = {} }
    server.log = changes.new(function(text)
      local client = vim.lsp.get_client_by_id(server.id)
      return columns.from_bytes(text, #text, client and client.offset_encoding or "utf-16")
    end)
    local id, reason = launch(server)
    if not id then
      vim.notify("interline: the server did not start: " .. (reason or "see :messages"), vim.log.levels.ERROR)
      return nil
    end
    server.id = id
    servers[root] = server
    watch(server)
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      M.attach(server, other)
    end
  end
  latest = server
  return server
end

--- The servers that run.
function M.running()
  return vim.tbl_values(servers)
end

local function show(err)
  local data = type(err.data) == "table" and err.data or {}
  local words = "interline: " .. tostring(err.message)
  if type(data.hint) == "string" and data.hint ~= "" then
    words = words .. "\n" .. data.hint
  end
  vim.notify(words, vim.log.levels.ERROR)
end

--- Sends a request, as soon as the server is ready, and calls back with its result; an error is
--- shown with its hint.
--- @param server interline.Server
function M.request(server, method, params, callback, failed)
  local function send()
    local client = vim.lsp.get_client_by_id(server.id)
    if not client then
      return
    end
    local function answered(err, result)
      if err then
        show(err)
        if failed then
          failed(err)
        end
      elseif callback then
        callback(result)
      end
    end
    -- Pending changes of all buffers go out first: the buffer is left nil on purpose.
    if vim.fn.has("nvim-0.11") == 1 then
      client:request(method, params, answered)
    else
      client.request(method, params, answered)
    end
  end
  if server.ready then
    send()
  else
    table.insert(server.waiting, send)
  end
end

--- Sends a notification; dropped while the server is not ready.
--- @param server interline.Server
function M.notify(server, method, params)
  local client = vim.lsp.get_client_by_id(server.id)
  if not client or not server.ready then
    return
  end
  if vim.fn.has("nvim-0.11") == 1 then
    client:notify(method, params)
  else
    client.notify(method, params)
  end
end

return M
