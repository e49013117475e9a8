--- A scripted model on loopback that speaks the provider's stream of events. Each request is
--- answered by the next function of its script, which can wait for what a story does.
local M = {}

local Reply = {}
Reply.__index = Reply

--- @class Model
--- @field url string
--- @field requests table[] decoded bodies, oldest first

local function write(socket, text)
  if not socket:is_closing() then
    socket:write(text)
  end
end

function Reply:event(kind, data)
  data.type = kind
  write(self.socket, ("event: %s\ndata: %s\n\n"):format(kind, vim.json.encode(data)))
end

function Reply:block(start)
  self:event("content_block_start", { index = self.index, content_block = start })
end

function Reply:delta(delta)
  self:event("content_block_delta", { index = self.index, delta = delta })
end

function Reply:stop()
  self:event("content_block_stop", { index = self.index })
  self.index = self.index + 1
end

--- Streams text, a delta for each argument.
function Reply:say(...)
  self:block({ type = "text", text = "" })
  for _, text in ipairs({ ... }) do
    self:delta({ type = "text_delta", text = text })
  end
  self:stop()
end

--- Calls a tool.
function Reply:call(name, input)
  self.calls = self.calls + 1
  local id = ("toolu_%d_%d"):format(self.number, self.calls)
  self:block({ type = "tool_use", id = id, name = name, input = vim.empty_dict() })
  self:delta({ type = "input_json_delta", partial_json = vim.json.encode(input) })
  self:stop()
end

--- Waits until the condition holds.
function Reply:wait(condition)
  local routine = coroutine.running()
  local timer = assert(vim.uv.new_timer())
  timer:start(
    0,
    10,
    vim.schedule_wrap(function()
      if not timer:is_closing() and (self.socket:is_closing() or condition()) then
        timer:close()
        local ok, err = coroutine.resume(routine)
        if not ok then
          self.model.failed = err
        end
      end
    end)
  )
  coroutine.yield()
end

--- What the tools answered, or the user said, in the newest message: as one text.
function Reply:newest()
  local messages = self.body.messages
  return vim.json.encode(messages[#messages].content)
end

local function answer(model, socket, body)
  table.insert(model.requests, body)
  local number = #model.requests
  local step = model.steps[number]
  local reply = setmetatable({ model = model, socket = socket, body = body, number = number, index = 0, calls = 0 }, Reply)
  write(socket, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
  coroutine.wrap(function()
    local usage = { input_tokens = model.counts[number] or 10, output_tokens = 1 }
    reply:event("message_start", {
      message = { id = "msg_" .. number, role = "assistant", model = body.model, content = {}, usage = usage, type = "message" },
    })
    local ok, err = pcall(step or function()
      reply:say("There is nothing more to do.")
    end, reply)
    if not ok then
      model.failed = err
    end
    local reason = reply.calls > 0 and "tool_use" or "end_turn"
    reply:event("message_delta", { delta = { stop_reason = reason }, usage = { output_tokens = 5 } })
    reply:event("message_stop", {})
    if not socket:is_closing() then
      socket:shutdown(function()
        if not socket:is_closing() then
          socket:close()
        end
      end)
    end
  end)()
end

local function serve(model, socket)
  local got = ""
  socket:read_start(vim.schedule_wrap(function(_, chunk)
    if not chunk then
      return not socket:is_closing() and socket:close()
    end
    got = got .. chunk
    local head, rest = got:match("^(.-\r\n)\r\n(.*)$")
    local length = head and tonumber(head:lower():match("content%-length: *(%d+)"))
    if not length or #rest < length then
      return
    end
    got = ""
    if not head:match("^POST /v1/messages HTTP") then
      write(socket, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
      return
    end
    local seconds = model.refuses and model.refuses()
    if seconds then
      -- A rate limit, which ends after this time.
      local refused = '{"type":"error","error":{"type":"rate_limit_error","message":"too many requests"}}'
      local lines = { "HTTP/1.1 429 Too Many Requests", "retry-after: " .. seconds, "content-length: " .. #refused, "", refused }
      return write(socket, table.concat(lines, "\r\n"))
    end
    answer(model, socket, vim.json.decode(rest))
  end))
end

--- @param steps fun(reply: table)[]
--- @param counts? table<integer, integer> what a request counts in tokens
--- @param refuses? fun(): integer? seconds after which a refused request may be sent again
--- @return Model
function M.start(steps, counts, refuses)
  local model = { steps = steps, requests = {}, counts = counts or {}, refuses = refuses }
  local listener = assert(vim.uv.new_tcp())
  assert(listener:bind("127.0.0.1", 0))
  listener:listen(16, function()
    local socket = assert(vim.uv.new_tcp())
    listener:accept(socket)
    serve(model, socket)
  end)
  model.url = "http://127.0.0.1:" .. listener:getsockname().port
  model.stop = function()
    listener:close()
  end
  return model
end

return M
