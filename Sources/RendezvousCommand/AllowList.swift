import Arguments
import Primitives
import Rendezvous
import Wire

/// `--allow`: one ID a line, and before it a name if the ID is to have one. A name alone would be
/// whoever's who asks for it first.
enum AllowList {
  static func parse(_ text: String, path: String) throws(UsageError) -> Admission {
    var ids: Set<PeerID> = []
    var names: [PeerName: PeerID] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let last = words.last else { continue }
      let place = "\(path), line \(index + 1)"
      guard words.count <= 2, let id = PeerID(last) else {
        let isName = words.count == 1 && PeerName(last) != nil
        throw UsageError(
          isName
            ? "\(place): '\(last)' is a name without an ID." : "\(place): '\(last)' is no ID.",
          advice: "Write ID, or NAME ID, on each line; `earshot keygen` prints the ID.")
      }
      ids.insert(id)
      guard words.count == 2 else { continue }
      guard let name = PeerName(words[0]), names[name] == nil || names[name] == id else {
        throw UsageError(
          "\(place): '\(words[0])' is no name, or has another ID above.",
          advice: "A name is 1..63 of A-Z a-z 0-9 . _ - and stands with one ID.")
      }
      names[name] = id
    }
    return .only(ids: ids, names: names)
  }
}
