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
  private let show: (String) -> Bool
  private var part: PartFile?
  private var collected: [UInt8] = []
  private let hash = ContentHash()

  /// - Parameters:
  ///   - folder: Where files go.
  ///   - room: Bytes that may be taken now; `nil` where no further file may, an empty one either.
  ///   - takeOver: Abandons another transfer that has the part of this name: it is of the same
  ///     sender and content, and its call is likely dead.
  ///   - show: Shows a text; whether that went out. Its sender is told "has it" of what was shown,
  ///     and of nothing else.
  package init(
    from peer: PeerID, into folder: DropFolder, room: @escaping () -> UInt64?,
    takeOver: @escaping (String) -> Void = { _ in },
    show: @escaping (String) -> Bool = { _ in true }
  ) {
    (self.peer, self.folder, self.room, self.takeOver) = (peer, folder, room, takeOver)
    self.show = show
  }

  /// A text is here, and could not be shown.
  package var isTextLost: Bool { text != nil && result == .notWritable }

  /// Another transfer goes on with what is here.
  package func abandon() {
    if result == nil { _ = end(.alreadyComing) }
  }

  /// Bytes that were let in and have not come.
  package var promised: UInt64 {
    guard let offer, let part else { return 0 }
    return offer.byteCount - part.byteCount
  }

  /// What an earlier attempt left is being read: `readOn` goes on, and nothing is answered before.
  package var isReading: Bool {
    guard let part, result == nil else { return false }
    return received < part.byteCount
  }

  /// Reads a piece of what an earlier attempt left, for the hash; what to answer after the last.
  package func readOn() -> TransferMessage? {
    guard let offer, let part, result == nil else { return nil }
    let end = min(part.byteCount, received + Self.pieceByteCount)
    do throws(ReactorError) {
      while received < end {
        let bytes = try part.read(at: received, atMost: ContentHash.blockByteCount)
        guard !bytes.isEmpty else {
          throw ReactorError("read", partName ?? "", reason: "it is shorter now")
        }
        hash.update(bytes)
        received += UInt64(bytes.count)
      }
    } catch {
      fault = error
      return self.end(.notWritable)
    }
    guard !isReading else { return nil }
    return received == offer.byteCount ? finish() : .go(offset: received)
  }

  /// Takes a message of the sender; what to answer.
  package func handle(_ bytes: [UInt8]) -> TransferMessage? {
    guard result == nil else { return nil }
    do throws(WireError) {
      switch try TransferMessage(parsing: bytes.span) {
      case .offer(let offer) where self.offer == nil: return begin(offer)
      case .data(let content) where !isReading: return append(content)
      case .data, .offer, .go, .result: return end(.outOfOrder)
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
    let partName = Self.partPrefix(of: peer) + Self.digits(of: offer) + Self.partSuffix
    takeOver(partName)
    self.partName = partName
    do throws(ReactorError) {
      let part = try folder.openPart(partName)
      guard part.byteCount <= offer.byteCount else {
        part.remove()
        return end(.damaged)
      }
      let own = folder.holdings(prefix: Self.partPrefix(of: peer), suffix: Self.partSuffix)
      guard own.files <= Self.mostParts, let room = room(),
        offer.byteCount - part.byteCount <= room
      else { return end(.tooLong) }
      self.part = part
    } catch {
      fault = error
      return end(error.isWouldBlock ? .alreadyComing : .notWritable)
    }
    return readOn()
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
      return end(show(words) ? .stored : .notWritable)
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

  /// How the names of all parts of a sender begin. Another sender's bytes are never among these.
  private static func partPrefix(of peer: PeerID) -> String {
    var hash = BLAKE2b(byteCount: 16)
    hash.update(Array("\(peer)".utf8).span)
    return partPrefix + digits(hash.finalize16()) + "-"
  }

  private static func digits(of offer: TransferOffer) -> String {
    var hash = BLAKE2b(byteCount: 16)
    hash.update(Array("\(offer.byteCount)".utf8).span)
    hash.update(offer.hash.span)
    return digits(hash.finalize16())
  }

  private static func digits(_ hash: Bytes16) -> String {
    hash.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Parts of one sender that lie in a folder, those under way included: nobody takes the places
  /// of others by offers that come to nothing.
  private static let mostParts = 16
  /// Bytes that are read in one turn of the loop.
  private static let pieceByteCount: UInt64 = 4 << 20
  package static let partPrefix = ".earshot-"
  package static let partSuffix = ".part"
  /// Bytes.
  package static let longestText: UInt64 = 65_536
}
