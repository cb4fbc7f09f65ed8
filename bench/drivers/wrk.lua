-- The script that wrk runs: sends the requests of a file in order, and checks the status and the body of every response. wrk does not
-- report the connection of a response, so a body is correct if it is correct for any of the requests.
--
-- The file: a line of four numbers (requests, responses, whether to blank digits, where to start), then for each request a line with its
-- length and a line with its bytes, then the same for each response.

local requests, correct, blank, nextRequest = {}, {}, false, 0
local total = 0

-- Globals, because done() reads them through thread:get.
wrong, firstWrong = 0, ''

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  local count, answers, blankDigits, start = file:read('*n', '*n', '*n', '*n')
  file:read('*l')
  local function block()
    local length = tonumber(file:read('*l'))
    local text = length == 0 and '' or file:read(length)
    file:read('*l')
    return text
  end
  for i = 1, count do requests[i] = block() end
  for _ = 1, answers do correct[block()] = true end
  file:close()
  total, blank, nextRequest = count, blankDigits == 1, start
end

function request()
  nextRequest = nextRequest + 1
  if nextRequest > total then nextRequest = 1 end
  return requests[nextRequest]
end

function response(status, _, body)
  if blank then body = body:gsub(':"%d+"', ':""') end
  if status < 200 or status > 299 or not correct[body] then
    wrong = wrong + 1
    if firstWrong == '' then firstWrong = status .. ' ' .. body:sub(1, 300) end
  end
end

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function done(summary, latency)
  local bad, first = 0, ''
  for _, thread in ipairs(threads) do
    bad = bad + thread:get('wrong')
    if first == '' then first = thread:get('firstWrong') end
  end
  local errors = summary.errors
  io.write('\nfigures ', table.concat({
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), os.clock(),
    bad, errors.connect, errors.read, errors.write, errors.status, errors.timeout,
  }, ' '), '\nfirst wrong ', first:gsub('\n', ' '), '\n')
end
