import Glibc

// Sends sound over a simulated line and saves what would be heard: tools/listen runs and scores it.
exit(ListenProgram.run(Array(CommandLine.arguments.dropFirst())))
