import Glibc

// One end of a call, measured: see Benchmarks/README.md.
let status = await SteadyCallProgram.run(Array(CommandLine.arguments.dropFirst()))
exit(status)
