extension Sequence {
  /// What most elements have in common; of several, what came first. `nil` of no elements.
  package func mostFrequent<Trait: Hashable>(_ trait: (Element) -> Trait) -> Trait? {
    var counts: [Trait: Int] = [:]
    for element in self { counts[trait(element), default: 0] += 1 }
    guard let most = counts.values.max() else { return nil }
    return first { counts[trait($0)] == most }.map(trait)
  }
}
