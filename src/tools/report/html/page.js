// Zooms the time line by changing its viewBox. The picture is complete without this.
(() => {
  const section = document.getElementById("timeline");
  const plot = section && section.querySelector(".plot");
  if (!plot) return;
  const svg = plot.querySelector("svg"),
    axis = plot.querySelector(".axis");
  const span = Number(svg.dataset.span),
    start = Number(svg.dataset.from);
  const period = Number(svg.dataset.period),
    height = svg.viewBox.baseVal.height;
  const shown = section.querySelector("[data-shown]");
  const narrowest = Math.min(span, 20),
    ITERATIONS_SHOWN = 12;
  let from = 0,
    width = span;

  const words = (us, digits = 6) => {
    const cut = (value, unit) => `${Number(value.toPrecision(digits))} ${unit}`;
    if (us < 1e3) return cut(us, "µs");
    return us < 1e6 ? cut(us / 1e3, "ms") : cut(us / 1e6, "s");
  };
  const draw = () => {
    width = Math.min(span, Math.max(narrowest, width));
    from = Math.min(span - width, Math.max(0, from));
    svg.setAttribute("viewBox", `${from} 0 ${width} ${height}`);
    const rough = width / Math.max(2, plot.clientWidth / 90),
      tens = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * tens).find((s) => s >= rough);
    shown.textContent =
      width < span ? `showing ${words(width, 3)} of ${words(span, 3)}` : "";
    axis.replaceChildren();
    for (let at = Math.ceil((start + from) / step) * step; at < start + from + width; at += step) {
      const tick = document.createElement("span");
      tick.style.left = `${((at - start - from) / width) * 100}%`;
      tick.style.transform = "none";
      tick.textContent = words(at);
      axis.append(tick);
    }
  };
  const zoom = (factor, middle = from + width / 2) => {
    const share = (middle - from) / width;
    width = Math.min(span, Math.max(narrowest, width * factor));
    from = middle - share * width;
    draw();
  };
  const act = {
    in: () => zoom(0.5),
    out: () => zoom(2),
    left: () => {
      from -= width / 4;
      draw();
    },
    right: () => {
      from += width / 4;
      draw();
    },
    all: () => {
      from = 0;
      width = span;
      draw();
    },
  };
  const keys = {
    "+": "in",
    "=": "in",
    "-": "out",
    _: "out",
    0: "all",
    ArrowLeft: "left",
    ArrowRight: "right",
  };

  section.classList.add("zoomable");
  section
    .querySelectorAll("[data-zoom]")
    .forEach((button) => button.addEventListener("click", () => act[button.dataset.zoom]()));
  plot.addEventListener("keydown", (event) => {
    const name = keys[event.key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act[name]();
  });
  plot.addEventListener("pointerdown", (down) => {
    if (down.button !== 0) return;
    const origin = from;
    const move = (event) => {
      from = origin - ((event.clientX - down.clientX) / plot.clientWidth) * width;
      draw();
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  });
  plot.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = plot.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, from + ((event.clientX - box.left) / box.width) * width);
    },
    { passive: false },
  );
  addEventListener("resize", draw);

  // A long run is a solid block when all of it is shown: begin with its last iterations.
  if (period > 0 && span > 2 * ITERATIONS_SHOWN * period) {
    width = ITERATIONS_SHOWN * period;
    from = span - width;
  }
  draw();
})();
