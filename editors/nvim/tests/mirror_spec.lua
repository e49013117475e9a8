--- What Neovim's own LSP client tells through the log, applied as a server does, is the buffer's
--- text after every change: normal commands, undo, :substitute, line ends, reloads, edits of ours.
local changes = require("interline.changes")
local columns = require("interline.columns")
local replace = require("interline.replace")
local text = require("interline.text")

local seed = tonumber(vim.env.SEED) or 7
math.randomseed(seed)

local ENCODING = columns.offered[1]

--- Byte offset of a wire position; line ends are \n, \r\n and \r, a column past the end clamps.
local function offset(whole, at)
  local from = 1
  for _ = 1, at.line do
    local stop = whole:find("[\r\n]", from)
    if not stop then
      assert(at.character == 0, "a line past the end")
      return #whole
    end
    from = stop + (whole:sub(stop, stop + 1) == "\r\n" and 2 or 1)
  end
  local content = whole:match("^[^\r\n]*", from)
  return from - 1 + (columns.to_bytes(content, at.character, ENCODING) or #content)
end

--- A server in this process that keeps a mirror, under a real client.
local function connect()
  local mirror = { texts = {}, versions = {}, log = nil, changes = 0 }
  local log = changes.new(function(part)
    return columns.from_bytes(part, #part, ENCODING)
  end)
  mirror.log = log
  local rpc = {
    request = function(_, _, callback)
      vim.schedule(function()
        local sync = { openClose = true, change = 2, save = true }
        callback(nil, { capabilities = { positionEncoding = ENCODING, textDocumentSync = sync } })
      end)
      return true, 1
    end,
    notify = function(method, params)
      local item = params.textDocument
      if method == "textDocument/didOpen" then
        mirror.texts[item.uri], mirror.versions[item.uri] = item.text, item.version
      elseif method == "textDocument/didClose" then
        mirror.texts[item.uri] = nil
      elseif method == "textDocument/didChange" then
        assert(item.version > mirror.versions[item.uri], "versions rise")
        mirror.versions[item.uri] = item.version
        mirror.changes = mirror.changes + 1
        mirror.last = params.contentChanges
        for _, change in ipairs(params.contentChanges) do
          local old = mirror.texts[item.uri]
          if change.range then
            local first, last = offset(old, change.range.start), offset(old, change.range["end"])
            mirror.texts[item.uri] = old:sub(1, first) .. change.text .. old:sub(last + 1)
          else
            mirror.texts[item.uri] = change.text
          end
        end
      end
      return true
    end,
    is_closing = function()
      return false
    end,
    terminate = function() end,
  }
  local options = {
    name = "mirror",
    cmd = function()
      return log:through(rpc)
    end,
    flags = { debounce_text_changes = 0 },
  }
  local function never()
    return false
  end
  if vim.fn.has("nvim-0.11") == 1 then
    mirror.id = vim.lsp.start(options, { attach = false, reuse_client = never })
  else
    mirror.id = vim.lsp.start_client(options)
  end
  await("the client", function()
    return vim.lsp.get_client_by_id(mirror.id).initialized
  end)
  return mirror
end

local function open(mirror, content)
  local path = vim.fn.tempname() .. ".txt"
  local file = assert(io.open(path, "wb"))
  file:write(content)
  file:close()
  vim.cmd("edit " .. path)
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, mirror.id)
  return buffer, vim.uri_from_bufnr(buffer)
end

local COMMANDS = {
  "normal! ihe\195\188llo\27",
  "normal! Aend\27",
  "normal! owide \240\157\146\179\27",
  "normal! Otop\27",
  "normal! x",
  "normal! dd",
  "normal! J",
  "normal! dG",
  "normal! ggdG",
  "normal! yyp",
  "normal! ddP",
  "normal! gg",
  "normal! G",
  "normal! j",
  "normal! >>",
  "silent undo",
  "silent redo",
  "silent undo",
  "silent! 1,2substitute/e/EE/g",
  "silent! %substitute/l/\\r/",
  "silent! sort",
  "silent! move 0",
  "silent! global/a/delete",
  "silent! 1,3join",
  "silent! %!cat",
  "setlocal fileformat=dos",
  "setlocal fileformat=unix",
  "setlocal noendofline",
  "setlocal endofline",
  "silent write",
}

local function random_edit(mirror, buffer, uri)
  local whole = mirror.texts[uri]
  local row = math.random(0, vim.api.nvim_buf_line_count(buffer) - 1)
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
  local full = { line = row, character = columns.from_bytes(line, #line, ENCODING) }
  local new = ({ "agent", "two\nlines", "", "ünï\n" })[math.random(4)]
  local edit = { range = { start = { line = row, character = 0 }, ["end"] = full }, newText = new }
  local first, last = offset(whole, edit.range.start), offset(whole, edit.range["end"])
  local ours = vim.bo[buffer].fileformat == "dos" and new:gsub("\n", "\r\n") or new
  local before = mirror.changes
  mirror.log:together(uri, function()
    same(true, replace.all(buffer, { edit }, ENCODING))
  end)
  same(whole:sub(1, first) .. ours .. whole:sub(last + 1), mirror.texts[uri], "our edit")
  assert(mirror.changes - before <= 1, "our edit is one notification")
end

local function follow_line_ends(mirror)
  vim.api.nvim_create_autocmd("OptionSet", {
    pattern = { "fileformat", "endofline" },
    callback = function()
      mirror.log:reshape(vim.api.nvim_get_current_buf())
    end,
  })
end

story("the mirror is the buffer's text after every change", function()
  local mirror = connect()
  follow_line_ends(mirror)
  local edits = 0
  for _, content in ipairs({ "one\ntwo\nthree\n", "", "a", "one\r\ntwo\r\n", "x\r\ny\nz\n", "\n", "é𝒳\n\nb" }) do
    local buffer, uri = open(mirror, content)
    same(content, mirror.texts[uri], "didOpen")
    for step = 1, 150 do
      local what, before = "an edit of ours", vim.inspect(mirror.texts[uri])
      if math.random(8) == 1 and not text.raw(buffer, mirror.texts[uri]) then
        edits = edits + 1
        random_edit(mirror, buffer, uri)
      else
        what = COMMANDS[math.random(#COMMANDS)]
        vim.cmd(what)
      end
      -- What undo leaves is settled after it.
      vim.wait(100, function()
        return text.full(buffer) == mirror.texts[uri]
      end, 1)
      same(text.full(buffer), mirror.texts[uri], ("seed %d, %q, step %d, %s"):format(seed, content, step, what) .. vim.inspect(mirror.last) .. before)
      same(mirror.versions[uri], mirror.log:version(buffer), "the version")
    end
    vim.cmd("bwipeout!")
  end
  io.stdout:write(("   %d notifications, %d edits of ours\n"):format(mirror.changes, edits))
end)

story("a reload is a new document: older versions are not known any more", function()
  local mirror = connect()
  local buffer, uri = open(mirror, "one\ntwo\n")
  local opened, hash = mirror.versions[uri], text.hash(buffer)
  vim.api.nvim_buf_set_lines(buffer, 0, 0, true, { "zero" })
  same(1, #mirror.log:since(uri, opened, hash))
  vim.fn.writefile({ "other" }, vim.api.nvim_buf_get_name(buffer))
  vim.cmd("edit!")
  same(nil, mirror.log:document(uri), "Neovim detaches")
  vim.lsp.buf_attach_client(buffer, mirror.id)
  same("other\n", mirror.texts[uri])
  same(opened, mirror.versions[uri], "the same version again")
  same(nil, mirror.log:since(uri, opened, hash))
  same({}, mirror.log:since(uri, opened, text.hash(buffer)))
end)

story("a file that a command changed is reloaded at once, unless the user changed it", function()
  local mirror = connect()
  for _, typed in ipairs({ false, true }) do
    local buffer, uri = open(mirror, "one\ntwo\n")
    vim.bo[buffer].autoread = false
    if typed then
      vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { "mine" })
    end
    local path = vim.api.nvim_buf_get_name(buffer)
    vim.fn.writefile({ "other" }, path)
    vim.uv.fs_utime(path, 2000000000, 2000000000)
    require("interline.save").reload(mirror, { uris = { uri, "file:///absent" } })
    same(typed and "mine\ntwo\n" or "other\n", mirror.texts[uri])
  end
end)

story("a file that changed on disk is reloaded by Neovim and sent", function()
  local mirror = connect()
  local buffer, uri = open(mirror, "one\ntwo\n")
  local opened, hash = mirror.versions[uri], text.hash(buffer)
  vim.bo[buffer].autoread = true
  local path = vim.api.nvim_buf_get_name(buffer)
  vim.fn.writefile({ "other", "lines" }, path)
  vim.uv.fs_utime(path, 2000000000, 2000000000)
  vim.cmd("silent checktime")
  same("other\nlines\n", mirror.texts[uri])
  same(nil, mirror.log:since(uri, opened, hash))
end)
