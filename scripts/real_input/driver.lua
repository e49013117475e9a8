--- The user in Neovim: opens a file, types without saving, asks, answers approvals, types on
--- while the agent works, and takes the agent's edit back. Each event is a line of JSON.
local plan = vim.json.decode(table.concat(vim.fn.readfile(vim.env.REAL_PLAN), "\n"))
vim.opt.runtimepath:prepend(vim.env.INTERLINE_PLUGIN)
vim.cmd("runtime! plugin/interline.lua")
vim.cmd("filetype on")
vim.o.hidden = true

local function tell(kind, more)
  local event = vim.tbl_extend("force", { kind = kind }, more or {})
  io.stdout:write(vim.json.encode(event), "\n")
  io.stdout:flush()
end

local function await(what, condition, limit)
  if not vim.wait(limit or 30000, condition, 5) then
    error("waited in vain: " .. what)
  end
end

local function relative(uri)
  return vim.uri_to_fname(uri):sub(#plan.root + 2)
end

local notices = {}
vim.notify = function(message)
  table.insert(notices, message)
  tell("notice", { text = message })
end

local function text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n")
end

local function type_at(buffer, keys, what)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("normal! " .. keys .. what)
  end)
  tell("typed", { text = what, file = plan.open, saved = not vim.bo[buffer].modified })
end

local server, opened
local before_edit, after_edit = nil, nil

--- Runs `before` and `after` around the plugin's handler of a message from the server.
local function around(method, before, after)
  local handlers = vim.lsp.get_client_by_id(server.id).handlers
  local handler = handlers[method]
  handlers[method] = function(err, params, context)
    before(params)
    local answer = handler(err, params, context)
    after(params, answer)
    return answer
  end
end

local function nothing() end

local function watch()
  around("interline/edit/apply", function(params)
    if relative(params.uri) == plan.open and not before_edit then
      type_at(opened, "ggO", plan.typed[3])
      before_edit = text(opened)
    end
  end, function(params, answer)
    local file = relative(params.uri)
    tell("edit", { file = file, status = answer.status, reason = answer.reason })
    if file == plan.open then
      after_edit = text(opened)
    end
  end)
  local subject
  around("interline/approval/request", function(params)
    subject = params.subject
    tell("asked", { title = params.title, reason = params.reason, what = subject.kind,
      unsaved = subject.unsaved, command = subject.command })
  end, nothing)
  around("interline/workspace/save", nothing, function(_, answer)
    for _, result in ipairs(answer.results) do
      tell("saved", { file = relative(result.uri), status = result.status, reason = result.reason })
    end
  end)
  local checks = 0
  around("interline/turn/event", nothing, function(params)
    local event = params.event
    if event.tool == "exec" and (event.status == "failed" or event.status == "completed") then
      checks = checks + 1
      if checks == 1 then
        type_at(opened, "Go", plan.typed[2])
      end
    end
  end)
end

vim.api.nvim_create_autocmd("User", {
  pattern = "InterlineAsks",
  callback = function(event)
    tell("answered", { prompt = "Interline asks: " .. event.data.title, choice = "Allow" })
    -- Later, as a person does.
    vim.schedule(function()
      require("interline.approvals").answer("allowOnce")
    end)
  end,
})

local function undo()
  local result = {}
  vim.api.nvim_buf_call(opened, function()
    vim.cmd("silent undo")
    result.taken_back = text(opened) == before_edit
    vim.cmd("silent redo")
    result.again = text(opened) == after_edit
  end)
  tell("undo", result)
end

local function story()
  vim.g.interline = {
    cmd = { vim.env.INTERLINE_BIN, "lsp" },
    settings = { model = "anthropic/claude-opus-5-5" },
    env = { ANTHROPIC_BASE_URL = plan.url, ANTHROPIC_API_KEY = "test" },
  }
  local version = vim.version()
  tell("editor", { version = ("%d.%d.%d"):format(version.major, version.minor, version.patch) })
  vim.cmd("edit " .. vim.fn.fnameescape(plan.root .. "/" .. plan.open))
  opened = vim.api.nvim_get_current_buf()
  -- No comment leader of the line before in front of what is typed.
  vim.opt_local.formatoptions:remove({ "r", "o" })
  vim.cmd("Interline trust")
  await("trust", function()
    return notices[1] ~= nil
  end)
  server = require("interline.client").running()[1]
  watch()
  type_at(opened, "ggO", plan.typed[1])
  local ended = nil
  vim.api.nvim_create_autocmd("User", {
    pattern = "InterlineEnded",
    callback = function(event)
      ended = event.data
    end,
  })
  vim.cmd("Interline ask " .. plan.prompt)
  await("the turn's end", function()
    return ended ~= nil
  end, 600000)
  tell("ended", { reason = ended.stopReason, error = ended.error })
  if after_edit then
    undo()
  end
  local unsaved = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].modified and vim.bo[buffer].buftype == "" then
      table.insert(unsaved, vim.api.nvim_buf_get_name(buffer))
    end
  end
  tell("buffers", { unsaved = unsaved, answers = require("interline.chat").text() })
end

local ok, reason = xpcall(story, debug.traceback)
if not ok then
  tell("failed", { reason = tostring(reason), answers = require("interline.chat").text() })
end
for _, client in ipairs(vim.lsp.get_clients()) do
  client.stop(client, true)
end
vim.cmd(ok and "qall!" or "cquit! 1")
