import Glibc

// Clients of a service of several nodes: registered, idle, and calling each other.
exit(ClusterLoadProgram.run(Array(CommandLine.arguments.dropFirst())))
