import Arguments
import Foundation
import LastMile
import Primitives
import Simulation

/// `probe-accuracy`: runs the shipped prober and reflector over every line of a grid and says how
/// far their estimates are from the truth.
@main
struct ProbeAccuracyProgram {
  static let usage = """
    usage: tools/probe-accuracy [--fast|--shapes] [--seeds N] [--jobs J]
                               [--markdown FILE] [--json FILE] [--cell TEXT]

      --shapes         jitter of eleven shapes; one row a shape
      --fast           lines of 10 to 100 Mbit/s in place of those of 0.3 to 5
      --seeds N        probes a cell                                (default: 20)
      --jobs J         at a time, at most 2                         (default: 2)
      --markdown FILE  where the table goes                         (default: standard output)
      --json FILE      the same, with every cell
      --cell TEXT      only cells whose name contains TEXT, with a line for each probe

    exit status: 0 done, 2 usage
    """

  static func main() async {
    var arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
    if arguments.wantsHelp {
      print(usage)
      exit(0)
    }
    do throws(UsageError) {
      let grid = try AccuracyGrid(&arguments)
      try arguments.finish()
      await grid.run()
    } catch {
      FileHandle.standardError.write(Data("probe-accuracy: \(error)\n".utf8))
      exit(2)
    }
  }
}
