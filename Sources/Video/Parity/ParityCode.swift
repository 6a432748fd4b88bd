import Primitives
import Wire

/// The factors of a frame's parity (docs/protocol/frames.md §10.1): a Cauchy matrix whose columns
/// are scaled so that the first parity is the plain sum of the fragments.
///
/// Any square part of it can be inverted, so as many fragments of parity as fragments are missing
/// give these back, whichever they are: a maximum distance separable code, as Reed and Solomon's.
enum ParityCode {
  /// What fragment `fragment` is multiplied with in parity `parity`.
  ///
  /// - Parameters:
  ///   - parity: 0..31
  ///   - fragment: 0..223
  static func factor(parity: Int, fragment: Int) -> UInt8 {
    let column = UInt8(truncatingIfNeeded: fragment)
    let first = column ^ UInt8.max
    return GaloisField.product(
      first, GaloisField.inverse(column ^ (UInt8.max - UInt8(truncatingIfNeeded: parity))))
  }

  /// Appends a parity.
  ///
  /// - Parameters:
  ///   - bytes: of the whole frame
  ///   - length: bytes of each fragment but the last
  @_lifetime(packet: copy packet)
  static func append(
    _ parity: Int, of bytes: Span<UInt8>, length: Int, to packet: inout OutputSpan<UInt8>
  ) {
    guard length > 0, packet.freeCapacity >= length else { return }
    let place = packet.count
    packet.append(zeros: length)
    var output = packet.mutableSpan
    for (fragment, start) in stride(from: 0, to: bytes.count, by: length).enumerated() {
      let multiply = GaloisMultiplier(factor(parity: parity, fragment: fragment))
      for index in 0..<min(length, bytes.count - start) {
        output[place &+ index] ^= multiply(bytes[start &+ index])
      }
    }
  }
}

/// Solves for what is missing of a frame. Its memory is made once.
struct ParitySolver: Sendable {
  private static let most = VideoMediaFrame.maximumParityCount
  /// Row by row; square.
  private var matrix = [UInt8](repeating: 0, count: most * most)
  private var missing: [UInt8] = []
  private var parities: [UInt8] = []
  /// Where each parity is, which becomes the missing fragment of the same place in `missing`.
  private var places: [UInt16] = []

  init() {
    missing.reserveCapacity(Self.most)
    parities.reserveCapacity(Self.most)
    places.reserveCapacity(Self.most)
  }

  mutating func begin() {
    missing.removeAll(keepingCapacity: true)
    parities.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
  }

  /// `false` when there are too many.
  mutating func addMissing(_ fragment: Int) -> Bool {
    guard missing.count < Self.most else { return false }
    missing.append(UInt8(truncatingIfNeeded: fragment))
    return true
  }

  /// Takes a parity if it is needed; `false` if it is not.
  mutating func addParity(_ parity: Int, at place: UInt16) -> Bool {
    guard parities.count < missing.count else { return false }
    parities.append(UInt8(truncatingIfNeeded: parity))
    places.append(place)
    return true
  }

  var count: Int { parities.count }

  /// Which fragment the solved bytes at which place are.
  func solution(_ index: Int) -> (fragment: Int, place: UInt16) {
    (Int(missing[index]), places[index])
  }

  /// Takes from every parity what a fragment that is there has added to it.
  func remove(_ fragment: Int, at place: UInt16, in store: inout FragmentStore) {
    for row in 0..<count {
      let factor = ParityCode.factor(parity: Int(parities[row]), fragment: fragment)
      store.add(factor, times: place, to: places[row])
    }
  }

  /// Gauss and Jordan; no pivot of a Cauchy matrix is zero.
  ///
  /// - Returns: `false` if one is all the same.
  mutating func solve(in store: inout FragmentStore) -> Bool {
    guard count == missing.count else { return false }
    for row in 0..<count {
      for column in 0..<count {
        matrix[row * Self.most + column] = ParityCode.factor(
          parity: Int(parities[row]), fragment: Int(missing[column]))
      }
    }
    for pivot in 0..<count {
      let value = matrix[pivot * Self.most + pivot]
      guard value != 0 else { return false }
      let inverse = GaloisField.inverse(value)
      scale(pivot, by: inverse)
      store.scale(places[pivot], by: inverse)
      for row in 0..<count where row != pivot {
        let factor = matrix[row * Self.most + pivot]
        guard factor != 0 else { continue }
        add(factor, times: pivot, to: row)
        store.add(factor, times: places[pivot], to: places[row])
      }
    }
    return true
  }

  private mutating func scale(_ row: Int, by factor: UInt8) {
    for column in 0..<count {
      let index = row * Self.most + column
      matrix[index] = GaloisField.product(factor, matrix[index])
    }
  }

  private mutating func add(_ factor: UInt8, times source: Int, to target: Int) {
    for column in 0..<count {
      matrix[target * Self.most + column] ^= GaloisField.product(
        factor, matrix[source * Self.most + column])
    }
  }
}
