package import Primitives

/// What is sent to a router that speaks UPnP, and the heads of what comes back.
package enum RouterMessages {
  /// An SSDP search for an Internet Gateway Device (UPnP Device Architecture 1.1 §1.3.2).
  package static let search = Array(
    ("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\n"
      + "ST: urn:schemas-upnp-org:device:InternetGatewayDevice:1\r\n\r\n").utf8)

  /// Asks for a description.
  package static func get(_ url: RouterURL) -> [UInt8] {
    Array("GET \(url.path) HTTP/1.1\r\nHOST: \(url.host)\r\nConnection: close\r\n\r\n".utf8)
  }

  /// Asks for the external address.
  package static func externalAddress(_ service: UPnPService) -> [UInt8] {
    post("GetExternalIPAddress", [], to: service)
  }

  /// Asks for a UDP port. The description names no user.
  package static func add(
    _ service: UPnPService, outer: UInt16, own: SocketAddress, seconds: UInt32
  ) -> [UInt8] {
    post(
      "AddPortMapping",
      [
        ("NewRemoteHost", ""), ("NewExternalPort", "\(outer)"), ("NewProtocol", "UDP"),
        ("NewInternalPort", "\(own.port)"), ("NewInternalClient", own.hostText),
        ("NewEnabled", "1"), ("NewPortMappingDescription", "Earshot"),
        ("NewLeaseDuration", "\(seconds)"),
      ], to: service)
  }

  /// Gives a UDP port back.
  package static func delete(_ service: UPnPService, outer: UInt16) -> [UInt8] {
    post(
      "DeletePortMapping",
      [("NewRemoteHost", ""), ("NewExternalPort", "\(outer)"), ("NewProtocol", "UDP")],
      to: service)
  }

  /// An action (UPnP Device Architecture 1.1 §3.2.1).
  private static func post(
    _ action: String, _ arguments: [(String, String)], to service: UPnPService
  ) -> [UInt8] {
    let fields = arguments.map { "<\($0.0)>\($0.1)</\($0.0)>" }.joined()
    let body =
      "<?xml version=\"1.0\"?>\r\n"
      + "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" "
      + "s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body>"
      + "<u:\(action) xmlns:u=\"\(service.type)\">\(fields)</u:\(action)></s:Body></s:Envelope>\r\n"
    let head =
      "POST \(service.control.path) HTTP/1.1\r\nHOST: \(service.control.host)\r\n"
      + "CONTENT-TYPE: text/xml; charset=\"utf-8\"\r\nCONTENT-LENGTH: \(body.utf8.count)\r\n"
      + "SOAPACTION: \"\(service.type)#\(action)\"\r\nConnection: close\r\n\r\n"
    return Array((head + body).utf8)
  }
}

/// The head of an HTTP answer, by TCP or in a datagram of SSDP.
package struct RouterReply: Sendable {
  /// 100...599.
  package let status: Int
  /// What follows the head, without the marks of chunks.
  package let body: [UInt8]
  private let fields: [(name: String, value: String)]

  /// `nil` for anything but an HTTP answer with a whole head of at most 4 KiB.
  package init?(_ bytes: [UInt8]) {
    guard let end = Self.headEnd(bytes.prefix(Self.headLimit)) else { return nil }
    let lines = bytes[..<end].split(separator: 0x0A, maxSplits: Self.fieldLimit).map { line in
      String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }
    guard let first = lines.first, first.hasPrefix("HTTP/1."),
      let status = Int(first.split(separator: " ").dropFirst().first ?? ""),
      (100...599).contains(status)
    else { return nil }
    self.status = status
    fields = lines.dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      return (line[..<colon].lowercased(), String(value))
    }
    let rest = Array(bytes[end...])
    let isChunked = fields.contains { $0.name == "transfer-encoding" && $0.value == "chunked" }
    body = isChunked ? Self.joinChunks(rest) : rest
  }

  /// The first field of a name in lower case.
  package func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  private static let headLimit = 4096
  private static let fieldLimit = 64

  /// Behind the first empty line.
  private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
    var isEmpty = false
    for index in bytes.indices {
      if bytes[index] == 0x0A {
        if isEmpty { return index + 1 }
        isEmpty = true
      } else if bytes[index] != 0x0D {
        isEmpty = false
      }
    }
    return nil
  }

  /// RFC 9112 §7.1; what is not as it should be ends it.
  private static func joinChunks(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 0x0A) {
      let digits = rest[..<end].prefix { $0 != 0x0D && $0 != 0x3B }
      guard let count = Int(String(decoding: digits, as: UTF8.self), radix: 16), count > 0 else {
        break
      }
      let chunk = rest[(end + 1)...].prefix(count)
      result += chunk
      rest = rest[chunk.endIndex...].drop { $0 == 0x0D || $0 == 0x0A }
    }
    return result
  }
}
