internal import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// First-seen pinning for names and rendezvous, in the file beside the identity.
///
/// A file that cannot be read or written makes nobody unreachable: it is as if nothing were known,
/// and `fault` says so.
final class KnownIdentities {
  private let file: PinFile
  private(set) var fault: StorageError?

  init(besideIdentity path: String) { file = PinFile(besideIdentity: path) }

  /// The identity that `name` had the last time.
  func id(behind name: PeerName) -> PeerID? { read()[.name(name)]?.id }

  func rendezvous(_ text: String) -> KnownPeers.Entry? { read()[.rendezvous(text)] }

  /// Remembers what was seen, and says what it is worth.
  func see(_ id: PeerID, at place: KnownPeers.Place, card: [UInt8] = []) -> Trust {
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    do throws(StorageError) {
      let trust = try file.update { $0.see(id, at: place, card: card, now: now) }
      return Trust(trust)
    } catch {
      fault = error
      return .new
    }
  }

  /// A person vouches for it: an ID that was given by hand.
  func verify(_ id: PeerID, at place: KnownPeers.Place) {
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    do throws(StorageError) {
      try file.update { $0.verify(id, at: place, now: now) }
    } catch {
      fault = error
    }
  }

  private func read() -> KnownPeers {
    do throws(StorageError) {
      return try file.read()
    } catch {
      fault = error
      return KnownPeers()
    }
  }
}

extension Trust {
  init(_ trust: Storage.Trust) {
    switch trust {
    case .verified: self = .verified
    case .pinned: self = .pinned
    case .new: self = .new
    case .changed: self = .changed
    }
  }
}
