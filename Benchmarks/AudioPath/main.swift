import Glibc

// What the audio path of a call costs in CPU and allocations: see Benchmarks/README.md.
exit(AudioPathProgram.run(Array(CommandLine.arguments.dropFirst())))
