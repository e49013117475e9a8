--- Writes recordings for `model = "replay/FILE"`: the provider's stream events of each step.
local M = {}

local function block(events, index, start, deltas)
  table.insert(events, { type = "content_block_start", index = index, content_block = start })
  for _, delta in ipairs(deltas) do
    table.insert(events, { type = "content_block_delta", index = index, delta = delta, delayMs = delta.delayMs })
    delta.delayMs = nil
  end
  table.insert(events, { type = "content_block_stop", index = index })
end

--- @param step {expect?: table, say?: string, delay?: integer, calls?: {[1]: string, [2]: table}[]}
local function events_of(step, number)
  local usage = { input_tokens = 10, output_tokens = 1 }
  local events = {
    { type = "message_start", message = { id = "msg_" .. number, type = "message", role = "assistant", model = "claude-opus-5-5", content = {}, usage = usage } },
  }
  local index = 0
  if step.say then
    local half = math.ceil(#step.say / 2)
    block(events, index, { type = "text", text = "" }, {
      { type = "text_delta", text = step.say:sub(1, half) },
      { type = "text_delta", text = step.say:sub(half + 1), delayMs = step.delay },
    })
    index = index + 1
  end
  for at, call in ipairs(step.calls or {}) do
    block(events, index, { type = "tool_use", id = ("toolu_%d_%d"):format(number, at), name = call[1], input = vim.empty_dict() }, {
      { type = "input_json_delta", partial_json = vim.json.encode(call[2]) },
    })
    index = index + 1
  end
  local reason = step.calls and "tool_use" or "end_turn"
  table.insert(events, { type = "message_delta", delta = { stop_reason = reason }, usage = { output_tokens = 5 } })
  table.insert(events, { type = "message_stop" })
  return events
end

--- @return string model the name for the setting
function M.write(steps)
  local lines = { '{"interline":"replay","version":1,"model":"claude-opus-5-5"}' }
  for number, step in ipairs(steps) do
    table.insert(lines, vim.json.encode({ expect = step.expect or vim.empty_dict(), events = events_of(step, number) }))
  end
  local path = vim.fn.tempname() .. ".jsonl"
  vim.fn.writefile(lines, path)
  return "replay/" .. path
end

return M
