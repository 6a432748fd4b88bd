/// Figures as people read them, with their units.
public enum Figures {
  /// `1.1 Mbit/s`, `64 kbit/s`.
  public static func rate(_ bitsPerSecond: Double) -> String {
    guard bitsPerSecond.isFinite, bitsPerSecond >= 0 else { return "-" }
    let kilobits = bitsPerSecond / 1000
    if kilobits < 999.5 { return "\(short(kilobits)) kbit/s" }
    return "\(short(kilobits / 1000)) Mbit/s"
  }

  /// `2 %`, `0.4 %`.
  public static func percent(_ share: Double) -> String { "\(short(share * 100)) %" }

  /// `20 ms`, `0.4 ms`.
  public static func milliseconds(_ value: Double) -> String { "\(short(value)) ms" }

  /// `20 ms`, `0.4 ms`; below that `380 µs`.
  public static func delay(_ milliseconds: Double) -> String {
    let isShort = abs(milliseconds) < 0.9995 && milliseconds != 0
    return isShort
      ? "\(short((milliseconds * 1000).rounded())) µs" : self.milliseconds(milliseconds)
  }

  /// One decimal below ten unless it is 0, none from there on.
  public static func short(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "-" }
    let tenths = Int((abs(value) * 10).rounded())
    let sign = value < 0 && tenths > 0 ? "-" : ""
    if tenths >= 100 { return sign + String(Int(abs(value).rounded())) }
    return tenths % 10 == 0 ? "\(sign)\(tenths / 10)" : "\(sign)\(tenths / 10).\(tenths % 10)"
  }
}
