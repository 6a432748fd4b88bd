import Glibc

// What VP8 costs and gives: see Benchmarks/README.md.
exit(VideoQualityProgram.run(Array(CommandLine.arguments.dropFirst())))
