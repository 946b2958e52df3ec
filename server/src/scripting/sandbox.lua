-- What a script finds around it: Lua's own functions as far as they are harmless, Redis's, and
-- tables that it cannot change. Runs once in a fresh interpreter; `native` is what the server
-- gives. Must never hand out a table that scripts share and could write to.
local native = ...

local error, getmetatable, setmetatable = error, getmetatable, setmetatable
local next, pairs, type, tostring, select = next, pairs, type, tostring, select
local rawget, rawset, rawequal, pcall, ipairs = rawget, rawset, rawequal, pcall, ipairs
local loadstring, concat, xpcall, unpack = loadstring, table.concat, xpcall, unpack
local collectgarbage, _G = collectgarbage, _G

local READONLY = "Attempt to modify a readonly table"

-- The tables behind the protected ones.
local hidden = {}

local function refuse()
  error(READONLY, 2)
end

local function protect(table)
  local face = {}
  local shown = {}
  setmetatable(face, { __index = table, __newindex = refuse, __metatable = shown })
  hidden[face] = table
  return face
end

-- What `pcall` catches is a text, also where Redis raised a table of one field.
local seen = native.seen
local function caught(ok, problem, ...)
  if ok then
    return ok, problem, ...
  end
  problem = seen(problem)
  if type(problem) == "table" and type(rawget(problem, "err")) == "string" then
    return false, rawget(problem, "err")
  end
  return false, problem
end

local function resumed(ok, problem, ...)
  if ok then
    return ok, problem, ...
  end
  return false, seen(problem)
end

local function expect_table(value, position, name)
  if type(value) ~= "table" then
    local text = "bad argument #%d to '%s' (table expected, got %s)"
    error(text:format(position, name, value == nil and "nil" or type(value)), 3)
  end
end

local function load_text(text, name)
  if type(text) == "string" and text:byte(1) == 27 then
    return nil, "attempt to load a binary chunk"
  end
  return loadstring(text, name)
end

local resume = coroutine.resume
function coroutine.resume(...)
  return resumed(resume(...))
end

-- Matching goes one call of C deeper with each letter of a pattern, on a stack of bounded size.
local PATTERN_BYTES_MAX = 8192
for _, name in ipairs({ "find", "gfind", "gmatch", "gsub", "match" }) do
  local search = string[name]
  string[name] = function(text, pattern, ...)
    if type(pattern) == "string" and #pattern > PATTERN_BYTES_MAX then
      error("pattern too long", 2)
    end
    return search(text, pattern, ...)
  end
end
string.rep = native.rep

local globals = {
  _G = _G,
  _VERSION = _VERSION,
  assert = assert,
  collectgarbage = function(option, ...)
    if option == "stop" or option == "restart" or option == "setpause" or option == "setstepmul"
    then
      return 0
    end
    return collectgarbage(option, ...)
  end,
  coroutine = protect(coroutine),
  error = error,
  gcinfo = gcinfo,
  getmetatable = getmetatable,
  ipairs = ipairs,
  load = function(read, name)
    local pieces = {}
    repeat
      local piece = read()
      pieces[#pieces + 1] = piece
    until piece == nil or piece == ""
    return load_text(concat(pieces), name or "=(load)")
  end,
  loadstring = load_text,
  next = function(table, key)
    expect_table(table, 1, "next")
    return next(hidden[table] or table, key)
  end,
  pairs = function(table)
    expect_table(table, 1, "pairs")
    local behind = hidden[table]
    if behind then
      local copy = {}
      for key, value in next, behind do
        copy[key] = value
      end
      table = copy
    end
    return pairs(table)
  end,
  pcall = function(...)
    return caught(pcall(...))
  end,
  rawequal = rawequal,
  rawget = function(table, key)
    expect_table(table, 1, "rawget")
    return rawget(hidden[table] or table, key)
  end,
  rawset = function(table, key, value)
    expect_table(table, 1, "rawset")
    if hidden[table] then
      error(READONLY, 0)
    end
    return rawset(table, key, value)
  end,
  select = select,
  setmetatable = function(table, metatable)
    expect_table(table, 1, "setmetatable")
    if metatable ~= nil then
      expect_table(metatable, 2, "setmetatable")
    end
    if hidden[table] then
      error(READONLY, 0)
    end
    return setmetatable(table, metatable)
  end,
  tonumber = tonumber,
  tostring = tostring,
  type = type,
  unpack = unpack,
  xpcall = function(body, handle)
    return xpcall(body, function(problem)
      return handle(seen(problem))
    end)
  end,
  __redis__err__handler = native.handler,
}

math.random = native.random
math.randomseed = native.random_seed
globals.math = protect(math)
globals.os = protect({ clock = os.clock })
globals.redis = protect(native.redis)
globals.table = protect(table)
local strings = protect(string)
globals.string = strings
for name, functions in pairs(native.libraries) do
  globals[name] = protect(functions)
end

-- The methods of strings are a shared table as well.
local methods = getmetatable("")
methods.__index = strings
methods.__metatable = protect({ __index = strings })

for name in pairs(_G) do
  _G[name] = nil
end
local strict = {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
}
setmetatable(globals, strict)
setmetatable(native.loading, strict)
local around = { __index = globals, __newindex = refuse, __metatable = protect({}) }
setmetatable(_G, around)
hidden[_G] = globals

-- Whether a script got around the protection, by a function of C that writes raw.
local function is_clean()
  for face in next, hidden do
    if next(face) ~= nil then
      return false
    end
  end
  return true
end

local handler = native.handler
local function run(script)
  return xpcall(script, handler)
end
-- On one line: a script that is to stop stops at the next one, and this is not a script.
local function run_function(callback, keys, arguments)
  return xpcall(function() return callback(keys, arguments) end, handler)
end

-- A library finds nothing but its own `redis` around it while it registers its functions.
local loading = setmetatable({ redis = protect(native.loading) }, strict)
local function run_loading(library)
  around.__index = loading
  local ok, problem = xpcall(library, handler)
  around.__index = globals
  return ok, problem
end

return globals, is_clean, run, run_function, run_loading
