internal import Glibc
internal import Primitives

/// Saves encoded VP8 frames as they came (`--save-video`): IVF, which ffmpeg and vpxdec play.
///
/// Each frame is in the file when `write` returns, and the count in the header is brought up to
/// date with every key frame and every 30 frames: what a killed program leaves can be
/// played. Frames
/// may change their size; the header has that of the first.
package struct IVFWriter: ~Copyable {
  package let path: String
  package private(set) var frameCount = 0
  private var descriptor: Int32
  private var block: [UInt8] = []
  private var lastTime: Int64 = -1
  /// Of whole frames, and the header.
  private var byteCount = Self.headerByteCount

  /// Creates the file, or empties the one that is there.
  package init(_ path: String, width: Int, height: Int) throws(MediaFileError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .cannotCreate(path, errorNumber: errno) }
    try self.init(owning: descriptor, path, width: width, height: height)
  }

  /// Writes to a file that is open, and closes it.
  ///
  /// - Parameter path: what it is called in errors.
  package init(
    owning descriptor: Int32, _ path: String, width: Int, height: Int
  ) throws(MediaFileError) {
    var block = Array("DKIF".utf8)
    block.append(littleEndian: UInt16(0))
    block.append(littleEndian: UInt16(Self.headerByteCount))
    block += Array("VP80".utf8)
    block.append(littleEndian: UInt16(clamping: width))
    block.append(littleEndian: UInt16(clamping: height))
    // Times count milliseconds.
    block.append(littleEndian: UInt32(1000))
    block.append(littleEndian: UInt32(1))
    block.append(littleEndian: UInt64(0))  // frames, and four bytes that mean nothing
    do throws(MediaFileError) {
      try Self.write(block, to: descriptor, path)
    } catch {
      _ = Glibc.close(descriptor)
      throw error
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
  }

  /// Puts another size into the header: that of the first frame, where it was not known at once.
  package mutating func setSize(width: Int, height: Int) throws(MediaFileError) {
    var size: [UInt8] = []
    size.append(littleEndian: UInt16(clamping: width))
    size.append(littleEndian: UInt16(clamping: height))
    guard unsafe pwrite(descriptor, size, size.count, off_t(Self.sizeOffset)) == size.count
    else { throw .cannotWrite(path, reason: MediaFileError.text(errno)) }
  }

  /// Appends a frame.
  ///
  /// - Parameter milliseconds: when it is shown, from any origin; made to rise where it does not.
  package mutating func write(_ frame: Span<UInt8>, milliseconds: Int64) throws(MediaFileError) {
    let time = max(milliseconds, lastTime + 1)
    lastTime = time
    block.removeAll(keepingCapacity: true)
    block.append(littleEndian: UInt32(clamping: frame.count))
    block.append(littleEndian: UInt64(time))
    for index in frame.indices { block.append(frame[index]) }
    do throws(MediaFileError) {
      try Self.write(block, to: descriptor, path)
    } catch {
      endWhole()
      throw error
    }
    byteCount += block.count
    frameCount += 1
    let isKeyFrame = !frame.isEmpty && frame[0] & 1 == 0
    if isKeyFrame || frameCount % 30 == 0 { try writeCount() }
  }

  /// Leaves out what there was no room for, so that whole frames are all there is.
  private func endWhole() {
    guard ftruncate(descriptor, off_t(byteCount)) == 0 else { return }
    do throws(MediaFileError) {
      try writeCount()
    } catch {
      // Players count the frames themselves.
    }
  }

  /// Completes the file.
  package mutating func close() throws(MediaFileError) {
    guard descriptor >= 0 else { return }
    try writeCount()
    let result = Glibc.close(descriptor)
    descriptor = -1
    if result != 0 { throw .cannotWrite(path, reason: MediaFileError.text(errno)) }
  }

  private func writeCount() throws(MediaFileError) {
    var count: [UInt8] = []
    count.append(littleEndian: UInt32(clamping: frameCount))
    guard unsafe pwrite(descriptor, count, count.count, off_t(Self.countOffset)) == count.count
    else { throw .cannotWrite(path, reason: MediaFileError.text(errno)) }
  }

  private static func write(
    _ bytes: [UInt8], to descriptor: Int32, _ path: String
  ) throws(MediaFileError) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Glibc.write(descriptor, start + written, buffer.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .cannotWrite(path, reason: MediaFileError.text(errno)) }
      written += count
    }
  }

  private static let headerByteCount = 32
  private static let sizeOffset = 12
  private static let countOffset = 24
}
