internal import Glibc
internal import Primitives

/// Reads the UDP datagrams of a pcapng file of either byte order, one block at a time.
///
/// Trusts nothing in it: a block is at most 1 MiB, interfaces are at most 64, and what is not UDP
/// over IP is stepped over and counted.
package struct PCAPNGReader: ~Copyable {
  package static let maxBlockByteCount = 1 << 20
  package static let maxInterfaces = 64

  package let path: String
  /// Packets that were not UDP over IPv4 or IPv6, or were cut.
  package private(set) var packetsSkipped = 0

  private struct Interface {
    var linkType: UInt16
    /// Ticks a second.
    var ticks: UInt64
  }

  private let file: ReadableFile
  private var block: [UInt8] = []
  private var interfaces: [Interface] = []
  private var isBigEndian = false
  private var hasBegun = false

  package init(_ path: String) throws(MediaFileError) {
    let writer = try AwaitedWriter(of: path)
    defer { withExtendedLifetime(writer) {} }
    file = try ReadableFile(path)
    self.path = path
  }

  /// The next datagram; `nil` at the end of the file. A file that ends within a block, as a program
  /// that was killed may leave it, ends before that block; one that is no capture fails here.
  package mutating func next() throws(MediaFileError) -> CapturedDatagram? {
    if !hasBegun {
      guard try readBlock(isFirst: true) != nil else {
        throw .notCapture(path, reason: "it is too short")
      }
      hasBegun = true
    }
    while let type = try readBlock(isFirst: false) {
      switch type {
      case PCAPNGFormat.sectionHeader: interfaces.removeAll(keepingCapacity: true)
      case PCAPNGFormat.interface: try takeInterface()
      case PCAPNGFormat.enhancedPacket:
        if let datagram = datagram() { return datagram }
        packetsSkipped += 1
      default: break
      }
    }
    return nil
  }

  /// Reads one block's body into `block`.
  ///
  /// - Returns: its type, or `nil` at the end.
  private mutating func readBlock(isFirst: Bool) throws(MediaFileError) -> UInt32? {
    guard try fill(8) else { return nil }
    var head = self.head()
    if head.type == PCAPNGFormat.sectionHeader {
      guard try fill(4) else { return nil }
      switch word(at: 0) {
      case PCAPNGFormat.byteOrderMagic: break
      case PCAPNGFormat.byteOrderMagic.byteSwapped:
        isBigEndian.toggle()
        head.length = head.length.byteSwapped
      default: throw .notCapture(path, reason: "its byte order mark is wrong")
      }
      head.length = head.length &- 4
    } else if isFirst {
      throw .notCapture(path, reason: "it does not begin with a section header")
    }
    let body = Int(head.length) - 12
    guard body >= 0, body <= Self.maxBlockByteCount, head.length % 4 == 0 else {
      throw .notCapture(path, reason: "a block claims \(head.length) bytes")
    }
    guard try fill(body + 4) else { return nil }
    block.removeLast(4)
    return head.type
  }

  /// The type reads the same in both byte orders where it matters first.
  private func head() -> (type: UInt32, length: UInt32) { (word(at: 0), word(at: 4)) }

  private func word(at offset: Int) -> UInt32 {
    var value: UInt32 = 0
    for index in 0..<4 { value |= UInt32(block[offset + index]) << UInt32(8 * index) }
    return isBigEndian ? value.byteSwapped : value
  }

  /// - Returns: whether there were that many bytes.
  private mutating func fill(_ count: Int) throws(MediaFileError) -> Bool {
    block.removeAll(keepingCapacity: true)
    block.append(contentsOf: repeatElement(0, count: count))
    var filled = 0
    while filled < count {
      let descriptor = file.descriptor
      let got = unsafe block.withUnsafeMutableBytes { bytes -> Int in
        guard let start = bytes.baseAddress else { return 0 }
        return unsafe read(descriptor, start + filled, count - filled)
      }
      if got < 0, errno == EINTR { continue }
      if got < 0 { throw .unreadable(path, errorNumber: errno) }
      if got == 0 { return false }
      filled += got
    }
    return true
  }

  private mutating func takeInterface() throws(MediaFileError) {
    guard interfaces.count < Self.maxInterfaces else {
      throw .notCapture(path, reason: "it names more than \(Self.maxInterfaces) interfaces")
    }
    var interface = Interface(linkType: .max, ticks: 1_000_000)
    var reader = ByteReader(block.span)
    do throws(WireError) {
      interface.linkType = order(try reader.readUInt16("link type"))
      _ = try reader.readRange(6, "snap length")
      while reader.remaining >= 4 {
        let code = order(try reader.readUInt16("option"))
        let length = Int(order(try reader.readUInt16("option length")))
        guard code != 0 else { break }
        let value = try reader.readBytes(length, "option value")
        if code == PCAPNGFormat.resolutionOption, let byte = value.first {
          interface.ticks = Self.ticks(byte)
        }
        _ = try reader.readRange(min((4 - length % 4) % 4, reader.remaining), "padding")
      }
    } catch {
      // An interface that cannot be understood keeps its number; its packets are skipped.
    }
    interfaces.append(interface)
  }

  private func datagram() -> CapturedDatagram? {
    var reader = ByteReader(block.span)
    do throws(WireError) {
      let number = Int(order(try reader.readUInt32("interface")))
      let high = UInt64(order(try reader.readUInt32("time")))
      let low = UInt64(order(try reader.readUInt32("time")))
      let length = Int(order(try reader.readUInt32("captured length")))
      _ = try reader.readUInt32("length")
      guard number < interfaces.count else { return nil }
      let range = try reader.readRange(length, "packet")
      _ = try reader.readRange(min((4 - length % 4) % 4, reader.remaining), "padding")
      let packet = block.span.extracting(range)
      guard let start = Self.internetStart(packet, interfaces[number].linkType),
        let read = InternetPacket.read(packet.extracting(droppingFirst: start))
      else { return nil }
      return CapturedDatagram(
        time: Self.nanoseconds(high << 32 | low, ticks: interfaces[number].ticks),
        source: read.source, destination: read.destination,
        direction: direction(&reader), payload: read.payload)
    } catch {
      return nil
    }
  }

  private func direction(_ reader: inout ByteReader) -> CapturedDatagram.Direction {
    do throws(WireError) {
      while reader.remaining >= 4 {
        let code = order(try reader.readUInt16("option"))
        let length = Int(order(try reader.readUInt16("option length")))
        if code == PCAPNGFormat.flagsOption, length == 4 {
          let flags = order(try reader.readUInt32("flags"))
          return CapturedDatagram.Direction(rawValue: flags & 3) ?? .unknown
        }
        guard code != 0 else { break }
        _ = try reader.readRange((length + 3) & ~3, "option value")
      }
    } catch {
      return .unknown
    }
    return .unknown
  }

  private func order(_ value: UInt16) -> UInt16 { isBigEndian ? value.byteSwapped : value }
  private func order(_ value: UInt32) -> UInt32 { isBigEndian ? value.byteSwapped : value }

  /// Where the IP header begins; `nil` for what carries no IP.
  private static func internetStart(_ packet: Span<UInt8>, _ linkType: UInt16) -> Int? {
    let start: Int
    switch linkType {
    case PCAPNGFormat.linkRaw, PCAPNGFormat.linkIPv4, PCAPNGFormat.linkIPv6: return 0
    case PCAPNGFormat.linkEthernet: start = 14
    case PCAPNGFormat.linkCooked: start = 16
    default: return nil
    }
    guard packet.count > start else { return nil }
    let type = UInt16(packet[start - 2]) << 8 | UInt16(packet[start - 1])
    return type == 0x0800 || type == 0x86DD ? start : nil
  }

  /// The resolution option: a power of ten, or of two with the top bit set; at least one a second.
  private static func ticks(_ option: UInt8) -> UInt64 {
    let exponent = UInt64(option & 0x7F)
    if option & 0x80 != 0 { return 1 << min(exponent, 62) }
    return (0..<min(exponent, 18)).reduce(1) { product, _ in product * 10 }
  }

  private static func nanoseconds(_ time: UInt64, ticks: UInt64) -> UInt64 {
    let product = time.multipliedFullWidth(by: 1_000_000_000)
    guard product.high < ticks else { return .max }
    return ticks.dividingFullWidth(product).quotient
  }
}

/// An open file, closed when it goes out of scope.
private struct ReadableFile: ~Copyable {
  let descriptor: Int32

  init(_ path: String) throws(MediaFileError) {
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw errno == ENOENT ? .missing(path) : .unreadable(path, errorNumber: errno)
    }
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }
}
