package import Primitives

/// Where packets may go before an address is proven (docs/protocol/calling.md §4).
extension Agent {
  /// Where to send while no address is proven: where the peer was heard from last.
  ///
  /// - Returns: the address, and how many bytes may still go there; `nil` once one is selected, or
  ///   while nothing has come.
  package var provisional: (path: DatagramPath, byteCount: Int)? {
    guard selectedPath == nil, let heardFrom, let index = paths.index(heardFrom) else { return nil }
    return (heardFrom, paths[index].unproven.allowed)
  }

  /// A packet went to the provisional address.
  package mutating func noteSentProvisionally(byteCount: Int) {
    guard let heardFrom, let index = paths.index(heardFrom) else { return }
    paths[index].unproven.countAnswered(byteCount)
  }

  /// Bytes of the peer came from an address that has not answered yet.
  mutating func noteUnproven(_ index: Int, byteCount: Int) {
    paths[index].unproven.countReceived(byteCount)
    if selectedPath == nil { heardFrom = paths[index].path }
  }
}
