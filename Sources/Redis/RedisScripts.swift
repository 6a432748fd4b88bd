import Rendezvous

/// The scripts that run in Redis, each as a whole: no other command comes between its parts
/// (docs/protocol/cluster.md §2).
enum RedisScripts {
  /// `nil` for what is a command of its own.
  static func text(of script: SharedScript) -> String? {
    switch script {
    case .register: RedisLayout.all + register
    case .bind: beyondMemory + RedisLayout.all + bind
    case .free: beyondMemory + RedisLayout.all + free
    case .keep: beyondMemory + RedisLayout.all + keep
    case .restore: beyondMemory + RedisLayout.all + restore
    case .find: beyondMemory + RedisLayout.all + find
    case .announce: beyondMemory + RedisLayout.all + announce
    case .withdraw: beyondMemory + RedisLayout.all + withdraw
    case .beat: beyondMemory + RedisLayout.all + beat
    case .ban: ban
    case .bans: bans
    case .send: nil
    }
  }

  /// The first line of a script that also runs where `maxmemory` is reached: those who are known
  /// go on, and `register` refuses new names. Such a script is refused as a whole where Redis takes
  /// no writes.
  private static let beyondMemory = "#!lua flags=allow-oom\n"

  /// Does nothing, and fails where Redis takes no writes.
  static let trial = beyondMemory + "return 1"

  /// identity · name asked for · name claimed · now · life · names of one · names · reservation
  /// · rank and time of a receipt for the former, or none
  ///
  /// A reservation of 0 ms keeps no name.
  private static let register = """
    local now, life = tonumber(ARGV[4]), tonumber(ARGV[5])
    local most, names = tonumber(ARGV[6]), tonumber(ARGV[7])
    local known = read(ARGV[1])
    local out = {known.serial, known.serial and known.card, 0, 0, false, 0}
    if ARGV[2] ~= '' then
      local shown = receipt(ARGV[2], ARGV[9], ARGV[10])
      out[3] = verdict(ARGV[1], ARGV[2], now, life, most, names, shown)
      out[5] = call('GET', P..'f'..ARGV[2])
    end
    if ARGV[3] ~= '' then
      out[4] = verdict(ARGV[1], ARGV[3], now, life, most, names)
    end
    if (out[3] == 1 or out[3] == 5) and tonumber(ARGV[8]) > 0 then
      local kept = redis.pcall('SET', P..'r'..ARGV[2], ARGV[1], 'PX', tonumber(ARGV[8]))
      -- A server that is full has no room for new names.
      if kept.err and not string.find(kept.err, 'OOM') then return kept end
      if kept.err then out[3] = 3 end
    end
    out[6] = math.floor(milliseconds() / 1000)
    return out
    """

  /// identity · name · sealed owner · now · life · names of one · names · reservation
  /// · rank and time of a receipt, or none · what all nodes are told where another one loses it
  ///
  /// Sealed owner · clock in s · 1 where it was lost and is given back; or 2 another one has it,
  /// 0 it is not given now.
  private static let bind = """
    local idh, nh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
    local names = tonumber(ARGV[7])
    local shown = receipt(nh, ARGV[9], ARGV[10])
    local v = verdict(idh, nh, now, life, tonumber(ARGV[6]), names, shown)
    if v == 2 then return 2 end
    if v == 3 or v == 4 then return 0 end
    -- Freed since it was promised: its rank would be one of before.
    if v == 1 and isBefore(freeing(nh), ARGV[3]) then return 0 end
    local n = name(nh)
    if v == 0 then
      n.sealed = senior(n.sealed, ARGV[3])
      use(nh, n, now)
    else
      local isTaken = n and not lapsed(n.used, now, life)
      forget(nh)
      if not isTaken and count('names') >= names then forget(oldest('u')) end
      give(nh, idh, ARGV[3], now)
      if isTaken then call('PUBLISH', 'earshot:to:all', ARGV[11]) end
    end
    return {name(nh).sealed, math.floor(milliseconds() / 1000), v == 5 and 1 or 0}
    """

  /// name · that it was freed, sealed · what all nodes are told · life of that in ms · 1 also where
  /// somebody has got it since it was freed
  ///
  /// 0 · its sealed owner, or none; 1 it was freed within 10 min; 2 · who has got it since, sealed
  /// 3 · the moment that it must be later than: that of the freeing before, or since when somebody
  /// has it who has got it after that
  private static let free = """
    local n, held = name(ARGV[1]), call('GET', P..'h'..ARGV[1])
    if n and held and ARGV[5] == '0' then return {2, n.sealed} end
    local last, own = freeing(ARGV[1]) or 0, n and rank(n.sealed)
    if own and own < 4294967296 then last = math.max(last, 4294967296 - own) end
    if struct.unpack('>I5', string.sub(ARGV[2], 5, 9)) <= last then return {3, last} end
    local all = string.sub((n and n.owner or '')..(held or ''), 1, 1024)
    call('SET', P..'h'..ARGV[1], all, 'PX', 600000)
    call('SET', P..'f'..ARGV[1], ARGV[2], 'PX', tonumber(ARGV[4]))
    call('DEL', P..'r'..ARGV[1])
    forget(ARGV[1])
    call('PUBLISH', 'earshot:to:all', ARGV[3])
    return {held and not n and 1 or 0, n and n.sealed}
    """

  /// identity · serial · sealed card · now · cards
  private static let keep = """
    local idh, now = ARGV[1], tonumber(ARGV[4])
    if read(idh).card == '' then
      if count('cards') >= tonumber(ARGV[5]) then
        local old = oldest('c')
        if not old then return 0 end
        local r = read(old)
        r.card = ''
        place(old, r)
        write(old, r)
        call('HINCRBY', X, 'cards', -1)
      end
      call('HINCRBY', X, 'cards', 1)
    end
    local r = read(idh)
    if r.card == '' or not isLess(ARGV[2], r.serial) then r.serial, r.card = ARGV[2], ARGV[3] end
    r.seen = math.max(r.seen, now)
    place(idh, r)
    write(idh, r)
    return 1
    """

  /// identity · name, or none · sealed owner · now · life
  ///
  /// 1 done, 0 the card is gone, 2 another one has the name, or it was this one's before the
  /// operator has freed it.
  private static let restore = """
    local idh, nh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
    if nh ~= '' then
      local n = name(nh)
      if n and n.owner ~= idh then
        if not lapsed(n.used, now, life) then return 2 end
        forget(nh)
        n = nil
      end
      if n then
        n.sealed = senior(n.sealed, ARGV[3])
        use(nh, n, now)
      else
        if isBefore(freeing(nh), ARGV[3]) then return 2 end
        give(nh, idh, ARGV[3], now)
      end
    end
    if read(idh).card == '' then return 0 end
    return 1
    """

  /// name, or identity · now · life · pace of use
  private static let find = """
    local nh, idh, now, life = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
    local owner = false
    if nh ~= '' then
      local n = name(nh)
      if not n or lapsed(n.used, now, life) then return {false, false, {}, settling()} end
      idh, owner = n.owner, n.sealed
      if now - n.used >= tonumber(ARGV[5]) then use(nh, n, now) end
    end
    local ms, r = milliseconds(), read(idh)
    local programs, there = {}, {}
    for _, p in ipairs(r.programs) do
      local n = call('HMGET', P..'o'..p.node, 'c', 't', 's')
      local state = 0
      if p.stop > ms then
        if p.connection == nobody then
          state = 3
        elseif n[3] == '0' then
          state = 2
        elseif n[1] == p.connection then
          if n[3] == '1' and math.abs(ms - tonumber(n[2])) < 3000 then state = 1 else state = 2 end
        elseif call('EXISTS', P..'w'..p.connection) == 1 then
          state = 2
        end
      end
      if state > 0 then
        there[#there + 1] = p
        programs[#programs + 1] = {state, p.id, p.sealed}
      end
    end
    if #there < #r.programs then
      r.programs = there
      write(idh, r)
    end
    local open = settling() + call('ZCOUNT', P..':nodes', '('..(ms - 300000), ms - 3000)
    -- Nobody was heard, not even who asks: the clock was set.
    if math.abs(ms - (call('HGET', X, 'beat') or ms)) > 3000 then open = open + 1 end
    return {owner, r.serial and r.card, programs, open}
    """

  /// identity · presence · node · connection · serial · sealed record · life in ms
  private static let announce = """
    local ms, r = milliseconds(), read(ARGV[1])
    local there, former = {}, ARGV[3]
    for _, p in ipairs(r.programs) do
      if p.id == ARGV[2] then
        if isLess(ARGV[5], p.serial) then return 2 end
        former = p.node
      elseif p.stop > ms then
        there[#there + 1] = p
      end
    end
    if #there >= 64 then return 0 end
    there[#there + 1] = {
      id = ARGV[2], node = ARGV[3], connection = ARGV[4], serial = ARGV[5], sealed = ARGV[6],
      stop = ms + tonumber(ARGV[7]),
    }
    r.programs = there
    write(ARGV[1], r)
    if former ~= ARGV[3] then return former end
    return 1
    """

  /// identity · presence · node · connection · serial · 1 where its client is to register anew
  ///
  /// Such a program may be back within 15 s: until then it is of nobody's connection, which is one
  /// of before to nodes of a version before.
  private static let withdraw = """
    local r = read(ARGV[1])
    for index, p in ipairs(r.programs) do
      if p.id == ARGV[2] and p.node == ARGV[3] and p.connection == ARGV[4]
        and p.serial == ARGV[5] then
        if ARGV[6] == '1' then
          p.connection, p.stop = nobody, math.min(p.stop, milliseconds() + 15000)
          call('SET', P..'w'..nobody, '1', 'PX', 15000)
        else
          table.remove(r.programs, index)
        end
        write(ARGV[1], r)
        break
      end
    end
    return 1
    """

  /// node · connection · state (0 announces its programs, 1 has, 2 leaves, 3 has and is deaf, 4 has
  /// left) · nodes that it knows
  ///
  /// What was done, the clock in ms, then all nodes. Where data was lost, the nodes that it knew
  /// are again such that may have programs of which nobody knows. Programs of a node that has left,
  /// or has another connection, may be on their way for 15 s.
  private static let beat = """
    local k, nodes = P..'o'..ARGV[1], P..':nodes'
    local ms = milliseconds()
    -- The clock was set, or no node was here: nobody was heard later than now, and whoever was
    -- heard before may be coming back.
    if math.abs(ms - (call('HGET', X, 'beat') or ms)) > 10000 then
      local before = string.format('%.0f', ms - 3000)
      for _, node in ipairs(call('ZRANGE', nodes, 0, -1)) do
        call('ZADD', nodes, before, node)
        if call('EXISTS', P..'o'..node) == 1 then call('HSET', P..'o'..node, 't', before) end
      end
      if settling() == 0 then call('SET', P..':settling', '1', 'PX', 10000) end
      for key, most in pairs({frozen = 5000, settling = 30000}) do
        if call('PTTL', P..':'..key) > most then call('PEXPIRE', P..':'..key, most) end
      end
    end
    call('HSET', X, 'beat', string.format('%.0f', ms))
    local isFrozen = unsettled() == 1
    local bits, former = isFrozen and 5 or 1, call('HGET', k, 'c')
    -- Who announces its programs has names that nobody else knows.
    if isFrozen and ARGV[3] == '0' and settling() == 1 and call('PTTL', P..':frozen') < 3000 then
      call('PEXPIRE', P..':frozen', 3000)
    end
    if former ~= ARGV[2] then
      bits = bits + 2
      if former then call('SET', P..'w'..former, '1', 'PX', 15000) end
      if settling() == 1 then
        for index = 4, #ARGV do call('ZADD', nodes, 'NX', ms - 3000, ARGV[index]) end
      end
    end
    call('HSET', k, 'c', ARGV[2], 'h', ARGV[2], 't', string.format('%.0f', ms), 's', ARGV[3])
    call('PEXPIRE', k, ARGV[3] == '4' and 15000 or 5500000)
    if ARGV[3] == '2' or ARGV[3] == '4' then
      call('ZREM', nodes, ARGV[1])
    elseif ARGV[3] == '0' then
      call('ZADD', nodes, 'LT', ms - 3000, ARGV[1])
    else
      call('ZADD', nodes, ms, ARGV[1])
    end
    call('ZREMRANGEBYSCORE', nodes, '-inf', ms - 300000)
    local out, alive = call('ZRANGE', nodes, -64, -1), {}
    for index = 1, #out do
      local node = call('HMGET', P..'o'..out[index], 'c', 'h', 't', 's')
      if node[1] and node[1] == node[2] and node[4] ~= '3' and ms - node[3] < 3000 then
        alive[#alive + 1] = out[index]
      end
    end
    table.insert(out, 1, bits)
    table.insert(out, 2, ms)
    out[#out + 1] = alive
    return out
    """

  /// place · sealed ban · end in ms · now in ms · bans · channel
  private static let ban = """
    local k, now = 'earshot:2:bans', tonumber(ARGV[4])
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
  private static let bans = "return redis.call('HGETALL', 'earshot:2:bans')"

  /// Runs where the server does not know it, and so has started since a node came last: no name is
  /// given for a while that nobody has, because the server may lack the last ones.
  static let freeze = """
    redis.call('SET', 'earshot:2:epoch', '1')
    redis.call('SET', 'earshot:2:frozen', '1', 'PX', 5000)
    redis.call('SET', 'earshot:2:settling', '1', 'PX', 30000)
    return 1
    """

  /// Freezes as well where this is another reign than the last one that a node has seen: a server
  /// draws a `master_replid` each time that it becomes the primary. One that was it before still
  /// knows `freeze`, and may lack the last names of the one between.
  ///
  /// 1 another one, 0 the same, -1 the user may not see it.
  static let reign =
    beyondMemory + """
      local info = redis.pcall('INFO', 'replication')
      local id = type(info) == 'string' and string.match(info, 'master_replid:(%x+)')
      if not id then return -1 end
      if redis.call('GET', 'earshot:2:reign') == id then return 0 end
      redis.call('SET', 'earshot:2:reign', id)

      """ + freeze

  /// `freeze` for a server that may be full. `freeze` itself keeps its SHA-1, by which nodes know
  /// that it ran.
  static let freezeBeyondMemory = beyondMemory + freeze

  /// Its SHA-1: what the server calls it.
  static let freezeDigest = "16d1d5effd2f7a6d52c06c279bca94acfcc20594"
}
