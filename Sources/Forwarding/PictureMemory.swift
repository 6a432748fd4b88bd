/// The memory for pictures of all channels of a relay. A store takes over a megabyte: many channels
/// of one person must not take what the relay has.
final class PictureMemory {
  /// A store's part of it, given back with the store.
  final class Part {
    private let memory: PictureMemory

    fileprivate init(_ memory: PictureMemory) {
      self.memory = memory
      memory.count += 1
    }

    deinit { memory.count -= 1 }
  }

  private let limit: Int
  /// Stores that there are.
  private(set) var count = 0

  init(limit: Int) { self.limit = limit }

  /// Room for one store more; `nil` if there is none.
  func makePart() -> Part? { count < limit ? Part(self) : nil }
}
