internal import Glibc
internal import Primitives
internal import Wire

/// The file that `KnownPeers` live in: replaced whole or not at all, one writer at a time.
package struct PinFile: Sendable {
  package let path: String
  /// Read while there is no file at `path`, and never written.
  private let formerPath: String?

  package init(path: String) {
    self.path = path
    formerPath = nil
  }

  /// Beside the identity file, with its name and `.known-peers` behind it; until that exists, what
  /// `known-peers` in the same folder says, which all identities there once shared.
  package init(besideIdentity path: String) {
    self.path = path + ".known-peers"
    formerPath = (PrivateFile.parent(of: path) ?? ".") + "/known-peers"
  }

  /// What tells one state of a file from another: it is replaced whole, so each has an inode and a
  /// time of its own.
  package struct Stamp: Equatable, Sendable {
    private let inode: UInt64
    private let byteCount: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    fileprivate init?(_ path: String) {
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return nil }
      inode = UInt64(status.st_ino)
      byteCount = Int64(status.st_size)
      seconds = Int64(status.st_mtim.tv_sec)
      nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
  }

  /// The present state; `nil` when there is no such file.
  package var stamp: Stamp? { Stamp(path) }

  /// What is known; nothing when there is no such file.
  package func read() throws(StorageError) -> KnownPeers {
    for path in [path, formerPath] {
      guard let path, let bytes = try PrivateFile.read(path, isSecret: false) else { continue }
      return try parse(bytes, from: path)
    }
    return KnownPeers()
  }

  /// Reads, changes and writes while no other process does. The file is written only if something
  /// changed.
  package func update<Result>(
    _ change: (inout KnownPeers) -> Result
  ) throws(StorageError) -> Result {
    if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
    let lock = try FileLock(path + ".lock")
    defer { lock.release() }
    let before = try read()
    var peers = before
    let result = change(&peers)
    if peers != before { try PrivateFile.replace(path, with: Self.encode(peers)) }
    return result
  }

  // MARK: - The text

  private static let title = "earshot known-peers 1"
  /// Of a file with pins of IDs (docs/decisions/0134): programs of before leave it as it is, and
  /// say that it is newer.
  private static let titleWithIDs = "earshot known-peers 2"

  static func encode(_ peers: KnownPeers) -> [UInt8] {
    var title = Self.title
    let lines = peers.all.map { place, entry in
      let (kind, key) =
        switch place {
        case .name(let name): ("name", name.description)
        case .rendezvous(let address): ("rendezvous", address.filter { !$0.isWhitespace })
        case .id: ("id", "-")
        }
      if kind == "id" { title = titleWithIDs }
      let trust = entry.isVerified ? Trust.verified : .pinned
      let card = entry.card.isEmpty ? "-" : ZBase32.encode(entry.card)
      return
        "\(kind) \(key) \(entry.id) \(trust.rawValue) \(entry.firstSeen) \(entry.lastSeen) \(card)"
    }
    return TextRecord.write(title: title, lines: lines)
  }

  /// What the bytes of a whole file say.
  package func parse(
    _ bytes: [UInt8], from path: String
  ) throws(StorageError) -> KnownPeers {
    var peers = KnownPeers()
    let hasIDs = bytes.starts(with: (Self.titleWithIDs + "\n").utf8)
    let title = hasIDs ? Self.titleWithIDs : Self.title
    var namelessCount = 0
    for words in try TextRecord.read(bytes, title: title, path: path) {
      guard words.count == 7, let id = PeerID(String(words[2])),
        let place = hasIDs && words[0] == "id" && words[1] == "-"
          ? .id(id) : place(words[0], words[1]),
        let trust = Trust(rawValue: String(words[3])),
        trust == .verified || trust == .pinned, let firstSeen = UInt64(words[4]),
        let lastSeen = UInt64(words[5]),
        let card = words[6] == "-" ? [] : ZBase32.decode(String(words[6])),
        card.count <= LookUpResult.maximumCardByteCount, peers[place] == nil,
        peers.count < KnownPeers.limit
      else { throw TextRecord.damaged(path) }
      if place == .id(id), trust == .pinned { namelessCount += 1 }
      guard namelessCount <= KnownPeers.namelessLimit else { throw TextRecord.damaged(path) }
      peers.insert(
        KnownPeers.Entry(
          id: id, isVerified: trust == .verified, firstSeen: firstSeen, lastSeen: lastSeen,
          card: card), at: place)
    }
    return peers
  }

  private func place(_ kind: Substring, _ key: Substring) -> KnownPeers.Place? {
    switch kind {
    case "name": PeerName(String(key)).map { .name($0) }
    case "rendezvous": .rendezvous(String(key))
    default: nil
    }
  }
}
