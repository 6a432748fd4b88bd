/// What a short train says of the line: whether its rate was too much, and what came out of it.
struct TrainVerdict: Sendable, Equatable {
  /// Packets came out slower than they went in, or far more were lost than on the idle line.
  var isSaturated: Bool
  /// It is saturated by so little that losses or jitter may have done it by chance.
  var isDoubtful: Bool
  /// Bits of IP packets a second that the line seems to carry; at most the train's own rate.
  var rate: Double
  /// At which the train was really sent.
  var sentRate: Double

  /// `nil` when too little arrived to say anything.
  ///
  /// - Parameter idleLoss: Share of packets that the idle line loses.
  init?(_ train: [TestPackets.Entry], idleLoss: Double) {
    let received = train.filter(\.isReceived)
    guard received.count >= 5, let first = received.first else { return nil }
    let sending = LineFit(
      received.map { (Double($0.sent - first.sent), Double($0.arrival - first.arrival)) })
    let serving = LineFit(
      received.enumerated().map { (Double($0.offset), Double($0.element.arrival - first.arrival)) })
    let offering = LineFit(
      train.enumerated().filter { $0.element.isReceived }.map {
        (Double($0.offset), Double($0.element.sent - first.sent))
      })
    guard let sending, let serving, let offering, offering.slope > 0 else { return nil }
    sentRate = Double(first.byteCount) * 8e9 / offering.slope
    let count = Double(train.count)
    let lost = 1 - Double(received.count) / count
    // What the idle line did not lose, it may lose yet.
    let share = min(1, idleLoss + 0.02)
    let chance = 2.5 * (share * (1 - share) / count).squareRoot() + 0.09
    let isStretched = sending.slope - 1 > max(Self.stretch, 4 * sending.plainError)
    isSaturated = isStretched || lost > idleLoss + chance
    isDoubtful =
      isSaturated && sending.slope - 1 < Self.clearStretch && lost < idleLoss + Self.clearLoss
    guard isSaturated, serving.slope > 0 else {
      rate = sentRate
      return
    }
    let served = Double(first.byteCount) * 8e9 / serving.slope / max(0.2, 1 - idleLoss)
    rate = min(sentRate, served)
  }

  /// By so much more than its sending time jitter alone seldom stretches a train.
  private static let stretch = 0.15
  /// More than so much above the idle line's loss is no chance, even of 20 packets.
  private static let clearStretch = 0.5
  private static let clearLoss = 0.4
}
