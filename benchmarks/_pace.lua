-- wrk sends at a given rate: whoever is early waits for its place in the schedule.
local ffi = require("ffi")
ffi.cdef[[
  typedef struct { long seconds; long nanoseconds; } moment_t;
  int clock_gettime(int clock, moment_t *moment);
]]
local moment = ffi.new("moment_t")
local rate, begun, sent = 1, nil, 0

local function now()
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) * 1e-9
end

function init(arguments)
  rate = tonumber(arguments[1])
end

function delay()
  begun = begun or now()
  sent = sent + 1
  local early = begun + sent / rate - now()
  return early > 0 and math.ceil(early * 1000) or 0
end
