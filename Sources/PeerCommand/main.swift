import Glibc
import Reactor

// Before any thread is started: all of them inherit it.
SignalWatch.block()
ProcessSurroundings.ignoreBrokenPipes()
exit(await PeerProgram.run(Array(CommandLine.arguments.dropFirst())).rawValue)
