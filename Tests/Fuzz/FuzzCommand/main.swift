import CFuzzer
import Fuzzing
import Glibc

// What tools/fuzz runs: the target that EARSHOT_FUZZ_TARGET names, under libFuzzer, whose own
// options are the command line. Without a target it writes the seeds of all targets below a folder.

/// Set once, before libFuzzer takes over the process.
nonisolated(unsafe) private var target: FuzzTarget?

/// Writes `bytes` to a file that is named after their hash, as libFuzzer names its own.
private func write(_ bytes: [UInt8], to folder: String) {
  let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
    ($0 ^ UInt64($1)) &* 0x100_0000_01B3
  }
  guard let file = unsafe fopen("\(folder)/seed-\(String(hash, radix: 16))", "w") else {
    fatalError("cannot write below \(folder)")
  }
  unsafe fwrite(bytes, 1, bytes.count, file)
  unsafe fclose(file)
}

private func fuzz(_ name: String) -> Int32 {
  guard let found = FuzzTarget.named(name) else {
    print("there is no target '\(name)'; there are:")
    for target in FuzzTarget.all { print("  \(target.name)") }
    return 2
  }
  unsafe target = found
  var count = CommandLine.argc
  var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
  return unsafe LLVMFuzzerRunDriver(&count, &arguments) { data, count in
    unsafe target?.run(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
  }
}

if let name = unsafe getenv("EARSHOT_FUZZ_TARGET") {
  exit(fuzz(unsafe String(cString: name)))
} else if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--write-seeds" {
  for target in FuzzTarget.all {
    let folder = "\(CommandLine.arguments[2])/\(target.name)"
    _ = unsafe mkdir(folder, 0o755)
    for seed in target.seeds() { write(seed, to: folder) }
  }
} else if CommandLine.arguments.count == 2, CommandLine.arguments[1] == "--list" {
  for target in FuzzTarget.all { print(target.name, target.maximumByteCount) }
} else {
  print("usage: tools/fuzz; this program is started by it")
  exit(2)
}
