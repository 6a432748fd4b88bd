/// Keeps the struct that stores it in one place: the compiler then passes that struct by address.
///
/// Without it, Swift 6.3 copies all of a large struct to call a getter or to borrow it, even if the
/// struct is not copyable: 20 kB several times a pull in `JitterBuffer`. A type whose layout the
/// compiler cannot see, such as an existential, is never copied that way.
package struct InPlace: Sendable {
  private let anything: any Sendable = ()

  package init() {}
}
