internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Looks whether the host of the rendezvous refuses, until there is a verdict.
struct RefusalSearch {
  let watch: RefusalWatch
  let timer: EventLoop.Token
  /// Questions so far.
  var asked = 0

  /// Questions at 0.375, 0.75 and 1.125 s; the verdict at 1.5 s.
  static let period = Duration.milliseconds(375)
  static let questions = 3
  /// Hosts limit how many refusals they send.
  static let leastRefusals = 2
}

/// Nothing listens at the address of the rendezvous, and its host says so.
extension Endpoint {
  /// Begins to look. A true answer wins, now and later: attempts go on whatever is found.
  func watchForRefusal() {
    let address = driver.readMachine { $0.configuration.rendezvous }
    do throws(ReactorError) {
      let watch = try RefusalWatch(of: address)
      let timer = try loop.addTimer { now in self.searchRefusal(now: now) }
      refusalSearch = RefusalSearch(watch: watch, timer: timer)
      loop.setDeadline(timer, SystemClock.now + RefusalSearch.period)
    } catch {
      return  // Without it the attempt lasts its ten seconds.
    }
  }

  private func searchRefusal(now: Instant) {
    guard var search = refusalSearch else { return }
    let watch = search.watch
    watch.look()
    guard !isClosed, registration == .connecting, watch.finding != .answered else {
      return endRefusalSearch()
    }
    if search.asked < RefusalSearch.questions {
      search.asked += 1
      var bytes: [UInt8] = []
      CardRequestPacket(nonce: UInt64(search.asked)).write(to: &bytes)
      watch.ask(bytes)
      refusalSearch = search
      return loop.setDeadline(search.timer, now + RefusalSearch.period)
    }
    endRefusalSearch()
    guard watch.finding == .refused, watch.refusals >= RefusalSearch.leastRefusals else { return }
    tellOfTrouble(.nothingListens(driver.readMachine { $0.configuration.rendezvous }))
  }

  private func endRefusalSearch() {
    if let timer = refusalSearch?.timer { loop.removeTimer(timer) }
    refusalSearch = nil
  }
}
