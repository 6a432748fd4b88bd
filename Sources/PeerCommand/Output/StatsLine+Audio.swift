internal import Earshot

/// What webrtc-stats names of audio beyond what every call has.
extension StatsLine {
  static func add(_ numbers: AudioDetails.Inbound, to object: inout JSONObject) {
    object.add("lastPacketReceivedTimestamp", numbers.lastPacketReceivedTimestamp)
    object.add("fecPacketsReceived", numbers.fecPacketsReceived)
    object.add("fecBytesReceived", numbers.fecBytesReceived)
    object.add("fecPacketsDiscarded", numbers.fecPacketsDiscarded)
    object.add("retransmittedPacketsReceived", numbers.retransmittedPacketsReceived)
    object.add("retransmittedBytesReceived", numbers.retransmittedBytesReceived)
    object.add("jitterBufferDelay", numbers.jitterBufferDelay)
    object.add("jitterBufferTargetDelay", numbers.jitterBufferTargetDelay)
    object.add("jitterBufferMinimumDelay", numbers.jitterBufferMinimumDelay)
    object.add("jitterBufferEmittedCount", numbers.jitterBufferEmittedCount)
    object.add("totalProcessingDelay", numbers.totalProcessingDelay)
    object.add("totalAudioEnergy", numbers.totalAudioEnergy)
    object.add("totalSamplesDuration", numbers.totalSamplesDuration)
    object.add("earshotAudibleDuration", numbers.audibleDuration)
    object.add("earshotPacketsDuplicated", numbers.packetsDuplicated)
    object.add("earshotDelayedPacketOutageSamples", numbers.delayedPacketOutageSamples)
    object.add("earshotRelativePacketArrivalDelay", numbers.relativePacketArrivalDelay)
    object.add("earshotJitterBufferFlushes", numbers.jitterBufferFlushes)
    object.add("earshotInterruptionCount", numbers.interruptionCount)
    object.add("earshotTotalInterruptionDuration", numbers.totalInterruptionDuration)
  }

  static func add(_ numbers: AudioDetails.Outbound, to object: inout JSONObject) {
    object.add("headerBytesSent", numbers.headerBytesSent)
    object.add("retransmittedBytesSent", numbers.retransmittedBytesSent)
    object.add("targetBitrate", numbers.targetBitrate)
    object.add("nackCount", numbers.nackCount)
    object.add("active", numbers.active)
    object.add("mediaSourceId", "audio-source")
  }

  static func add(_ numbers: AudioDetails.Remote, to object: inout JSONObject) {
    object.add("packetsLost", numbers.packetsLost)
    object.add("fractionLost", numbers.fractionLost)
    object.add("jitter", numbers.jitter)
    object.add("earshotPacketsExpected", numbers.packetsExpected)
    object.add("earshotResidualLost", numbers.residualLost)
    object.add("earshotJitterBufferTarget", numbers.jitterBufferTarget)
  }

  static func mediaSource(_ audio: AudioDetails) -> JSONObject {
    var object = object("media-source", "audio-source")
    object.add("audioLevel", audio.outbound.audioLevel)
    object.add("totalAudioEnergy", audio.outbound.totalAudioEnergy)
    object.add("totalSamplesDuration", audio.outbound.totalSamplesDuration)
    return object
  }
}
