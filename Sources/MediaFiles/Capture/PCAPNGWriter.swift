internal import Glibc
internal import Primitives

/// Writes datagrams to a pcapng file (draft-ietf-opsawg-pcapng) as raw IP packets, to the
/// nanosecond.
///
/// Each block is complete once written, so whatever a killed program leaves can be opened. Blocks
/// are held back until 64 KiB are together or `flush` is called.
package struct PCAPNGWriter: ~Copyable {
  package let path: String
  package private(set) var datagramCount = 0
  private var descriptor: Int32
  private var buffer: [UInt8] = []
  private var packet: [UInt8] = []

  /// Creates the file, or empties the one that is there.
  ///
  /// - Parameter application: who writes it, for the file's header.
  package init(_ path: String, application: String = "Earshot") throws(MediaFileError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .cannotCreate(path, errorNumber: errno) }
    self.init(owning: descriptor, path, application: application)
  }

  /// Writes to a file that is open, and closes it.
  ///
  /// - Parameter path: what it is called in errors.
  package init(owning descriptor: Int32, _ path: String, application: String = "Earshot") {
    self.path = path
    self.descriptor = descriptor
    buffer.reserveCapacity(Self.flushByteCount + 70_000)
    appendSectionHeader(application)
    appendInterface()
  }

  deinit {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
  }

  /// Appends one datagram.
  package mutating func write(_ datagram: CapturedDatagram) throws(MediaFileError) {
    packet.removeAll(keepingCapacity: true)
    InternetPacket.append(datagram, to: &packet)
    let padded = (packet.count + 3) & ~3
    // Enhanced Packet Block, with its direction (option 2) where that is known.
    let options = datagram.direction == .unknown ? 0 : 12
    let length = UInt32(32 + padded + options)
    buffer.append(littleEndian: UInt32(PCAPNGFormat.enhancedPacket))
    buffer.append(littleEndian: length)
    buffer.append(littleEndian: UInt32(0))
    buffer.append(littleEndian: UInt32(truncatingIfNeeded: datagram.time >> 32))
    buffer.append(littleEndian: UInt32(truncatingIfNeeded: datagram.time))
    buffer.append(littleEndian: UInt32(packet.count))
    buffer.append(littleEndian: UInt32(packet.count))
    buffer.append(contentsOf: packet)
    for _ in packet.count..<padded { buffer.append(0) }
    if options > 0 {
      appendOption(PCAPNGFormat.flagsOption, littleEndian(datagram.direction.rawValue))
      buffer.append(littleEndian: UInt32(0))
    }
    buffer.append(littleEndian: length)
    datagramCount += 1
    if buffer.count >= Self.flushByteCount { try flush() }
  }

  /// Hands everything to the kernel.
  package mutating func flush() throws(MediaFileError) {
    var written = 0
    while written < buffer.count {
      let descriptor = descriptor
      let count = unsafe buffer.withUnsafeBytes { bytes -> Int in
        guard let start = bytes.baseAddress else { return 0 }
        return unsafe Glibc.write(descriptor, start + written, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let number = errno
        buffer.removeFirst(written)
        throw .cannotWrite(path, reason: MediaFileError.text(number))
      }
      written += count
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes what is held back, and closes.
  package mutating func close() throws(MediaFileError) {
    guard descriptor >= 0 else { return }
    try flush()
    let result = Glibc.close(descriptor)
    descriptor = -1
    if result != 0 { throw .cannotWrite(path, reason: MediaFileError.text(errno)) }
  }

  private mutating func appendSectionHeader(_ application: String) {
    let name = Array(application.utf8.prefix(64))
    let length = UInt32(28 + 4 + ((name.count + 3) & ~3) + 4)
    buffer.append(littleEndian: PCAPNGFormat.sectionHeader)
    buffer.append(littleEndian: length)
    buffer.append(littleEndian: PCAPNGFormat.byteOrderMagic)
    buffer.append(littleEndian: UInt16(1))
    buffer.append(littleEndian: UInt16(0))
    buffer.append(littleEndian: UInt64.max)  // a section of unknown length
    appendOption(PCAPNGFormat.applicationOption, name)
    buffer.append(littleEndian: UInt32(0))
    buffer.append(littleEndian: length)
  }

  private mutating func appendInterface() {
    let length: UInt32 = 32
    buffer.append(littleEndian: PCAPNGFormat.interface)
    buffer.append(littleEndian: length)
    buffer.append(littleEndian: PCAPNGFormat.linkRaw)
    buffer.append(littleEndian: UInt16(0))
    buffer.append(littleEndian: UInt32(0))  // packets are never cut
    appendOption(PCAPNGFormat.resolutionOption, [9])  // nanoseconds
    buffer.append(littleEndian: UInt32(0))
    buffer.append(littleEndian: length)
  }

  private mutating func appendOption(_ code: UInt16, _ value: [UInt8]) {
    buffer.append(littleEndian: code)
    buffer.append(littleEndian: UInt16(value.count))
    buffer.append(contentsOf: value)
    while buffer.count % 4 != 0 { buffer.append(0) }
  }

  private func littleEndian(_ value: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: value)
    return bytes
  }

  private static let flushByteCount = 65_536
}

/// The numbers of the pcapng format that we write and read.
enum PCAPNGFormat {
  static let sectionHeader: UInt32 = 0x0A0D_0D0A
  static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
  static let interface: UInt32 = 1
  static let enhancedPacket: UInt32 = 6
  static let applicationOption: UInt16 = 4
  static let resolutionOption: UInt16 = 9
  static let flagsOption: UInt16 = 2
  static let linkEthernet: UInt16 = 1
  static let linkRaw: UInt16 = 101
  static let linkCooked: UInt16 = 113
  static let linkIPv4: UInt16 = 228
  static let linkIPv6: UInt16 = 229
}
