// Unpacks Bokeh's library once, and draws the plots of a figure when it is asked to.
(() => {
  const unpack = async () => {
    const packed = Uint8Array.from(atob("@packed@"), (letter) => letter.charCodeAt(0))
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
    const element = document.createElement("script")
    element.textContent = await new Response(unpacked).text()
    document.head.append(element)
    window.Bokeh.logger.set_level("warn")
    return window.Bokeh
  }
  let library = null

  function listen(box, glyphs) {
    for (const button of box.querySelectorAll("[data-series]")) {
      button.addEventListener("click", () => {
        const faded = button.getAttribute("aria-pressed") === "true"
        button.setAttribute("aria-pressed", String(!faded))
        for (const glyph of glyphs) if (glyph.name === button.dataset.series) glyph.muted = faded
      })
    }
  }

  window.lookalikeDraw = async (place, items) => {
    const box = document.getElementById(place)
    try {
      const bokeh = await (library ??= unpack())
      const managers = []
      for (const item of items) managers.push(await bokeh.embed.embed_item(item))
      listen(box, managers.flatMap((manager) => manager.roots.flatMap((view) => view.model.renderers ?? [])))
      box.dataset.drawn = "true"
    } catch (error) {
      box.textContent = "This browser cannot draw the curves; the picture shows them."
      console.warn(error)
    }
  }
})()
