import Glibc
import MediaFiles

/// Prints a table in Markdown.
enum AudioPathProgram {
  static let usage = """
    usage: AudioPath cost FILE [--seconds N] [--rounds N]
           AudioPath drift FILE [--ppm N] [--jitter MS]

    cost: speech of FILE (48 kHz), from samples to packets to samples, by the shipped sender and
      receiver: CPU of each direction in per cent of a core, and how often the heap was asked once
      everything has its size. The least of the rounds counts: others use the host too.

    drift: 20 s of it again and again for an hour of simulated time, from a sender whose clock is
      off: what is made up, what is spliced, and how far the delay wanders. --ppm is how much too
      fast that clock runs (several without it), --jitter how much later than the fastest a packet
      comes at most.

    """

  static func run(_ words: [String]) -> Int32 {
    guard words.count >= 2, ["cost", "drift"].contains(words[0]) else {
      print(usage, terminator: "")
      return 2
    }
    do {
      let isDrift = words[0] == "drift"
      let samples = try read(
        words[1], seconds: isDrift ? 20 : number("--seconds", words) ?? 30)
      if isDrift {
        let drifts = number("--ppm", words).map { [Double($0)] } ?? DriftTable.usualDrifts
        let jitter = Double(number("--jitter", words) ?? 0)
        print(try DriftTable.table(samples, drifts: drifts, jitter: jitter), terminator: "")
        return 0
      }
      let rounds = number("--rounds", words) ?? 5
      print(try AudioPathCost.table(samples, rounds: rounds), terminator: "")
      return 0
    } catch {
      print("AudioPath: \(error)")
      return 1
    }
  }

  private static func number(_ name: String, _ words: [String]) -> Int? {
    words.firstIndex(of: name).flatMap { words.dropFirst($0 + 1).first }.flatMap(Int.init)
  }

  private static func read(_ path: String, seconds: Int) throws -> [Int16] {
    var reader = try AudioFileReader(path)
    var block = [Int16](repeating: 0, count: 48_000 * reader.channels)
    var samples: [Int16] = []
    while samples.count < 48_000 * seconds {
      var span = block.mutableSpan
      let count = try reader.read(into: &span)
      if count == 0 { break }
      for frame in 0..<count { samples.append(block[frame * reader.channels]) }
    }
    return samples
  }

  static func threadNanoseconds() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// With two digits behind the point.
  static func text(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
