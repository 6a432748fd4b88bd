/// Parts of a line on as few lines as a terminal of that width needs: none is cut.
package enum LineFold {
  /// Two spaces stand between parts. A part that is wider is broken between its words, and a word
  /// that is wider within it.
  package static func lines(_ parts: [String], width: Int) -> [String] {
    let width = max(1, width)
    var lines: [String] = []
    for part in parts where !part.isEmpty {
      for (index, piece) in pieces(part, width).enumerated() {
        if index == 0, let last = lines.last, last.count + 2 + piece.count <= width {
          lines[lines.count - 1] += "  " + piece
        } else {
          lines.append(piece)
        }
      }
    }
    return lines
  }

  private static func pieces(_ part: String, _ width: Int) -> [String] {
    guard part.count > width else { return [part] }
    var pieces = [""]
    for word in part.split(separator: " ") {
      var rest = word
      let last = pieces[pieces.count - 1]
      if last.isEmpty {
        pieces.removeLast()
      } else if last.count + 1 + rest.count <= width {
        pieces[pieces.count - 1] += " " + rest
        continue
      }
      repeat {
        pieces.append(String(rest.prefix(width)))
        rest = rest.dropFirst(width)
      } while !rest.isEmpty
    }
    return pieces
  }
}
