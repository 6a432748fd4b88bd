internal import Earshot
internal import Reactor

/// That the kernel grants this program no real-time threads: said once, by commands that carry
/// sound (docs/decisions/0041).
package struct SchedulingNotice {
  package static let message =
    "The kernel grants this program no real-time threads: on a busy host sound comes late or with "
    + "gaps."
  package static let advice =
    "Give the user real-time priorities: LimitRTPRIO=20 in its systemd unit, or \"USER - rtprio "
    + "20\" in /etc/security/limits.conf and a new login. Or give the program CAP_SYS_NICE."

  /// On standard error; `nil` where there is nothing to say, or a quiet program says nothing.
  package let words: String?
  private let isRefused: Bool

  /// - Parameter isGranted: `nil` = not known.
  package init(isGranted: Bool?, isQuiet: Bool) {
    isRefused = isGranted == false
    words = isRefused && !isQuiet ? "\(Self.message) \(Self.advice)" : nil
  }

  /// The event `realTimeRefused`, also of a quiet program.
  package func write(to lines: JSONLines) {
    guard isRefused else { return }
    EventLine.line("realTimeRefused", to: lines) { object in
      object.add("message", Self.message)
      object.add("advice", Self.advice)
    }
  }
}

extension OnlineSession {
  /// Asks the kernel again where the loop is an ordinary thread: it may have been too busy.
  func announceScheduling() {
    guard !endpoint.hasRealTimeScheduling else { return }
    var isGranted: Bool?
    do throws(ReactorError) {
      isGranted = try HostResources.grantsRealTime()
    } catch {
      console.log(.debug, "whether threads may run in real time is not known: \(error)")
    }
    let notice = SchedulingNotice(isGranted: isGranted, isQuiet: options.isQuiet)
    notice.write(to: lines)
    if let words = notice.words { console.log(.warning, words) }
  }
}
