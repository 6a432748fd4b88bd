import Glibc
import Reactor

// A line of chosen quality between programs on this host (docs/probe.md §6).
SignalWatch.block()
exit(LineProgram.run(Array(CommandLine.arguments.dropFirst())))
