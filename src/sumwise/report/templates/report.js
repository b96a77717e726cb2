"use strict";
(function () {
  function save(text, type, name) {
    var link = document.createElement("a");
    var url = URL.createObjectURL(new Blob([text], { type: type }));
    link.href = url;
    link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 60);
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(url); }, 1000);
  }
  function field(text) {
    var value = text.trim();
    if (/^[=+\-@\t\r]/.test(value) && isNaN(Number(value))) { value = "'" + value; }
    return /[",\n\r]/.test(value) ? '"' + value.replace(/"/g, '""') + '"' : value;
  }
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
  document.querySelectorAll(".data").forEach(function (data) {
    var table = data.querySelector("table"), filter = data.querySelector(".filter");
    if (filter) {
      filter.addEventListener("input", function () {
        var words = filter.value.toLowerCase().split(/\s+/);
        Array.from(table.tBodies[0].rows).forEach(function (row) {
          var text = row.textContent.toLowerCase();
          row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        });
      });
    }
    data.querySelector(".csv").addEventListener("click", function (event) {
      var lines = [Array.from(table.tHead.rows[0].cells).map(function (c) { return field(c.textContent); }).join(",")];
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        lines.push(Array.from(row.cells).map(function (c) {
          return c.dataset.v === undefined ? field(c.textContent) : c.dataset.v;
        }).join(","));
      });
      save("\ufeff" + lines.join("\r\n") + "\r\n", "text/csv;charset=utf-8", event.target.dataset.name + ".csv");
    });
  });
  document.querySelectorAll("button.svg").forEach(function (button) {
    button.addEventListener("click", function () {
      var pictures = Array.from(button.closest("figure").querySelectorAll(".frame:not([hidden]) svg"));
      var shown = pictures.find(function (p) { return p.getBoundingClientRect().width > 0; }) || pictures[0];
      var copy = shown.cloneNode(true);
      copy.setAttribute("color", "#1b1b1b");
      copy.style.background = "#fff";
      save(new XMLSerializer().serializeToString(copy), "image/svg+xml", button.dataset.name + ".svg");
    });
  });
  document.querySelectorAll("figure.frames").forEach(function (figure) {
    var slider = figure.querySelector("input"), shown = figure.querySelector("output");
    var frames = figure.querySelectorAll(".frame");
    var show = function () {
      frames.forEach(function (frame, i) { frame.hidden = i !== Number(slider.value); });
      shown.textContent = frames[Number(slider.value)].dataset.label;
    };
    slider.addEventListener("input", show);
    show();
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.appendix, details:not(.numbers)").forEach(function (d) { d.open = true; });
  });
})();
