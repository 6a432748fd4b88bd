import PortMapping
import Primitives
import Testing

/// What a router says is bytes of a stranger.
@Suite struct RouterMessagesTests {
  private let router = SocketAddress(v4: 192, 168, 1, 1, port: 0)

  private func reply(_ text: String) -> RouterReply? { RouterReply(Array(text.utf8)) }

  @Test func `an answer to the search is read`() throws {
    let text =
      "HTTP/1.1 200 OK\r\nST: x\r\nLOCATION: http://192.168.1.1:5000/rootDesc.xml\r\n\r\n"
    let answer: RouterReply = try #require(reply(text))
    #expect(answer.status == 200 && answer.body.isEmpty)
    let url = try #require(answer.field("location").flatMap { RouterURL($0) })
    #expect(url.host == SocketAddress(v4: 192, 168, 1, 1, port: 5000))
    #expect(url.path == "/rootDesc.xml")
  }

  @Test func `a body comes whole or in chunks`() {
    #expect(reply("HTTP/1.0 500 No\n\nabc")?.body == Array("abc".utf8))
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(reply(head + "3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n")?.body == Array("abcde".utf8))
    for rest in ["", "\n", "zz\r\nabc", "ffffffffffffffffffff\r\na", "-1\r\nabc", "0\r\n"] {
      #expect(reply(head + rest)?.body == [], "\(rest)")
    }
    #expect(reply(head + "9\r\nabc")?.body == Array("abc".utf8))
  }

  @Test func `what is no answer is refused`() {
    for text in [
      "", "\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 x\r\n\r\n",
      "HTTP/1.1 99 x\r\n\r\n", "NOTIFY * HTTP/1.1\r\n\r\n",
      "HTTP/1.1 200 OK\r\n" + String(repeating: "a", count: 5000) + "\r\n\r\n",
    ] { #expect(reply(text) == nil, "\(text.prefix(20))") }
  }

  @Test func `no prefix and no flipped bit of an answer traps`() {
    let whole = Array(
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nLOCATION: http://1.2.3.4:5/x\r\n\r\n"
        + "4\r\nabcd\r\n0\r\n\r\n").utf8)
    var read = 0
    for length in 0...whole.count {
      if RouterReply(Array(whole.prefix(length))) != nil { read += 1 }
    }
    for index in whole.indices {
      for bit in 0..<8 {
        var changed = whole
        changed[index] ^= 1 << bit
        let answer = RouterReply(changed)
        _ = answer?.field("location").flatMap { RouterURL($0) }
        if answer != nil { read += 1 }
      }
    }
    #expect(read > 100)
  }

  @Test func `a URL names a host by number, and nothing that could end a line`() {
    #expect(RouterURL("http://192.168.1.1")?.path == "/")
    #expect(RouterURL("http://192.168.1.1")?.host.port == 80)
    for text in [
      "", "http://", "http://router.local/", "https://192.168.1.1/", "http://192.168.1.1:0/",
      "http://192.168.1.1:70000/", "http://[::1]:80/", "http://192.168.1.1/a b",
      "http://192.168.1.1/a\r\nX: y", "http://224.0.0.1/", "http://1.2.3.4/é",
      "http://1.2.3.4/" + String(repeating: "a", count: 300),
    ] { #expect(RouterURL(text) == nil, "\(text)") }
  }

  @Test func `a control URL leads to the router and nowhere else`() throws {
    let base = try #require(RouterURL("http://192.168.1.1:5000/a/b.xml"))
    #expect(base.resolve("/ctl")?.path == "/ctl" && base.resolve("ctl")?.path == "/ctl")
    #expect(base.resolve("http://192.168.1.1:80/c")?.host.port == 80)
    #expect(base.resolve("http://192.168.1.9:5000/c") == nil)
    #expect(base.resolve("/a\nb") == nil)
  }

  @Test func `only the two services that open ports are spoken to`() throws {
    let url = try #require(RouterURL("http://192.168.1.1:5000/ctl"))
    let start = "urn:schemas-upnp-org:service:"
    for type in ["WANIPConnection:1", "WANIPConnection:2", "WANPPPConnection:1"] {
      #expect(UPnPService(control: url, type: start + type)?.type == start + type)
    }
    for type in ["WANIPConnection:", "WANIPConnection:1\"", "WANIPConnection:0", "Layer3:1", ""] {
      #expect(UPnPService(control: url, type: start + type) == nil, "\(type)")
    }
  }

  @Test func `requests name the port and no user`() throws {
    let url = try #require(RouterURL("http://192.168.1.1:5000/ctl"))
    let service = try #require(
      UPnPService(control: url, type: "urn:schemas-upnp-org:service:WANIPConnection:1"))
    let own = SocketAddress(v4: 192, 168, 1, 2, port: 5001)
    let text = String(
      decoding: RouterMessages.add(service, outer: 6000, own: own, seconds: 3600), as: UTF8.self)
    for part in [
      "POST /ctl HTTP/1.1\r\nHOST: 192.168.1.1:5000\r\n", "WANIPConnection:1#AddPortMapping\"\r\n",
      "<NewExternalPort>6000</NewExternalPort>", "<NewProtocol>UDP</NewProtocol>",
      "<NewInternalPort>5001</NewInternalPort>",
      "<NewInternalClient>192.168.1.2</NewInternalClient>",
      "<NewPortMappingDescription>Earshot</NewPortMappingDescription>",
      "<NewLeaseDuration>3600</NewLeaseDuration>",
    ] { #expect(text.contains(part), "\(part)") }
    let body = try #require(text.components(after: "\r\n\r\n"))
    #expect(text.contains("CONTENT-LENGTH: \(body.utf8.count)\r\n"))
    let delete = String(decoding: RouterMessages.delete(service, outer: 6000), as: UTF8.self)
    #expect(delete.contains("#DeletePortMapping") && delete.contains(">6000<"))
    #expect(String(decoding: RouterMessages.get(url), as: UTF8.self).hasPrefix("GET /ctl HTTP"))
    #expect(RouterMessages.externalAddress(service).count > 100)
    #expect(RouterMessages.search.count < 200)
  }
}

extension String {
  fileprivate func components(after mark: String) -> String? {
    firstRange(of: mark).map { String(self[$0.upperBound...]) }
  }
}
