internal import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// What an endpoint keeps of services of several nodes: the lists of their nodes, and receipts for
/// its names; and what of it the files do not have yet.
final class ServiceKeeper: Sendable {
  private struct State: Sendable {
    /// The newest list of each root.
    var lists: [NodeList] = []
    /// What the file of lists does not have yet: an endpoint has one root.
    var newList: NodeList?
    var receipts: [KeptReceipt] = []
    /// The same of receipts: an endpoint has one name.
    var newReceipt: KeptReceipt?
    var fault: StorageError?
  }

  private let state = Guarded(State())
  /// `nil` where nothing is kept beyond memory.
  private let lists: NodesFile?
  private let receipts: ReceiptsFile?

  init(besideIdentity path: String?) {
    lists = path.map(NodesFile.init(besideIdentity:))
    receipts = path.map(ReceiptsFile.init(besideIdentity:))
  }

  /// Of a file that could not be read or written: it is as if nothing were known.
  var fault: StorageError? { state.withLock { $0.fault } }

  func nodes(of root: PeerID) -> [UInt8] {
    state.withLock { $0.lists.first { $0.root == root }?.bytes ?? [] }
  }

  func keep(_ list: NodeList) {
    state.withLock { state in
      state.lists.removeAll { $0.root == list.root }
      state.lists.append(list)
      state.newList = list
    }
  }

  func receipt(for name: PeerName, at service: PeerID) -> [UInt8] {
    state.withLock { state in
      state.receipts.first { $0.name == name && $0.service == service }?.receipt.bytes ?? []
    }
  }

  func keep(_ receipt: KeptReceipt) {
    state.withLock { state in
      state.receipts.removeAll { $0.service == receipt.service && $0.name == receipt.name }
      state.receipts.append(receipt)
      state.newReceipt = receipt
    }
  }

  // MARK: - Files

  func load() {
    do throws(StorageError) {
      let known = try lists?.read() ?? []
      state.withLock { $0.lists = known }
    } catch {
      state.withLock { $0.fault = error }
    }
    do throws(StorageError) {
      let known = try receipts?.read() ?? []
      state.withLock { $0.receipts = known }
    } catch {
      state.withLock { $0.fault = error }
    }
  }

  /// Brings what is new into the files.
  func store() {
    let (list, receipt) = state.withLock { ($0.newList.take(), $0.newReceipt.take()) }
    do throws(StorageError) {
      if let list { _ = try lists?.keep(list) }
    } catch {
      state.withLock { $0.fault = error }
    }
    do throws(StorageError) {
      if let receipt { try receipts?.keep(receipt) }
    } catch {
      state.withLock { $0.fault = error }
    }
  }
}
