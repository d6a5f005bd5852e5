// Sorting and filtering of lists. Without it the page shows everything, in the report's order.
"use strict";

const shown = (cell) => cell.dataset.v ?? cell.textContent.trim();

function compared(a, b) {
  const x = Number(a), y = Number(b);
  if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a.localeCompare(b, "en", { numeric: true });
}

// What has no number is last in either direction.
const missing = (text) => text === "" || text === "–" || text === "undef.";

function sortBy(list, button) {
  const place = Number(button.dataset.sort);
  const holder = button.closest("th, span");
  const down = holder.getAttribute("aria-sort") === "ascending";
  for (const other of list.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  holder.setAttribute("aria-sort", down ? "descending" : "ascending");
  const items = list.querySelector("[data-items]");
  const rows = [...items.children].map((row) => [shown(row.querySelectorAll("[data-c]")[place]), row]);
  rows.sort(([a], [b]) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return down ? compared(b, a) : compared(a, b);
  });
  items.append(...rows.map(([, row]) => row));
}

function filter(list) {
  const words = list.querySelector("[data-search]").value.toLowerCase().split(/\s+/).filter(Boolean);
  const menus = [...list.querySelectorAll("[data-menu]")].filter((menu) => menu.value !== "");
  let count = 0;
  const rows = list.querySelector("[data-items]").children;
  for (const row of rows) {
    const cells = row.querySelectorAll("[data-c]");
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) &&
      menus.every((menu) => cells[Number(menu.dataset.menu)].textContent.trim() === menu.value);
    row.hidden = !fits;
    count += fits;
  }
  const noun = list.dataset.noun;
  list.querySelector("[data-count]").textContent =
    count === rows.length ? `${count} ${noun}` : `${count} of ${rows.length} ${noun}`;
}

for (const list of document.querySelectorAll("[data-list]")) {
  for (const button of list.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => sortBy(list, button));
  }
  for (const field of list.querySelectorAll("[data-search], [data-menu]")) {
    field.addEventListener("input", () => filter(list));
  }
}

// Paper has nothing to click: what is folded above the runs is printed too.
const folded = document.querySelectorAll(".answer details, .cards details, .notes");
const opened = new Set();
addEventListener("beforeprint", () => {
  for (const fold of folded) {
    if (!fold.open) opened.add(fold);
    fold.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
  opened.clear();
});
