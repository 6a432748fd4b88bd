internal import Primitives

/// Text that comes from others, in a page.
package enum Markup {
  package static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case _ where scalar != "\n" && !Printable.contains(scalar): result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
