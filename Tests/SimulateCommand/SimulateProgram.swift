import Arguments
import Foundation
import Simulation

/// `simulate`: runs many worlds, prints what became of them, and how to see one again.
@main
struct SimulateProgram {
  static let usage = """
    usage: tools/simulate [--calls N] [--seed S] [--scenario NAME] [--jobs J] [--log FILE]
                          [--digests]

      --calls N        how many calls to place, at least                  (default: 1000)
      --seed S         seed of the first world; the next worlds count up  (default: 1)
      --scenario NAME  random, glare, dial, cancelRace, outage, cluster, channels, or all: N calls
                       of the first and N/10 of each of the others        (default: all)
      --jobs J         worlds at a time; results do not depend on it      (default: all cores)
      --log FILE       writes every event of the first world as text
      --digests        prints the digest of every world's log

    exit status: 0 all rules kept, 1 some world broke one, 2 usage
    """

  static func main() async {
    var arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
    if arguments.wantsHelp {
      print(usage)
      exit(0)
    }
    do throws(UsageError) {
      let plan = try SimulationPlan(&arguments)
      try arguments.finish()
      exit(await plan.run() ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("simulate: \(error)\n".utf8))
      exit(2)
    }
  }
}
