import Arguments
import Primitives
import Wire

/// The nodes of a service as a person writes them down, for `root sign`: on each line the ID of a
/// node, its weight, and its address, or one in each family.
enum NodePlan {
  static func parse(_ text: String, path: String) throws(UsageError) -> [NodeList.Node] {
    var nodes: [NodeList.Node] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
      guard !words.isEmpty else { continue }
      let node = try node(words, "\(path), line \(index + 1)")
      guard !nodes.contains(where: { $0.id == node.id }) else {
        throw UsageError("\(path), line \(index + 1): that ID stands above already.")
      }
      nodes.append(node)
    }
    guard (1...NodeList.limit).contains(nodes.count) else {
      throw UsageError(
        "\(path) has \(nodes.count) nodes.", advice: "Write 1 to \(NodeList.limit), one a line.")
    }
    guard nodes.contains(where: { $0.weight > 0 }) else {
      throw UsageError("\(path): all weights are 0.", advice: "Give one node a weight of 1 to 100.")
    }
    return nodes
  }

  private static func node(_ words: [String], _ place: String) throws(UsageError) -> NodeList.Node {
    guard (3...2 + NodeList.Node.addressLimit).contains(words.count) else {
      throw UsageError("\(place): that is no node.", advice: form)
    }
    guard let id = PeerID(words[0]) else {
      throw UsageError(
        "\(place): '\(words[0])' is no ID.",
        advice: "A rendezvous prints its ID when it starts, behind the #.")
    }
    guard let weight = Int(words[1]), NodeList.Node.weights.contains(weight) else {
      throw UsageError("\(place): '\(words[1])' is no weight.", advice: "Write 0 to 100.")
    }
    var addresses: [SocketAddress] = []
    for word in words.dropFirst(2) {
      guard let address = SocketAddress(word), !address.isUnsendable else {
        throw UsageError(
          "\(place): '\(word)' is no address of a node.",
          advice: "Write it like 192.0.2.1:7400 or [2001:db8::1]:7400; names are not looked up.")
      }
      guard !addresses.contains(where: { $0.family == address.family }) else {
        throw UsageError(
          "\(place): both addresses are of one family.", advice: "Give one of each, or one alone.")
      }
      addresses.append(address)
    }
    return NodeList.Node(id: id, weight: weight, addresses: addresses)
  }

  private static let form = "Write ID WEIGHT ADDRESS, like: <52 letters> 1 192.0.2.1:7400"
}
