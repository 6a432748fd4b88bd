import Primitives
import Reactor

/// The handshakes under way, by client; a fixed number of places.
struct HandshakeStore: ~Copyable {
  private final class Place {
    var client = -1
    var handshake: LoadHandshake?
    var sentAt = Instant.zero
    var gap = HandshakeStore.firstGap
  }

  private static let firstGap = Duration.milliseconds(300)

  private let places: [Place]
  private var free: [Int]
  private var placeOf: [Int: Int] = [:]

  init(limit: Int) {
    places = (0..<limit).map { _ in Place() }
    free = Array(0..<limit)
  }

  /// How many have no answer yet.
  var count: Int { places.count - free.count }

  var hasRoom: Bool { !free.isEmpty }

  mutating func add(_ client: Int, _ handshake: consuming LoadHandshake) {
    guard let index = free.popLast() else { return }
    places[index].client = client
    places[index].handshake = consume handshake
    places[index].sentAt = SystemClock.now
    places[index].gap = Self.firstGap
    placeOf[client] = index
  }

  mutating func finish(_ client: Int, _ response: Span<UInt8>, client record: inout LoadClient) {
    guard let index = placeOf.removeValue(forKey: client) else { return }
    places[index].handshake?.finish(response, client: &record)
    places[index].handshake = nil
    places[index].client = -1
    free.append(index)
  }

  /// All are sent now.
  func restart() {
    let now = SystemClock.now
    for place in places { place.sentAt = now }
  }

  /// What has gone unanswered for 300 ms goes again; with `doubles` then after 600, 1200 and each
  /// 2400 ms, as `Peer` does.
  func repeatOld(doubles: Bool = false, _ send: ([UInt8], Int) -> Void) {
    let now = SystemClock.now
    for place in places where place.client >= 0 && place.sentAt + place.gap < now {
      place.sentAt = now
      if doubles { place.gap = min(place.gap * 2, Self.firstGap * 8) }
      if let bytes = place.handshake?.initiation { send(bytes, place.client) }
    }
  }
}
