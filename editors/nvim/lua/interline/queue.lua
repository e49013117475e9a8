--- Prompts that wait for the end of the running turn: edit, remove, or add them to that turn.
local client = require("interline.client")
local say = require("interline.say")
local sent = require("interline.sent")
local visible = require("interline.visible")

local M = {}

--- Takes it out of the queue and calls back with its input.
local function dequeue(server, entry, callback)
  local params = { sessionId = server.session, turnId = entry.turn }
  client.request(server, "interline/turn/dequeue", params, function(result)
    sent.gone(server, entry)
    callback(result.input)
  end)
end

local ACTIONS = {
  {
    words = "Edit",
    run = function(server, entry)
      dequeue(server, entry, function(input)
        require("interline.compose").open({ root = server.root, text = entry.text, kept = require("interline.attach").kept(input) })
      end)
    end,
  },
  {
    words = "Remove",
    run = function(server, entry)
      dequeue(server, entry, function()
        say.info("removed from the queue", server)
      end)
    end,
  },
  {
    words = "Add to the running turn now",
    run = function(server, entry)
      dequeue(server, entry, function(input)
        require("interline.turn").send_input(server, server.session, entry.text, input, "steer")
      end)
    end,
  },
}

local function act(server, entry)
  vim.ui.select(ACTIONS, {
    prompt = "Queued: " .. visible.line(entry.text),
    kind = "interline_queue",
    format_item = function(action)
      return action.words
    end,
  }, function(action)
    if action then
      action.run(server, entry)
    end
  end)
end

--- Lets the user choose a queued prompt and what to do with it.
function M.pick()
  local server = client.of(client.root())
  local entries = server and sent.queued(server) or {}
  if not server or #entries == 0 then
    return say.info("no prompt is queued")
  elseif #entries == 1 then
    return act(server, entries[1])
  end
  vim.ui.select(entries, {
    prompt = "Queued prompts",
    kind = "interline_queued",
    format_item = function(entry)
      return visible.line(entry.text)
    end,
  }, function(entry)
    if entry then
      act(server, entry)
    end
  end)
end

return M
