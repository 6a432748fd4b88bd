import Testing

/// Machines take time, chance and bytes as arguments (docs/ARCHITECTURE.md §4).
@Suite struct PurityTests {
  static let everywhere: [WordRule] = [
    WordRule(
      words: ["Task {", "Task.detached", "Task.init", "async let"],
      advice: "Start no unstructured task: let the machine return what its owner must do.",
      exceptions: [
        "Sources/Reactor/", "Sources/Earshot/", "Sources/PeerCommand/", "Tests/",
        "Sources/EarshotC/",  // whoever calls from C waits for a task
      ]),
    WordRule(
      words: ["@unchecked Sendable", "nonisolated(unsafe)"],
      advice:
        "Make it a value, or give it to the event loop; only Reactor crosses threads by hand.",
      exceptions: [
        "Sources/Reactor/", "Tests/ReactorTests/", "Tests/Fuzz/FuzzCommand/",
        // Owns its memory alone, and never changes it while two can see it.
        "Sources/Cryptography/SecretBytes.swift",
      ]),
    WordRule(
      words: ["DispatchQueue", "DispatchSemaphore", "DispatchGroup", "NSLock"],
      advice: "One event loop does it: no dispatch queues and no locks beside Reactor's own."),
    WordRule(
      words: ["sleep(", "usleep(", "nanosleep(", "Task.sleep"],
      advice: "Set a deadline and be woken; in a test, advance the simulated time.",
      exceptions: ["Sources/Reactor/"]),
  ]

  static let inPureTargets: [WordRule] = [
    WordRule(
      words: [
        "import Foundation", "import FoundationEssentials", "import Glibc", "import Dispatch",
        "import Synchronization", "import CLinux",
      ],
      advice: "Pure targets see no system: move what needs it to level 5 or above.",
      exceptions: [
        "Sources/Audio/Playout/LatenessHistory.swift",  // log
        "Sources/Audio/Quality/MOSEstimate.swift",  // exp and pow
        "Sources/Video/Picture/PictureQuality.swift",  // log10
        "Sources/Cryptography/SecretPool.swift",  // memory is a process's (decision 0050)
      ]),
    WordRule(
      words: [
        "Instant.now", "ContinuousClock", "SuspendingClock", "SystemClock", "Date(", "Date.now",
        "clock_gettime", "gettimeofday",
      ],
      advice: "Take `now: Instant` as an argument; only Reactor reads a clock."),
    WordRule(
      words: ["SystemRandomNumberGenerator", "randombytes_buf"],
      advice: "Draw from the RandomSource that the constructor was given.",
      exceptions: ["Sources/Primitives/RandomSource.swift", "Sources/Cryptography/"]),
    WordRule(
      words: ["Mutex<", "Atomic<", "async", "await", "actor"],
      advice: "A machine belongs to one event loop: it is a plain value and never waits.",
      exceptions: ["Sources/Cryptography/SecretPool.swift"]),  // threads share memory
    WordRule(
      words: ["print(", "debugPrint(", "dump("],
      advice: "Publish an event or count it; programs decide what is shown."),
    WordRule(
      words: ["any Error"],
      advice: "Throw a typed error, so that the caller knows all that can go wrong."),
  ]

  /// Benchmarks and examples are programs in the world: they measure, wait and show.
  static let ruled = Repository.swiftFiles.filter { file in
    file.target != "TidyTests" && !file.path.hasPrefix("Benchmarks/")
      && !file.path.hasPrefix("Examples/")
  }

  @Test(arguments: everywhere.indices)
  func `threads and waiting stay at the edge`(rule: Int) {
    let rule = Self.everywhere[rule]
    let offences = rule.offences(in: Self.ruled)
    forbid(offences, rule.advice)
  }

  @Test(arguments: inPureTargets.indices)
  func `machines see no clock, kernel or dice`(rule: Int) {
    let rule = Self.inPureTargets[rule]
    let offences = rule.offences(in: Layers.pure)
    forbid(offences, rule.advice)
  }

  @Test func `what is thrown has a type`() {
    let offences = Layers.pure.flatMap { file in
      file.places { line in
        WordRule.contains("throws", line) && !line.contains("throws(")
      }
    }
    forbid(offences, "Write `throws(SomeError)`: the caller knows all that can go wrong.")
  }

  @Test func `chance comes from a source that somebody handed in`() {
    let dice = [".random(in:", ".randomElement(", ".shuffled(", ".shuffle("]
    var offences: [String] = []
    for file in Layers.pure + Repository.tests.filter({ $0.target != "TidyTests" }) {
      offences += file.places { line in
        dice.contains { line.contains($0) } && !line.contains("using:")
      }
    }
    forbid(offences, "Pass `using: &random`, a RandomSource: a seed must reproduce the run.")
  }
}
