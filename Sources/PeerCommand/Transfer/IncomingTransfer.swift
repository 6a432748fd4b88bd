internal import Cryptography
package import Primitives
package import Reactor
package import Wire

/// One transfer as its receiver sees it: takes what the sender says, says what to answer. Nothing
/// that the sender says is believed before it was checked.
package final class IncomingTransfer {
  package private(set) var offer: TransferOffer?
  /// The name of the file here.
  package private(set) var name = ""
  /// Bytes that are here, those of an earlier attempt included.
  package private(set) var received: UInt64 = 0
  /// What came of it.
  package private(set) var result: TransferResult?
  /// Why it could not be written.
  package private(set) var fault: ReactorError?
  /// What was sent as a text, when it is whole.
  package private(set) var text: String?

  /// The name that its bytes have until they are all here.
  package private(set) var partName: String?

  private let peer: PeerID
  private let folder: DropFolder
  private let room: () -> UInt64?
  private let takeOver: (String) -> Void
  private var part: PartFile?
  private var collected: [UInt8] = []
  private let hash = ContentHash()

  /// - Parameters:
  ///   - folder: Where files go.
  ///   - room: Bytes that may be taken now; `nil` where no further file may, an empty one either.
  ///   - takeOver: Abandons another transfer that has the part of this name: it is of the same
  ///     sender and content, and its call is likely dead.
  package init(
    from peer: PeerID, into folder: DropFolder, room: @escaping () -> UInt64?,
    takeOver: @escaping (String) -> Void = { _ in }
  ) {
    (self.peer, self.folder, self.room, self.takeOver) = (peer, folder, room, takeOver)
  }

  /// Another transfer goes on with what is here.
  package func abandon() {
    if result == nil { _ = end(.alreadyComing) }
  }

  /// Bytes that were let in and have not come.
  package var promised: UInt64 {
    guard let offer, part != nil else { return 0 }
    return offer.byteCount - received
  }

  /// Takes a message of the sender; what to answer.
  package func handle(_ bytes: [UInt8]) -> TransferMessage? {
    guard result == nil else { return nil }
    do throws(WireError) {
      switch try TransferMessage(parsing: bytes.span) {
      case .offer(let offer) where self.offer == nil: return begin(offer)
      case .data(let content): return append(content)
      case .offer, .go, .result: return end(.outOfOrder)
      }
    } catch {
      return end(.outOfOrder)
    }
  }

  private func begin(_ offer: TransferOffer) -> TransferMessage? {
    self.offer = offer
    guard offer.kind == .file else {
      guard offer.byteCount <= Self.longestText else { return end(.tooLong) }
      return offer.byteCount == 0 ? finish() : .go(offset: 0)
    }
    name = TransferWords.safeName(offer.name)
    if folder.has(name) { return end(.nameTaken) }
    let partName = Self.partName(of: offer, from: peer)
    takeOver(partName)
    self.partName = partName
    do throws(ReactorError) {
      let part = try folder.openPart(partName)
      guard part.byteCount <= offer.byteCount else {
        part.remove()
        return end(.damaged)
      }
      guard let room = room(), offer.byteCount - part.byteCount <= room else {
        if part.byteCount == 0 { part.remove() }
        return end(.tooLong)
      }
      self.part = part
      received = try hash.update { place throws(ReactorError) in
        try part.read(at: place, atMost: ContentHash.blockByteCount)
      }
    } catch {
      fault = error
      return end(error.isWouldBlock ? .alreadyComing : .notWritable)
    }
    return received == offer.byteCount ? finish() : .go(offset: received)
  }

  private func append(_ content: [UInt8]) -> TransferMessage? {
    guard let offer, UInt64(content.count) <= offer.byteCount - received else {
      return end(.outOfOrder)
    }
    if let part {
      do throws(ReactorError) {
        try part.append(content)
      } catch {
        fault = error
        return end(.notWritable)
      }
    } else {
      collected += content
    }
    hash.update(content)
    received += UInt64(content.count)
    return received == offer.byteCount ? finish() : nil
  }

  /// All bytes are here.
  private func finish() -> TransferMessage? {
    guard hash.finish() == offer?.hash else {
      part?.remove()
      return end(.damaged)
    }
    guard let part else {
      guard let words = String(validating: collected, as: UTF8.self) else { return end(.damaged) }
      text = words
      return end(.stored)
    }
    do throws(ReactorError) {
      try part.place(as: name)
    } catch {
      fault = error
      return end(error.isAlreadyThere ? .nameTaken : .notWritable)
    }
    return end(.stored)
  }

  private func end(_ result: TransferResult) -> TransferMessage {
    self.result = result
    part = nil
    return .result(result)
  }

  /// Another sender's bytes are never among these.
  private static func partName(of offer: TransferOffer, from peer: PeerID) -> String {
    var hash = BLAKE2b(byteCount: 16)
    hash.update(Array("\(peer) \(offer.byteCount)".utf8).span)
    hash.update(offer.hash.span)
    let digits = hash.finalize16().bytes.map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
    return partPrefix + digits.joined() + partSuffix
  }

  package static let partPrefix = ".earshot-"
  package static let partSuffix = ".part"
  /// Bytes.
  package static let longestText: UInt64 = 65_536
}
