import CongestionLab
import Foundation

@main struct ReportProgram {
  static func main() {
    let args = CommandLine.arguments
    let seeds = args.count > 2 ? UInt64(args[2]) ?? 3 : 3
    let wanted = args.count > 1 && args[1] != "all" ? args[1].split(separator: ",").map(String.init) : nil
    for lab in LabCase.single + LabCase.several {
      if let wanted, !wanted.contains(lab.name) { continue }
      if let missing = lab.missing { print("\(lab.name): skipped, no \(missing)"); continue }
      let began = Date()
      var values: [[Double?]] = lab.measures.map { _ in [] }
      for seed in 1...seeds {
        let world = lab.run(seed: seed, keepsSeries: seed == 1)
        for (i, m) in lab.measures.enumerated() { values[i].append(m.read(lab, world)) }
        if seed == 1, wanted != nil { dump(lab.name, world) }
      }
      var line = lab.name.padding(toLength: 11, withPad: " ", startingAt: 0)
      for (i, m) in lab.measures.enumerated() {
        let all = values[i].compactMap { $0 }
        let mean = all.isEmpty ? nil : all.reduce(0, +) / Double(all.count)
        let complete = all.count == values[i].count
        var mark = ""
        switch m.goal {
        case .atLeast(let g): mark = complete && (mean ?? 0) >= g ? " ✓" : " ✗(\(g))"
        case .atMost(let g): mark = complete && (mean ?? .infinity) <= g ? " ✓" : " ✗(\(g))"
        case .shown: break
        }
        line += "| \(m.name) \(mean.map { String(format: "%.3f", $0) } ?? "-")\(complete ? "" : "*")\(mark) "
      }
      print(line, String(format: "[%.1fs]", Date().timeIntervalSince(began)))
    }
  }

  static func dump(_ name: String, _ world: LabWorld) {
    for (index, flow) in world.media {
    var text = "t,est,ack,delay,state,reason,inflight,limit,waiting\n"
    for p in flow.series {
      text += String(
        format: "%.3f,%.0f,%.0f,%.1f,", Double(p.time) / 1e9, p.estimate / 1e3,
        p.acknowledged / 1e3, p.delay / 1e3) + "\(p.state),\(p.reason),\(p.inFlight),\(p.limit),\(Int(p.waiting))\n"
    }
    try? text.write(toFile: "/tmp/cc-\(name)-\(index).csv", atomically: true, encoding: .utf8)
    }
  }
}
