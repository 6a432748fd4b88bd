internal import Plotting

/// The frame of every page that the program writes: one style, nothing fetched from anywhere.
package enum Page {
  /// - Parameters:
  ///   - origin: Where and how the page came to be.
  ///   - body: Markup, escaped already; `title` and `heading` are text.
  package static func html(
    title: String, heading: String, origin: PageOrigin? = nil, _ body: String
  ) -> String {
    """
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width"/>
    <meta name="color-scheme" content="light dark"/>
    <title>\(Markup.escaped(title))</title>
    <style>
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 780px; margin: 2em auto; color: #1f2328;
      padding: 0 1em; background: #fff }
    table { margin-bottom: 1.5em }
    th { text-align: left; vertical-align: top; padding-right: 1.5em; font-weight: 600;
      white-space: nowrap }
    th.part { font-weight: 400; padding-left: 1.2em }
    td { overflow-wrap: anywhere; padding-right: 1.5em; vertical-align: top }
    h1 { overflow-wrap: anywhere } .verdict { font-size: 1.2em; overflow-wrap: anywhere }
    figure { margin: 1.5em 0 } figcaption { font-weight: 600 }
    figcaption span { font-weight: 400; margin-left: 1em }
    svg { width: 100%; height: auto } svg text { font-size: 12px; fill: #59636e }
    pre { overflow-x: auto } .origin { color: #59636e; overflow-wrap: anywhere }
    @media (prefers-color-scheme: dark) {
      body { color: #d1d7e0; background: #161b22 } .origin, svg text { color: #9198a1; fill: #9198a1 }
      .span { fill: #1f2630 } .span.other { fill: #2a3340 } .grid { stroke: #3d444d }
    }
    @media print { body { max-width: none; margin: 0 } figure { break-inside: avoid } }
    </style></head><body>
    <h1>\(Markup.escaped(heading))</h1>
    \(origin.map(\.markup) ?? "")
    \(body)</body></html>

    """
  }
}
