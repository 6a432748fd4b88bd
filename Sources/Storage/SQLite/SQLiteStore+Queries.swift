import Primitives
import Wire

/// What the store asks, compiled once.
struct StoreQueries: ~Copyable {
  var owner: Statement
  var noteUse: Statement
  var serial: Statement
  var card: Statement
  var countNames: Statement
  var bindName: Statement
  var markNamed: Statement
  var forgetName: Statement
  var updateCard: Statement
  var insertCard: Statement

  init(_ database: borrowing Database) throws(StorageError) {
    let owner = try database.prepare("SELECT id, used FROM names WHERE name = ?1")
    let noteUse = try database.prepare("UPDATE names SET used = ?2 WHERE name = ?1")
    let serial = try database.prepare("SELECT serial FROM cards WHERE id = ?1")
    let forgetName = try database.prepare("DELETE FROM names WHERE name = ?1")
    let card = try database.prepare("SELECT card FROM cards WHERE id = ?1")
    let countNames = try database.prepare("SELECT count(*) FROM names WHERE id = ?1")
    let bindName = try database.prepare(
      "INSERT INTO names (name, id, used) VALUES (?1, ?2, ?3)")
    let markNamed = try database.prepare(
      """
      UPDATE cards SET is_named = EXISTS (SELECT 1 FROM names WHERE id = cards.id) WHERE id = ?1
      """)
    let updateCard = try database.prepare(
      """
      UPDATE cards SET card = CASE WHEN ?2 >= serial THEN ?1 ELSE card END,
        serial = max(serial, ?2), seen = max(seen, ?4) WHERE id = ?3
      """)
    let insertCard = try database.prepare(
      """
      INSERT INTO cards (card, serial, id, seen, is_named)
      VALUES (?1, ?2, ?3, ?4, EXISTS (SELECT 1 FROM names WHERE id = ?3))
      """)
    self.owner = owner
    self.noteUse = noteUse
    self.serial = serial
    self.forgetName = forgetName
    self.card = card
    self.countNames = countNames
    self.bindName = bindName
    self.markNamed = markNamed
    self.updateCard = updateCard
    self.insertCard = insertCard
  }
}

extension Statement {
  /// The first column of the first row, for a query by ID.
  mutating func first(id: PeerID) throws(StorageError) -> [UInt8]? {
    reset()
    bind(1, id.bytes)
    return try firstBlob()
  }

  private mutating func firstBlob() throws(StorageError) -> [UInt8]? {
    guard try step() else { return nil }
    let value = blob(0)
    reset()
    return value
  }
}
