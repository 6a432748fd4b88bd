package import Earshot
internal import Primitives
internal import Reactor

/// The others of a call that becomes a channel.
struct CallCompany {
  /// `nil`: the call stays one of two.
  var manners: CallRoom.Manners?
  /// Who is invited as soon as the call is connected.
  var invites: [String] = []
  var room: CallRoom?
  /// Of the call of the two, which is over while others are still there.
  var firstReport: CallReport?
}

/// A call that becomes a channel: what is shown, and when it is over.
extension CallRun {
  /// The call may become a channel: by the other side, by a key, or at once.
  ///
  /// - Parameters:
  ///   - manners: Who is there, and is talked with.
  ///   - names: Who is invited once the call is connected.
  func allowChannel(_ manners: CallRoom.Manners, inviting names: [String] = []) {
    company.manners = manners
    company.invites = names
  }

  /// The call whose numbers are shown: the one of the two, or when that is over the oldest other.
  var shownCall: CallID { company.firstReport == nil ? id : company.room?.others.first ?? id }

  /// All calls that there are.
  var calls: [CallID] {
    (company.firstReport == nil ? [id] : []) + (company.room?.others ?? [])
  }

  /// What the live lines show.
  var shownView: CallView {
    guard let room = company.room else { return view }
    var shown = view
    if typed == nil, let question = room.question { shown.hint = question }
    guard room.isOpen, !room.names.isEmpty else { return shown }
    shown.peer = room.names.joined(separator: ", ")
    return shown
  }

  func openRoom() async {
    guard let manners = company.manners, company.room == nil, let ends else { return }
    company.room = await CallRoom(
      session, sound, ends, first: id, name: view.peer, manners, isMuted: view.isMuted)
  }

  func inviteAll() async {
    for name in company.invites { await company.room?.invite(name) }
    company.invites = []
  }

  func showCode(_ letters: String, of call: CallID) {
    guard call != id else {
      codes.append(call, view.peer)
      return session.console.say("Short code, to compare by voice: \(letters)")
    }
    guard let name = company.room?.name(of: call) else { return }
    codes.append(call, name)
    session.console.say("Short code with \(name), to compare by voice: \(letters)")
  }

  /// The call of the two is over; the others go on talking.
  func handleEnd(_ report: CallReport) {
    company.firstReport = report
    guard let room = company.room, room.isOpen else { return }
    session.console.say(RoomWords.sentence(firstGone: view.peer, still: room.names))
    view.numbers = nil
  }

  /// Closes the books when nobody is left.
  func finishIfOver() {
    guard report == nil, let first = company.firstReport, company.room?.isOpen != true else {
      return
    }
    finish(first)
  }
}

/// The short codes of the calls that there are: which may be confirmed, and which were.
package struct CallCodes {
  private var open: [(call: CallID, name: String)] = []
  private var confirmed: Set<CallID> = []
  /// Those of which the next key chooses one, as they were listed; empty = no list was shown.
  private var shown: [CallID] = []
  /// The next key says whose.
  package var isChoosing: Bool { !shown.isEmpty }
  /// More calls than one program has at a time: the oldest are over.
  private static let limit = 64

  package init() {}

  package mutating func append(_ call: CallID, _ name: String) {
    open.removeAll { $0.call == call }
    open.append((call, name))
    if open.count > Self.limit { open.removeFirst() }
  }

  package mutating func confirm(_ call: CallID) {
    confirmed.insert(call)
    open.removeAll { $0.call == call }
  }

  package func isConfirmed(_ call: CallID) -> Bool { confirmed.contains(call) }

  /// Those of calls that there are, and were not confirmed; at most nine.
  package func choices(_ calls: [CallID]) -> [(call: CallID, name: String)] {
    Array(open.filter { calls.contains($0.call) }.prefix(9))
  }

  /// These are listed; the next key says which.
  package mutating func show(_ choices: [(call: CallID, name: String)]) {
    shown = choices.map(\.call)
  }

  /// The call at a number of the list that was shown, if it still goes on and was not confirmed:
  /// who hangs up meanwhile moves nobody to another number.
  package mutating func choose(_ key: Character, _ calls: [CallID]) -> CallID? {
    defer { shown = [] }
    guard let number = key.wholeNumberValue, number > 0, number <= shown.count else { return nil }
    let call = shown[number - 1]
    return choices(calls).contains { $0.call == call } ? call : nil
  }
}
