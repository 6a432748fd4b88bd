internal import Primitives
package import Wire

/// What people and the other side read of transfers.
package enum TransferWords {
  /// The user data of an invitation that is a transfer (docs/protocol/transfer.md).
  package static let invitation = "{\"earshot\":\"transfer\"}"
  /// What a caller hears of a program that takes transfers alone.
  package static let takesFilesOnly = "it takes files only now"
  /// The stream of all that is said in it.
  package static let stream: UInt8 = 8

  /// The name that a file of somebody else gets here: the last part of what its sender says,
  /// printable, never hidden, at most 200 bytes, and never one that this program itself would read
  /// as what it remembers beside an identity.
  package static func safeName(_ text: String) -> String {
    let last = text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
    var name = Printable.only(String(last)).drop { $0 == "." || $0 == " " }
    while name.utf8.count > longestName { name.removeLast() }
    guard FileClaims.isRemembered(String(name)) else { return name.isEmpty ? "file" : String(name) }
    while name.utf8.count + ending.utf8.count > longestName { name.removeLast() }
    return name + ending
  }

  /// Behind a name that would mean something.
  private static let ending = ".file"

  private static let longestName = 200

  /// Why nothing came of it, as its sender is told.
  package static func sentence(_ result: TransferResult, from who: String) -> String {
    switch result {
    case .stored: "\(who) has it."
    case .unwanted: "\(who) does not want it."
    case .tooLong: "It is more than \(who) takes."
    case .nameTaken: "\(who) has a file of that name already; it was left as it is."
    case .notWritable: "\(who) cannot write it."
    case .damaged: "What arrived is not what was offered: the file changed while it was sent."
    case .alreadyComing: "It is on its way to \(who) already."
    case .outOfOrder: "\(who) did not understand what was sent; it may be of another version."
    }
  }

  package static func advice(_ result: TransferResult) -> String {
    switch result {
    case .stored, .unwanted, .outOfOrder: ""
    case .tooLong: "Ask them for a larger --quota or --most-files."
    case .nameTaken: "Send it under another name: --as NAME."
    case .notWritable: "Their disk may be full; what has arrived is kept there."
    case .damaged: "Send it again; it begins anew."
    case .alreadyComing: "Wait until that is over."
    }
  }

  package static func code(_ result: TransferResult) -> ExitCode {
    switch result {
    case .stored: .done
    case .unwanted, .tooLong, .nameTaken, .alreadyComing: .refused
    case .notWritable, .damaged, .outOfOrder: .failed
    }
  }

  /// A number of bytes in the unit that fits.
  package static func size(_ byteCount: UInt64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"]
    var value = Double(byteCount)
    var unit = 0
    while value >= 999.5, unit + 1 < units.count {
      value /= 1000
      unit += 1
    }
    let tenths = (value * 10).rounded() / 10
    return unit == 0 || value >= 100
      ? "\(Int(value.rounded())) \(units[unit])" : "\(tenths) \(units[unit])"
  }

  /// A text that somebody sent. Its further lines stand in, so that none looks like one of ours.
  package static func shown(_ text: String, from who: String) -> String {
    "\(who): " + text.replacing("\r\n", with: "\n").replacing("\n", with: "\n    ")
  }
}
