import Glibc

// Measures a rendezvous on this machine: registrations, sealed requests a second, memory a client.
exit(LoadProgram.run(Array(CommandLine.arguments.dropFirst())))
