// What a page does beyond reading: tables that sort, figures that switch back to their picture, print with all opened.
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true });
  const keyOf = (row, place) => row.cells[place].dataset.key ?? row.cells[place].textContent.trim().toLowerCase();

  function compare(one, other) {
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? collator.compare(one, other) : a - b;
  }

  function sort(table, place, descending) {
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, place), row]);
    const sign = descending ? -1 : 1;
    // what has no value stays last in either order
    rows.sort(([a], [b]) => (a === "") - (b === "") || sign * compare(a, b));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      if (head.tagName !== "TH") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, place, descending);
      });
    });
  }
  document.querySelectorAll("table.sortable").forEach(makeSortable);

  // a figure whose curves have been drawn gets a button back to the picture
  function addSwitch(figure) {
    if (figure.querySelector(".figure-switch")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "figure-switch";
    button.textContent = "Show the picture";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(pressed));
      figure.dataset.view = pressed ? "picture" : "curves";
    });
    figure.append(button);
  }
  new MutationObserver((changes) => {
    changes.forEach(({ target }) => { if (target.dataset.curves === "live") addSwitch(target); });
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-curves"] });

  // an address that points into closed details opens them
  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let details = target && target.closest("details"); details; details = details.parentElement.closest("details")) {
      details.open = true;
    }
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // on paper nothing can be opened
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

  // on a narrow screen the contents start closed
  if (matchMedia("(max-width: 45rem)").matches) {
    document.querySelectorAll(".contents details").forEach((details) => { details.open = false; });
  }
})();
