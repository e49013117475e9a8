--- `interline/languages/didChange`: for which languages one of the editor's other language servers
--- can answer. Also used without the plugin, so it needs no other module of it.
local M = {}

--- A server with one of these counts as one that can answer for its languages.
local ANSWERS = { "textDocument/definition", "textDocument/references", "textDocument/rename" }

--- Calls a client's method, which has no `self` in Neovim 0.10.
function M.call(client, name, ...)
  if vim.fn.has("nvim-0.11") == 1 then
    return client[name](client, ...)
  end
  return client[name](...)
end

--- The other clients that are ready.
function M.others(own)
  return vim.tbl_filter(function(client)
    return client.id ~= own.id and not M.call(client, "is_stopped")
  end, vim.lsp.get_clients())
end

--- Filetypes that each client was attached to, by client id: it still answers for closed files.
local served = {}

--- The languages for which one of the other clients can answer now.
--- @return string[]
function M.list(own)
  local found = {}
  for _, client in ipairs(M.others(own)) do
    local can = vim.iter(ANSWERS):any(function(method)
      return M.call(client, "supports_method", method)
    end)
    served[client.id] = served[client.id] or {}
    for buffer in pairs(client.attached_buffers) do
      if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype ~= "" then
        served[client.id][vim.bo[buffer].filetype] = true
      end
    end
    for filetype in pairs(can and served[client.id] or {}) do
      found[filetype] = true
    end
  end
  local languages = vim.tbl_keys(found)
  table.sort(languages)
  return languages
end

--- Tells the server which languages can be asked about, now and whenever that changes.
--- @param own vim.lsp.Client
--- @param group integer of autocommands
function M.watch(own, group)
  local announced = ""
  local function tell()
    if M.call(own, "is_stopped") then
      return
    end
    local languages = M.list(own)
    local key = table.concat(languages, "\n")
    if key == announced then
      return
    end
    announced = key
    M.call(own, "notify", "interline/languages/didChange", { languages = languages })
  end
  vim.api.nvim_create_autocmd({ "LspAttach", "LspDetach" }, {
    group = group,
    -- A client that detaches is still there while the event runs.
    callback = vim.schedule_wrap(tell),
  })
  vim.schedule(tell)
end

return M
