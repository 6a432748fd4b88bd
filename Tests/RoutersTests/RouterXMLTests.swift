import Routers
import Testing

/// A router's XML, read by libminiupnpc with limits of ours.
@Suite struct RouterXMLTests {
  private static let description =
    "<?xml version=\"1.0\"?><root><URLBase>http://192.168.1.1:5000</URLBase><device><serviceList>"
    + "<service><serviceType>urn:schemas-upnp-org:service:Layer3Forwarding:1</serviceType>"
    + "<controlURL>/l3</controlURL></service><service>"
    + "<serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType>"
    + "<serviceId>x</serviceId><controlURL>/ctl/IPConn</controlURL><eventSubURL>/evt</eventSubURL>"
    + "<SCPDURL>/WANIPCn.xml</SCPDURL></service></serviceList></device></root>"
  private static let answer =
    "<s:Envelope><s:Body><u:GetExternalIPAddressResponse xmlns:u=\"x\">"
    + "<NewExternalIPAddress>203.0.113.5</NewExternalIPAddress>"
    + "</u:GetExternalIPAddressResponse></s:Body></s:Envelope>"

  @Test func `the connection service of a description is found`() throws {
    let found = try #require(RouterXML.service(in: Array(Self.description.utf8)))
    #expect(found.url == "/ctl/IPConn")
    #expect(found.type == "urn:schemas-upnp-org:service:WANIPConnection:1")
    #expect(RouterXML.service(in: Array("<root></root>".utf8)) == nil)
    #expect(RouterXML.service(in: []) == nil)
  }

  @Test func `a value of an answer is found`() {
    let bytes = Array(Self.answer.utf8)
    #expect(RouterXML.value("NewExternalIPAddress", in: bytes) == "203.0.113.5")
    #expect(RouterXML.value("errorCode", in: bytes) == nil)
    #expect(RouterXML.value("errorCode", in: []) == nil)
  }

  /// Bytes are changed one by one; nothing may trap, and nothing longer than a field comes back.
  @Test func `no change of a byte and no cut traps`() {
    for text in [Self.description, Self.answer] {
      let whole = Array(text.utf8)
      var found = 0
      for index in whole.indices {
        for byte in [0, 0x3C, 0x3E, 0x2F, 0x22, 0xFF] as [UInt8] {
          var changed = whole
          changed[index] = byte
          if RouterXML.service(in: changed) != nil { found += 1 }
          if RouterXML.value("NewExternalIPAddress", in: changed) != nil { found += 1 }
        }
        _ = RouterXML.service(in: Array(whole.prefix(index)))
        _ = RouterXML.value("NewExternalIPAddress", in: Array(whole.prefix(index)))
      }
      #expect(found > 0)
    }
  }

  @Test func `elements of any length and number are borne`() {
    let long = String(repeating: "a", count: 60_000)
    let many = String(repeating: "<a>b</a>", count: 8000)
    for text in [
      "<controlURL>\(long)</controlURL>", "<\(long)>x</\(long)>", many,
      "<NewPortListing>\(long)</NewPortListing>", "<![CDATA[\(long)", "<!--\(long)",
      "<service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:\(long)</serviceType>"
        + "<controlURL>\(long)</controlURL></service>",
    ] {
      let bytes = Array(text.utf8)
      #expect((RouterXML.service(in: bytes)?.url.utf8.count ?? 0) < 256)
      #expect((RouterXML.value("a", in: bytes)?.utf8.count ?? 0) < 256)
    }
  }
}
