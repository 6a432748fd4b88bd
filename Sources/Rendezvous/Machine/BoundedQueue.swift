/// First in, first out, at most `limit`; storage is used again.
struct BoundedQueue<Element> {
  private var elements: [Element] = []
  private var head = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }

  /// `false` at the limit: the element is dropped.
  mutating func append(_ element: Element) -> Bool {
    guard count < limit else { return false }
    elements.append(element)
    return true
  }

  var first: Element? { isEmpty ? nil : elements[head] }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head]
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: elements.capacity <= 4096)
      head = 0
    } else if head >= 1024, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}
