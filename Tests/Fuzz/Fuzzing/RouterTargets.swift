import PortMapping
import Primitives
import Routers

extension FuzzTarget {
  static let routers: [FuzzTarget] = [routerReply, routerXML]

  private static let head = "HTTP/1.1 200 OK\r\nLOCATION: http://192.168.1.1:5000/root.xml\r\n"

  /// Goal: a body is no longer than what came, and a URL holds nothing that could end a line.
  private static let routerReply = FuzzTarget(
    "router-reply", maximumByteCount: 3000,
    seeds: {
      [
        Array((head + "\r\n<a>b</a>").utf8),
        Array((head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n").utf8),
      ]
    },
    run: { bytes in
      let router = RouteTable.defaultRouter(in: String(decoding: bytes, as: UTF8.self))
      expect(router?.isUnspecified != true, "a router has an address")
      guard let reply = RouterReply(bytes) else { return }
      expect(reply.body.count <= bytes.count, "a body is a part of the answer")
      expect((100...599).contains(reply.status), "a status has three digits")
      guard let url = reply.field("location").flatMap({ RouterURL($0) }) else { return }
      expect(url.path.hasPrefix("/"), "a path is absolute")
      let request = RouterMessages.get(url)
      expect(request.filter { $0 == 0x0A }.count == 4, "a request has three lines and an empty one")
    })

  /// Goal: libminiupnpc reads whatever a router calls XML, and gives back short texts.
  private static let routerXML = FuzzTarget(
    "router-xml", maximumByteCount: 3000,
    seeds: {
      [
        Array(
          ("<root><service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:1"
            + "</serviceType><controlURL>/ctl</controlURL></service></root>").utf8),
        Array("<a:b><NewExternalIPAddress>203.0.113.5</NewExternalIPAddress></a:b>".utf8),
        Array("<!-- x --><a c='d'><![CDATA[<b>]]></a><errorCode>718</errorCode>".utf8),
      ]
    },
    run: { bytes in
      if let service = RouterXML.service(in: bytes) {
        // A byte that is no UTF-8 becomes three.
        expect(service.url.utf8.count < 768 && service.type.utf8.count < 768, "texts are short")
      }
      for name in ["NewExternalIPAddress", "errorCode"] {
        expect((RouterXML.value(name, in: bytes)?.utf8.count ?? 0) < 768, "values are short")
      }
    })
}
