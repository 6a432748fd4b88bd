import Primitives
import Wire

extension LookUp {
  /// What the store, and the registry here, say of whoever is looked for. A store that fails makes
  /// every answer one of "try again later".
  func result(
    for asker: PeerID, in machine: inout RendezvousMachine, now: Instant
  ) -> LookUpResult {
    let store = machine.store
    defer { if store.isBatchOpen { machine.noteWrite(now: now) } }
    do throws(StoreFailure) {
      let found: PeerID?
      switch target {
      case .id(let id): found = id
      case .name(let name):
        found = try store.owner(of: name, now: machine.settings.unixSeconds(now))
      }
      guard let id = found, let card = try store.card(of: id), !card.isEmpty,
        card.count <= LookUpResult.maximumCardByteCount
      else {
        // Who is here has had a card: it was lost, and comes again.
        let here = found.flatMap { machine.registry.isCallable($0, by: asker) ? $0 : nil }
        let isSure = here == nil && store.shared?.isCertain(for: asker) ?? true
        guard !isSure else { return LookUpResult(request: request, status: .unknown) }
        return resultAtHome(here, for: asker, in: &machine)
      }
      if machine.registry.isCallable(id, by: asker) {
        return LookUpResult(request: request, status: .online, card: card)
      }
      let status = try store.shared?.status(of: id, for: asker) ?? .offline
      return LookUpResult(request: request, status: status, card: status.hasCard ? card : [])
    } catch {
      machine.noteStoreFailure(error)
      guard store.shared != nil else {
        return LookUpResult(request: request, status: .tooManyRequests)
      }
      return resultAtHome(nil, for: asker, in: &machine)
    }
  }

  /// What this node knows without the others: its own clients. Of anybody else that cannot be told.
  ///
  /// - Parameter known: Who is looked for, where that is known.
  private func resultAtHome(
    _ known: PeerID?, for asker: PeerID, in machine: inout RendezvousMachine
  ) -> LookUpResult {
    let id: PeerID?
    switch target {
    case .id(let wanted): id = wanted
    case .name(let name): id = known ?? machine.registry.owner(of: name)
    }
    do throws(StoreFailure) {
      if let id, machine.registry.isCallable(id, by: asker),
        let card = try machine.store.shared?.cardAtHome(of: id), !card.isEmpty,
        card.count <= LookUpResult.maximumCardByteCount
      {
        return LookUpResult(request: request, status: .online, card: card)
      }
    } catch {
      machine.noteStoreFailure(error)
    }
    return LookUpResult(request: request, status: .unavailable)
  }
}
