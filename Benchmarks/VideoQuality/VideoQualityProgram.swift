import Glibc

/// Each step prints a table in Markdown.
enum VideoQualityProgram {
  static let usage = """
    usage: VideoQuality speed | psnr | packets | repair [SECONDS [SEEDS]] | start [SEEDS]
                        | ivf FILE [KBPS] | seen FILE [N]

      speed    milliseconds of CPU to encode and decode a picture, by size
      psnr     bitrate, frame rate, PSNR and SSIM of the test picture, by bitrate and ladder
      packets  nanoseconds and allocations a packet, in the sender and the receiver
      repair   what parity does on lines with loss: simulated calls, with and without
      start    how soon a call has the picture that its line carries: simulated calls
      ivf      ten seconds of the test picture, encoded, for a player
      seen     each picture of what --save-video left of --video test: when it was shown, its stamp,
               its size, and of one in N (10) PSNR and SSIM against the original; comma-separated

    """

  static func run(_ arguments: [String]) -> Int32 {
    do {
      switch arguments.first {
      case "speed" where arguments.count == 1: print(try CodecSpeed.table(), terminator: "")
      case "psnr" where arguments.count == 1: print(try PictureFidelity.table(), terminator: "")
      case "packets" where arguments.count == 1: print(PacketCost.table(), terminator: "")
      case "repair" where arguments.count <= 3:
        let numbers = arguments.dropFirst().compactMap(Int.init)
        let (seconds, seeds) = (numbers.first ?? 40, numbers.dropFirst().first ?? 5)
        print(RepairTable.table(seconds: seconds, seeds: seeds), terminator: "")
      case "start" where arguments.count <= 2:
        let seeds = arguments.dropFirst().first.flatMap(Int.init) ?? 5
        print(StartTable.table(seeds: seeds), terminator: "")
      case "ivf" where (2...3).contains(arguments.count):
        try SavedStream.write(
          arguments[1], kilobits: arguments.dropFirst(2).first.flatMap(Int.init) ?? 600)
      case "seen" where (2...3).contains(arguments.count):
        let every = arguments.dropFirst(2).first.flatMap(Int.init) ?? 10
        print(try SavedPictures.table(arguments[1], every: max(1, every)), terminator: "")
      default:
        print(usage, terminator: "")
        return 2
      }
      return 0
    } catch {
      print("VideoQuality: \(error)")
      return 1
    }
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
