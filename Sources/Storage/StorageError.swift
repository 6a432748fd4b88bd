internal import Glibc

/// A file of ours that cannot be used: which one, why, and what to do about it.
package struct StorageError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    case notReadable, notWritable, exposed, truncated, foreign, corrupt, newerVersion
    case inUse, diskFull, readOnly, notDirectory, tooMany
  }

  package var code: Code
  package var path: String
  /// What is wrong, as a sentence.
  package var message: String
  /// What to do, as a sentence in the imperative.
  package var advice: String

  package var description: String { "\(message) \(advice)" }

  init(_ code: Code, _ path: String, _ message: String, advice: String) {
    self.code = code
    self.path = path
    self.message = message
    self.advice = advice
  }

  /// What the kernel said no to, in words that name the file.
  static func kernel(_ action: String, _ path: String, errno number: Int32) -> StorageError {
    let reason = text(of: number)
    switch number {
    case ENOSPC, EDQUOT:
      return StorageError(
        .diskFull, path, "Cannot \(action) \(path): the disk is full.",
        advice: "Free some space and try again; the old file is unharmed.")
    case EROFS:
      return StorageError(
        .readOnly, path, "Cannot \(action) \(path): the file system is read-only.",
        advice: "Choose a place that can be written to.")
    case ENOTDIR:
      return StorageError(
        .notDirectory, path, "Cannot \(action) \(path): a part of the path is not a directory.",
        advice: "Correct the path.")
    default:
      let isReading = action == "read"
      return StorageError(
        isReading ? .notReadable : .notWritable, path, "Cannot \(action) \(path): \(reason).",
        advice: "Check that this user owns it and may \(isReading ? "read" : "write") there.")
    }
  }

  /// A file that somebody else had just made is not there.
  static func vanished(_ path: String) -> StorageError {
    StorageError(
      .notReadable, path, "\(path) was there and is gone.",
      advice: "Find out which program removes it, and try again.")
  }

  static func text(of number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    let count = buffer.count
    _ = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe strerror_r(number, $0, count) }
    }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? "error \(number)" : String(decoding: bytes, as: UTF8.self)
  }
}
