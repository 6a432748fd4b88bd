internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Looks whether the host of the rendezvous refuses, until there is a verdict.
struct RefusalSearch {
  let watch: RefusalWatch
  let timer: EventLoop.Token
  var schedule = RefusalSchedule()
  /// Questions so far.
  var asked: UInt64 = 0
}

/// Nothing listens at the address of the rendezvous, and its host says so.
extension Endpoint {
  /// Begins to look. A true answer wins, now and later: attempts go on whatever is found.
  func watchForRefusal() {
    let (address, hasNodes) = driver.readMachine { machine in
      (machine.configuration.rendezvous, !machine.configuration.rendezvousNodes.isEmpty)
    }
    // One of several nodes may be away.
    if hasNodes { return }
    do throws(ReactorError) {
      let watch = try RefusalWatch(of: address)
      let timer = try loop.addTimer { now in self.searchRefusal(now: now) }
      refusalSearch = RefusalSearch(watch: watch, timer: timer)
      loop.setDeadline(timer, SystemClock.now + RefusalSchedule.period)
    } catch {
      return  // Without it the attempt lasts its ten seconds.
    }
  }

  private func searchRefusal(now: Instant) {
    guard var search = refusalSearch else { return }
    let watch = search.watch
    watch.look()
    guard !isClosed, registration == .connecting else { return endRefusalSearch() }
    switch search.schedule.step(watch.finding, refusals: watch.refusals) {
    case .wait: break
    case .ask:
      search.asked += 1
      var bytes: [UInt8] = []
      CardRequestPacket(nonce: search.asked).write(to: &bytes)
      watch.ask(bytes)
    case .end: return endRefusalSearch()
    case .tell:
      endRefusalSearch()
      return tellOfTrouble(.nothingListens(driver.readMachine { $0.configuration.rendezvous }))
    }
    refusalSearch = search
    loop.setDeadline(search.timer, now + RefusalSchedule.period)
  }

  private func endRefusalSearch() {
    if let timer = refusalSearch?.timer { loop.removeTimer(timer) }
    refusalSearch = nil
  }
}
