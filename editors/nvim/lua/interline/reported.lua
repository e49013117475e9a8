--- What language servers and linters report for a buffer, as LSP diagnostics in the columns of our
--- server. Also used without the plugin, so it needs no other module of it than `columns`.
local columns = require("interline.columns")

local M = {}

--- More diagnostics of one document are not useful and are dropped from the end: errors come first.
local MOST = 500

local function position(lines, row, column, encoding)
  return { line = row, character = columns.from_bytes(lines[row + 1] or "", column, encoding) }
end

--- Numbers and words go over the wire; what a linter attached besides does not.
local function plain(value)
  return (type(value) == "string" or type(value) == "number") and value or nil
end

local function converted(report, lines, encoding)
  local last = #lines - 1
  local row = math.max(math.min(report.lnum, last), 0)
  local end_row = math.max(math.min(report.end_lnum or row, last), row)
  local start = position(lines, row, math.max(report.col, 0), encoding)
  local finish = position(lines, end_row, math.max(report.end_col or report.col, 0), encoding)
  if finish.line == start.line and finish.character < start.character then
    finish = start
  end
  return {
    range = { start = start, ["end"] = finish },
    severity = report.severity,
    source = plain(report.source),
    code = plain(report.code),
    message = report.message,
  }
end

--- @param own integer id of our own client, whose diagnostics are left out
--- @param encoding string of the columns in the result
function M.of(own, encoding, buffer)
  local ours = {}
  for _, pull in ipairs({ true, false }) do
    local ok, namespace = pcall(vim.lsp.diagnostic.get_namespace, own, pull)
    ours[ok and namespace or -1] = true
  end
  local all = vim.tbl_filter(function(report)
    return not ours[report.namespace]
  end, vim.diagnostic.get(buffer))
  table.sort(all, function(a, b)
    if a.severity ~= b.severity then
      return (a.severity or 1) < (b.severity or 1)
    elseif a.lnum ~= b.lnum then
      return a.lnum < b.lnum
    end
    return a.col < b.col
  end)
  local lines = #all > 0 and vim.api.nvim_buf_get_lines(buffer, 0, -1, true) or {}
  local out = {}
  for index = 1, math.min(#all, MOST) do
    table.insert(out, converted(all[index], lines, encoding))
  end
  return out
end

return M
