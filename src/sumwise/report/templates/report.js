"use strict";
document.querySelectorAll("table.sortable").forEach(function (table) {
  table.querySelectorAll("thead th").forEach(function (head, column) {
    head.querySelector("button").addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var body = table.tBodies[0];
      var key = function (row) {
        var cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
      };
      Array.from(body.rows).sort(function (a, b) {
        var x = key(a), y = key(b);
        if (x === "" || y === "") { return x === y ? 0 : x === "" ? 1 : -1; }
        var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      }).forEach(function (row) { body.appendChild(row); });
    });
  });
});
document.querySelectorAll("figure.frames").forEach(function (figure) {
  var slider = figure.querySelector("input"), told = figure.querySelector("output");
  var frames = figure.querySelectorAll(".frame");
  var show = function () {
    frames.forEach(function (frame, i) { frame.hidden = i !== Number(slider.value); });
    told.textContent = frames[Number(slider.value)].dataset.label;
  };
  slider.addEventListener("input", show);
  show();
});
