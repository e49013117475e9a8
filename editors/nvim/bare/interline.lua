-- Interline as a plain language server of Neovim, without its plugin: commands, code actions,
-- progress and messages, as any client of LSP has them. Neovim 0.10 or newer.

-- The whole message, also in 0.10, and not in the middle of typing: several lines want Enter.
local function message(_, shown)
  local function show()
    vim.notify(shown.message, shown.type == 1 and vim.log.levels.ERROR or vim.log.levels.INFO)
  end
  if vim.fn.mode():find('^[iR]') then
    vim.api.nvim_create_autocmd('InsertLeave', { once = true, callback = vim.schedule_wrap(show) })
  else
    show()
  end
end

-- Each edit is an undo step of its own. Without that, one that comes while you are in insert mode
-- is mixed into your own step, and undoing it tears lines.
local function apply(failure, params, context)
  local function break_undo()
    for _, change in ipairs(params.edit.documentChanges or {}) do
      local buffer = change.textDocument and vim.uri_to_bufnr(change.textDocument.uri)
      if buffer and vim.api.nvim_buf_is_loaded(buffer) then
        vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
      end
    end
  end
  break_undo()
  local answer = vim.lsp.handlers['workspace/applyEdit'](failure, params, context)
  break_undo()
  return answer
end

-- What your other language servers know, for the agent: see `lua/interline/query.lua`.
local function query(_, params, context)
  local own = vim.lsp.get_client_by_id(context.client_id)
  return require('interline.query').answer(own, function(buffer)
    return own.attached_buffers[buffer] and vim.lsp.util.buf_versions[buffer]
  end, params)
end

local capabilities = vim.lsp.protocol.make_client_capabilities()
capabilities.experimental = { interline = { version = 1, query = true } }

local function attach(buffer)
  if vim.bo[buffer].buftype ~= '' or vim.api.nvim_buf_get_name(buffer) == '' then
    return
  end
  vim.lsp.start({
    name = 'interline',
    cmd = { 'interline', 'lsp' },
    root_dir = vim.fs.root(buffer, '.git') or vim.fn.getcwd(),
    capabilities = capabilities,
    handlers = {
      ['window/showMessage'] = message,
      ['workspace/applyEdit'] = apply,
      ['interline/editor/query'] = query,
    },
    on_init = function(client)
      require('interline.languages').watch(client, 'interline')
    end,
    -- What you type is sent at once, not 150 ms later: Neovim checks an edit against the version
    -- that it sent last, so an edit that comes in between would land beside your typing.
    flags = { debounce_text_changes = 0 },
  }, { bufnr = buffer })
end

-- Every buffer with a file: Interline sees and edits what it is attached to.
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  group = vim.api.nvim_create_augroup('interline', {}),
  callback = function(event)
    attach(event.buf)
  end,
})

local function execute(name, arguments)
  local client = vim.lsp.get_clients({ bufnr = 0, name = 'interline' })[1]
  if not client then
    -- It ended, or this buffer is new: what was asked is not lost.
    attach(vim.api.nvim_get_current_buf())
    local function attached()
      client = vim.lsp.get_clients({ bufnr = 0, name = 'interline' })[1]
      return client and client.initialized
    end
    if not vim.wait(5000, attached, 20) then
      return vim.notify('Interline does not run here. `:` and the arrow keys bring your prompt back.',
        vim.log.levels.ERROR)
    end
  end
  local command = { command = 'interline.' .. name, arguments = arguments }
  local function answered(failure)
    if failure then
      vim.notify(failure.message, vim.log.levels.ERROR)
    end
  end
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('workspace/executeCommand', command, answered, 0)
  else
    client.request('workspace/executeCommand', command, answered, 0)
  end
end

-- `:Interline start` attaches this buffer again, should the server have ended.
-- `:Interline NAME [WORDS]`: what the server's command takes as bare words.
local plain = {
  approve = true, cancel = true, mode = true, model = true, newSession = true, reject = true,
  revert = true, send = true, sessions = true, showPrompt = true, trust = true,
  untrust = true,
}

local function run(given)
  local name = table.remove(given.fargs, 1)
  local words = table.concat(given.fargs, ' ')
  if name == 'start' then
    return attach(vim.api.nvim_get_current_buf())
  end
  if plain[name] then
    return execute(name, words ~= '' and { words } or {})
  end
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local first, last = line, line
  if given.range > 0 then
    -- Whole lines: the end is the start of the line after them.
    first, last = given.line1 - 1, given.line2
  end
  execute(name, { {
    text = words,
    uri = vim.uri_from_bufnr(0),
    range = { start = { line = first, character = 0 }, ['end'] = { line = last, character = 0 } },
  } })
end

vim.api.nvim_create_user_command('Interline', run, {
  nargs = '+',
  range = true,
  desc = 'Interline: ask, explain, doComment, chat, send, approve, reject, cancel, revert, sessions, …',
  complete = function(lead, line)
    if line:match('^%S*Interline%s+%S*$') then
      local names = vim.list_extend({ 'ask', 'chat', 'doComment', 'explain', 'start' }, vim.tbl_keys(plain))
      table.sort(names)
      return vim.tbl_filter(function(name)
        return vim.startswith(name, lead)
      end, names)
    end
    return {}
  end,
})
