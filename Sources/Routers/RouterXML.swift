internal import CPortMapping

/// The few things that are read from a router's XML, by libminiupnpc.
package enum RouterXML {
  /// The control URL and the type of the connection service of a description.
  package static func service(in xml: [UInt8]) -> (url: String, type: String)? {
    var url = [CChar](repeating: 0, count: textLimit)
    var type = [CChar](repeating: 0, count: textLimit)
    guard !xml.isEmpty,
      unsafe earshot_find_service(xml, xml.count, &url, textLimit, &type, textLimit) == 0
    else { return nil }
    return (text(url), text(type))
  }

  /// The text of the element `name`.
  package static func value(_ name: String, in xml: [UInt8]) -> String? {
    var value = [CChar](repeating: 0, count: textLimit)
    guard !xml.isEmpty,
      unsafe earshot_reply_value(xml, xml.count, name, &value, textLimit) == 0
    else { return nil }
    return text(value)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// As long as the reader's own fields.
  private static let textLimit = 256
}
