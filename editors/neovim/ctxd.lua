-- ctxd for Neovim 0.7 or newer, in one file. Put it at ~/.config/nvim/lua/ctxd.lua and say
--
--   require("ctxd").setup({})                     -- or { command = { "/path/to/ctxd", "serve" } }
--   vim.o.statusline = vim.o.statusline .. " %{v:lua.require'ctxd'.gauge()}"
--
-- :Ctxd shows the newest agent session of the working directory: its size, its phase, what fills it.
-- Sessions are opened read-only, so whoever works in one keeps it.

local M = {}
local state = { id = nil, text = "" }

local PHASES = {
  below_handoff = "below the handoff band",
  handoff_band = "in the handoff band",
  compaction_due = "compaction due",
  unknown = "window unknown",
}

local function start(command, root)
  local config = {
    name = "ctxd",
    cmd = command,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    handlers = {
      ["context/didChange"] = function(_, params)
        state.text = M.format(params.projection)
      end,
      ["session/didChange"] = function() end,
      ["context/event"] = function() end,
    },
    on_exit = function()
      state.id, state.text = nil, ""
    end,
  }
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.lsp.start(config, { attach = false })
  end
  return vim.lsp.start_client(config)
end

local function request(method, params, done)
  local client = vim.lsp.get_client_by_id(state.id)
  local function handler(err, result)
    if err then
      vim.notify("ctxd: " .. (err.message or vim.inspect(err)), vim.log.levels.WARN)
    else
      done(result)
    end
  end
  if vim.fn.has("nvim-0.11") == 1 then
    client:request(method, params, handler, 0)
  else
    client.request(method, params, handler, 0)
  end
end

-- A client answers requests only once `initialize` has come back.
local function when_ready(run)
  local client = state.id and vim.lsp.get_client_by_id(state.id)
  if client and (client.initialized or client.server_capabilities) then
    return run()
  end
  if state.id then
    vim.defer_fn(function()
      when_ready(run)
    end, 50)
  end
end

function M.format(projection)
  local window = projection.window
  local of = (window == nil or window == vim.NIL) and "" or string.format("/%.0fk", window / 1000)
  return string.format("ctxd %.1fk%s %s", projection.tokens / 1000, of, (projection.phase:gsub("_.*", "")))
end

-- The size of the newest session, for a statusline; empty until :Ctxd or M.project was asked.
function M.gauge()
  return state.text
end

-- Calls done(session, projection) with the newest session of the working directory; not at all without one.
function M.project(done)
  when_ready(function()
    local workspace = vim.uri_from_fname(vim.fn.getcwd())
    request("session/list", { workspace = workspace }, function(listed)
      local session = listed.sessions[1]
      if not session then
        return vim.notify("ctxd: no agent session in this folder yet")
      end
      local opening = { workspace = workspace, sessionId = session.sessionId, mode = "resume", readOnly = true }
      request("session/open", opening, function()
        local asked = { sessionId = session.sessionId, detail = "categories" }
        request("context/project", asked, function(projection)
          state.text = M.format(projection)
          done(session, projection)
        end)
      end)
    end)
  end)
end

function M.lines(session, projection)
  local model = type(session.model) == "table" and session.model.id or session.dialect
  local lines = {
    string.format("%s  %s", model, session.sessionId),
    string.format("%d tokens, between %d and %d; %s", projection.tokens, projection.low, projection.high, PHASES[projection.phase]),
    "",
  }
  local categories = projection.categories or {}
  table.sort(categories, function(a, b)
    return a.tokens > b.tokens
  end)
  for _, category in ipairs(categories) do
    if category.tokens > 0 then
      lines[#lines + 1] = string.format("%9d  %s", category.tokens, category.name)
    end
  end
  return lines
end

function M.show()
  M.project(function(session, projection)
    vim.cmd("botright 12new")
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "nofile", "wipe", false
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, M.lines(session, projection))
    vim.bo[buffer].modifiable = false
  end)
end

function M.setup(options)
  local command = options.command or { "ctxd", "serve" }
  if vim.fn.executable(command[1]) == 0 then
    return vim.notify("ctxd is not installed. Run: pip install ctxd-server", vim.log.levels.WARN)
  end
  state.id = start(command, vim.fn.getcwd())
  vim.api.nvim_create_user_command("Ctxd", M.show, { desc = "Show the newest agent session" })
end

return M
