// The search of the built pages, without a browser: reads {scripts, index, queries} as JSON, writes the pages that each
// query finds, best first. `scripts` are the files that search.html loads, in their order, as texts.
const vm = require("node:vm");
const given = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const element = () => ({ appendChild: (child) => child, classList: { add() {} }, setAttribute() {}, dataset: {} });
const page = {
  DOCUMENTATION_OPTIONS: {},
  SPHINX_HIGHLIGHT_ENABLED: false,
  URLSearchParams,
  _: (text) => text,
  _ready: () => {},
  document: {
    addEventListener() {},
    body: element(),
    createElement: element,
    documentElement: element(),
    getElementById: () => null,
  },
  localStorage: { getItem() {}, setItem() {} },
};
page.window = page;
vm.createContext(page);
for (const script of given.scripts) vm.runInContext(script, page);
page.given = given;
const found = vm.runInContext(
  `Search.setIndex(given.index);
  given.queries.map((query) => {
    const results = Search._performSearch(...Search._parseQuery(query)).reverse();
    return [...new Set(results.map((result) => result[0]))];
  })`,
  page,
);
process.stdout.write(JSON.stringify(found));
