import Congestion
import CongestionLab
import Foundation

@main struct ReportProgram {
  static func main() {
    let args = CommandLine.arguments
    let seeds = args.count > 2 ? UInt64(args[2]) ?? 3 : 3
    let wanted = args.count > 1 && args[1] != "all" ? args[1].split(separator: ",").map(String.init) : nil
    var tuning = EstimatorTuning()
    for (key, value) in ProcessInfo.processInfo.environment where key.hasPrefix("T_") {
      let v = Double(value) ?? 0
      switch key {
      case "T_pacingGain": tuning.pacingGain = v
      case "T_slack": tuning.slack = v
      case "T_rateSpan": tuning.rateSpan = v
      case "T_startVelocity": tuning.startVelocity = v
      case "T_leastVelocity": tuning.leastVelocity = v
      case "T_mostVelocity": tuning.mostVelocity = v
      case "T_returnVelocity": tuning.returnVelocity = v
      case "T_slowMemory": tuning.slowMemory = v
      case "T_fairness": tuning.fairness = v
      case "T_leastBusy": tuning.leastBusy = v
      case "T_capacityMemory": tuning.capacityMemory = v
      case "T_pull": tuning.pull = v
      case "T_mostCut": tuning.mostCut = v
      case "T_mostRaise": tuning.mostRaise = v
      case "T_overloadGuard": tuning.overloadGuard = v
      case "T_reference": tuning.reference = v
      case "T_targetAtReference": tuning.targetAtReference = v
      case "T_leastTarget": tuning.leastTarget = v
      case "T_calmShare": tuning.calmShare = v
      case "T_mostTarget": tuning.mostTarget = v
      case "T_flightShare": tuning.flightShare = v
      case "T_growthShare": tuning.growthShare = v
      case "T_reportShare": tuning.reportShare = v
      case "T_priorShare": tuning.priorShare = v
      case "T_markedPacingGain": tuning.markedPacingGain = v
      case "T_markedGrowth": tuning.markedGrowth = v
      default: print("?", key)
      }
    }
    for lab in LabCase.single + LabCase.several + LabCase.fallback {
      var lab = lab
      for i in lab.flows.indices { lab.flows[i].tuning = tuning }
      if let wanted, !wanted.contains(lab.name) { continue }
      if let missing = lab.missing { print("\(lab.name): skipped, no \(missing)"); continue }
      let began = Date()
      var values: [[Double?]] = lab.measures.map { _ in [] }
      for seed in 1...seeds {
        let world = lab.run(seed: seed, keepsSeries: seed == 1 && lab.seconds < 1000)
        for (i, m) in lab.measures.enumerated() { values[i].append(m.read(lab, world)) }
        if seed == 1, wanted != nil, lab.seconds < 1000 { dump(lab.name, world); dumpLog(lab.name, world) }
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

extension ReportProgram {
  static func dumpLog(_ name: String, _ world: LabWorld) {
    var text = ""
    for e in world.logs[0].entries {
      text += "\(e.entered / 1000),\(e.departure / 1000),\(e.wait / 1000),\(e.byteCount),\(e.flow),\(e.content)\n"
    }
    try? text.write(toFile: "/tmp/cc-\(name).log", atomically: true, encoding: .utf8)
  }
}
