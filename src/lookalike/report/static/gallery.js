/* The gallery page: one query at a time, by pointer, keys or a link with its name. Without it all are below one another. */
(function () {
  "use strict";

  function set(gallery) {
    const links = Array.from(gallery.querySelectorAll(".gallery-list a"));
    const queries = links.map((link) => document.getElementById(link.hash.slice(1)));
    const status = gallery.querySelector("[data-says][role=status]");
    const filter = gallery.querySelector("select");
    let current = 0;

    const visible = () => links.map((link, place) => place).filter((place) => !links[place].parentElement.hidden);

    // says: whether the live region tells it; not when the page opens
    function show(place, says) {
      current = place;
      links.forEach((link, other) => {
        const own = other === place;
        link.tabIndex = own ? 0 : -1;
        if (own) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
        queries[other].classList.toggle("gallery-current", own);
      });
      const order = visible();
      gallery.querySelectorAll("[data-step]").forEach((button) => {
        const end = button.dataset.step === "1" ? order[order.length - 1] : order[0];
        // not disabled: a button that goes dead under the finger loses the focus
        button.setAttribute("aria-disabled", String(end === place));
      });
      const strip = links[place].parentElement.parentElement;
      const own = links[place].parentElement;
      // on a phone; not scrollIntoView, which would move the page as well
      if (own.offsetLeft < strip.scrollLeft || own.offsetLeft + own.offsetWidth > strip.scrollLeft + strip.clientWidth) {
        strip.scrollLeft = own.offsetLeft - (strip.clientWidth - own.offsetWidth) / 2;
      }
      if (says) status.textContent = queries[place].dataset.says;
    }

    function go(place, focus) {
      show(place, true);
      if (focus) links[place].focus();
      // the address can be copied; going through queries is no history of pages
      history.replaceState(null, "", links[place].hash);
    }

    function below(place, step) {
      const own = links[place].getBoundingClientRect();
      const rows = visible()
        .map((other) => [other, links[other].getBoundingClientRect()])
        .filter(([, box]) => (step > 0 ? box.top > own.top + 4 : box.top < own.top - 4));
      if (!rows.length) return place;
      const edge = step > 0 ? Math.min(...rows.map(([, box]) => box.top)) : Math.max(...rows.map(([, box]) => box.top));
      const row = rows.filter(([, box]) => Math.abs(box.top - edge) < 4);
      row.sort((one, other) => Math.abs(one[1].left - own.left) - Math.abs(other[1].left - own.left));
      return row[0][0];
    }

    function after(place, key) {
      const order = visible();
      const at = order.indexOf(place);
      if (key === "Home") return order[0];
      if (key === "End") return order[order.length - 1];
      if (key === "ArrowRight") return order[Math.min(at + 1, order.length - 1)];
      if (key === "ArrowLeft") return order[Math.max(at - 1, 0)];
      if (key === "ArrowDown") return below(place, 1);
      if (key === "ArrowUp") return below(place, -1);
      return null;
    }

    links.forEach((link, place) => {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(place, false);
        queries[place].scrollIntoView({ block: "nearest" });
      });
      link.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        const next = after(place, event.key);
        if (next === null) return;
        event.preventDefault();
        go(next, true);
      });
    });
    gallery.querySelectorAll("[data-step]").forEach((button) => {
      button.addEventListener("click", () => {
        go(after(current, button.dataset.step === "1" ? "ArrowRight" : "ArrowLeft"), false);
      });
    });
    gallery.querySelectorAll("[data-shows]").forEach((button, place, buttons) => {
      button.addEventListener("click", () => {
        buttons.forEach((other) => {
          other.setAttribute("aria-pressed", String(other === button));
          gallery.classList.toggle("gallery-shows-" + other.dataset.shows, other === button);
        });
      });
    });
    function choose(label) {
      filter.value = label;
      links.forEach((link) => {
        link.parentElement.hidden = label !== "" && link.parentElement.dataset.label !== label;
      });
    }
    filter.addEventListener("change", () => {
      choose(filter.value);
      const order = visible();
      go(order.includes(current) ? current : order[0], false);
    });

    gallery.classList.add("gallery-one-at-a-time");
    gallery.querySelectorAll(".gallery-tools, .gallery-keys").forEach((part) => { part.hidden = false; });
    show(0, false);
    return {
      // whether the address names a query of this gallery, which is then shown
      open(id) {
        const place = queries.findIndex((query) => query.id === id);
        if (place < 0) return false;
        if (links[place].parentElement.hidden) choose("");
        show(place, true);
        queries[place].scrollIntoView();
        return true;
      },
    };
  }

  const galleries = Array.from(document.querySelectorAll(".gallery"), set);
  function open() {
    const id = decodeURIComponent(location.hash.slice(1));
    galleries.some((gallery) => gallery.open(id));
  }
  window.addEventListener("hashchange", open);
  if (location.hash) open();
})();
