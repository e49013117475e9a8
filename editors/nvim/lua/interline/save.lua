--- `interline/workspace/save`: writes the named buffers, because a command is about to read them;
--- `interline/workspace/didChangeOnDisk`: reads them again, because one has written them.
local undo = require("interline.undo")

local M = {}

--- Whether the file on disk changed since the buffer was read; never prompts.
local function changed_on_disk(buffer)
  local changed = false
  local id = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = buffer,
    callback = function()
      -- A mode or a time stamp alone is no change of the text.
      changed = changed or vim.tbl_contains({ "deleted", "conflict", "changed" }, vim.v.fcs_reason)
      vim.v.fcs_choice = ""
    end,
  })
  pcall(vim.cmd, "silent checktime " .. buffer)
  pcall(vim.api.nvim_del_autocmd, id)
  return changed and vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer)) ~= nil
end

--- Writes a buffer.
--- @return string? reason why it could not be written
function M.write(buffer)
  if not vim.bo[buffer].modified and vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer)) then
    return nil
  end
  if changed_on_disk(buffer) then
    return "the file changed on disk since it was read; :e! takes the disk's text, :w! the buffer's"
  end
  -- What a formatter changes here is a step of its own, also while the user is in Insert mode.
  undo.close_step(buffer)
  local ok, err = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent lockmarks write ++p")
  end)
  undo.close_step(buffer)
  if not ok then
    return tostring(err):gsub("^.-(E%d+:)", "%1")
  end
  if vim.bo[buffer].modified then
    return "the buffer is still modified after :write"
  end
end

local function save(server, uri)
  local document = server.log:document(uri)
  if not document then
    return { uri = uri, status = "declined", reason = "the file is not open in the editor" }
  end
  local reason = M.write(document.buffer)
  return {
    uri = uri,
    status = reason and "failed" or "saved",
    version = document.version,
    reason = reason,
  }
end

--- `interline/workspace/didChangeOnDisk`: reads buffers again that the user has not modified.
function M.reload(server, params)
  for _, uri in ipairs(params.uris) do
    local document = server.log:document(uri)
    if document and not vim.bo[document.buffer].modified then
      -- What `autoread` does once the user comes back to Neovim.
      local autoread = vim.api.nvim_get_option_value("autoread", { buf = document.buffer })
      vim.bo[document.buffer].autoread = true
      pcall(vim.cmd, "silent checktime " .. document.buffer)
      vim.bo[document.buffer].autoread = autoread
    end
  end
end

function M.save(server, params)
  local results = {}
  for _, uri in ipairs(params.uris) do
    table.insert(results, save(server, uri))
  end
  return { results = results }
end

return M
