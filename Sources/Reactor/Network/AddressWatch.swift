internal import CLinux
internal import Primitives

/// Says when interfaces, addresses or routes of this host may have changed (rtnetlink(7)).
///
/// What changed it does not say: whoever wants to know lists them again. Changes come in groups, so
/// it waits until there has been none for a moment.
package final class AddressWatch {
  private let descriptor: FileDescriptor
  private let loop: EventLoop
  private var source: EventLoop.Token?
  private var timer: EventLoop.Token?

  /// Calls `body` on the loop after each group of changes.
  package convenience init(
    on loop: EventLoop, _ body: @escaping () -> Void
  ) throws(ReactorError) {
    let number = try earshot_route_open().orThrow("watch", "addresses of this host")
    try self.init(FileDescriptor(owning: number), on: loop, body)
  }

  /// - Parameter descriptor: Where the kernel's messages come.
  init(
    _ descriptor: consuming FileDescriptor, on loop: EventLoop, _ body: @escaping () -> Void
  ) throws(ReactorError) {
    self.descriptor = descriptor
    self.loop = loop
    let timer = try loop.addTimer { _ in body() }
    let number = self.descriptor.number
    do throws(ReactorError) {
      source = try loop.watch(number, for: .readable) { _ in
        guard earshot_route_drain(number) > 0 else { return }
        loop.setDeadline(timer, SystemClock.now + Self.pause)
      }
    } catch {
      loop.removeTimer(timer)
      throw error
    }
    self.timer = timer
  }

  package func stop() {
    if let source { loop.unwatch(source) }
    if let timer { loop.removeTimer(timer) }
    source = nil
    timer = nil
  }

  /// An address comes with its routes within a millisecond or two.
  private static let pause = Duration.milliseconds(10)
}
