--- One server for each root folder; attached to every normal buffer below it, so that closed
--- files that it edits are mirrored as soon as they are loaded.
local changes = require("interline.changes")
local columns = require("interline.columns")
local config = require("interline.config")
local say = require("interline.say")

local M = {}

--- @class interline.Server
--- @field root string
--- @field id integer id of the LSP client
--- @field log table what was sent to the server
--- @field ready boolean initialized
--- @field waiting function[] run once it is
--- @field session string?
--- @field seq integer? of the session's item that was shown last
--- @field turn string? the running turn
--- @field turn_session string? its session
--- @field about table? what the server says of the session
--- @field trusted boolean? the user trusts the root
--- @field changed_turn string? the last turn that changed files
--- @field sent table[]? prompts that have not begun
--- @field reported table<string, string>? hashes of the diagnostics that were sent
--- @field stopping boolean? it was asked to end
--- @field exit integer[]? code and signal that it ended with
--- @field over boolean? it ended

--- @type table<string, interline.Server>
local servers = {}
--- @class interline.Past
--- @field session string
--- @field seq integer of the item that was shown last
--- @field turn string? that ran

--- The session of a root whose server ended.
--- @type table<string, interline.Past>
local past = {}
local latest = nil

local CAPABILITIES = {
  version = 1,
  events = true,
  approvals = true,
  questions = true,
  save = true,
  edit = true,
  context = true,
  query = true,
  review = true,
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

--- What the editor's other language servers know.
local function query(server, params)
  local own = assert(vim.lsp.get_client_by_id(server.id))
  return require("interline.query").answer(own, function(buffer)
    return server.log:version(buffer)
  end, params)
end

local function handlers(server)
  local events = require("interline.events")
  local function with(callback)
    return function(_, params, context)
      return callback(server, params, context)
    end
  end
  return {
    ["interline/turn/started"] = with(events.started),
    ["interline/turn/event"] = with(events.event),
    ["interline/turn/ended"] = with(events.ended),
    ["interline/session/didChange"] = with(events.session),
    ["interline/status/didChange"] = with(require("interline.bar").ask_trust),
    ["interline/review/didChange"] = with(require("interline.marks").changed),
    ["window/showDocument"] = with(require("interline.mcp").show_document),
    ["workspace/applyEdit"] = with(require("interline.edit").workspace),
    ["interline/edit/apply"] = with(require("interline.edit").apply),
    ["interline/approval/request"] = with(require("interline.approvals").request),
    ["interline/question/request"] = with(require("interline.questions").request),
    ["interline/workspace/save"] = with(require("interline.save").save),
    ["interline/editor/query"] = with(query),
    ["interline/workspace/didChangeOnDisk"] = with(require("interline.save").reload),
  }
end

--- Reports that the server ended unexpectedly; the message itself is short.
local function obituary(server, code, signal)
  local how = signal ~= 0 and ("was killed (signal %d)"):format(signal) or ("ended (code %d)"):format(code)
  say.error(("the server %s; :Interline restart"):format(how), server)
  local words = { ("The server %s."):format(how) }
  if server.turn then
    table.insert(words, "Its turn stopped; changes in your buffers stay.")
  end
  local resumed = server.session and " and continues the session" or ""
  table.insert(words, (":Interline restart, or the next prompt, restarts it%s."):format(resumed))
  table.insert(words, "The reason may be in " .. require("vim.lsp.log").get_filename())
  require("interline.chat").of(server):lines({ "", "> " .. table.concat(words, " ") })
end

local function ended(server, code, signal)
  server.over = true
  if servers[server.root] == server then
    servers[server.root] = nil
  end
  if server.session then
    past[server.root] = { session = server.session, seq = server.seq or 0, turn = server.turn }
  end
  pcall(vim.api.nvim_del_augroup_by_name, "interline-" .. server.id)
  require("interline.diagnostics").stop(server)
  require("interline.approvals").forget(server)
  require("interline.marks").forget(server)
  require("interline.questions").forget(server)
  local chat, lost = require("interline.chat").of(server), require("interline.sent").lost(server)
  local unexpected = code ~= 0 or signal ~= 0 and signal ~= 15 or server.turn or #server.waiting > 0
  if unexpected and not server.stopping then
    obituary(server, code, signal)
  end
  for _, text in ipairs(lost) do
    require("interline.compose").give_back(server.root, text)
  end
  server.turn = nil
  require("interline.transcript").calm(chat)
  for _, section in ipairs({ "output", "plan", "queue" }) do
    chat:section(section)
  end
  chat:title({ parts = { server.stopping and "stopped" or "the server ended; :Interline restart" } })
  for _, callback in ipairs(server.stopping or {}) do
    callback()
  end
end

--- Opens the prompt window about the lines of a code action.
local function chat_about(server, argument, action)
  local range = type(argument) == "table" and argument.range
  local lines = range and { range.start.line + 1, range["end"].line + 1 } or nil
  if lines and lines[2] > lines[1] and range["end"].character == 0 then
    lines[2] = lines[2] - 1
  end
  local buffer = action and action.bufnr
  local window = buffer and vim.fn.bufwinid(buffer)
  if window and window ~= -1 then
    vim.api.nvim_set_current_win(window)
  end
  require("interline.chat").of(server):open()
  require("interline.compose").open({ root = server.root, lines = lines })
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
      local quiet = vim.tbl_extend("force", dispatchers, {
        -- Neovim's own words about a bad end are so long that they wait for <Enter>, and take
        -- the keys of a person who types; ours follow.
        on_exit = function(code, signal)
          server.exit = { code, signal }
          dispatchers.on_exit(0, 0)
        end,
      })
      return server.log:through(vim.lsp.rpc.start(settings.cmd, quiet, spawn))
    end,
    root_dir = server.root,
    workspace_folders = { { uri = vim.uri_from_fname(server.root), name = vim.fs.basename(server.root) } },
    capabilities = capabilities,
    init_options = { user = next(settings.settings) and settings.settings or vim.empty_dict() },
    -- Every change is sent at once: edits name versions, and an answer may not overtake a change.
    flags = { debounce_text_changes = 0 },
    handlers = handlers(server),
    -- Of the code action "ask in chat…": the prompt window, instead of a transcript file.
    commands = {
      ["interline.chat"] = function(command, action)
        chat_about(server, (command.arguments or {})[1], action)
      end,
    },
    on_init = function()
      server.ready = true
      for _, callback in ipairs(server.waiting) do
        vim.schedule(callback)
      end
      server.waiting = {}
      vim.schedule(function()
        require("interline.bar").ask_trust(server)
        require("interline.diagnostics").changed(server)
        require("interline.languages").watch(assert(vim.lsp.get_client_by_id(server.id)), "interline-" .. server.id)
      end)
    end,
    on_exit = function()
      vim.schedule(function()
        ended(server, unpack(server.exit))
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
      local buffer = vim.api.nvim_get_current_buf()
      require("interline.undo").forget_final_line_end(buffer)
      server.log:reshape(buffer)
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
  require("interline.marks").watch(server, on)
  on({ "BufEnter", "CursorHold", "CursorHoldI" }, function()
    require("interline.context").tell(server)
  end)
  on({ "DiagnosticChanged", "LspAttach" }, function()
    require("interline.diagnostics").changed(server)
  end)
  require("interline.idle").watch()
  require("interline.notify").watch()
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

--- Whether the program can be started; says what to do where it cannot.
local function is_there(program)
  if vim.fn.executable(program) == 1 then
    return true
  end
  say.error(("%s is not an executable; see :checkhealth interline"):format(program))
  return false
end

--- The server of a root; starts it if needed.
--- @return interline.Server?
function M.start_in(root)
  local server = servers[root]
  if not server then
    if not is_there(config.get().cmd[1]) then
      return nil
    end
    server = { root = root, ready = false, waiting = {} }
    server.log = changes.new(function(text)
      return columns.from_bytes(text, #text, M.encoding(server))
    end)
    local id, reason = launch(server)
    if not id then
      say.error("the server did not start: " .. (reason or "see :messages"), server)
      return nil
    end
    server.id = id
    servers[root] = server
    watch(server)
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      M.attach(server, other)
    end
  end
  latest = root
  return server
end

--- The root that commands in `buffer` (default: the present one) are about.
function M.root(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local chat = require("interline.chat").at(buffer)
  local root = chat and chat.root or require("interline.compose").root(buffer)
  if root then
    return root
  elseif not is_file(buffer) and latest then
    return latest
  end
  return root_of(buffer)
end

--- The server of `buffer`'s root (default: the current one's); starts it if needed.
--- @return interline.Server?
function M.start(buffer)
  return M.start_in(M.root(buffer))
end

--- The running server of a root.
--- @return interline.Server?
function M.of(root)
  return servers[root]
end

--- The session of a root whose last server ended; asked for once.
--- @return interline.Past?
function M.take_past(root)
  local taken = past[root]
  past[root] = nil
  return taken
end

--- Names of the models that the present root's server offers.
--- @return string[]
function M.models()
  local server = servers[M.root()]
  local client = server and vim.lsp.get_client_by_id(server.id)
  local said = client and client.server_capabilities and vim.tbl_get(client.server_capabilities, "experimental", "interline")
  return type(said) == "table" and type(said.models) == "table" and said.models or {}
end

--- @return string encoding of columns on the wire
function M.encoding(server)
  local client = server.id and vim.lsp.get_client_by_id(server.id)
  return client and client.offset_encoding or "utf-16"
end

--- A server that is asked to end and does not is killed after this long.
local STOP_MS = 3000

--- Ends a server, and calls back when it has ended.
--- @param server interline.Server
function M.stop(server, callback)
  if server.stopping then
    return table.insert(server.stopping, callback)
  end
  server.stopping = { callback }
  local function stop(force)
    local client = vim.lsp.get_client_by_id(server.id)
    if client and not server.over then
      if vim.fn.has("nvim-0.11") == 1 then
        client:stop(force)
      else
        client.stop(force)
      end
    end
  end
  stop(false)
  vim.defer_fn(function()
    stop(true)
  end, STOP_MS)
end

--- The servers that run.
function M.running()
  return vim.tbl_values(servers)
end

local function show(server, err)
  local data = type(err.data) == "table" and err.data or {}
  local words = tostring(err.message)
  local hint = type(data.hint) == "string" and data.hint or ""
  if not words:lower():find(hint:lower(), 1, true) then
    words = words .. "\n" .. hint
  end
  say.error(words, server)
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
        show(server, err)
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
