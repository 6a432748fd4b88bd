/// The only loop over a machine's outputs: the epoll driver and the simulator both call it.
///
/// - Parameters:
///   - packet: Scratch room; its contents do not matter.
///   - send: Takes one finished datagram and its path.
///   - publish: Takes one event.
package func drain<Machine: DatagramMachine & ~Copyable>(
  _ machine: inout Machine, now: Instant, packet: inout [UInt8],
  send: (Span<UInt8>, DatagramPath) -> Void, publish: (Machine.Event) -> Void
) {
  while true {
    packet.removeAll(keepingCapacity: true)
    var path: DatagramPath?
    packet.append(addingCapacity: Machine.roomByteCount) { output in
      path = machine.pollTransmit(into: &output, now: now)
    }
    guard let path else { break }
    send(packet.span, path)
  }
  while let event = machine.pollEvent() { publish(event) }
}
