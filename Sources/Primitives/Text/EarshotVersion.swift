/// The version of the programs and the library (docs/CHANGELOG.md); the wire has its own.
package enum EarshotVersion {
  /// As semantic versioning has it (semver.org 2.0.0).
  package static let text = "0.1.0"
}
