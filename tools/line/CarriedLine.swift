package import LinkModel
internal import Primitives
package import Reactor

/// What brings datagrams or packets to a line and away from it: sockets, or network devices.
package protocol CarriedLine: AnyObject {
  var relay: LineRelay { get }
  /// The longest a datagram came out after its time.
  var latest: Duration { get }
  /// New outer ports that clients were given.
  var rebindings: Int { get }
  /// What could not be opened or written on the way.
  var faults: [ReactorError] { get }
  /// Writes down what crosses, while there is one.
  var journal: LineJournal? { get set }
  /// What programs reach the line by, as JSON writes it.
  var entrances: [String] { get }

  func change(_ direction: LineRelay.Direction, _ change: (inout LinkConditions) -> Void)
  /// Gives every client a new outer port, where clients have one.
  func rebind()
}
