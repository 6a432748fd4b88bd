import Glibc
import MediaFiles

// Says how much of one audio file is in another: tools/demo uses it to check what a call carried.

private let usage = """
  usage: CompareCommand PLAYED HEARD [LEAST]

  Prints the lag in milliseconds and the correlation, 0 to 1; exit 1 if it is below LEAST (0.9).
  """

private func samples(of path: String) throws(MediaFileError) -> [Float] {
  var reader = try AudioFileReader(path)
  var block = [Int16](repeating: 0, count: 48_000 * reader.channels)
  var samples: [Float] = []
  while true {
    var span = block.mutableSpan
    let count = try reader.read(into: &span)
    if count == 0 { return samples }
    for frame in 0..<count {
      let sum = (0..<reader.channels).reduce(0) { $0 + Int(block[frame * reader.channels + $1]) }
      samples.append(Float(sum) / Float(reader.channels) / 32_768)
    }
  }
}

/// The exit status.
private func compare(_ arguments: [String]) throws(MediaFileError) -> Int32 {
  guard (3...4).contains(arguments.count),
    let least = arguments.count == 4 ? Double(arguments[3]) : 0.9
  else {
    print(usage)
    return 2
  }
  let played = try samples(of: arguments[1])
  let heard = try samples(of: arguments[2])
  guard let result = SoundComparison(played: played, heard: heard) else {
    print("one of the two is silent")
    return 1
  }
  func milliseconds(_ samples: Int) -> String { "\(Double(samples * 10 / 48) / 10)" }
  let range =
    "\(milliseconds(result.lagRange.lowerBound)) to \(milliseconds(result.lagRange.upperBound))"
  let correlation = (result.correlation * 1000).rounded() / 1000
  print(
    "played \(played.count / 48) ms, heard \(heard.count / 48) ms, lag \(milliseconds(result.lag)) ms",
    "(\(range) ms over \(result.pieceCount) pieces), correlation \(correlation)")
  return result.correlation >= least ? 0 : 1
}

do throws(MediaFileError) {
  exit(try compare(CommandLine.arguments))
} catch {
  print("\(error)")
  exit(8)
}
