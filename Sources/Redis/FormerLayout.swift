import Rendezvous

/// The layout before, whose keys began with `earshot:` and a letter, and had one key for a card,
/// one for a name, one for names of an identity and one for programs (docs/operating.md).
enum FormerLayout {
  /// Whether there is anything of it: 0 nothing, 1 it is to be converted; below 0 so many of its
  /// nodes are there. After 0 and 1 such nodes can neither give names nor say who is not there:
  /// what they ask for is of another type.
  static let begin = """
    if call('EXISTS', P..':layout') == 1 then return 0 end
    local function isSet(k) return call('TYPE', k).ok == 'zset' end
    if isSet('earshot:nodes') then
      local alive = call('ZCOUNT', 'earshot:nodes', milliseconds() - 300000, '+inf')
      if alive > 0 then return -alive end
    end
    local isThere = call('EXISTS', 'earshot:epoch', P..':former')
    for _, k in ipairs({'earshot:names', 'earshot:cards', 'earshot:nodes', 'earshot:nameless'}) do
      if isSet(k) then
        isThere = 1
        if k == 'earshot:cards' then call('RENAME', k, P..':former') end
      end
      call('SET', k, 'layout 2')
    end
    if isThere == 0 then
      call('SET', P..':layout', '2')
      return 0
    end
    if call('EXISTS', 'earshot:bans') == 1 and call('EXISTS', P..':bans') == 0 then
      call('RENAME', 'earshot:bans', P..':bans')
    end
    return 1
    """

  /// cursor
  ///
  /// Converts some keys; the next cursor, 0 at the end. Programs are announced anew.
  static let convert = """
    local function bytes(digits)
      local high, low = 0, 0
      for digit in string.gmatch(digits, '%d') do
        low = low * 10 + tonumber(digit)
        high = high * 10 + math.floor(low / 4294967296)
        low = low % 4294967296
      end
      return struct.pack('>I4I4', high, low)
    end
    local function keep(idh, k)
      local e, r = call('HMGET', k, 's', 'c'), read(idh)
      if not e[1] or not e[2] or r.card ~= '' then return end
      r.serial, r.card = bytes(e[1]), e[2]
      r.seen = tonumber(call('ZSCORE', P..':former', idh) or 0)
      call('HINCRBY', X, 'cards', 1)
      place(idh, r)
      write(idh, r)
    end
    local found = call('SCAN', ARGV[1], 'MATCH', 'earshot:[imnopr]:*', 'COUNT', 500)
    for _, k in ipairs(found[2]) do
      local letter, hash = string.sub(k, 9, 9), string.sub(k, 11)
      if letter == 'i' then keep(hash, k) end
      if letter == 'n' and not name(hash) then
        local e = call('HMGET', k, 'o', 'v', 'u')
        if e[1] then give(hash, e[1], e[2], tonumber(e[3])) end
      end
      call('UNLINK', k)
    end
    if found[1] == '0' then
      call('SET', P..':layout', '2')
      call('UNLINK', P..':former', 'earshot:epoch', 'earshot:frozen', 'earshot:settling')
    end
    return found[1]
    """
}

extension RedisConnection {
  /// Converts what nodes of the layout before have left; fails while there are any.
  mutating func adoptFormerLayout() throws(RedisError) {
    let reply = try run(["EVAL", RedisLayout.all + FormerLayout.begin, "0"])
    guard let state = reply.number else { throw RedisError(reply) }
    guard state >= 0 else {
      throw RedisError(
        "\(-state) nodes of an older version are at this Redis, or were within 5 minutes; end them")
    }
    guard state == 1 else { return }
    var cursor = "0"
    repeat {
      let reply = try run(["EVAL", RedisLayout.all + FormerLayout.convert, "0", cursor])
      guard let next = reply.bytes else { throw RedisError(reply) }
      cursor = String(decoding: next, as: UTF8.self)
    } while cursor != "0"
  }
}
