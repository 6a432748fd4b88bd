import CongestionLab
import Foundation

@main struct ReportProgram {
  static func main() {
    let args = CommandLine.arguments
    if args.count > 1, args[1] == "series" { return series(args) }
    let cases: [(String, LinkSpec, Double)] = [
      ("const2M", LinkSpec(.constant(2e6), delay: 25), 60),
      ("const200k", LinkSpec(.constant(2e5), delay: 25), 60),
      ("const10M", LinkSpec(.constant(10e6), delay: 25), 60),
      ("const30M", LinkSpec(.constant(30e6), delay: 25), 30),
      ("step", LinkSpec(.schedule([(0, 2.5), (20, 0.6), (40, 2)]), delay: 25), 60),
      ("rfc51", LinkSpec(.schedule([(0, 1), (40, 2.5), (60, 0.6), (80, 1)]), delay: 50), 100),
      ("rfc51far", LinkSpec(.schedule([(0, 1), (40, 2.5), (60, 0.6), (80, 1)]), delay: 100), 100),
      ("loss2", LinkSpec(.constant(2e6), delay: 25).with { $0.loss = 0.02 }, 60),
      ("loss10", LinkSpec(.constant(2e6), delay: 25).with { $0.loss = 0.10 }, 60),
      ("wifi", LinkSpec(.constant(2e6), delay: 25).with {
        $0.jitter = .exponential(mean: 4e6, most: 40e6)
        $0.stalls = (2_000_000_000, 60_000_000)
      }, 60),
      ("cell", LinkSpec(.trace(trace("Verizon-LTE-short.up")), delay: 20, queue: 2000), 120),
      ("cell2", LinkSpec(.trace(trace("ATT-LTE-driving-2016.up")), delay: 20, queue: 2000), 118),
      ("handover", LinkSpec(.constant(2e6), delay: 25, queue: 2000).with {
        $0.holds = [(20_000_000_000, 20_300_000_000), (40_000_000_000, 41_000_000_000)]
      }, 60),
      ("outage", LinkSpec(.constant(2e6), delay: 25).with {
        $0.blackouts = [(20_000_000_000, 22_000_000_000), (40_000_000_000, 45_000_000_000)]
      }, 60),
    ]
    for (name, link, seconds) in cases {
      if args.count > 1, !args[1].split(separator: ",").contains(Substring(name)) { continue }
      let began = Date()
      for seed in 1...3 as ClosedRange<UInt64> {
        let world = LabWorld(
          links: [link, LinkSpec.wide(delay: Double(link.delay) / 1e6)], flows: [.media],
          seconds: seconds, seed: seed, keepsSeries: seed == 1)
        world.run()
        show(name, world, link, seconds)
        if seed == 1 { dump(name, world) }
      }
      print("   took", Date().timeIntervalSince(began))
    }
  }

  static func trace(_ name: String) -> [UInt32] {
    let text = (try? String(contentsOfFile: "/work/shared/traces/" + name, encoding: .utf8)) ?? "1"
    return text.split(separator: "\n").compactMap { UInt32($0) }
  }

  static func show(_ name: String, _ world: LabWorld, _ link: LinkSpec, _ seconds: Double) {
    let reader = LogReader(world.logs[0], link.capacity)
    let figures = reader.figures(from: 0, to: world.endTime)
    func f(_ v: Double?, _ d: Int = 2) -> String { v.map { String(format: "%.\(d)f", $0) } ?? "-" }
    var line = "\(name): util \(f(figures.utilisation, 3)) p50 \(f(figures.p50, 1))"
    line += " p95 \(f(figures.p95, 1)) p99 \(f(figures.p99, 1)) max \(f(figures.most, 0))"
    line += " drop% \(f(figures.dropShare * 100, 3)) t90 \(f(reader.rise(from: 0, to: world.endTime)))"
    if case .steps(let steps) = link.capacity {
      for i in steps.indices.dropFirst() {
        let to = i + 1 < steps.count ? steps[i + 1].from : world.endTime
        if steps[i].bitsPerSecond > steps[i - 1].bitsPerSecond {
          line += " [up \(f(reader.rise(from: steps[i].from, to: to)))]"
        } else {
          line += " [drain \(f(reader.drain(from: steps[i].from, to: to)))]"
        }
      }
    }
    if let flow = world.media[0] {
      line += " skip \(flow.tally.framesSkipped)/\(flow.tally.frames) fb% \(f(Double(flow.tally.reportBytes) * 100 / Double(max(1, flow.tally.receivedBytes.reduce(0, +))), 1))"
      line += " aloss \(flow.tally.audioLost)"
    }
    print(line)
  }

  static func dump(_ name: String, _ world: LabWorld) {
    guard let flow = world.media[0] else { return }
    var text = "t,est,ack,delay,state,reason,inflight,limit,waiting\n"
    for p in flow.series {
      text += String(
        format: "%.3f,%.0f,%.0f,%.1f,%@,%@,%d,%d,%.1f\n", Double(p.time) / 1e9, p.estimate / 1e3,
        p.acknowledged / 1e3, p.delay / 1e3, p.state, p.reason, p.inFlight, p.limit, p.waiting)
    }
    try? text.write(toFile: "/tmp/cc-\(name).csv", atomically: true, encoding: .utf8)
  }

  static func series(_ args: [String]) {}
}
