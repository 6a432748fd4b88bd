/// Which layer the next frame belongs to, and what it may refer to.
///
/// Two layers (L1T2) halve the frame rate when the upper one is dropped, three (L1T3) quarter it.
/// Every frame refers to the last of layer 0; in L1T3 the last frame of each four refers to the one
/// of layer 1 as well. No frame of an upper layer changes what layer 0 needs, its probabilities
/// included, so any of them may be lost or left out.
package struct TemporalPattern: Equatable, Sendable {
  /// How a frame is to be encoded.
  package struct Place: Equatable, Sendable, BitwiseCopyable {
    package var layer: UInt8
    /// Distances to the frames referred to, in encoded frames; 0 = none. A key frame has none.
    package var references: (base: UInt8, other: UInt8)
    var refersToGolden: Bool
    var updatesGolden: Bool

    package static func == (left: Place, right: Place) -> Bool {
      left.layer == right.layer && left.references == right.references
        && left.refersToGolden == right.refersToGolden && left.updatesGolden == right.updatesGolden
    }
  }

  /// 1...3.
  package let layerCount: Int
  private var position = 0
  private var sinceBase: UInt8 = 0
  private var sinceGolden: UInt8 = 0

  package init(layerCount: Int) { self.layerCount = min(max(layerCount, 1), 3) }

  /// The layers of one period, which then begins again.
  package var period: [UInt8] {
    switch layerCount {
    case 1: [0]
    case 2: [0, 1]
    default: [0, 2, 1, 2]
    }
  }

  /// The shares of the bitrate up to and with each layer, in per cent.
  package var shares: [Int] {
    switch layerCount {
    case 1: [100]
    case 2: [60, 100]
    default: [40, 60, 100]
    }
  }

  /// What a frame of layer 0 gets of the average picture's bits, and one of the others.
  package var baseShare: Double {
    Double(shares[0]) / 100 * Double(period.count)
  }
  package var upperShare: Double {
    guard layerCount > 1 else { return 1 }
    return (1 - Double(shares[0]) / 100) * Double(period.count) / Double(period.count - 1)
  }

  /// Where the next frame stands.
  package func place(isKeyFrame: Bool) -> Place {
    if isKeyFrame {
      return Place(layer: 0, references: (0, 0), refersToGolden: false, updatesGolden: true)
    }
    let usesGolden = layerCount == 3 && position == 3
    return Place(
      layer: period[position], references: (sinceBase + 1, usesGolden ? sinceGolden + 1 : 0),
      refersToGolden: usesGolden, updatesGolden: layerCount == 3 && position == 2)
  }

  /// That frame was encoded; one that the rate control left out is not counted.
  package mutating func advance(past place: Place) {
    let isKeyFrame = place.references == (0, 0)
    position = isKeyFrame ? 1 % period.count : (position + 1) % period.count
    sinceBase = place.layer == 0 ? 0 : sinceBase + 1
    sinceGolden = place.updatesGolden || layerCount < 3 ? 0 : min(sinceGolden + 1, 14)
  }
}
