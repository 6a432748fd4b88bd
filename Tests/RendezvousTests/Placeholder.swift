import Rendezvous
