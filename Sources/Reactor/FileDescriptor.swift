internal import Glibc

/// One open file of the kernel; closes itself, once.
package struct FileDescriptor: ~Copyable {
  package let number: Int32

  /// Takes over `number`: nobody else may close it.
  package init(owning number: Int32) { self.number = number }

  deinit { _ = close(number) }
}
