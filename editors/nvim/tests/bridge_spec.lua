--- An agent of an ACP client, next to this Neovim with its own server on the same folder: it works
--- in this Neovim's buffers (docs/acp.md).
local project = require("project")
local recording = require("recording")

--- The client of one `interline acp`, with this recorded model: no files, and it allows all edits.
local function agent(root, steps)
  local config = vim.fn.tempname()
  vim.fn.mkdir(config, "p", "0o700")
  vim.fn.writefile({ ("model = '%s'"):format(recording.write(steps)) }, config .. "/config.toml")
  local self = { answers = {}, last = 0, rest = "" }
  local function take(message)
    if message.method == "session/request_permission" then
      local allow = vim.iter(message.params.options):find(function(option)
        return option.kind == "allow_once"
      end)
      self.send({ id = message.id, result = { outcome = { outcome = "selected", optionId = allow.optionId } } })
    elseif message.id and not message.method then
      self.answers[message.id] = message
    end
  end
  self.job = vim.fn.jobstart({ vim.env.INTERLINE_BIN, "acp" }, {
    cwd = root,
    env = { INTERLINE_CONFIG = config },
    on_stdout = function(_, lines)
      lines[1] = self.rest .. lines[1]
      self.rest = table.remove(lines)
      vim.iter(lines):map(vim.json.decode):each(take)
    end,
  })
  function self.send(message)
    message.jsonrpc = "2.0"
    vim.fn.chansend(self.job, vim.json.encode(message) .. "\n")
  end
  function self.call(method, params)
    self.last = self.last + 1
    local id = self.last
    self.send({ id = id, method = method, params = params })
    await(method, function()
      return self.answers[id] ~= nil
    end)
    return assert(self.answers[id].result, vim.inspect(self.answers[id]))
  end
  self.call("initialize", { protocolVersion = 1, clientCapabilities = vim.empty_dict() })
  self.session = self.call("session/new", { cwd = root, mcpServers = {} }).sessionId
  return self
end

--- Waits until other processes know that the buffer of this file has unsaved text.
local function listed(path)
  await("the list of open documents", function()
    local cards = vim.fn.glob(vim.env.XDG_RUNTIME_DIR .. "/interline/open/*.json", false, true)
    return vim.iter(cards):any(function(card)
      local ok, read = pcall(vim.fn.json_decode, vim.fn.readfile(card))
      return ok and vim.iter(read.documents):any(function(document)
        return document.dirty and document.key == vim.uv.fs_realpath(path)
      end)
    end)
  end)
end

story("an agent over ACP reads and edits the unsaved buffer, and one undo reverts its edit", function()
  local root = project.make({ ["a.txt"] = "one\ntwo\n" }, {})
  local path = root .. "/a.txt"
  vim.cmd("edit " .. path)
  project.server()
  vim.cmd("normal! Otyped")
  listed(path)
  local acp = agent(root, {
    { calls = { { "read", { path = "a.txt" } } } },
    {
      expect = { toolResult = { name = "read", contains = "typed", isError = false } },
      calls = { { "edit", { path = "a.txt", old_string = "two", new_string = "2" } } },
    },
    { expect = { toolResult = { name = "edit", contains = "Changed", isError = false } }, say = "Done." },
  })
  local ended = acp.call("session/prompt", { sessionId = acp.session, prompt = { { type = "text", text = "shorten it" } } })
  same("end_turn", ended.stopReason)
  same("typed\none\n2", project.text())
  same({ "one\ntwo\n", true }, { project.read(path), vim.bo.modified }, "nothing is written")
  vim.cmd("silent undo")
  same("typed\none\ntwo", project.text())
  vim.fn.jobstop(acp.job)
end)
