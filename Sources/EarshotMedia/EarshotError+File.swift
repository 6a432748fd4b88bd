internal import Earshot
internal import MediaFiles

extension EarshotError {
  /// A file that cannot be used, in the words of whoever embeds the library.
  init(file error: MediaFileError) {
    let advice =
      error.code == .alreadyThere
      ? "Give another name, or say that it may be replaced." : error.advice
    self.init(.fileUnusable, error.message, advice: advice)
  }
}
