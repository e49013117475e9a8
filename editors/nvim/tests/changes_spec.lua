--- Mapping edits through the user's changes, and applying them, without a server.
local changes = require("interline.changes")
local columns = require("interline.columns")
local replace = require("interline.replace")
local text = require("interline.text")

math.randomseed(tonumber(vim.env.SEED) or 20)

--- A log on a connection that only keeps what goes out, for a buffer with `lines`.
local function recorded(lines, shape)
  shape = shape or {}
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_name(buffer, vim.fn.tempname())
  if lines then
    -- One empty line only comes to be from more lines.
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.list_extend({ "" }, lines))
    vim.api.nvim_buf_set_lines(buffer, 0, 1, true, {})
  end
  vim.bo[buffer].fileformat = shape.fileformat or "unix"
  vim.bo[buffer].endofline = shape.endofline ~= false
  local sent = {}
  local log = changes.new(function(part)
    return #part
  end)
  local rpc = log:through({
    notify = function(method, params)
      table.insert(sent, { method = method, params = params })
      return true
    end,
  })
  local uri = vim.uri_from_bufnr(buffer)
  rpc.notify("textDocument/didOpen", { textDocument = { uri = uri, version = 0, text = "?" } })
  return { buffer = buffer, log = log, sent = sent, uri = uri, rpc = rpc }
end

local function offset_at(whole, row, column)
  local from = 1
  for _ = 1, row do
    from = whole:find("\n", from, true) + 1
  end
  return from - 1 + column
end

local function position_at(whole, offset)
  local before = whole:sub(1, offset)
  local _, rows = before:gsub("\n", "")
  return { rows, #before:match("[^\n]*$") }
end

local function random_change(whole)
  local from = math.random(0, #whole)
  local to = math.min(#whole, from + math.random(0, 4))
  local inserts = { "", "x", "yy\n", "\n", "abc\ndef", "q\n\n" }
  return from, to, inserts[math.random(#inserts)]
end

story("a range is mapped as its offsets are, or is a conflict exactly where texts touch", function()
  local kept, conflicts = 0, 0
  local log = recorded({ "" }).log
  for _ = 1, 3000 do
    local whole = ("ab\ncde\n\nfghij\nk"):sub(1, math.random(5, 16))
    local start = math.random(0, #whole)
    local stop = math.min(#whole, start + math.random(0, 5))
    local from, to, new = random_change(whole)
    local document = { changes = {}, first = 0, version = 0 }
    local a, b = position_at(whole, from), position_at(whole, to)
    log:record(document, 1, {
      {
        range = { start = { line = a[1], character = a[2] }, ["end"] = { line = b[1], character = b[2] } },
        text = new,
      },
    })
    local after = whole:sub(1, from) .. new .. whole:sub(to + 1)
    local first, last = changes.map(position_at(whole, start), position_at(whole, stop), document.changes[1])
    local grown = #new - (to - from)
    local wanted
    if from == to then
      wanted = from <= start and { start + grown, stop + grown } or from >= stop and { start, stop } or nil
    else
      wanted = to <= start and { start + grown, stop + grown } or from >= stop and { start, stop } or nil
    end
    if wanted then
      kept = kept + 1
      same(wanted, { offset_at(after, first[1], first[2]), offset_at(after, last[1], last[2]) })
      same(whole:sub(start + 1, stop), after:sub(wanted[1] + 1, wanted[2]), "the text in the range")
    else
      conflicts = conflicts + 1
      same(nil, first, "a conflict")
    end
  end
  io.stdout:write(("   %d mapped, %d conflicts\n"):format(kept, conflicts))
  assert(kept > 500 and conflicts > 200)
end)

story("typing that continues the edited word joins it, other typing beside the edit does not", function()
  --- Whether an edit of one line conflicts with a change of it (first and last column, new text).
  local function joins(line, edit, change)
    local log = recorded({ "" }).log
    local document = { changes = {}, first = 0, version = 0 }
    log:record(document, 1, {
      {
        range = { start = { line = 0, character = change[1] }, ["end"] = { line = 0, character = change[2] } },
        text = change[3],
      },
    })
    local old, new = changes.edges(line:sub(edit[1] + 1, edit[2])), changes.edges(edit[3])
    local edges = { first = old.first or new.first, last = old.last or new.last }
    return changes.joins({ 0, edit[1] }, { 0, edit[2] }, edges, document.changes[1]) or false
  end
  local line = "qty = 5;"
  same(true, joins(line, { 6, 7, "6" }, { 6, 6, "5" }), "65 from 5 and 6")
  same(true, joins(line, { 6, 7, "6" }, { 7, 7, "5" }))
  same(false, joins(line, { 6, 7, "6" }, { 6, 6, "-" }))
  same(false, joins(line, { 6, 7, "6" }, { 7, 7, ".5" }))
  same(true, joins(line, { 6, 7, "" }, { 7, 7, "x" }), "the old text is a word")
  same(true, joins(line, { 5, 6, "é" }, { 6, 6, "ß" }), "the new text is a word")
  same(true, joins("val5", { 3, 4, "6" }, { 0, 3, "" }))
  same(true, joins("parse()", { 5, 5, "_line" }, { 5, 5, "x" }))
  same(false, joins("parse()", { 5, 5, "_line" }, { 5, 5, "x " }))
  same(false, joins("foo", { 3, 3, "\nnew" }, { 3, 3, "x" }))
end)

story("an insertion that the user made too is a conflict, wherever its text begins", function()
  local log = recorded({ "" }).log
  local function repeats(at, inserted, change, by, to)
    local document = { changes = {}, first = 0, version = 0 }
    local place = { line = change[1], character = change[2] }
    log:record(document, 1, { { range = { start = place, ["end"] = place }, text = by } })
    return log:repeats(at, to or at, inserted, document.changes[1])
  end
  same(true, repeats({ 1, 0 }, " b\n", { 1, 0 }, " b\n"))
  same(true, repeats({ 1, 1 }, "b\n ", { 1, 0 }, " b\n"))
  same(true, repeats({ 1, 0 }, " b\n", { 1, 1 }, "b\n "))
  same(false, repeats({ 2, 0 }, " b\n", { 1, 0 }, " b\n"))
  same(false, repeats({ 1, 0 }, " b\n", { 1, 0 }, " c\n"))
  same(false, repeats({ 1, 0 }, "\n", { 1, 0 }, "\n"))
  same(true, repeats({ 1, 0 }, "line\n", { 1, 0 }, "line\nnext\n"))
  same(true, repeats({ 1, 0 }, "line\nnext\n", { 1, 0 }, "next\n"))
  same(false, repeats({ 1, 0 }, "line\nnext\n", { 1, 0 }, "next"))
  -- Beside a replacement.
  same(true, repeats({ 1, 0 }, "line\nnext\n", { 1, 0 }, "line\n", { 2, 0 }))
  same(true, repeats({ 1, 0 }, "line\nnext\n", { 2, 0 }, "next\n", { 2, 0 }))
  same(false, repeats({ 1, 0 }, "line\nnext\n", { 2, 0 }, "mine\n", { 2, 0 }))
end)

story("the text of a range is what the edit replaces", function()
  local sample = recorded({ "añ", "two" })
  local function at(row, from, last_row, to)
    local range = { start = { line = row, character = from }, ["end"] = { line = last_row, character = to } }
    return replace.replaced(sample.buffer, range, "utf-16")
  end
  same("ñ", at(0, 1, 0, 2))
  same("ñ\ntwo\n", at(0, 1, 2, 0))
  same("", at(2, 0, 2, 0))
  same("", at(7, 0, 7, 1))
end)

local function lsp_position(whole, offset, encoding)
  local at = position_at(whole, offset)
  local line = vim.split(whole, "\n", { plain = true })[at[1] + 1]
  return { line = at[1], character = columns.from_bytes(line, at[2], encoding) }
end

local function edit(whole, from, to, new, encoding)
  return {
    range = { start = lsp_position(whole, from, encoding), ["end"] = lsp_position(whole, to, encoding) },
    newText = new,
  }
end

--- Cuts only between characters.
local function boundary(whole, offset)
  while offset > 0 and offset < #whole and whole:byte(offset + 1) >= 0x80 and whole:byte(offset + 1) < 0xC0 do
    offset = offset - 1
  end
  return offset
end

story("random edits of random texts give the text that they should, in both encodings", function()
  local texts = { "", "\n", "a", "a\n", "a\nb", "añ\n𝒳y\n", "\n\n", "one\ntwo\nthree\n", "one\n\nthree" }
  for _, encoding in ipairs({ "utf-8", "utf-16" }) do
    for _ = 1, 600 do
      local whole = texts[math.random(#texts)]
      local lines = vim.split(whole, "\n", { plain = true })
      local ended = whole:sub(-1) == "\n"
      if ended then
        table.remove(lines)
      end
      local sample = recorded(whole ~= "" and lines or nil, { endofline = ended })
      same(whole, text.full(sample.buffer), "the sample")
      local edits, expected, at, grown = {}, whole, 0, 0
      for _ = 1, math.random(1, 3) do
        local from = boundary(whole, math.random(at, #whole))
        local to = boundary(whole, math.min(#whole, from + math.random(0, 5)))
        local new = ({ "", "X", "Y\n", "\n", "p\nq", "ö\n𝒵" })[math.random(6)]
        if from < at or to < from then
          break
        end
        table.insert(edits, edit(whole, from, to, new, encoding))
        expected = expected:sub(1, from + grown) .. new .. expected:sub(to + grown + 1)
        grown = grown + #new - (to - from)
        at = to
      end
      same(true, replace.all(sample.buffer, edits, encoding))
      same(expected, text.full(sample.buffer), vim.inspect({ whole, edits }))
      vim.api.nvim_buf_delete(sample.buffer, { force = true })
    end
  end
end)

story("CRLF files keep their line ends, whatever line ends the edit has", function()
  local sample = recorded({ "one", "two" }, { fileformat = "dos" })
  same("one\r\ntwo\r\n", text.full(sample.buffer))
  local all = {
    { range = { start = { line = 1, character = 3 }, ["end"] = { line = 2, character = 0 } }, newText = "\r\nthree\r\n" },
  }
  same(true, replace.all(sample.buffer, all, "utf-8"))
  same("one\r\ntwo\r\nthree\r\n", text.full(sample.buffer))
  same({ "one", "two", "three" }, vim.api.nvim_buf_get_lines(sample.buffer, 0, -1, true))
end)

story("lines with carriage returns are sent as full texts and edited where the server means", function()
  local sample = recorded({ "one\r", "two", "th\rree" })
  local all = {
    { range = { start = { line = 0, character = 3 }, ["end"] = { line = 0, character = 3 } }, newText = "!" },
    { range = { start = { line = 3, character = 0 }, ["end"] = { line = 3, character = 2 } }, newText = "R" },
  }
  same(true, replace.all(sample.buffer, all, "utf-8"))
  same("one!\r\ntwo\nth\rRe\n", text.full(sample.buffer))
end)

story("a range that is not in the text changes nothing", function()
  local sample = recorded({ "one", "two" })
  for _, at in ipairs({ { 0, 4 }, { 2, 1 }, { 3, 0 } }) do
    local all = {
      { range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 1 } }, newText = "X" },
      { range = { start = { line = at[1], character = at[2] }, ["end"] = { line = at[1], character = at[2] } }, newText = "Y" },
    }
    same(false, replace.all(sample.buffer, all, "utf-8"))
    same("one\ntwo\n", text.full(sample.buffer))
  end
end)

story("didOpen carries the text as the file has it: empty files are empty", function()
  same("", recorded(nil).sent[1].params.textDocument.text)
  same("\n", recorded({ "", "" }, { endofline = false }).sent[1].params.textDocument.text)
  same("a", recorded({ "a" }, { endofline = false }).sent[1].params.textDocument.text)
  same("a\r\n", recorded({ "a" }, { fileformat = "dos" }).sent[1].params.textDocument.text)
end)

story("versions only increase, and changes made together are one notification", function()
  local sample = recorded({ "one", "two" })
  local function change(version, row, new)
    local at = { line = row, character = 0 }
    return {
      textDocument = { uri = sample.uri, version = version },
      contentChanges = { { range = { start = at, ["end"] = at }, text = new } },
    }
  end
  sample.rpc.notify("textDocument/didChange", change(5, 0, "a"))
  sample.rpc.notify("textDocument/didChange", change(5, 0, "b"))
  same({ 5, 6 }, { sample.sent[2].params.textDocument.version, sample.sent[3].params.textDocument.version })
  sample.log:together(sample.uri, function()
    sample.rpc.notify("textDocument/didChange", change(7, 0, "c"))
    sample.rpc.notify("textDocument/didChange", change(8, 1, "d"))
  end)
  same(4, #sample.sent)
  same(8, sample.sent[4].params.textDocument.version)
  same(2, #sample.sent[4].params.contentChanges)
  same(2, #sample.log:since(sample.uri, 6, ""))
  same(4, #sample.log:since(sample.uri, 0, ""))
  same(nil, sample.log:since(sample.uri, 9, ""), "a version that was never told")
end)

story("what changed before the kept changes, or before a reload, is not known", function()
  local sample = recorded({ "one", "two" })
  for version = 1, 600 do
    local at = { line = 0, character = 0 }
    sample.rpc.notify("textDocument/didChange", {
      textDocument = { uri = sample.uri, version = version },
      contentChanges = { { range = { start = at, ["end"] = at }, text = "a" } },
    })
  end
  same(nil, sample.log:since(sample.uri, 0, ""))
  same(nil, sample.log:since(sample.uri, 87, ""))
  same(512, #sample.log:since(sample.uri, 88, ""))
  local before = text.hash(sample.buffer)
  sample.rpc.notify("textDocument/didClose", { textDocument = { uri = sample.uri } })
  vim.api.nvim_buf_set_lines(sample.buffer, 0, -1, true, { "other" })
  sample.rpc.notify("textDocument/didOpen", { textDocument = { uri = sample.uri, version = 0, text = "?" } })
  same(nil, sample.log:since(sample.uri, 0, before), "the same version of another text")
  same({}, sample.log:since(sample.uri, 0, text.hash(sample.buffer)))
end)

story("a change of the line ends sends the full text", function()
  local sample = recorded({ "one", "two" })
  vim.bo[sample.buffer].fileformat = "dos"
  sample.log:reshape(sample.buffer)
  same("one\r\ntwo\r\n", sample.sent[2].params.contentChanges[1].text)
  sample.log:reshape(sample.buffer)
  same(2, #sample.sent, "told once")
end)

story("one undo takes an edit of several hunks back, and no typing with it", function()
  local sample = recorded({ "one", "two", "three" })
  vim.api.nvim_set_current_buf(sample.buffer)
  vim.cmd("normal! Atyped")
  local function hunk(row, new)
    return { range = { start = { line = row, character = 0 }, ["end"] = { line = row, character = 1 } }, newText = new }
  end
  local before = text.full(sample.buffer)
  replace.all(sample.buffer, { hunk(0, "A"), hunk(1, "B\nC"), hunk(2, "D") }, "utf-8")
  same("Anetyped\nB\nCwo\nDhree\n", text.full(sample.buffer))
  vim.cmd("normal! Gomore")
  vim.cmd("silent undo")
  same("Anetyped\nB\nCwo\nDhree\n", text.full(sample.buffer), "the typing after it")
  vim.cmd("silent undo")
  same(before, text.full(sample.buffer))
end)
