/// How the nodes' memory is laid out, and what the scripts have in common
/// (docs/protocol/cluster.md §2).
enum RedisLayout {
  /// The prefix of every key, and the clock of the server in ms. The digit is the layout's: nodes
  /// of another one have other keys.
  static let clock = """
    local P, call = 'earshot:2', redis.call
    local function milliseconds()
      local t = call('TIME')
      return t[1] * 1000 + math.floor(t[2] / 1000)
    end

    """

  /// What is known of an identity: one value, so that a client has one key.
  ///
  ///     names 2 · chunk 4 · last registration 5 · serial 8 · card's length 2 · names × 16 · card
  ///     · programs × (presence 8 · node 16 · connection 8 · serial 8 · end 6 · length 2 · sealed)
  static let records = """
    local function read(idh)
      local r = {chunk = 0, seen = 0, serial = false, card = '', names = {}, programs = {}}
      local v = call('GET', P..'i'..idh)
      if not v then return r end
      local count, size, serial, at
      count, r.chunk, r.seen, serial, size, at = struct.unpack('>I2I4I5c8I2', v)
      for index = 1, count do
        r.names[index] = string.sub(v, at, at + 15)
        at = at + 16
      end
      if size > 0 then r.serial, r.card = serial, string.sub(v, at, at + size - 1) end
      at = at + size
      while at <= #v do
        local p, length = {}, 0
        p.id, p.node, p.connection, p.serial, p.stop, length, at =
          struct.unpack('>c8c16c8c8I6I2', v, at)
        p.sealed = string.sub(v, at, at + length - 1)
        r.programs[#r.programs + 1] = p
        at = at + length
      end
      return r
    end
    local function write(idh, r)
      local k, isOwner = P..'i'..idh, r.card ~= '' or #r.names > 0
      if not isOwner and #r.programs == 0 then return call('DEL', k) end
      local parts = {
        struct.pack(
          '>I2I4I5c8I2', #r.names, r.chunk, r.seen, r.serial or string.rep('\\0', 8), #r.card),
        table.concat(r.names), r.card,
      }
      for _, p in ipairs(r.programs) do
        parts[#parts + 1] = struct.pack(
          '>c8c16c8c8I6I2', p.id, p.node, p.connection, p.serial, p.stop, #p.sealed)
        parts[#parts + 1] = p.sealed
      end
      if isOwner then return call('SET', k, table.concat(parts)) end
      -- Programs alone: longer than any session.
      call('SET', k, table.concat(parts), 'PX', 5500000)
    end
    -- The connection of programs whose clients are to register anew.
    local nobody = string.rep('\\0', 8)
    local function isLess(a, b)
      local high, low = struct.unpack('>I4I4', a)
      local higher, lower = struct.unpack('>I4I4', b)
      return high < higher or (high == higher and low < lower)
    end

    """

  /// Order in which cards without a name (c) and names (u) were last used, in sorted sets of few:
  /// the server keeps small ones packed. Who is used again goes to the last one.
  static let queues = """
    local X = P..':counts'
    local function count(what) return tonumber(call('HGET', X, what) or 0) end
    local function enqueue(queue, member, score)
      local last = tonumber(call('HGET', X, queue..'last') or 1)
      if call('ZCARD', P..queue..last) >= 120 then
        last = last + 1
        call('HSET', X, queue..'last', last)
      end
      call('ZADD', P..queue..last, score, member)
      return last
    end
    local function dequeue(queue, chunk, member)
      if chunk > 0 then call('ZREM', P..queue..chunk, member) end
    end
    local function oldest(queue)
      local ends = call('HMGET', X, queue..'first', queue..'last')
      local first, last = tonumber(ends[1] or 1), tonumber(ends[2] or 1)
      for chunk = first, last do
        local found = call('ZRANGE', P..queue..chunk, 0, 0, 'WITHSCORES')
        if found[1] then
          if chunk > first then call('HSET', X, queue..'first', chunk) end
          return found[1], tonumber(found[2])
        end
      end
      call('HSET', X, queue..'first', last)
    end
    local function place(idh, r)
      dequeue('c', r.chunk, idh)
      r.chunk = 0
      if r.card ~= '' and #r.names == 0 then r.chunk = enqueue('c', idh, r.seen) end
    end

    """

  /// Names: chunk 4 · last use 5 · ID hash 16 · sealed ID, whose nonce begins with a rank. And what
  /// must be known before one that nobody has is given.
  static let names = """
    local function unsettled()
      if call('EXISTS', P..':epoch') == 0 then
        call('SET', P..':epoch', '1')
        call('SET', P..':frozen', '1', 'PX', 5000)
        call('SET', P..':settling', '1', 'PX', 30000)
      end
      return call('EXISTS', P..':frozen')
    end
    local function settling()
      unsettled()
      return call('EXISTS', P..':settling')
    end
    local function lapsed(used, now, life)
      return now > used and now - used >= life
    end
    local function name(nh)
      local v = call('GET', P..'n'..nh)
      if not v then return nil end
      local n, at = {}, 1
      n.chunk, n.used, n.owner, at = struct.unpack('>I4I5c16', v)
      n.sealed = string.sub(v, at)
      return n
    end
    local function use(nh, n, now)
      dequeue('u', n.chunk, nh)
      n.chunk, n.used = enqueue('u', nh, now), now
      call('SET', P..'n'..nh, struct.pack('>I4I5c16', n.chunk, n.used, n.owner)..n.sealed)
    end
    local function give(nh, idh, sealed, now)
      local r = read(idh)
      r.names[#r.names + 1] = nh
      place(idh, r)
      write(idh, r)
      call('HINCRBY', X, 'names', 1)
      call('DEL', P..'r'..nh)
      use(nh, {chunk = 0, owner = idh, sealed = sealed}, now)
    end
    local function forget(nh)
      local n = name(nh)
      if not n then return end
      dequeue('u', n.chunk, nh)
      call('DEL', P..'n'..nh)
      call('HINCRBY', X, 'names', -1)
      local r = read(n.owner)
      for index = #r.names, 1, -1 do
        if r.names[index] == nh then table.remove(r.names, index) end
      end
      place(n.owner, r)
      write(n.owner, r)
    end
    local function rank(sealed)
      if string.sub(sealed, 1, 4) ~= 'ENR1' then return nil end
      return (struct.unpack('>I5', string.sub(sealed, 5, 9)))
    end
    local function senior(a, b)
      local first, second = rank(a), rank(b)
      if second and (not first or second < first) then return b end
      return a
    end
    -- When the name was freed; whoever has got it since then has no rank above 2^32 less that.
    local function freeing(nh)
      local f = call('GET', P..'f'..nh)
      return f and (struct.unpack('>I5', string.sub(f, 5, 9)))
    end
    -- Whether the rank of an owner is not of after that.
    local function isBefore(freed, sealed)
      local own = rank(sealed)
      return freed and not (own and own <= 4294967296 - freed)
    end
    -- The rank that a receipt proves; none where the name was freed after it was issued.
    local function receipt(nh, rank, issued)
      if rank == '' then return nil end
      local f = freeing(nh)
      if f and tonumber(issued) <= f then return nil end
      return tonumber(rank)
    end
    -- Whether the identity is one from which the name was freed a moment ago.
    local function isHeld(nh, idh)
      local held = call('GET', P..'h'..nh) or ''
      for at = 1, #held, 16 do
        if string.sub(held, at, at + 15) == idh then return true end
      end
    end
    -- 0 has it, 1 may have it, 2 another one has it, 3 too many, 4 may have it later, 5 has had it
    local function verdict(idh, nh, now, life, most, names, shown)
      local n = name(nh)
      local isTaken = n and not lapsed(n.used, now, life)
      if isTaken then
        if n.owner == idh then return 0 end
        local present = rank(n.sealed)
        if not shown or not present or shown >= present then return 2 end
      end
      -- Others come first for a while after its owner was freed of it.
      if isHeld(nh, idh) then return 2 end
      local r = call('GET', P..'r'..nh)
      if not shown and r and r ~= idh then return 2 end
      if #read(idh).names >= most then return 3 end
      if not isTaken and count('names') >= names then
        local _, used = oldest('u')
        if not used or not lapsed(used, now, life) then return 3 end
      end
      if shown then return 5 end
      if unsettled() == 1 then return 4 end
      return 1
    end

    """

  /// All of it.
  static let all = clock + records + queues + names
}
