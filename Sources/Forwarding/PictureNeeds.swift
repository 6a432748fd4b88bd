import Wire

/// What each host's pictures take, by what may be sent of them (docs/protocol/relay.md §4): the low
/// stream's layers, then those of the usual one. Each includes those below it.
struct PictureNeeds {
  /// What may be sent of one host: nothing, two layers of its low stream, three of the usual one.
  static let most = 5
  /// The first one that is of the usual stream.
  static let usual = 3
  /// As many hosts as show pictures in a channel.
  static let hosts = 16

  private static let growth = 1.25

  /// Bit/s; what is not there has 0.
  struct Host {
    var source: UInt8 = 0
    var low: InlineArray<2, Double> = [0, 0]
    var usual: InlineArray<3, Double> = [0, 0, 0]

    /// The step that is sent in place of one: a layer of the low stream that takes more than five
    /// sixths of the usual stream's first one is skipped.
    func step(_ step: Int, takesLow: Bool) -> Int {
      guard step < PictureNeeds.usual else { return min(step, PictureNeeds.most) }
      guard takesLow else { return 0 }
      var step = step
      while step > 0, low[step - 1] == 0 || usual[0] <= low[step - 1] * Self.saving { step -= 1 }
      return step
    }

    func rate(_ step: Int, takesLow: Bool) -> Double {
      let step = self.step(step, takesLow: takesLow)
      guard step > 0 else { return 0 }
      return step < PictureNeeds.usual ? low[step - 1] : usual[step - PictureNeeds.usual]
    }

    /// The usual stream's first layer takes more than this × a layer of the low one that is sent.
    private static let saving = 1.2
  }

  private(set) var count = 0
  private var all = InlineArray<16, Host>(repeating: Host())

  mutating func append(_ host: Host) {
    guard count < Self.hosts else { return }
    all[count] = host
    count += 1
  }

  subscript(place: Int) -> Host { all[place] }

  /// The same for who sends pictures itself.
  func without(_ source: UInt8) -> PictureNeeds {
    var others = PictureNeeds()
    for place in 0..<count where all[place].source != source { others.append(all[place]) }
    return others
  }

  /// What a host may take where they share so many bit/s evenly: what one that shows little leaves
  /// goes to the others.
  func share(of rate: Double) -> Double {
    var (left, open, level) = (rate, count, rate / Double(max(1, count)))
    var hasEnough: UInt32 = 0
    while open > 0 {
      let before = open
      for place in 0..<count where hasEnough & 1 << place == 0 {
        // It may grow.
        let need = all[place].usual[2] * Self.growth
        guard need <= level else { continue }
        hasEnough |= 1 << place
        left -= need
        open -= 1
      }
      guard open < before, open > 0 else { break }
      level = left / Double(open)
    }
    return level
  }

  /// What a member gets of a host at a level: with each level one host more has one step more.
  func step(_ place: Int, at level: Int) -> Int {
    count == 0 ? 0 : level / count + (place < level % count ? 1 : 0)
  }

  /// Levels that there are.
  var highest: Int { count * Self.most }

  /// Bit/s of a level.
  func rate(_ level: Int, takesLow: Bool) -> Double {
    var sum = 0.0
    for place in 0..<count { sum += all[place].rate(step(place, at: level), takesLow: takesLow) }
    return sum
  }

  /// The best level that takes no more.
  func fitting(_ rate: Double, takesLow: Bool) -> Int {
    var level = 0
    while level < highest, self.rate(level + 1, takesLow: takesLow) <= rate { level += 1 }
    return least(level, takesLow: takesLow)
  }

  /// The best level that takes less than this one.
  func lower(_ level: Int, takesLow: Bool) -> Int {
    let level = least(level, takesLow: takesLow)
    return level == 0 ? 0 : least(level - 1, takesLow: takesLow)
  }

  /// The lowest level that takes as much as this one: others have only what is not there.
  private func least(_ level: Int, takesLow: Bool) -> Int {
    let rate = self.rate(level, takesLow: takesLow)
    var least = level
    while least > 0, self.rate(least - 1, takesLow: takesLow) >= rate { least -= 1 }
    return least
  }

  /// The lowest level that takes more than this one; `nil` = none does.
  func higher(_ level: Int, takesLow: Bool) -> Int? {
    let rate = self.rate(level, takesLow: takesLow)
    var higher = level + 1
    while higher <= highest, self.rate(higher, takesLow: takesLow) <= rate { higher += 1 }
    return higher <= highest ? higher : nil
  }
}
