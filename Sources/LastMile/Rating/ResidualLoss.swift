/// What of a line's loss a call cannot repair: a frame is lost for good when its packet is lost and
/// every packet that carries a copy of it.
///
/// Losses are a chain of two states (Gilbert 1960), given by their share and the mean length of a
/// run. Copies go 40, 80 and 140 ms later, as calls send them where losses come in runs; where they
/// do not, the distances do not matter. A call needs reports before it repairs well: a hundredth of
/// the loss stays. Beside what calls had on lines of known loss: `SpeechPredictionTests`.
struct ResidualLoss: Sendable, Equatable {
  /// Share of the frames, 0...1.
  let share: Double

  /// - Parameters:
  ///   - loss: Share of the packets, 0...1.
  ///   - meanBurst: Mean length of a run of losses, in packets.
  ///   - copies: Of each frame, 0...3.
  init(of loss: Double, meanBurst: Double, copies: Int) {
    guard loss < 1 else {
      share = 1
      return
    }
    let loss = max(loss, 0)
    // Lone losses come in runs of 1 / (1 - loss).
    let burst = max(meanBurst, 1 / (1 - loss))
    let memory = max(0, 1 - 1 / burst - loss / (burst * (1 - loss)))
    var share = loss
    for distance in Self.distances.prefix(copies) {
      // Whether the packet so much later is lost, given that this one is.
      let kept = (0..<distance).reduce(1.0) { product, _ in product * memory }
      share *= loss + (1 - loss) * kept
    }
    self.share = copies > 0 ? min(loss, Self.doubt * share + Self.learning * loss) : loss
  }

  /// From each copy to the next, in packets.
  private static let distances = [2, 2, 3]
  /// How many copies calls make at most.
  static let mostCopies = distances.count
  /// Copies that come too late, by `tools/listen --table adaptive` (bursty lines).
  private static let doubt = 1.3
  private static let learning = 0.01
}
