--- Completion in the prompt window: a language server inside Neovim that asks Interline, so that the
--- built-in completion, 'omnifunc' and completion plugins find files and skills.
local client = require("interline.client")
local columns = require("interline.columns")
local config = require("interline.config")

local M = {}

--- Names of one folder.
local MOST = 100

local KINDS = { file = 17, folder = 19, skill = 3, mcpPrompt = 3, argument = 5, value = 12 }

--- Completion plugins that show the items automatically themselves.
local PLUGINS = { "cmp", "blink.cmp", "coq", "mini.completion" }

--- The text of the buffer up to a place, and its size in the columns of the server.
local function before(buffer, position, encoding)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, position.line + 1, false)
  local last = lines[#lines] or ""
  local bytes = columns.to_bytes(last, position.character, encoding) or #last
  local head = table.concat(vim.list_slice(lines, 1, #lines - 1), "\n") .. (#lines > 1 and "\n" or "")
  local text = head .. last:sub(1, bytes)
  return text, columns.from_bytes(text, #text, encoding), columns.from_bytes(head, #head, encoding)
end

--- The path after the last `@`, in which a space follows a backslash, and its bytes in the text.
local function path_at_end(text)
  local path = text:gsub("\\ ", "\1"):match("@(%S*)$")
  if path then
    local escaped = path:gsub("\1", "\\ ")
    return (path:gsub("\1", " ")), #escaped
  end
end

--- Names with spaces in the folder of a path, which the server leaves out: it completes words.
local function with_spaces(root, path)
  local folder, base = path:match("^(.*/)([^/]*)$")
  folder, base = folder or "", (base or path):lower()
  local items = {}
  for name, kind in vim.fs.dir(root .. "/" .. folder) do
    local fits = not vim.startswith(name, ".") and vim.startswith(name:lower(), base)
    if fits and (folder .. name):find("%s") and #items < MOST then
      local is_folder = kind == "directory"
      table.insert(items, { label = folder .. name .. (is_folder and "/" or ""), kind = is_folder and "folder" or "file" })
    end
  end
  return items
end

--- @param rows table[] of the server, and names with spaces
--- @param start integer column of the completed word
local function items_of(rows, position, start)
  local items = {}
  for _, each in ipairs(rows) do
    local is_name = each.kind == "file" or each.kind == "folder"
    local text = is_name and require("interline.attach").escape(each.label) or each.label
    table.insert(items, {
      label = each.label,
      filterText = text,
      kind = KINDS[each.kind] or 1,
      detail = type(each.detail) == "string" and each.detail or nil,
      textEdit = { range = { start = { line = position.line, character = start }, ["end"] = position }, newText = text },
    })
  end
  return { isIncomplete = true, items = items }
end

--- @param buffer integer
--- @param position {line: integer, character: integer}
local function complete(buffer, root, position, callback)
  local server = client.start_in(root)
  if not server then
    return callback(nil, { isIncomplete = false, items = {} })
  end
  local encoding = client.encoding(server)
  local text, offset, head = before(buffer, position, encoding)
  local path, bytes = path_at_end(text)
  local names = path and with_spaces(root, path) or {}
  local start = path and position.character - columns.from_bytes(text:sub(-bytes), bytes, encoding) or 0
  if path and path:find(" ") then
    return callback(nil, items_of(names, position, start))
  end
  local params = { sessionId = server.session, text = text, offset = offset }
  client.request(server, "interline/input/complete", params, function(result)
    local first = not path and result.items[1]
    start = first and math.max(first.start - head, 0) or start
    callback(nil, items_of(vim.list_extend(result.items, names), position, start))
  end, function()
    callback(nil, items_of(names, position, start))
  end)
end

--- The prompt window's buffer, by root: Neovim keeps one client for all windows of a root.
--- @type table<string, integer>
local buffers = {}

--- The language server, as Neovim talks to one.
local function in_process(root)
  return function(dispatchers)
    local closing, id = false, 0
    return {
      request = function(method, params, callback)
        id = id + 1
        if method == "initialize" then
          callback(nil, {
            capabilities = {
              completionProvider = { triggerCharacters = { "@", "/" } },
              positionEncoding = columns.offered[1],
            },
            serverInfo = { name = "interline-prompt" },
          })
        elseif method == "textDocument/completion" then
          local buffer = buffers[root]
          complete(buffer, root, params.position, function(...)
            -- Neovim's own code fails where the window is closed by then.
            if vim.fn.bufwinid(buffer) ~= -1 then
              callback(...)
            end
          end)
        else
          callback(nil, vim.NIL)
        end
        return true, id
      end,
      notify = function(method)
        if method == "exit" then
          closing = true
          dispatchers.on_exit(0, 15)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
      end,
    }
  end
end

--- Shows the items without a key, at a word with `@` and at a `/` that begins the prompt.
local function automatically(buffer)
  vim.api.nvim_create_autocmd("TextChangedI", {
    buffer = buffer,
    callback = function()
      local row, column = unpack(vim.api.nvim_win_get_cursor(0))
      local text = vim.api.nvim_get_current_line():sub(1, column)
      local word = path_at_end(text) or row == 1 and text:match("^/%S*$")
      if word and vim.fn.pumvisible() == 0 then
        if vim.lsp.completion and vim.lsp.completion.get then
          vim.lsp.completion.get()
        else
          vim.api.nvim_feedkeys(vim.keycode("<C-x><C-o>"), "n", false)
        end
      end
    end,
  })
end

--- Nothing is chosen before the user does. The option is local to the buffer only in newer Neovims.
local function set_completeopt(buffer)
  local wanted = "menuone,noselect"
  if pcall(vim.api.nvim_set_option_value, "completeopt", wanted, { buf = buffer }) then
    return
  end
  local before = vim.o.completeopt
  vim.o.completeopt = wanted
  vim.api.nvim_create_autocmd({ "BufEnter", "BufLeave", "BufUnload" }, {
    buffer = buffer,
    callback = function(event)
      vim.o.completeopt = event.event == "BufEnter" and wanted or before
    end,
  })
end

local function by_plugin()
  return vim.iter(PLUGINS):any(function(name)
    return package.loaded[name] ~= nil
  end)
end

--- Completes in this prompt window.
function M.attach(buffer, root)
  local server = client.start_in(root)
  if not server then
    return
  end
  buffers[root] = buffer
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.general = capabilities.general or {}
  capabilities.general.positionEncodings = columns.offered
  local id = vim.lsp.start({
    name = "interline-prompt",
    cmd = in_process(root),
    root_dir = root,
    capabilities = capabilities,
    on_attach = function(own, attached)
      vim.bo[attached].omnifunc = "v:lua.vim.lsp.omnifunc"
      if vim.lsp.completion and vim.lsp.completion.enable then
        vim.lsp.completion.enable(true, own.id, attached)
      end
      if config.get().complete and not by_plugin() then
        set_completeopt(attached)
        automatically(attached)
      end
    end,
  }, { bufnr = buffer })
  return id
end

return M
