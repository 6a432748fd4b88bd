/// The packets of one kind that wait, of all channels. Channels are served in turn, and no channel
/// may have more of the places than are left: however many are greedy, others find room.
struct ForwardingTurns {
  /// One channel's packets of the kind.
  final class Line {
    fileprivate(set) var queue: ForwardingQueue
    /// Whether it is among those that have a turn.
    fileprivate var isBusy = false

    init(limit: Int) { queue = ForwardingQueue(limit: limit) }
  }

  private let limit: Int
  private let packetsInTurn: Int
  private var busy: [Line] = []
  private var turn = 0
  private var leftInTurn: Int
  private(set) var waitingCount = 0

  init(limit: Int, packetsInTurn: Int) {
    self.limit = limit
    self.packetsInTurn = packetsInTurn
    leftInTurn = packetsInTurn
  }

  /// `false` if the channel has its share: the job is dropped.
  mutating func append(_ job: ForwardingQueue.Job, to line: Line) -> Bool {
    guard line.queue.count < limit - waitingCount, line.queue.append(job) else { return false }
    waitingCount += 1
    if !line.isBusy {
      line.isBusy = true
      busy.append(line)
    }
    return true
  }

  mutating func popFirst() -> ForwardingQueue.Job? {
    while !busy.isEmpty {
      if turn >= busy.count { turn = 0 }
      let line = busy[turn]
      guard let job = line.queue.popFirst() else {
        line.isBusy = false
        busy.remove(at: turn)
        leftInTurn = packetsInTurn
        continue
      }
      waitingCount -= 1
      leftInTurn -= 1
      if leftInTurn <= 0 {
        turn += 1
        leftInTurn = packetsInTurn
      }
      return job
    }
    return nil
  }

  /// The channel goes, and what waits with it.
  mutating func empty(_ line: Line) {
    waitingCount -= line.queue.count
    line.queue = ForwardingQueue(limit: limit)
  }
}
