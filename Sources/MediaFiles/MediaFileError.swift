internal import Glibc

/// Why a file could not be read or written, in a sentence for whoever named it.
package struct MediaFileError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: String, CaseIterable, Sendable {
    case missing, isDirectory, unreadable, unknownFormat, damaged, empty, unusableRate
    case tooManyChannels, unknownExtension, cannotCreate, cannotWrite, notCapture
    case notVideo, unusablePicture, alreadyThere
  }

  package let code: Code
  /// What is the matter, with the file's name.
  package let message: String
  /// What to do about it.
  package let advice: String

  package var description: String { "\(message) \(advice)" }
}

extension MediaFileError {
  static func missing(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .missing, message: "There is no file \(path).",
      advice: "Check the name; relative names count from the working directory.")
  }

  static func isDirectory(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .isDirectory, message: "\(path) is a directory.", advice: "Name a file in it.")
  }

  static func unreadable(_ path: String, errorNumber: Int32) -> MediaFileError {
    MediaFileError(
      code: .unreadable, message: "\(path) cannot be read: \(text(errorNumber)).",
      advice: "Look at its permissions: ls -l \(path)")
  }

  static func unwritten(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .unreadable, message: "\(path) is a pipe into which nobody writes.",
      advice: "Start its writer first, or name a file.")
  }

  static func unknownFormat(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .unknownFormat, message: "\(path) is not an audio file that libsndfile knows.",
      advice: "Give WAV, FLAC, Ogg Vorbis, Opus, MP3 or AIFF; ffmpeg or sox converts others.")
  }

  static func damaged(_ path: String, reason: String) -> MediaFileError {
    MediaFileError(
      code: .damaged, message: "\(path) is damaged: \(reason)",
      advice: "Convert it afresh from its origin.")
  }

  static func empty(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .empty, message: "\(path) holds no sound.",
      advice: "Give a file of at least one sample, or leave --play out for the test tone.")
  }

  static func unusableRate(_ path: String, rate: Int) -> MediaFileError {
    MediaFileError(
      code: .unusableRate, message: "\(path) has a sample rate of \(rate) Hz.",
      advice: "Give 1 000 to 768 000 Hz; sox FILE -r 48000 NEW.wav converts.")
  }

  static func tooManyChannels(_ path: String, channels: Int) -> MediaFileError {
    MediaFileError(
      code: .tooManyChannels, message: "\(path) has \(channels) channels.",
      advice: "Give at most \(AudioFileReader.maxChannels); sox FILE NEW.wav remix - mixes down.")
  }

  static func unknownExtension(_ path: String) -> MediaFileError {
    MediaFileError(
      code: .unknownExtension, message: "\(path) does not say in which format to save.",
      advice: "End the name in .wav (16 bit, 48 kHz) or .opus (Ogg Opus).")
  }

  package static func cannotCreate(_ path: String, errorNumber: Int32) -> MediaFileError {
    if errorNumber == EEXIST {
      return MediaFileError(
        code: .alreadyThere, message: "There is a file \(path) already; it was left as it is.",
        advice: "Give another name, or --overwrite to replace it.")
    }
    if errorNumber == ENXIO {
      return MediaFileError(
        code: .cannotCreate, message: "Nobody reads the pipe \(path).",
        advice: "Start its reader first: cat \(path) > FILE &")
    }
    return MediaFileError(
      code: .cannotCreate, message: "\(path) cannot be created: \(text(errorNumber)).",
      advice: "Choose a directory that exists and that you may write to.")
  }

  static func cannotWrite(_ path: String, reason: String) -> MediaFileError {
    // What a limit of the shell stops, no room on the disk helps.
    let isLimited = reason == text(EFBIG)
    return MediaFileError(
      code: .cannotWrite, message: "\(path) cannot be written to the end: \(reason).",
      advice: isLimited
        ? "What was written before is kept. Raise the limit: ulimit -f unlimited"
        : "What was written before is kept. Make room (df -h), or save elsewhere.")
  }

  static func notCapture(_ path: String, reason: String) -> MediaFileError {
    MediaFileError(
      code: .notCapture, message: "\(path) is not a pcapng file that can be read: \(reason).",
      advice: "Give a file that --pcap, Wireshark or dumpcap wrote; editcap -F pcapng converts.")
  }

  static func notVideo(_ path: String, reason: String) -> MediaFileError {
    MediaFileError(
      code: .notVideo, message: "\(path) is not a YUV4MPEG2 file: \(reason).",
      advice: "ffmpeg -i \(path) -pix_fmt yuv420p NEW.y4m converts.")
  }

  static func unusablePicture(_ path: String, reason: String) -> MediaFileError {
    MediaFileError(
      code: .unusablePicture, message: "\(path) has pictures that cannot be sent: \(reason).",
      advice: "ffmpeg -i \(path) -vf scale=1280:-2,fps=30 -pix_fmt yuv420p NEW.y4m converts.")
  }

  static func text(_ errorNumber: Int32) -> String { unsafe String(cString: strerror(errorNumber)) }
}
