internal import Glibc

/// What went through a socket, and what did not, since it was opened.
package struct UDPStatistics: Sendable, Equatable {
  package internal(set) var sentDatagrams: UInt64 = 0
  package internal(set) var sentBytes: UInt64 = 0
  /// Runs of several datagrams that went out as one message (`UDP_SEGMENT`).
  package internal(set) var sentRuns: UInt64 = 0
  /// Runs that the kernel would not cut up, so that they went out datagram by datagram.
  package internal(set) var refusedRuns: UInt64 = 0
  package internal(set) var sendCalls: UInt64 = 0
  /// Datagrams that the kernel had no room for (`EAGAIN`, `ENOBUFS`).
  package internal(set) var droppedForRoom: UInt64 = 0
  /// Datagrams that the kernel would not send there (`ENETUNREACH`, `EPERM`, `ECONNREFUSED` ...).
  package internal(set) var droppedForRefusal: UInt64 = 0
  /// Messages that could not leave from the address that they were to leave from, and left from
  /// the one that the system chose.
  package internal(set) var movedMessages: UInt64 = 0
  /// The last reason of a refusal; 0 when there was none.
  package internal(set) var lastSendError: Int32 = 0

  package internal(set) var receivedDatagrams: UInt64 = 0
  package internal(set) var receivedBytes: UInt64 = 0
  /// Messages, each of one or more datagrams (`UDP_GRO`).
  package internal(set) var receivedMessages: UInt64 = 0
  /// Of these, messages whose arrival the kernel noted.
  package internal(set) var stampedMessages: UInt64 = 0
  /// Empty, or too long to be ours.
  package internal(set) var ignoredDatagrams: UInt64 = 0
  package internal(set) var receiveErrors: UInt64 = 0
  package internal(set) var lastReceiveError: Int32 = 0

  package init() {}

  mutating func countReceiveError(_ errno: Int32) {
    receiveErrors &+= 1
    lastReceiveError = errno
  }
}

extension ReactorError {
  static let noMemory = ENOMEM
  static let wouldBlock = EAGAIN

  /// A kernel without IPv6 (`ipv6.disable=1`), or with all of it switched off.
  static func isLackOfFamily(_ errno: Int32) -> Bool {
    errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL
  }

  /// The address is not the host's any more, or no route leads from there.
  static func isLocalAddressRefusal(_ errno: Int32) -> Bool {
    [EINVAL, EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH, ENODEV, ENXIO].contains(errno)
  }

  /// The kernel's queue is full; what follows would not fit either.
  static func isLackOfRoom(_ errno: Int32) -> Bool { errno == EAGAIN || errno == ENOBUFS }

  /// What a kernel or a device answers that cannot cut a run into datagrams, or not this one.
  static func isSegmentationRefusal(_ errno: Int32) -> Bool {
    [EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT].contains(errno)
  }
}
