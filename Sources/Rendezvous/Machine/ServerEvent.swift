import Channels
import Forwarding
package import Primitives
package import Wire

/// What happens at a rendezvous. Events carry names, IDs and addresses; whether they are written
/// down is the program's decision.
package enum ServerEvent: Equatable, Sendable {
  case registered(PeerID, name: PeerName?, status: RegistrationStatus, from: SocketAddress)
  /// The session is over; the identity may come back.
  case left(PeerID, Departure)
  case moved(PeerID, from: SocketAddress, to: SocketAddress)
  /// An identity was not let in.
  case refused(PeerID, Refusal, from: SocketAddress)
  case forwarded(from: PeerID, to: PeerID, byteCount: Int)
  case forwardRefused(from: PeerID, to: PeerID, ForwardResult.Status)
  /// INITs need cookies from now on, or no longer do.
  case loadChanged(isUnderLoad: Bool)
  /// The store could not do something.
  case storeFailed(StoreFailure)

  package enum Departure: String, Sendable, CaseIterable {
    /// It said good-bye.
    case closed
    /// A newer session of the same program took its place.
    case replaced
    /// It was the one of too many programs of its identity that was not heard for the longest.
    case crowdedOut
    case silent
    /// The life of its keys ended.
    case expired
    /// Its access token ended.
    case tokenExpired
    case protocolViolated
    /// The name that RESP promised it was gone before it was bound.
    case promiseBroken
    /// It acknowledged nothing, or held too many half messages.
    case unresponsive
    /// It was told that the server goes away, and had nothing under way.
    case goingAway
  }

  package enum Refusal: Int, Sendable, CaseIterable {
    case notAllowed
    /// Its card has a lower serial than one that is known.
    case superseded
    /// Its card is not valid yet, or no more.
    case wrongClock
    case serverFull
    case sourceFull
    /// As many programs of the identity are registered as may be.
    case tooManyPrograms
    /// Its card claims a name that is not its own.
    case nameOnCard
    /// It has no access token.
    case tokenNeeded
    /// Its access token is not accepted.
    case tokenRefused
    /// It offers itself as a relay, and the operator has not named it.
    case relayNotNamed
  }
}

/// Counts since the start, for `--metrics`; also what tests look at.
package struct ServerCounters: Equatable, Sendable {
  package var datagramsReceived: UInt64 = 0
  package var datagramsSent: UInt64 = 0
  package var bytesReceived: UInt64 = 0
  package var bytesSent: UInt64 = 0
  /// Neither ours nor of a length it may have.
  package var foreign: UInt64 = 0
  package var initiations: UInt64 = 0
  /// INITs that were dropped, by reason.
  package var initiationsDropped = ReasonCounts<InitiationDrop>()
  package var initiationsRepeated: UInt64 = 0
  package var cookiesSent: UInt64 = 0
  package var cardsSent: UInt64 = 0
  package var nodesSent: UInt64 = 0
  package var resetsSent: UInt64 = 0
  package var versionsSent: UInt64 = 0
  package var handshakes: UInt64 = 0
  package var registrations: UInt64 = 0
  package var registrationsRefused = ReasonCounts<ServerEvent.Refusal>()
  package var namesGranted: UInt64 = 0
  package var namesRefused: UInt64 = 0
  /// Of identities without a name: their source had brought too many that day.
  package var cardsNotKept: UInt64 = 0
  package var relayOffers: UInt64 = 0
  package var unconfirmedForgotten: UInt64 = 0
  package var departures: UInt64 = 0
  package var moves: UInt64 = 0
  package var packetsOpened: UInt64 = 0
  package var unknownConnections: UInt64 = 0
  package var packetsNotOpened: UInt64 = 0
  package var packetsReplayed: UInt64 = 0
  package var packetsIgnored: UInt64 = 0
  package var framesInvalid: UInt64 = 0
  package var messagesInvalid: UInt64 = 0
  package var pings: UInt64 = 0
  package var echoes: UInt64 = 0
  package var echoesRefused: UInt64 = 0
  package var lookUps: UInt64 = 0
  package var lookUpsRefused: UInt64 = 0
  package var forwards: UInt64 = 0
  package var forwardsRefused: UInt64 = 0
  package var forwardsUndelivered: UInt64 = 0
  package var storeFailures: UInt64 = 0
  package var exchangesGivenUp: UInt64 = 0
  package var answersDropped: UInt64 = 0
  package var eventsDropped: UInt64 = 0

  package init() {}
}

extension ServerCounters {
  /// Every counter with its name in Prometheus and what it counts.
  package var all: [(name: String, help: String, value: UInt64)] {
    [
      ("datagrams_received", "Datagrams received.", datagramsReceived),
      ("datagrams_sent", "Datagrams sent.", datagramsSent),
      ("bytes_received", "Bytes of datagrams received.", bytesReceived),
      ("bytes_sent", "Bytes of datagrams sent.", bytesSent),
      ("datagrams_foreign", "Datagrams that were not ours.", foreign),
      ("initiations", "INIT packets received.", initiations),
      ("initiations_repeated", "INIT packets answered again.", initiationsRepeated),
      ("cookies_sent", "COOKIE packets sent.", cookiesSent),
      ("cards_sent", "CARD packets sent.", cardsSent),
      ("nodes_sent", "NODES packets sent: signed lists of nodes.", nodesSent),
      ("resets_sent", "RESET packets sent.", resetsSent),
      ("versions_sent", "VERSION packets sent.", versionsSent),
      ("handshakes", "Handshakes answered.", handshakes),
      ("registrations", "Registrations confirmed.", registrations),
      ("names_granted", "Names granted.", namesGranted),
      ("names_refused", "Names refused.", namesRefused),
      ("cards_not_kept", "New identities without a name that are not found.", cardsNotKept),
      ("relay_offers", "Credentials for TURN servers made.", relayOffers),
      ("unconfirmed_forgotten", "Sessions whose first packet never came.", unconfirmedForgotten),
      ("departures", "Registrations ended.", departures),
      ("moves", "Clients that changed their address.", moves),
      ("packets_opened", "Sealed packets opened.", packetsOpened),
      ("packets_unknown", "Sealed packets of unknown sessions.", unknownConnections),
      ("packets_not_opened", "Sealed packets that did not open.", packetsNotOpened),
      ("packets_replayed", "Sealed packets seen before.", packetsReplayed),
      ("packets_ignored", "Packets of sources that sent too many bad ones.", packetsIgnored),
      ("frames_invalid", "Frames that did not parse.", framesInvalid),
      ("messages_invalid", "Messages that did not parse.", messagesInvalid),
      ("pings", "PING frames answered.", pings),
      ("echoes", "ECHO packets sent that were asked for.", echoes),
      ("echoes_refused", "ECHO packets not sent: a limit, or nowhere to send.", echoesRefused),
      ("lookups", "LOOKUP messages.", lookUps),
      ("lookups_refused", "LOOKUP messages beyond a limit.", lookUpsRefused),
      ("forwards", "FORWARD messages passed on.", forwards),
      ("forwards_refused", "FORWARD messages not passed on.", forwardsRefused),
      (
        "forwards_undelivered", "Messages passed on that were never confirmed.", forwardsUndelivered
      ),
      ("store_failures", "Failures of the store.", storeFailures),
      (
        "exchanges_given_up", "Exchanges given up because nothing was acknowledged.",
        exchangesGivenUp
      ),
      ("answers_dropped", "Answers dropped because too many waited.", answersDropped),
      ("events_dropped", "Events dropped because too many waited.", eventsDropped),
    ]
  }
}

/// How much there is now, for `--metrics`.
package struct ServerGauges: Equatable, Sendable {
  package var clients = 0
  package var unconfirmedSessions = 0
  package var busyClients = 0
  package var channels = 0
  package var channelMembers = 0
  /// Memberships that ended without a removal, and of which no relay was told: since the start.
  package var endingsNotTold: UInt64 = 0
  package var reassemblyByteCount = 0
  package var isUnderLoad = false
  /// Members with a seat, where the server is a relay.
  package var seats = 0

  package init() {}

  init(_ registry: ClientRegistry, _ exchanges: borrowing ExchangeTable, _ channels: ChannelService)
  {
    clients = registry.confirmedCount
    unconfirmedSessions = registry.count - registry.confirmedCount
    busyClients = exchanges.count
    reassemblyByteCount = exchanges.reassemblyByteCount
    self.channels = channels.hub?.roomCount ?? channels.directory.channelCount
    channelMembers = channels.directory.memberCount
    endingsNotTold = channels.endingsNotTold
    seats = channels.hub?.takenCount ?? 0
  }
}
