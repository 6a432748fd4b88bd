internal import Earshot
internal import Reactor

extension ProbeCommand {
  func begin(_ session: OnlineSession, on loop: EventLoop) async -> CommandFailure? {
    CommandFailure(.failed, "This version cannot probe yet.")
  }

  func stop(_ session: OnlineSession) async {}
}
