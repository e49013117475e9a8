--- A small project of its own for each story, with its own server.
local client = require("interline.client")
local recording = require("recording")

local M = {}

local count = 0
--- Results of ended turns, newest last.
M.ended = {}
vim.api.nvim_create_autocmd("User", {
  pattern = "InterlineEnded",
  callback = function(event)
    table.insert(M.ended, event.data)
  end,
})

--- All that was notified.
M.notices = {}
vim.notify = function(message, level)
  table.insert(M.notices, { message = message, level = level })
end

--- @param files table<string, string> by name
--- @param steps table[] of the recorded model
--- @param settings? table
function M.make(files, steps, settings)
  for _, server in ipairs(client.running()) do
    vim.lsp.get_client_by_id(server.id).stop(vim.lsp.get_client_by_id(server.id), true)
  end
  await("the last server's end", function()
    return #client.running() == 0
  end)
  vim.cmd("silent! tabonly! | silent! only! | silent! %bwipeout!")
  vim.o.fixendofline = true
  count = count + 1
  local root = ("%s/p%d"):format(vim.fn.getcwd(-1, -1), count)
  vim.fn.mkdir(root .. "/.git", "p")
  for name, content in pairs(files) do
    vim.fn.mkdir(vim.fs.dirname(root .. "/" .. name), "p")
    local file = assert(io.open(root .. "/" .. name, "wb"))
    file:write(content)
    file:close()
  end
  M.ended, M.notices = {}, {}
  vim.api.nvim_create_augroup("answer_with", { clear = true })
  vim.g.interline = {
    cmd = { vim.env.INTERLINE_BIN, "lsp" },
    settings = vim.tbl_extend("force", { model = recording.write(steps) }, settings or {}),
  }
  return root
end

function M.read(path)
  local file = io.open(path, "rb")
  local content = file and file:read("*a")
  if file then
    file:close()
  end
  return content
end

--- Trusts the present folder.
function M.trust()
  vim.cmd("Interline trust")
  await("trust", function()
    return vim.iter(M.notices):any(function(notice)
      return notice.message:find("is trusted", 1, true) ~= nil
    end)
  end)
end

--- The present buffer's server, once it is ready.
function M.server()
  local server = client.start()
  await("the server", function()
    return server.ready
  end)
  return server
end

--- Runs `before` in front of the plugin's handler of a server request.
function M.in_front(server, method, before)
  local handlers = vim.lsp.get_client_by_id(server.id).handlers
  local handler = handlers[method]
  handlers[method] = function(err, params, context)
    before(params)
    return handler(err, params, context)
  end
end

function M.wait_for_end(what)
  local before = #M.ended
  await(what or "the turn's end", function()
    return #M.ended > before
  end)
  return M.ended[#M.ended]
end

--- Asks, waits for the end, and returns it.
function M.ask(prompt)
  local before = #M.ended
  vim.cmd("Interline ask " .. prompt)
  await(function()
    return "the turn's end\n" .. vim.inspect(M.notices) .. require("interline.chat").text()
  end, function()
    return #M.ended > before
  end)
  return M.ended[#M.ended]
end

--- Answers approvals with the choice of this kind, as `:Interline allow` and `reject` do;
--- returns the titles of what was asked. A list of kinds is used up, one for each approval.
function M.answer_with(kinds)
  local asked = {}
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("answer_with", { clear = true }),
    pattern = "InterlineAsks",
    callback = function(event)
      table.insert(asked, event.data.title)
      local kind = type(kinds) == "table" and table.remove(kinds, 1) or kinds
      -- Later, as a person does.
      vim.schedule(function()
        require("interline.approvals").answer(kind)
      end)
    end,
  })
  return asked
end

--- The buffer's text as lines joined.
function M.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, true), "\n")
end

return M
