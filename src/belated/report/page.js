"use strict";

// Draws every figure of the page, and draws it again when the screen or its colours change.
(() => {
  const text = (name) => document.getElementById(name).textContent;
  const figures = JSON.parse(text("figures"));
  const { config, dark } = JSON.parse(text("style"));
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const isTouch = matchMedia("(pointer: coarse)");
  const MENU = 40; // pixels beside a figure for the menu that saves it
  const WIDTH = 720; // of images; a figure that is narrower there stays so
  const colours = new RegExp(Object.keys(dark).join("|"), "g");

  // A copy of a part of a figure in the colours of the page.
  function coloured(part) {
    const source = JSON.stringify(part);
    return JSON.parse(isDark.matches ? source.replace(colours, (colour) => dark[colour]) : source);
  }

  async function draw(name) {
    const chart = document.getElementById(name);
    const plot = chart.querySelector(".plot");
    const spec = coloured(figures[name]);
    chart.classList.add("live");
    plot.style.minWidth = `${spec.usermeta.least}px`;
    const room = plot.clientWidth - (isTouch.matches ? 0 : MENU);
    const width = spec.width < WIDTH ? Math.min(room, spec.width) : room;
    const legend = { columns: Math.max(1, Math.floor(width / spec.usermeta.entry)) };
    await vegaEmbed(plot, { ...spec, width }, {
      mode: "vega-lite",
      renderer: "svg",
      ast: true, // expressions are interpreted: the page allows no evaluation of text
      config: coloured({ ...config, legend: { ...config.legend, ...legend } }),
      actions: !isTouch.matches && { export: true, source: false, compiled: false, editor: false },
      downloadFileName: name,
      tooltip: { theme: isDark.matches ? "dark" : "light" },
    });
  }

  // The script that draws comes packed, a third of its size. Where it cannot be unpacked, images stay.
  async function unpack() {
    const packed = Uint8Array.from(atob(text("vega")), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  const drawAll = () => Promise.all(Object.keys(figures).map(draw));
  let width = innerWidth;
  let timer;
  unpack().then(() => {
    drawAll();
    isDark.addEventListener("change", drawAll);
    addEventListener("resize", () => {
      if (innerWidth === width) return; // phones resize when their address bar goes away
      width = innerWidth;
      clearTimeout(timer);
      timer = setTimeout(drawAll, 150);
    });
  });
})();
