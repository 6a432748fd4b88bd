package import LinkModel
internal import Primitives
package import Reactor

/// A line between two network devices, for all that speaks IP: what is routed to the near one comes
/// out of the far one. TCP and calls wait in one queue. Needs the right to make devices.
///
///     near device ══ up, down ══ far device
package final class LineDevices: CarriedLine {
  /// The names of both devices.
  package struct Pair: Equatable, Sendable {
    package var near: String
    package var far: String

    package init(near: String, far: String) {
      self.near = near
      self.far = far
    }
  }

  /// Refusals of the kernel that are remembered; all the others are like one of them.
  private static let maxFaults = 8

  package private(set) var relay: LineRelay
  package private(set) var latest = Duration.zero
  package private(set) var faults: [ReactorError] = []
  package var journal: LineJournal?
  package var rebindings: Int { 0 }
  package var entrances: [String] { [near.name, far.name] }
  private let near: PacketDevice
  private let far: PacketDevice
  private let loop: EventLoop
  private var timer: EventLoop.Token?
  private var buffer: [UInt8] = []

  package init(_ pair: Pair, _ relay: LineRelay, on loop: EventLoop) throws(ReactorError) {
    self.relay = relay
    self.loop = loop
    near = try PacketDevice(named: pair.near)
    far = try PacketDevice(named: pair.far)
    timer = try loop.addTimer { [unowned self] now in deliver(now: now) }
    for (device, direction) in [(near, LineDirection.up), (far, .down)] {
      try device.open(on: loop) { [unowned self] packet in
        carry(packet, direction)
      } afterBatch: { [unowned self] in
        arm()
      }
    }
  }

  package func change(
    _ direction: LineRelay.Direction, _ change: (inout LinkConditions) -> Void
  ) {
    relay.change(direction, change)
  }

  /// Devices have no ports: `LineOptions` refuses to ask for it.
  package func rebind() {}

  /// Closes both; the kernel forgets them with their owner.
  package func stop() {
    near.close(on: loop)
    far.close(on: loop)
    if let timer { loop.removeTimer(timer) }
    timer = nil
  }

  private func carry(_ packet: Span<UInt8>, _ direction: LineDirection) {
    let now = SystemClock.now
    let passage = relay.take(
      packet, direction, LineRelay.Route(client: 0, portal: 0), ecn: IPPacket.ecn(packet),
      isWhole: true, now: now)
    journal?.note(
      passage, direction, byteCount: LineRelay.payload(packet.count, isWhole: true), at: now,
      kind: IPPacket.kind(packet))
  }

  private func deliver(now: Instant) {
    while let delivery = relay.pop(at: now, into: &buffer) {
      latest = max(latest, now - delivery.due)
      if IPPacket.ecn(buffer.span) != delivery.ecn { IPPacket.setECN(delivery.ecn, of: &buffer) }
      let device = delivery.direction == .up ? far : near
      let errno = device.write(buffer)
      if errno != 0, faults.count < Self.maxFaults {
        faults.append(ReactorError("write to", device.name, errno: errno))
      }
    }
    arm()
  }

  private func arm() {
    if let timer { loop.setDeadline(timer, relay.nextTime) }
  }
}
