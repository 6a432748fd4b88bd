import Glibc

// What sealing and opening a frame for a channel costs: see Benchmarks/README.md.
exit(SFramePathProgram.run(Array(CommandLine.arguments.dropFirst())))
