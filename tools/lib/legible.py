"""Whether pages can be read: rendered by headless Chromium, light and dark, wide and narrow.

usage: python3 tools/lib/legible.py [--pictures FOLDER] PAGE.html ...

Says each text that is cut, overlaps another one, is too small or has too little contrast, and each
part that is wider than the window. Exit status: 0 none, 1 some, 3 there is no Chromium
(tools/setup --pages).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What is looked for, in the page itself; what it finds becomes the text of <pre id="faults">.
PROBE = r"""
<script>
addEventListener('load', () => {
  const faults = []
  const colour = text => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number)
    return parts.length >= 3 && parts[3] !== 0 ? parts : null
  }
  const light = parts => {
    const [r, g, b] = parts.slice(0, 3).map(v => {
      v /= 255
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = light(colour(getComputedStyle(document.body).backgroundColor) || [255, 255, 255])
  const contrast = parts => {
    const [a, b] = [light(parts), ground].sort((a, b) => b - a)
    return (a + 0.05) / (b + 0.05)
  }
  const wide = innerWidth >= 700
  document.querySelectorAll('svg').forEach((svg, n) => {
    const frame = svg.getBoundingClientRect()
    const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()])
    texts.forEach(([t, r], index) => {
      const words = `plot ${n + 1} '${t.textContent}'`
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 ||
          r.bottom > frame.bottom + 1) faults.push(`${words} is cut`)
      if (wide && r.height < 8) faults.push(`${words} is ${r.height.toFixed(1)} px high`)
      const fill = colour(getComputedStyle(t).fill)
      if (fill && contrast(fill) < 3) faults.push(`${words} has a contrast of ${contrast(fill).toFixed(1)}`)
      for (const [u, s] of texts.slice(index + 1)) {
        const x = Math.min(r.right, s.right) - Math.max(r.left, s.left)
        const y = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top)
        if (x > 1 && y > 2) faults.push(`${words} overlaps '${u.textContent}'`)
      }
    })
    svg.querySelectorAll('polyline, circle').forEach(line => {
      const style = getComputedStyle(line)
      const paint = colour(style.stroke) || colour(style.fill)
      if (paint && contrast(paint) < 2) faults.push(`a line of plot ${n + 1} has a contrast of ${contrast(paint).toFixed(1)}`)
      const r = line.getBoundingClientRect()
      if (r.left < frame.left - 2 || r.right > frame.right + 2 || r.top < frame.top - 3 ||
          r.bottom > frame.bottom + 3) faults.push(`a line of plot ${n + 1} leaves it`)
    })
  })
  document.querySelectorAll('td, th, p, h1, h2, figcaption').forEach(part => {
    if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
      faults.push(`'${part.textContent.slice(0, 40)}' is cut`)
    const paint = colour(getComputedStyle(part).color)
    if (paint && contrast(paint) < 4) faults.push(`'${part.textContent.slice(0, 40)}' has a contrast of ${contrast(paint).toFixed(1)}`)
  })
  const blocks = [...document.body.children].filter(b => !/SCRIPT|PRE/.test(b.tagName) || b.id !== 'faults')
  blocks.forEach((block, index) => {
    const next = blocks[index + 1]
    if (!next || getComputedStyle(block).display === 'inline-block') return
    const [r, s] = [block.getBoundingClientRect(), next.getBoundingClientRect()]
    if (r.height && s.height && r.bottom > s.top + 1 && r.right > s.left + 1 && s.right > r.left + 1)
      faults.push(`<${block.tagName}> overlaps the <${next.tagName}> below it`)
  })
  if (document.documentElement.scrollWidth > innerWidth + 1)
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide in ${innerWidth}`)
  const pre = document.createElement('pre')
  pre.id = 'faults'
  pre.textContent = JSON.stringify({faults, plots: document.querySelectorAll('svg').length,
    dark: matchMedia('(prefers-color-scheme: dark)').matches, width: innerWidth})
  document.body.append(pre)
})
</script>
"""


def browser():
    """The program, or None."""
    return next(
        filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
    )


def render(page, *words, width=900, dark=False, seconds=60):
    with tempfile.TemporaryDirectory(prefix="earshot-chromium-") as profile:
        done = subprocess.run(
            [
                browser(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={profile}",
                f"--window-size={width},1400",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                "--virtual-time-budget=2000",
                *words,
                f"file://{os.path.abspath(page)}",
            ],
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    return done.stdout


def findings(page, width=900, dark=False):
    """What the page itself found, at one width in one scheme."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as copy:
        copy.write(text.replace("</body>", PROBE + "</body>"))
        copy.flush()
        dom = render(copy.name, "--dump-dom", width=width, dark=dark)
    found = re.search(r'<pre id="faults">(.*?)</pre>', dom, re.DOTALL)
    assert found, f"Chromium did not render {page}: {dom[-400:]}"
    text = found.group(1)
    for name, letter in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")]:
        text = text.replace(name, letter)
    return json.loads(text)


def faults(page):
    """All faults of a page, each once, with where it was found; and how many plots it has."""
    lines, plots = {}, 0
    for width, dark in [(900, False), (900, True), (500, False)]:
        found = findings(page, width, dark)
        assert found["dark"] == dark, f"Chromium has no {'dark' if dark else 'light'} scheme"
        plots = found["plots"]
        for fault in found["faults"]:
            lines.setdefault(fault, f"{found['width']} px, {'dark' if dark else 'light'}: {fault}")
    return list(lines.values()), plots


def main(words):
    folder = None
    if words[:1] == ["--pictures"]:
        folder, words = words[1], words[2:]
    if not words or words[0].startswith("-"):
        print(__doc__)
        return 2
    if browser() is None:
        print("skipped: there is no Chromium (tools/setup --pages)")
        return 3
    worst = 0
    for page in words:
        lines, plots = faults(page)
        print(f"{page}: {plots} plots, {len(lines)} faults")
        for line in lines:
            print(f"  {line}")
        worst = max(worst, 1 if lines else 0)
        if folder:
            for dark in [False, True]:
                name = os.path.basename(page).removesuffix(".html") + ("-dark" if dark else "")
                render(page, f"--screenshot={folder}/{name}.png", dark=dark)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
