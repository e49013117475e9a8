--- The parts of a prompt: files, folders and images that it mentions with `@`, images from the clipboard, and a
--- skill or an MCP server's prompt that it begins with.
local config = require("interline.config")
local visible = require("interline.visible")

local M = {}

--- Larger files are refused by every provider.
local MOST_BYTES = 5 * 1024 * 1024

local TYPES = {
  png = "image/png",
  jpg = "image/jpeg",
  jpeg = "image/jpeg",
  gif = "image/gif",
  webp = "image/webp",
  pdf = "application/pdf",
}

--- Images from the clipboard, by the words that stand for them in a prompt.
--- @type table<string, {data: string, mimeType: string}>
local pasted = {}
local count = 0

local function lines_of(range)
  local first, last = range.start.line + 1, range["end"].line + 1
  if last > first and range["end"].character == 0 then
    last = last - 1
  end
  return first == last and (":%d"):format(first) or (":%d-%d"):format(first, last)
end

local function is_folder(path)
  return vim.fn.isdirectory(path) == 1
end

--- A prompt in words, for the chat.
--- @param input table[]
--- @return string[]
function M.words(input, root)
  local lines = {}
  for _, part in ipairs(input or {}) do
    if part.type == "text" then
      table.insert(lines, part.text)
    elseif part.uri then
      local range = type(part.range) == "table" and lines_of(part.range) or ""
      local ok, path = pcall(vim.uri_to_fname, part.uri)
      local slash = ok and is_folder(path) and "/" or ""
      table.insert(lines, "[" .. visible.path(part.uri, root) .. slash .. range .. "]")
    elseif part.type == "skill" or part.type == "mcpPrompt" then
      local name = part.server and part.server .. ":" .. part.name or part.name
      local arguments = type(part.arguments) == "string" and " " .. part.arguments or ""
      table.insert(lines, "/" .. visible.line(tostring(name)) .. arguments)
    else
      table.insert(lines, "[" .. visible.line(tostring(part.name or part.type)) .. "]")
    end
  end
  return lines
end

--- The text of a prompt, to be edited.
function M.text(input)
  local texts = {}
  for _, part in ipairs(input or {}) do
    if part.type == "text" then
      table.insert(texts, part.text)
    elseif part.type == "skill" then
      table.insert(texts, "/" .. part.name .. (type(part.arguments) == "string" and " " .. part.arguments or ""))
    end
  end
  return table.concat(texts, "\n")
end

--- A name as it is written after `@`.
function M.escape(name)
  return (name:gsub(" ", "\\ "))
end

--- The parts that the text does not name, which an edited prompt keeps.
function M.kept(input)
  return vim.tbl_filter(function(part)
    local named = part.uri and part.range == nil
    return part.type ~= "text" and part.type ~= "skill" and not named and part.data ~= ""
  end, input or {})
end

--- @return string? content, string? reason
local function read(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil, "it is not a file"
  elseif stat.size > MOST_BYTES then
    return nil, ("it has %d MB, and at most 5 MB can be sent"):format(math.ceil(stat.size / 1024 / 1024))
  end
  local file, reason = io.open(path, "rb")
  local content = file and file:read("*a")
  if file then
    file:close()
  end
  return content, reason
end

local function kind_of(path)
  return TYPES[(path:match("%.(%w+)$") or ""):lower()]
end

--- @return table? part, string? reason
local function file_part(path)
  local kind = kind_of(path)
  if not kind or is_folder(path) then
    return { type = "resource", uri = vim.uri_from_fname(path) }
  end
  local content, reason = read(path)
  if not content then
    return nil, reason
  end
  local data = vim.base64.encode(content)
  if kind == "application/pdf" then
    return { type = "document", name = vim.fs.basename(path), mimeType = kind, data = data }
  end
  return { type = "image", mimeType = kind, data = data }
end

local function exists(path)
  local stat = vim.uv.fs_stat(path)
  return stat and stat.type == "file" or not stat and vim.fn.bufloaded(path) == 1
end

--- The dots of `@.` and `@src/.` are punctuation, not folders.
local function is_named_folder(name, path)
  return is_folder(path) and not name:match("[^/]*$"):match("^%.+$")
end

--- Words of a text; a space after a backslash belongs to its word.
local function words_of(text)
  local words = {}
  for word in text:gsub("\\ ", "\1"):gmatch("%S+") do
    table.insert(words, (word:gsub("\1", " ")))
  end
  return words
end

--- The file or folder that a word with `@` names, and the lines.
local function mentioned(word, root)
  local name = word:match("^%(?@(.+)$")
  while name and name ~= "" do
    local from, to = name:match(":(%d+)%-?(%d*)$")
    for _, each in ipairs({ name, from and name:gsub(":[%d-]+$", "") or nil }) do
      local path = each:match("^[/~]") and vim.fs.normalize(each) or root .. "/" .. each
      if is_named_folder(each, path) then
        return (path:gsub("(.)/+$", "%1"))
      elseif exists(path) then
        return path, each ~= name and { tonumber(from), tonumber(to) or tonumber(from) } or nil
      end
    end
    -- Punctuation after the name.
    local shorter = name:gsub("[.,;:?!)]$", "")
    name = shorter ~= name and shorter or nil
  end
end

--- The range of whole lines of a file, in its buffer or on disk.
local function range_of(server, path, lines)
  local client, buffer = require("interline.client"), vim.fn.bufnr(path)
  local open = buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer)
  local all = open and vim.api.nvim_buf_get_lines(buffer, 0, -1, true) or vim.fn.readfile(path, "", lines[2])
  local first, last = math.min(lines[1], #all), math.min(math.max(lines[1], lines[2]), #all)
  local text = all[last] or ""
  local width = require("interline.columns").from_bytes(text, #text, client.encoding(server))
  return {
    start = { line = math.max(first - 1, 0), character = 0 },
    ["end"] = { line = math.max(last - 1, 0), character = width },
  }
end

--- @param server interline.Server
local function mentions(server, text)
  local parts, seen, problem = {}, {}, nil
  for _, word in ipairs(words_of(text)) do
    local path, lines = mentioned(word, server.root)
    if path and not seen[word] then
      seen[word] = true
      local part, reason = file_part(path)
      if part and lines and part.type == "resource" then
        part.range = range_of(server, path, lines)
      end
      problem = problem or reason and ("%s was not attached: %s"):format(visible.path(path, server.root), reason)
      table.insert(parts, part)
    end
  end
  for words, image in pairs(pasted) do
    if text:find(words, 1, true) then
      table.insert(parts, { type = "image", mimeType = image.mimeType, data = image.data })
    end
  end
  return parts, problem
end

--- `key=value` words.
local function arguments_of(text)
  local found = vim.empty_dict()
  for key, value in text:gmatch("([%w_-]+)=(%S+)") do
    found[key] = value
  end
  return found
end

--- Calls back with the input of a turn.
--- @param server interline.Server
--- @param callback fun(input: table[])
function M.input(server, text, callback)
  local parts, problem = mentions(server, text)
  if problem then
    require("interline.say").warn(problem, server)
  end
  local function finish(first)
    callback(vim.list_extend({ first or { type = "text", text = text } }, parts))
  end
  local name, rest = text:match("^/([^%s/]+)%s*(.*)$")
  if not name then
    return finish()
  end
  local client = require("interline.client")
  local offset = require("interline.columns").from_bytes("/" .. name, #name + 1, client.encoding(server))
  local params = { sessionId = server.session, text = "/" .. name, offset = offset }
  client.request(server, "interline/input/complete", params, function(result)
    for _, item in ipairs(result.items) do
      if item.label == name and item.kind == "skill" then
        return finish({ type = "skill", name = name, arguments = rest ~= "" and rest or nil })
      elseif item.label == name and item.kind == "mcpPrompt" then
        return finish({ type = "mcpPrompt", server = item.server, name = item.name, arguments = arguments_of(rest) })
      end
    end
    finish()
  end, function()
    finish()
  end)
end

--- Commands that print the clipboard's image as PNG, and what must be true for each.
local CLIPBOARDS = {
  { when = "WAYLAND_DISPLAY", command = { "wl-paste", "--no-newline", "--type", "image/png" } },
  { when = "DISPLAY", command = { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" } },
  { command = { "pngpaste", "-" } },
}

--- @return string[]? command
local function clipboard_command()
  local set = config.get().clipboard
  if set then
    return set
  end
  for _, row in ipairs(CLIPBOARDS) do
    local fits = not row.when or (vim.env[row.when] or "") ~= ""
    if fits and vim.fn.executable(row.command[1]) == 1 then
      return row.command
    end
  end
end

local MAGIC = { ["\137PNG"] = "image/png", ["\255\216\255"] = "image/jpeg", ["GIF8"] = "image/gif", ["RIFF"] = "image/webp" }

local function image_type(data)
  for magic, kind in pairs(MAGIC) do
    if vim.startswith(data, magic) then
      return kind
    end
  end
end

--- The image in the clipboard; calls back with the words that stand for it in a prompt.
--- @param callback fun(words: string)
function M.paste(callback)
  local say = require("interline.say")
  local command = clipboard_command()
  if not command then
    return say.error("no program reads images of the clipboard; install wl-clipboard, xclip or pngpaste, or set `clipboard`")
  elseif vim.fn.executable(command[1]) ~= 1 then
    return say.error(("%s is not an executable; see the setting `clipboard`"):format(command[1]))
  end
  vim.system(command, { text = false, timeout = 10000 }, vim.schedule_wrap(function(done)
    local data = done.stdout or ""
    local kind = image_type(data)
    if done.code ~= 0 or not kind then
      return say.warn("the clipboard has no image")
    elseif #data > MOST_BYTES then
      return say.warn("the image in the clipboard is larger than 5 MB")
    end
    count = count + 1
    local words = ("[image %d]"):format(count)
    pasted[words] = { data = vim.base64.encode(data), mimeType = kind }
    callback(words)
  end))
end

--- A file as it is mentioned in a prompt of this root.
--- @return string? words nil with a reason
function M.mention(path, root)
  local full = vim.fs.normalize(vim.fn.fnamemodify(path, ":p"))
  if not exists(full) then
    return nil, "it is not a file"
  end
  local name = vim.startswith(full, root .. "/") and full:sub(#root + 2) or full
  return "@" .. M.escape(name)
end

return M
