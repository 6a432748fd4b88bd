import Arguments
import PacketPathC

/// From command line to exit code; prints one JSON object a shape.
enum PacketPathProgram {
  static let usage = """
    usage: PacketPath [--runs N] [--packets N] [--shape NAME]

    Seals, frames and sends packets over the loopback address, receives, opens and parses them: in
    Swift with the shipped code, in C with the same libsodium and socket calls, in turns.

      --runs N      runs of each shape (default: 9)
      --packets N   packets of a run, each language (default: 100000)
      --shape NAME  only this one of plain-108, plain-1200, offload-108, offload-1200

    example: .build/release/PacketPath --runs 9
    """

  static func run(_ words: [String]) -> Int32 {
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do {
      let runs = try arguments.integer("--runs", "runs", in: 1...100) ?? 9
      let packets = try arguments.integer("--packets", "packets", in: 1000...10_000_000) ?? 100_000
      let only = try arguments.choice("--shape", of: Shape.all.map(\.name))
      try arguments.finish()
      for shape in Shape.all where only == nil || only == shape.name {
        var comparison = try Comparison.make(shape)
        for _ in 0..<runs { try comparison.run(packets: packets) }
        print(comparison.json)
      }
      return 0
    } catch let error as UsageError {
      print("PacketPath: \(error)")
      return 2
    } catch {
      print("PacketPath: \(error)")
      return 1
    }
  }
}

/// What is sent, and how.
struct Shape {
  let name: String
  let payloadByteCount: Int
  let isOffloaded: Bool
  /// Packets between two looks at the clock; one send when offloaded.
  let burst = 54

  /// An audio packet of 20 ms at 32 kbit/s, and the longest there is.
  static let all = [
    Shape(name: "plain-108", payloadByteCount: 80, isOffloaded: false),
    Shape(name: "plain-1200", payloadByteCount: 1172, isOffloaded: false),
    Shape(name: "offload-108", payloadByteCount: 80, isOffloaded: true),
    Shape(name: "offload-1200", payloadByteCount: 1172, isOffloaded: true),
  ]
}

/// One shape in both languages, burst by burst in turns: whatever slows the machine slows both.
@safe struct Comparison: ~Copyable {
  private let shape: Shape
  private var swift: SwiftPath
  private let c: OpaquePointer
  private var results: [Result] = []

  /// CPU time of the thread, in ns a packet.
  struct Result {
    var swiftSend = 0.0
    var swiftReceive = 0.0
    var cSend = 0.0
    var cReceive = 0.0
  }

  static func make(_ shape: Shape) throws -> Comparison {
    let swift = try SwiftPath.make(shape)
    guard
      let path = unsafe packet_path_create(
        UInt32(shape.payloadByteCount), UInt32(shape.burst), shape.isOffloaded ? 1 : 0)
    else { throw BenchmarkError(reason: "the C program could not start") }
    return unsafe Comparison(shape, swift, path)
  }

  private init(_ shape: Shape, _ swift: consuming SwiftPath, _ path: OpaquePointer) {
    self.shape = shape
    self.swift = swift
    unsafe c = unsafe path
  }

  deinit { unsafe packet_path_destroy(c) }

  mutating func run(packets: Int) throws {
    var result = Result()
    let bursts = (packets + shape.burst - 1) / shape.burst
    for index in 0..<(bursts / Self.turn) {
      if index.isMultiple(of: 2) {
        try runSwift(&result)
        try runC(&result)
      } else {
        try runC(&result)
        try runSwift(&result)
      }
    }
    let count = Double(bursts / Self.turn * Self.turn * shape.burst)
    results.append(
      Result(
        swiftSend: result.swiftSend / count, swiftReceive: result.swiftReceive / count,
        cSend: result.cSend / count, cReceive: result.cReceive / count))
  }

  private mutating func runSwift(_ result: inout Result) throws {
    for _ in 0..<Self.turn {
      let start = packet_path_thread_ns()
      let sent = swift.send()
      let between = packet_path_thread_ns()
      let opened = swift.receive()
      let end = packet_path_thread_ns()
      try check(sent, opened)
      result.swiftSend += Double(between - start)
      result.swiftReceive += Double(end - between)
    }
  }

  private func runC(_ result: inout Result) throws {
    for _ in 0..<Self.turn {
      let start = packet_path_thread_ns()
      let sent = unsafe packet_path_send(c)
      let between = packet_path_thread_ns()
      let opened = unsafe packet_path_receive(c)
      let end = packet_path_thread_ns()
      try check(Int(sent), Int(opened))
      result.cSend += Double(between - start)
      result.cReceive += Double(end - between)
    }
  }

  /// A number that counts lost packets as fast ones is worth nothing.
  private func check(_ sent: Int, _ opened: Int) throws {
    guard sent == shape.burst, opened == shape.burst else {
      throw BenchmarkError(
        reason: "\(shape.name): of \(shape.burst) packets \(sent) were sent and \(opened) opened")
    }
  }

  var json: String {
    let values = [
      ("swiftSendNs", median(\.swiftSend)), ("cSendNs", median(\.cSend)),
      ("sendRatio", median { $0.cSend / $0.swiftSend }),
      ("swiftReceiveNs", median(\.swiftReceive)), ("cReceiveNs", median(\.cReceive)),
      ("receiveRatio", median { $0.cReceive / $0.swiftReceive }),
    ]
    let fields = values.map { "\"\($0.0)\": \(($0.1 * 1000).rounded() / 1000)" }
    return "{\"name\": \"\(shape.name)\", \"runs\": \(results.count), "
      + fields.joined(separator: ", ") + "}"
  }

  private func median(_ value: (Result) -> Double) -> Double {
    let sorted = results.map(value).sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }

  /// Bursts in a row before the other language has its turn.
  private static let turn = 8
}
