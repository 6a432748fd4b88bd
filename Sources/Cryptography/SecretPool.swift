internal import CSodium
import Synchronization

/// Memory for secrets: slabs that libsodium locks (never swapped), leaves out of core dumps and
/// fences with pages that nobody may touch; shared out in slots of 64 bytes, because a slab for
/// each key would cost four pages.
///
/// The one thing in this layer that the whole process shares: memory is a process's (decision
/// 0050). Where the system allows no more locked memory (`ulimit -l`), a slab is not locked, and
/// all else stays.
enum SecretPool {
  /// Longer secrets have a slab of their own.
  private static let longestSlots = 8
  private static let slotByteCount = 64
  private static let slabByteCount = 16_384

  private struct Slots {
    /// Addresses of what is free, by the number of slots less one.
    var free: [[UInt]] = Array(repeating: [], count: longestSlots)
  }

  private static let slots = Mutex(Slots())

  /// `count` zero bytes. Ends the process when there is no memory at all, as Swift itself does.
  static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    let number = max(1, (count + slotByteCount - 1) / slotByteCount)
    let address = number <= longestSlots ? slot(number) : lock(count)
    let block = unsafe start(of: address)
    unsafe block.initialize(repeating: 0, count: max(1, count))
    return unsafe block
  }

  /// A free slot of `number` times 64 bytes.
  private static func slot(_ number: Int) -> UInt {
    slots.withLock { slots in
      if slots.free[number - 1].isEmpty {
        let slab = lock(slabByteCount)
        let size = UInt(number * slotByteCount)
        slots.free[number - 1] = (0..<(UInt(slabByteCount) / size)).map { slab + $0 * size }
      }
      return slots.free[number - 1].removeLast()
    }
  }

  /// Overwrites the block and takes it back.
  static func free(_ block: UnsafeMutablePointer<UInt8>, _ count: Int) {
    unsafe sodium_memzero(block, count)
    let number = max(1, (count + slotByteCount - 1) / slotByteCount)
    guard number <= longestSlots else { return unsafe sodium_free(block) }
    let address = UInt(bitPattern: block)
    slots.withLock { $0.free[number - 1].append(address) }
  }

  private static func lock(_ count: Int) -> UInt {
    Sodium.initialize()
    return unsafe UInt(bitPattern: sodium_malloc(count))
  }

  private static func start(of address: UInt) -> UnsafeMutablePointer<UInt8> {
    guard let start = unsafe UnsafeMutablePointer<UInt8>(bitPattern: address) else {
      preconditionFailure("no memory is left for keys")
    }
    return unsafe start
  }
}
