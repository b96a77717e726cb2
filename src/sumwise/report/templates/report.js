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
  function xml(text) {
    return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]|[<>&]/g, function (c) {
      return { "<": "&lt;", ">": "&gt;", "&": "&amp;" }[c] || "";
    });
  }
  // A workbook is a ZIP archive of XML files; stored without compression, it needs nothing but checksums.
  function workbook(rows) {
    var head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
    var main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    var office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    var packages = "http://schemas.openxmlformats.org/package/2006/";
    var kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.";
    return zip([
      ["[Content_Types].xml", '<Types xmlns="' + packages + 'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="' + kind + 'sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="' + kind + 'styles+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="' + kind + 'worksheet+xml"/></Types>'],
      ["_rels/.rels", '<Relationships xmlns="' + packages + 'relationships"><Relationship Id="rId1" Type="' + office + '/officeDocument" Target="xl/workbook.xml"/></Relationships>'],
      ["xl/workbook.xml", '<workbook xmlns="' + main + '" xmlns:r="' + office + '"><sheets><sheet name="Table" sheetId="1" r:id="rId1"/></sheets></workbook>'],
      ["xl/_rels/workbook.xml.rels", '<Relationships xmlns="' + packages + 'relationships"><Relationship Id="rId1" Type="' + office + '/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="' + office + '/styles" Target="styles.xml"/></Relationships>'],
      ["xl/styles.xml", '<styleSheet xmlns="' + main + '"><fonts count="2"><font/><font><b/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="10" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'],
      ["xl/worksheets/sheet1.xml", '<worksheet xmlns="' + main + '"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews><sheetData>' + rows + "</sheetData></worksheet>"]
    ].map(function (file) { return [file[0], head + file[1]]; }));
  }
  function zip(files) {
    var encoder = new TextEncoder(), parts = [], index = [], place = 0, listed = 0;
    var number = function (value, bytes) {
      return Array.from({ length: bytes }, function (_, k) { return (value >>> (8 * k)) & 255; });
    };
    files.forEach(function (file) {
      var name = encoder.encode(file[0]), data = encoder.encode(file[1]), crc = -1;
      data.forEach(function (byte) {
        crc ^= byte;
        for (var k = 0; k < 8; k++) { crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0); }
      });
      // version, names in UTF-8, stored, 1 January 1980
      var common = [20, 0, 0, 8, 0, 0, 0, 0, 33, 0].concat(number(~crc, 4), number(data.length, 4), number(data.length, 4), number(name.length, 2), [0, 0]);
      var local = new Uint8Array([80, 75, 3, 4].concat(common)), entry = new Uint8Array([80, 75, 1, 2, 20, 0].concat(common, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], number(place, 4)));
      parts.push(local, name, data);
      index.push(entry, name);
      place += local.length + name.length + data.length;
      listed += entry.length + name.length;
    });
    var end = [80, 75, 5, 6, 0, 0, 0, 0].concat(number(files.length, 2), number(files.length, 2), number(listed, 4), number(place, 4), [0, 0]);
    return new Blob(parts.concat(index, [new Uint8Array(end)]));
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
        var rows = Array.from(table.tBodies[0].rows), left = rows.filter(function (row) { return !row.hidden; }).length;
        data.querySelector(".left").textContent = filter.value ? left + " of " + rows.length + " rows" : "";
      });
    }
    var cells = function (row) { return Array.from(row.cells); };
    data.querySelector(".csv").addEventListener("click", function (event) {
      var lines = [cells(table.tHead.rows[0]).map(function (c) { return field(c.textContent); }).join(",")];
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        lines.push(cells(row).map(function (c) {
          return c.dataset.v === undefined ? field(c.textContent) : c.dataset.v;
        }).join(","));
      });
      save("\ufeff" + lines.join("\r\n") + "\r\n", "text/csv;charset=utf-8", event.target.dataset.name + ".csv");
    });
    data.querySelector(".xlsx").addEventListener("click", function (event) {
      var rows = [table.tHead.rows[0]].concat(Array.from(table.tBodies[0].rows));
      save(workbook(rows.map(function (row, i) {
        return "<row>" + cells(row).map(function (c) {
          if (c.dataset.v !== undefined) {
            return '<c s="' + (/%$/.test(c.textContent) ? 2 : 0) + '"><v>' + Number(c.dataset.v) + "</v></c>";
          }
          return '<c t="inlineStr" s="' + (i ? 0 : 1) + '"><is><t xml:space="preserve">' + xml(c.textContent.trim()) + "</t></is></c>";
        }).join("") + "</row>";
      }).join("")), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", event.target.dataset.name + ".xlsx");
    });
  });
  document.querySelectorAll(".scroll").forEach(function (box) {
    var mark = function () {
      box.classList.toggle("further", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    };
    box.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(box);
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
  document.querySelectorAll("figure button.numbers-csv").forEach(function (button) {
    button.addEventListener("click", function () { button.closest("figure").querySelector("figcaption ~ .numbers .csv").click(); });
  });
  document.querySelectorAll("figure.frames").forEach(function (figure) {
    var slider = figure.querySelector("input"), shown = figure.querySelector("output");
    var frames = figure.querySelectorAll(".frame");
    var show = function () {
      frames.forEach(function (frame, i) { frame.hidden = i !== Number(slider.value); });
      shown.textContent = frames[Number(slider.value)].dataset.label;
      slider.setAttribute("aria-valuetext", shown.textContent);
    };
    slider.addEventListener("input", show);
    show();
    var play = figure.querySelector("button.play"), clock = null;
    var stop = function () {
      clearInterval(clock);
      clock = null;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
    };
    play.addEventListener("click", function () {
      if (clock !== null) { stop(); return; }
      if (Number(slider.value) === frames.length - 1) { slider.value = 0; show(); }
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      clock = setInterval(function () {
        slider.value = Number(slider.value) + 1;
        show();
        if (Number(slider.value) === frames.length - 1) { stop(); }
      }, 900);
    });
  });
  if (location.hash === "#print") { window.addEventListener("load", function () { window.print(); }); }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.appendix, details:not(.numbers)").forEach(function (d) { d.open = true; });
  });
})();
