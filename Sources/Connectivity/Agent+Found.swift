import Primitives

extension Agent {
  /// The selected path as the change that told of it first; `nil` before there is one. For an owner
  /// that had no use for the path when it was found.
  package var found: PathChange? {
    guard let selected, let kind else { return nil }
    return PathChange(from: nil, to: selected, kind: kind, cause: .found)
  }
}
