--- Undo of an edit takes all of it back, the final line end included, which Neovim itself keeps
--- out of its undo states.
local replace = require("interline.replace")
local project = require("project")
local text = require("interline.text")
local client = require("interline.client")

local function buffer_of(content)
  local path = vim.fn.tempname() .. ".txt"
  local file = assert(io.open(path, "wb"))
  file:write(content)
  file:close()
  vim.cmd("edit " .. path)
  return vim.api.nvim_get_current_buf()
end

--- Puts `new` in place of the whole text.
local function rewrite(buffer, new)
  local full = text.full(buffer)
  local _, rows = full:gsub("\n", "")
  local range = { start = { line = 0, character = 0 }, ["end"] = { line = rows, character = #full:match("[^\n]*$") } }
  same(true, replace.all(buffer, { { range = range, newText = new } }, "utf-8"))
  same(new, text.full(buffer))
end

local function becomes(buffer, wanted, what)
  await(function()
    return ("%s: %q, and it is %q"):format(what, wanted, text.full(buffer))
  end, function()
    return text.full(buffer) == wanted
  end)
end

story("undo and redo of an edit bring the final line end along", function()
  vim.o.fixendofline = false
  local buffer = buffer_of("one\ntwo")
  rewrite(buffer, "one\ntwo\nthree\n")
  rewrite(buffer, "only")
  rewrite(buffer, "only\nmore\n")
  vim.cmd("silent undo")
  becomes(buffer, "only", "after one undo")
  vim.cmd("silent undo")
  becomes(buffer, "one\ntwo\nthree\n", "after two")
  vim.cmd("silent undo")
  becomes(buffer, "one\ntwo", "after three")
  vim.cmd("silent redo")
  becomes(buffer, "one\ntwo\nthree\n", "after one redo")
  vim.cmd("silent redo | silent redo")
  becomes(buffer, "only\nmore\n", "after all")
end)

story("on another branch of the undo tree the final line end is that branch's", function()
  vim.o.fixendofline = false
  local buffer = buffer_of("one\ntwo")
  rewrite(buffer, "one\ntwo\nthree\n")
  vim.cmd("silent undo")
  becomes(buffer, "one\ntwo", "after undo")
  vim.cmd("normal! ggOtyped")
  becomes(buffer, "typed\none\ntwo", "on the new branch")
  vim.cmd("silent undo 1")
  becomes(buffer, "one\ntwo\nthree\n", "the old branch")
  vim.cmd("silent undo 2")
  becomes(buffer, "typed\none\ntwo", "the new one again")
end)

story("what the user sets is not set back by undo", function()
  vim.o.fixendofline = false
  local root = project.make({ ["a.txt"] = "one\ntwo" }, {})
  vim.o.fixendofline = false
  vim.cmd("edit " .. root .. "/a.txt")
  local buffer = vim.api.nvim_get_current_buf()
  local server = project.server()
  rewrite(buffer, "one\ntwo\n")
  vim.bo.endofline = false
  vim.bo.endofline = true
  vim.cmd("silent undo")
  local settled = false
  client.request(server, "interline/status", vim.empty_dict(), function()
    settled = true
  end)
  await("the server's answer", function()
    return settled
  end)
  same("one\ntwo\n", text.full(buffer))
end)

story("the server sees the final line end that undo brings back", function()
  local root = project.make({ ["a.txt"] = "one\ntwo" }, {})
  vim.o.fixendofline = false
  vim.cmd("edit " .. root .. "/a.txt")
  local server, buffer = project.server(), vim.api.nvim_get_current_buf()
  local uri = vim.uri_from_bufnr(buffer)
  local function apply(new)
    return require("interline.edit").apply(server, {
      uri = uri,
      version = server.log:version(buffer),
      hash = text.hash(buffer),
      edits = { { range = { start = { line = 1, character = 3 }, ["end"] = { line = 1, character = 3 } }, newText = new } },
    })
  end
  same("applied", apply("\n").status)
  same("one\ntwo\n", text.full(buffer))
  vim.cmd("silent undo")
  becomes(buffer, "one\ntwo", "after undo")
  local mirror = nil
  client.request(server, "interline/status", vim.empty_dict(), function(status)
    mirror = status.documents[1]
  end)
  await("the mirror", function()
    return mirror ~= nil
  end)
  same({ text.hash(buffer), true }, { mirror.hash, mirror.synced })
end)
