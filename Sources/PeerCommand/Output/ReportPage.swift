package import Earshot

package enum ReportPage {
  package static func html(_ report: CallReport, _ samples: [CallStatistics]) -> String { "" }
}
