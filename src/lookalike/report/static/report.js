// What a page does beyond reading: tables that sort, print with all opened.
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true });

  // a cell is sorted by its number where it begins with one (1,835 ± 210), else by its words; a dash is no value
  function keyOf(row, place) {
    const cell = row.cells[place];
    const text = cell.dataset.key ?? cell.textContent.trim().toLowerCase().replace("−", "-");
    if (/^[-–]?$/.test(text)) return "";
    const number = /^(?:< )?([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)/.exec(text);
    return number ? number[1].replaceAll(",", "") : text;
  }

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
  document.querySelectorAll("table.sortable, .sortable > table").forEach(makeSortable);

  // on a narrow screen a row is a card: its cells say of which column they are, and keep their roles
  document.querySelectorAll(".cards > table").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    table.setAttribute("role", "table");
    for (const part of [table.tHead, ...table.tBodies]) part.setAttribute("role", "rowgroup");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, place) => {
        // a head without words is none
        cell.setAttribute("role", cell.tagName === "TH" && heads[place] ? "columnheader" : "cell");
        if (cell.tagName === "TD" && heads[place]) cell.dataset.label = heads[place];
      });
    }
  });

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

  // on a narrow screen the contents, and other long lists, start closed
  if (matchMedia("(max-width: 45rem)").matches) {
    document.querySelectorAll(".contents details, details[data-folds]").forEach((details) => { details.open = false; });
  }
})();
