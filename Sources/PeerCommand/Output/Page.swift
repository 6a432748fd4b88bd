internal import Plotting

/// The frame of every page that the program writes: one style, nothing fetched from anywhere.
package enum Page {
  /// - Parameter body: Markup, escaped already; `title` and `heading` are text.
  package static func html(title: String, heading: String, _ body: String) -> String {
    """
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width"/>
    <title>\(Markup.escaped(title))</title>
    <style>
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 780px; margin: 2em auto; color: #1f2328;
      padding: 0 1em; background: #fff }
    table { margin-bottom: 1.5em }
    th { text-align: left; vertical-align: top; padding-right: 1.5em; font-weight: 600;
      white-space: nowrap }
    td { overflow-wrap: anywhere; padding-right: 1.5em; vertical-align: top }
    .verdict { font-size: 1.2em }
    figure { margin: 1.5em 0 } figcaption { font-weight: 600 }
    figcaption span { font-weight: 400; margin-left: 1em }
    svg { width: 100%; height: auto } svg text { font-size: 11px; fill: #59636e }
    </style></head><body>
    <h1>\(Markup.escaped(heading))</h1>
    \(body)</body></html>

    """
  }
}
