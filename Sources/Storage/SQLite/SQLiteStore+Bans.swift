import Primitives
package import Rendezvous
import Wire

/// Who is kept out of which channel (docs/protocol/channels.md §6).
extension SQLiteStore {
  static let banTable = """
    CREATE TABLE bans (
      channel BLOB NOT NULL, id BLOB NOT NULL, until INTEGER NOT NULL,
      PRIMARY KEY (channel, id)) WITHOUT ROWID;
    """

  package func keep(_ ban: StoredBan, now: UInt64) throws(StoreFailure) {
    do throws(StorageError) {
      try beginBatch()
      var forget = try database.prepare("DELETE FROM bans WHERE until <= ?1")
      forget.bind(1, Int64(clamping: now))
      _ = try forget.step()
      var insert = try database.prepare("INSERT OR REPLACE INTO bans VALUES (?1, ?2, ?3)")
      insert.bind(1, ban.channel.bytes)
      insert.bind(2, ban.id.bytes)
      insert.bind(3, Int64(clamping: ban.until))
      _ = try insert.step()
      // As in memory: who bans many in channels of its own displaces nobody else's.
      try database.run(
        """
        DELETE FROM bans WHERE (SELECT count(*) FROM bans) > \(limits.bans) AND (channel, id) IN
          (SELECT channel, id FROM bans WHERE channel =
            (SELECT channel FROM bans GROUP BY channel ORDER BY count(*) DESC LIMIT 1)
            ORDER BY until LIMIT 1)
        """)
    } catch { throw abandonBatch(error) }
  }

  package func bans(now: UInt64) throws(StoreFailure) -> [StoredBan] {
    do throws(StorageError) {
      var query = try database.prepare(
        "SELECT channel, id, until FROM bans WHERE until > ?1 ORDER BY until, id")
      query.bind(1, Int64(clamping: now))
      var bans: [StoredBan] = []
      while try query.step() {
        guard let channel = PeerID(query.blob(0)), let id = PeerID(query.blob(1)) else { continue }
        bans.append(
          StoredBan(
            channel: Bytes32(channel), id: id, until: UInt64(clamping: query.integer(2))))
      }
      return bans
    } catch { throw StoreFailure(error.message) }
  }
}
