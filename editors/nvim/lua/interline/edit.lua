--- `interline/edit/apply`: maps the edit from its version to the current text and applies it in
--- one tick as an undo step of its own; a conflict changes nothing.
local changes = require("interline.changes")
local client = require("interline.client")
local replace = require("interline.replace")
local text = require("interline.text")

local M = {}

local function answer(server, status, buffer, reason, edits)
  local loaded = buffer ~= nil and vim.api.nvim_buf_is_loaded(buffer)
  return {
    status = status,
    version = loaded and server.log:version(buffer) or 0,
    hash = loaded and text.hash(buffer) or "",
    reason = reason,
    edits = edits,
  }
end

--- Whether the old or the new text of an edit that was moved begins, and ends, within a word. What
--- it replaces has not changed.
local function edges(buffer, edit, encoding)
  local old, new = changes.edges(replace.replaced(buffer, edit.range, encoding)), changes.edges(edit.newText)
  return { first = old.first or new.first, last = old.last or new.last }
end

local function moved(log, buffer, edit, since, encoding)
  local first = { edit.range.start.line, edit.range.start.character }
  local last = { edit.range["end"].line, edit.range["end"].character }
  local places = {}
  for _, change in ipairs(since) do
    table.insert(places, { first, last })
    if log:repeats(first, last, edit.newText, change) then
      return nil
    end
    first, last = changes.map(first, last, change)
    if not first then
      return nil
    end
  end
  local now = {
    range = {
      start = { line = first[1], character = first[2] },
      ["end"] = { line = last[1], character = last[2] },
    },
    newText = edit.newText,
  }
  local around = #since > 0 and edges(buffer, now, encoding)
  for index, change in ipairs(since) do
    if changes.joins(places[index][1], places[index][2], around, change) then
      return nil
    end
  end
  return now
end

--- All edits on the current text; nil with a reason on a conflict.
local function rebased(server, buffer, params)
  local since = server.log:since(params.uri, params.version, params.hash)
  if not since then
    return nil, "the changes since that version are no longer known"
  elseif #since == 0 and params.hash ~= text.hash(buffer) then
    return nil, "the buffer's text is not the one that the edit was made for"
  end
  local mapped, encoding = {}, client.encoding(server)
  for _, edit in ipairs(params.edits) do
    local now = moved(server.log, buffer, edit, since, encoding)
    if not now then
      return nil, "the user changed the same text"
    end
    table.insert(mapped, now)
  end
  return mapped, nil, #since > 0
end

--- The buffer of a file that was not open for the server, loaded and shown to it.
local function load(server, params)
  local buffer = vim.uri_to_bufnr(params.uri)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buflisted = true
  if params.hash ~= text.hash(buffer) then
    return buffer, nil, "the file's text in the editor is not the one that the edit was made for"
  end
  client.attach(server, buffer, true)
  local document = server.log:document(params.uri)
  return buffer, document, "the server cannot be shown the buffer " .. vim.api.nvim_buf_get_name(buffer)
end

--- The edit's buffer; without a document when the edit cannot be for it, with the reason.
local function target(server, params)
  local document = server.log:document(params.uri)
  local closed = params.version == nil or params.version == vim.NIL
  local buffer, reason
  if document then
    buffer = document.buffer
  elseif not closed then
    return nil, nil, "the buffer is no longer open"
  else
    buffer, document, reason = load(server, params)
  end
  if closed and document then
    -- It was made for the text on disk: `rebased` compares, in case that the user was faster.
    params.version = document.version
  end
  return buffer, document, reason
end

local function apply(server, params)
  local buffer, document, reason = target(server, params)
  if not document then
    return answer(server, "conflict", buffer, reason)
  end
  if not vim.bo[buffer].modifiable then
    return answer(server, "refused", buffer, "the buffer is not modifiable")
  end
  local mapped, conflict, other = rebased(server, buffer, params)
  if not mapped then
    return answer(server, "conflict", buffer, conflict)
  elseif params.exact and other then
    return answer(server, "refused", buffer, "the text has changed")
  end
  local encoding = client.encoding(server)
  local done = server.log:together(params.uri, function()
    return replace.all(buffer, mapped, encoding)
  end)
  if not done then
    return answer(server, "conflict", buffer, "the edit's range is not in the buffer")
  end
  if params.save == true then
    require("interline.save").write(buffer)
  end
  return answer(server, other and "rebased" or "applied", buffer, nil, other and mapped or nil)
end

--- A new file: `workspace/applyEdit` with `create` before its text. It becomes a buffer that
--- is not saved; nothing is on disk before the user, or a save for a command, writes it.
local function create(server, changes_of)
  local uri = changes_of[1].uri
  local buffer = vim.uri_to_bufnr(uri)
  vim.fn.bufload(buffer)
  if vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer)) or text.full(buffer) ~= "" then
    return { applied = false, failureReason = "the file exists already, or its buffer has text" }
  end
  vim.bo[buffer].buflisted = true
  client.attach(server, buffer, true)
  local edits = changes_of[2] and changes_of[2].edits or {}
  local encoding = client.encoding(server)
  local done = server.log:together(uri, function()
    return replace.all(buffer, edits, encoding)
  end)
  return { applied = done, failureReason = not done and "the edit's range is not in the file" or nil }
end

--- Another buffer in each window that shows this one: Neovim would close the windows with it.
local function leave(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local last = vim.api.nvim_win_call(window, function()
      return vim.fn.bufnr("#")
    end)
    local other = last > 0 and last ~= buffer and vim.bo[last].buflisted
    vim.api.nvim_win_set_buf(window, other and last or vim.api.nvim_create_buf(true, false))
  end
end

--- Deletes a file and its buffer, which may never have been saved.
local function delete(uri)
  local buffer = vim.uri_to_bufnr(uri)
  local path = vim.uri_to_fname(uri)
  if vim.uv.fs_stat(path) and vim.fn.delete(path) ~= 0 then
    return { applied = false, failureReason = "the file cannot be deleted" }
  end
  leave(buffer)
  vim.api.nvim_buf_delete(buffer, { force = true })
  return { applied = true }
end

--- `workspace/applyEdit`: new files and deleted ones; anything else is Neovim's own affair.
function M.workspace(server, params, context)
  local all = params.edit and params.edit.documentChanges
  if all and #all == 1 and all[1].kind == "delete" then
    local ok, result = pcall(delete, all[1].uri)
    return ok and result or { applied = false, failureReason = tostring(result) }
  end
  local own = all and all[1] and all[1].kind == "create" and #all <= 2
  if own and (not all[2] or all[2].textDocument and all[2].textDocument.uri == all[1].uri) then
    local ok, result = pcall(create, server, all)
    return ok and result or { applied = false, failureReason = tostring(result) }
  end
  return vim.lsp.handlers["workspace/applyEdit"](nil, params, context)
end

--- Answers in every case: an edit without an answer blocks its document.
function M.apply(server, params)
  local ok, result = pcall(apply, server, params)
  if ok then
    return result
  end
  -- Looked up without making a buffer of that name.
  local document = server.log:document(params.uri)
  return answer(server, "refused", document and document.buffer, tostring(result))
end

return M
