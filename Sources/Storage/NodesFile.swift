package import Primitives
package import Wire

/// The file of the lists of nodes that roots have signed: of each root the newest, so that no older
/// one is taken. Replaced whole or not at all, one writer at a time.
package struct NodesFile: Sendable {
  package let path: String

  /// Beside the identity file, with its name and `.nodes` behind it.
  package init(besideIdentity path: String) { self.path = path + ".nodes" }

  /// Roots of services; who uses more keeps those seen last.
  package static let limit = 64
  private static let title = "earshot nodes 1"

  /// What is known; nothing when there is no such file.
  package func read() throws(StorageError) -> [NodeList] {
    guard let bytes = try PrivateFile.read(path, isSecret: false) else { return [] }
    return try parse(bytes)
  }

  /// Puts a list in place of its root's older one; whether it is kept.
  @discardableResult
  package func keep(_ list: NodeList) throws(StorageError) -> Bool {
    if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
    let lock = try FileLock(path + ".lock")
    defer { lock.release() }
    var lists = try read()
    if let former = lists.first(where: { $0.root == list.root }), former.serial >= list.serial {
      return false
    }
    lists.removeAll { $0.root == list.root }
    lists.append(list)
    let lines = lists.suffix(Self.limit).map { ZBase32.encode($0.bytes) }
    try PrivateFile.replace(path, with: TextRecord.write(title: Self.title, lines: lines))
    return true
  }

  /// What the bytes of a whole file say. They are checked when they are used.
  package func parse(_ bytes: [UInt8]) throws(StorageError) -> [NodeList] {
    var lists: [NodeList] = []
    for words in try TextRecord.read(bytes, title: Self.title, path: path) {
      guard words.count == 1, lists.count < Self.limit,
        let content = ZBase32.decode(String(words[0]))
      else { throw TextRecord.damaged(path) }
      do throws(WireError) { lists.append(try NodeList(parsing: content)) } catch {
        throw TextRecord.damaged(path)
      }
    }
    return lists
  }
}

/// That a name is an identity's, as a service has said it last (docs/protocol/cluster.md §10).
package struct KeptReceipt: Hashable, Sendable {
  /// What the service is known by: its root, or the rendezvous itself.
  package var service: PeerID
  package var name: PeerName
  package var receipt: OpaqueReceipt

  package init(service: PeerID, name: PeerName, receipt: OpaqueReceipt) {
    self.service = service
    self.name = name
    self.receipt = receipt
  }
}

/// The file of the receipts for names of an identity: one for each service and name. Replaced whole
/// or not at all, one writer at a time.
package struct ReceiptsFile: Sendable {
  package let path: String

  /// Beside the identity file, with its name and `.receipts` behind it.
  package init(besideIdentity path: String) { self.path = path + ".receipts" }

  /// Services and names; who uses more keeps those seen last.
  package static let limit = 64
  private static let title = "earshot receipts 1"

  /// What is known; nothing when there is no such file.
  package func read() throws(StorageError) -> [KeptReceipt] {
    guard let bytes = try PrivateFile.read(path, isSecret: false) else { return [] }
    return try parse(bytes)
  }

  /// Puts a receipt in place of the older one. A file that is damaged gives way: services give
  /// receipts anew.
  package func keep(_ receipt: KeptReceipt) throws(StorageError) {
    if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
    let lock = try FileLock(path + ".lock")
    defer { lock.release() }
    var all = try readUndamaged()
    all.removeAll { $0.service == receipt.service && $0.name == receipt.name }
    all.append(receipt)
    let lines = all.suffix(Self.limit).map {
      "\($0.service) \($0.name) \(ZBase32.encode($0.receipt.bytes))"
    }
    try PrivateFile.replace(path, with: TextRecord.write(title: Self.title, lines: lines))
  }

  private func readUndamaged() throws(StorageError) -> [KeptReceipt] {
    do throws(StorageError) {
      return try read()
    } catch {
      guard error.code == .corrupt || error.code == .truncated else { throw error }
      return []
    }
  }

  /// What the bytes of a whole file say.
  package func parse(_ bytes: [UInt8]) throws(StorageError) -> [KeptReceipt] {
    var all: [KeptReceipt] = []
    for words in try TextRecord.read(bytes, title: Self.title, path: path) {
      guard words.count == 3, all.count < Self.limit, let service = PeerID(String(words[0])),
        let name = PeerName(String(words[1])),
        let receipt = ZBase32.decode(String(words[2])).flatMap({ OpaqueReceipt($0) }),
        !all.contains(where: { $0.service == service && $0.name == name })
      else { throw TextRecord.damaged(path) }
      all.append(KeptReceipt(service: service, name: name, receipt: receipt))
    }
    return all
  }
}
