PeerProgram.main()
