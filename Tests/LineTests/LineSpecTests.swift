import Arguments
import LineCommand
import LinkModel
import Primitives
import Testing

@Suite struct LineSpecTests {
  private static func conditions(_ text: String) throws -> LinkConditions {
    var conditions = LinkConditions(delay: .zero)
    try LineSpec(text) { _ throws(UsageError) in "1\n2\n3\n" }.apply(to: &conditions)
    return conditions
  }

  @Test func `a whole line can be written down`() throws {
    let line = try Self.conditions(
      "rate=2.5M,queue=30000B,delay=30ms,jitter=uniform:20ms,order=free,loss=5%,"
        + "reorder=1%:40ms,duplicate=0.02,corrupt=0.5%,mark=5ms")
    #expect(line.rate?.bitsPerSecond == 2_500_000 && line.rate?.marksAbove == .milliseconds(5))
    guard case .bytes(30_000) = line.rate?.queue, case .random(0.05) = line.loss,
      case .uniform(.milliseconds(20)) = line.jitter
    else {
      Issue.record("\(line)")
      return
    }
    #expect(line.delay == .milliseconds(30) && !line.keepsOrder)
    #expect(line.reordering == 0.01 && line.reorderingDelay == .milliseconds(40))
    #expect(line.duplication == 0.02 && line.corruption == 0.005)
  }

  @Test func `each kind of jitter has its word`() throws {
    for (word, expected) in [
      ("none", "none"), ("exponential:5ms", "exponential"), ("normal:5ms", "normal"),
      ("pareto:11ms", "pareto"),
    ] {
      #expect("\(try Self.conditions("jitter=\(word)").jitter)".hasPrefix(expected))
    }
  }

  @Test func `a change leaves what it does not name`() throws {
    var line = try Self.conditions("rate=1M,queue=500ms,delay=20ms")
    try LineSpec("rate=300k") { _ throws(UsageError) in "" }.apply(to: &line)
    #expect(line.rate?.bitsPerSecond == 300_000 && line.delay == .milliseconds(20))
    guard case .time(.milliseconds(500)) = line.rate?.queue else {
      Issue.record("\(line)")
      return
    }
    try LineSpec("rate=0,loss=none") { _ throws(UsageError) in "" }.apply(to: &line)
    #expect(line.rate == nil)
  }

  @Test func `a trace takes the place of a rate`() throws {
    let line = try Self.conditions("trace=file,queue=100ms")
    #expect(line.trace?.trace.milliseconds == [1, 2, 3])
    guard case .time(.milliseconds(100)) = line.trace?.queue else {
      Issue.record("\(line)")
      return
    }
  }

  @Test func `stalls have a mean and a length`() throws {
    let line = try Self.conditions("stall=2000ms:60ms")
    #expect(line.stalls?.mean == .seconds(2) && line.stalls?.length == .milliseconds(60))
    #expect(try Self.conditions("stall=none").stalls == nil)
  }

  @Test(arguments: ["bursts:2%:5", "gilbert:0.01:0.2:0:1", "spells:900ms:100ms:80%"])
  func `loss comes in bursts`(text: String) throws {
    let line = try Self.conditions("loss=\(text)")
    #expect(line.loses)
  }

  @Test(arguments: [
    "rate", "rate=-1", "rate=fast", "delay=1s", "loss=101%", "loss=bursts:2%", "jitter=20ms",
    "speed=1", "order=some", "queue=B", "reorder=2", "loss=", "rate=nan",
    "stall=60ms", "stall=0:60ms",
  ])
  func `nonsense is refused with advice`(text: String) {
    #expect(throws: UsageError.self) { try Self.conditions(text) }
  }

  @Test func `the options of the program are read, forwards first of all`() throws {
    func options(_ words: [String]) throws -> LineOptions {
      try LineOptions(Arguments(words)) { _ throws(UsageError) in "1\n" }
    }
    let forward = ["--forward", "127.0.0.1:7500=127.0.0.1:7400"]
    let read = try options(
      forward + [
        "--both", "delay=20ms", "--up", "rate=1M", "--at", "5:both:rate=300k", "--rebind-at",
        "2,4.5", "--seed", "7",
      ])
    let course = read.course
    #expect(course.up.rate != nil && course.down.rate == nil)
    #expect(course.down.delay == .milliseconds(20) && !read.waitsForSignal)
    #expect(course.changes.count == 2 && read.rebindAt == [.seconds(2), .milliseconds(4500)])
    #expect(read.seed == 7 && read.forwards[0].target.port == 7400)
    for words in [[], ["--forward", "x"], forward + ["--at", "5:sideways:rate=1"]] {
      #expect(throws: UsageError.self) { try options(words) }
    }
  }
}
