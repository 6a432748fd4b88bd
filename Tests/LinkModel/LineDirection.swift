/// Which way a datagram crosses a line: `up` is from the site to the rest of the network.
package enum LineDirection: UInt8, Sendable, CaseIterable { case up, down }
