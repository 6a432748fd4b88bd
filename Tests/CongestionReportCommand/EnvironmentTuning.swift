import Congestion
import Foundation

func environmentTuning() -> EstimatorTuning {
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
    case "T_scatterShare": tuning.scatterShare = v
    case "T_scatterFree": tuning.scatterFree = v
    case "T_markWeight": tuning.markWeight = v
    case "T_silence": tuning.silence = v
    case "T_priorShare": tuning.priorShare = v
    case "T_markedPacingGain": tuning.markedPacingGain = v
    case "T_markedGrowth": tuning.markedGrowth = v
    case "T_growthRate": tuning.growthRate = v
    case "T_flightShare": tuning.flightShare = v
    case "T_growthShare": tuning.growthShare = v
    case "T_reportShare": tuning.reportShare = v
    default: print("?", key)
    }
  }
  return tuning
}
