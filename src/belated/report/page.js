"use strict";

// Draws every figure of the page, and draws it again when the screen or its colours change.
(() => {
  const text = (name) => document.getElementById(name).textContent;
  const read = (name) => JSON.parse(text(name));
  const figures = read("figures");
  const darkColours = new Map(Object.entries(read("dark")));
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const isNarrow = matchMedia("(max-width: 44rem)");
  const isTouch = matchMedia("(pointer: coarse)");

  const config = {
    displaylogo: false,
    responsive: true,
    typesetMath: false,
    // Only these: some others would send the figure to a server.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  // A copy of a part of a figure in the colours of a dark page.
  function darkened(part) {
    if (Array.isArray(part)) return part.map(darkened);
    if (part === null || typeof part !== "object") return darkColours.get(part) ?? part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, darkened(value)]));
  }

  function draw(name) {
    const { data, layout, narrow } = figures[name];
    const shown = { data, layout: isNarrow.matches ? { ...layout, ...narrow } : layout };
    const { data: traces, layout: places } = isDark.matches ? darkened(shown) : structuredClone(shown);
    // A finger that moves over a figure scrolls the page.
    if (isTouch.matches) places.dragmode = false;
    const chart = document.getElementById(name);
    chart.classList.add("live");
    const image = { toImageButtonOptions: { filename: name, scale: 2 } };
    const bar = isTouch.matches ? { displayModeBar: false } : {};
    Plotly.react(chart.querySelector(".plot"), traces, places, { ...config, ...image, ...bar });
  }

  // The script that draws comes packed, a third of its size. Where it cannot be unpacked, images stay.
  async function unpack() {
    const packed = Uint8Array.from(atob(text("plotly")), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  const drawAll = () => Object.keys(figures).forEach(draw);
  unpack().then(() => {
    drawAll();
    for (const media of [isDark, isNarrow, isTouch]) media.addEventListener("change", drawAll);
  });
})();
