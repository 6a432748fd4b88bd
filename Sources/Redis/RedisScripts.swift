import Rendezvous

/// The scripts that run in Redis, each as a whole: no other command comes between its parts
/// (docs/protocol/cluster.md §2).
enum RedisScripts {
  /// `nil` for what is a command of its own.
  static func text(of script: SharedScript) -> String? {
    switch script {
    case .register: names + register
    case .bind: names + bind
    case .keep: keep
    case .restore: names + restore
    case .find: names + find
    case .announce: announce
    case .withdraw: withdraw
    case .beat: names + beat
    case .ban: ban
    case .bans: bans
    case .send: nil
    }
  }

  /// What scripts about names have in common.
  private static let names = """
    local P = 'earshot:'
    local function unsettled()
      if redis.call('EXISTS', P..'epoch') == 0 then
        redis.call('SET', P..'epoch', '1')
        redis.call('SET', P..'frozen', '1', 'PX', 5000)
        redis.call('SET', P..'settling', '1', 'PX', 30000)
      end
      return redis.call('EXISTS', P..'frozen')
    end
    local function settling()
      unsettled()
      return redis.call('EXISTS', P..'settling')
    end
    local function lapsed(used, now, life)
      return now > used and now - used >= life
    end
    local function verdict(idh, nh, now, life, most, names)
      local e = redis.call('HMGET', P..'n:'..nh, 'o', 'u')
      if e[1] and not lapsed(tonumber(e[2]), now, life) then
        if e[1] == idh then return 0 else return 2 end
      end
      local r = redis.call('GET', P..'r:'..nh)
      if r and r ~= idh then return 2 end
      if redis.call('SCARD', P..'m:'..idh) >= most then return 3 end
      if redis.call('ZCARD', P..'names') >= names
        and redis.call('ZCOUNT', P..'names', '-inf', now - life) == 0 then return 3 end
      if unsettled() == 1 then return 4 end
      return 1
    end

    """

  /// identity · name asked for · name claimed · now · life · names of one · names · reservation
  private static let register = """
    local now, life = tonumber(ARGV[4]), tonumber(ARGV[5])
    local most, names = tonumber(ARGV[6]), tonumber(ARGV[7])
    local known = redis.call('HMGET', P..'i:'..ARGV[1], 's', 'c')
    local out = {known[1], known[2], 0, 0}
    for index = 2, 3 do
      if ARGV[index] ~= '' then
        out[index + 1] = verdict(ARGV[1], ARGV[index], now, life, most, names)
      end
    end
    if ARGV[2] ~= '' and out[3] == 1 then
      redis.call('SET', P..'r:'..ARGV[2], ARGV[1], 'PX', tonumber(ARGV[8]))
    end
    return out
    """

  /// identity · name · sealed owner · now · life · names of one · names · reservation
  private static let bind = """
    local idh, nh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
    local names = tonumber(ARGV[7])
    local function forget(nh)
      local o = redis.call('HGET', P..'n:'..nh, 'o')
      if o then
        redis.call('SREM', P..'m:'..o, nh)
        local seen = redis.call('ZSCORE', P..'cards', o)
        if seen and redis.call('EXISTS', P..'m:'..o) == 0 then
          redis.call('ZADD', P..'nameless', seen, o)
        end
      end
      redis.call('DEL', P..'n:'..nh)
      redis.call('ZREM', P..'names', nh)
    end
    local v = verdict(idh, nh, now, life, tonumber(ARGV[6]), names)
    if v > 1 then return 0 end
    if v == 1 then
      if redis.call('ZCARD', P..'names') >= names then
        local old = redis.call('ZRANGEBYSCORE', P..'names', '-inf', now - life, 'LIMIT', 0, 1)
        if old[1] then forget(old[1]) end
      end
      forget(nh)
      redis.call('HSET', P..'n:'..nh, 'o', idh, 'v', ARGV[3])
      redis.call('SADD', P..'m:'..idh, nh)
      redis.call('ZREM', P..'nameless', idh)
      redis.call('DEL', P..'r:'..nh)
    end
    redis.call('HSET', P..'n:'..nh, 'u', now)
    redis.call('ZADD', P..'names', now, nh)
    return 1
    """

  /// identity · serial · sealed card · now · cards
  private static let keep = """
    local P = 'earshot:'
    local k, now = P..'i:'..ARGV[1], tonumber(ARGV[4])
    local s = redis.call('HGET', k, 's')
    if not s and redis.call('ZCARD', P..'cards') >= tonumber(ARGV[5]) then
      local old = redis.call('ZPOPMIN', P..'nameless')[1]
      if not old then return 0 end
      redis.call('DEL', P..'i:'..old)
      redis.call('ZREM', P..'cards', old)
    end
    if not s or ARGV[2] >= s then redis.call('HSET', k, 's', ARGV[2], 'c', ARGV[3]) end
    redis.call('ZADD', P..'cards', 'GT', now, ARGV[1])
    if redis.call('EXISTS', P..'m:'..ARGV[1]) == 0 then
      redis.call('ZADD', P..'nameless', 'GT', now, ARGV[1])
    end
    return 1
    """

  /// identity · name, or none · sealed owner · now · life
  private static let restore = """
    local idh, nh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
    if nh ~= '' then
      local e = redis.call('HMGET', P..'n:'..nh, 'o', 'u')
      local owner = e[1]
      if owner and owner ~= idh and lapsed(tonumber(e[2]), now, life) then
        redis.call('SREM', P..'m:'..owner, nh)
        owner = false
      end
      if owner and owner ~= idh then return 0 end
      redis.call('HSET', P..'n:'..nh, 'o', idh, 'v', ARGV[3], 'u', now)
      redis.call('ZADD', P..'names', now, nh)
      redis.call('SADD', P..'m:'..idh, nh)
      redis.call('ZREM', P..'nameless', idh)
      redis.call('DEL', P..'r:'..nh)
    end
    return redis.call('EXISTS', P..'i:'..idh)
    """

  /// name, or identity · now · life · pace of use
  private static let find = """
    local nh, idh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
    local owner = false
    if nh ~= '' then
      local e = redis.call('HMGET', P..'n:'..nh, 'o', 'v', 'u')
      if not e[1] or lapsed(tonumber(e[3]), now, life) then
        return {false, false, {}, settling()}
      end
      idh, owner = e[1], e[2]
      if now - tonumber(e[3]) >= tonumber(ARGV[5]) then
        redis.call('HSET', P..'n:'..nh, 'u', now)
        redis.call('ZADD', P..'names', now, nh)
      end
    end
    local t = redis.call('TIME')
    local ms = t[1] * 1000 + math.floor(t[2] / 1000)
    local programs = {}
    local all = redis.call('HGETALL', P..'p:'..idh)
    for index = 1, #all, 2 do
      local value = all[index + 1]
      local n = redis.call('HMGET', P..'o:'..string.sub(value, 1, 16), 'c', 't', 's')
      local isSame = n[1] == string.sub(value, 17, 24)
      local state = 0
      if n[1] and tonumber(string.sub(value, 45, 64)) > ms then
        if n[3] == '0' then
          state = 2
        elseif isSame then
          if n[3] == '1' and ms - tonumber(n[2]) < 3000 then state = 1 else state = 2 end
        end
      end
      if state == 0 then
        redis.call('HDEL', P..'p:'..idh, all[index])
      else
        programs[#programs + 1] = {state, all[index], string.sub(value, 65)}
      end
    end
    local card = redis.call('HGET', P..'i:'..idh, 'c')
    local open = 0
    if not card or #programs == 0 then
      open = settling() + redis.call('ZCOUNT', P..'nodes', '('..(ms - 300000), ms - 3000)
    end
    return {owner, card, programs, open}
    """

  /// identity · presence · node · connection · serial · sealed record · life in ms
  private static let announce = """
    local k = 'earshot:p:'..ARGV[1]
    local old = redis.call('HGET', k, ARGV[2])
    if old and string.sub(old, 25, 44) > ARGV[5] then return 2 end
    if not old and redis.call('HLEN', k) >= 64 then return 0 end
    local t = redis.call('TIME')
    local stop = t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[7])
    local head = ARGV[3]..ARGV[4]..ARGV[5]..string.format('%020.0f', stop)
    redis.call('HSET', k, ARGV[2], head..ARGV[6])
    redis.call('PEXPIRE', k, tonumber(ARGV[7]))
    if old and string.sub(old, 1, 16) ~= ARGV[3] then return string.sub(old, 1, 16) end
    return 1
    """

  /// identity · presence · node · connection · serial
  private static let withdraw = """
    local k = 'earshot:p:'..ARGV[1]
    local old = redis.call('HGET', k, ARGV[2])
    if old and string.sub(old, 1, 44) == ARGV[3]..ARGV[4]..ARGV[5] then
      redis.call('HDEL', k, ARGV[2])
    end
    return 1
    """

  /// node · connection · state (0 announces its programs, 1 has, 2 leaves, 3 has and is deaf)
  private static let beat = """
    local k = P..'o:'..ARGV[1]
    if ARGV[3] == '2' then
      redis.call('ZREM', P..'nodes', ARGV[1])
      return redis.call('DEL', k)
    end
    local t = redis.call('TIME')
    local ms = t[1] * 1000 + math.floor(t[2] / 1000)
    local bits = 1 + unsettled() * 4
    if redis.call('HGET', k, 'c') ~= ARGV[2] then bits = bits + 2 end
    redis.call('HSET', k, 'c', ARGV[2], 't', string.format('%.0f', ms), 's', ARGV[3])
    redis.call('PEXPIRE', k, 5500000)
    if ARGV[3] == '0' then
      redis.call('ZADD', P..'nodes', 'LT', ms - 3000, ARGV[1])
    else
      redis.call('ZADD', P..'nodes', ms, ARGV[1])
    end
    redis.call('ZREMRANGEBYSCORE', P..'nodes', '-inf', ms - 300000)
    return bits
    """

  /// place · sealed ban · end in ms · now in ms · bans · channel
  private static let ban = """
    local k, now = 'earshot:bans', tonumber(ARGV[4])
    redis.call('HSET', k, ARGV[1], ARGV[3]..ARGV[6]..ARGV[2])
    if redis.call('HLEN', k) <= tonumber(ARGV[5]) then return 1 end
    local all = redis.call('HGETALL', k)
    local counts, most, count = {}, nil, 0
    for index = 1, #all, 2 do
      if tonumber(string.sub(all[index + 1], 1, 20)) <= now then
        redis.call('HDEL', k, all[index])
      else
        local channel = string.sub(all[index + 1], 21, 36)
        counts[channel] = (counts[channel] or 0) + 1
        count = count + 1
        if not most or counts[channel] > counts[most] then most = channel end
      end
    end
    if count <= tonumber(ARGV[5]) then return 1 end
    local first, last = nil, nil
    for index = 1, #all, 2 do
      local value = all[index + 1]
      local isAlive = tonumber(string.sub(value, 1, 20)) > now
      if isAlive and string.sub(value, 21, 36) == most and (not last or value < last) then
        first, last = all[index], value
      end
    end
    if first then redis.call('HDEL', k, first) end
    return 1
    """

  /// Each ban by its place: end in ms 20 · channel 16 · sealed ban.
  private static let bans = "return redis.call('HGETALL', 'earshot:bans')"

  /// Runs where the server does not know it, and so has started since a node came last: no name is
  /// given for a while that nobody has, because the server may lack the last ones.
  static let freeze = """
    redis.call('SET', 'earshot:epoch', '1')
    redis.call('SET', 'earshot:frozen', '1', 'PX', 5000)
    redis.call('SET', 'earshot:settling', '1', 'PX', 30000)
    return 1
    """

  /// Its SHA-1: what the server calls it.
  static let freezeDigest = "f00b7cd47bcee00d8bb97a60e140571e54e03692"
}
