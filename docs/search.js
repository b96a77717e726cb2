/*
 * How the search of these pages ranks, in place of Sphinx's own rule that every word of a query must occur.
 *
 * A page scores by the words that it has, rare words more than common ones; a word counts most in the title, then in
 * an index entry, a heading, the text. Words of the same meaning count for each other, a little less than the word
 * itself. A heading or an index entry that has most of the query counts besides, and is what the result links to. A
 * page that lacks much of the query is left out.
 *
 * Sphinx includes this file in language_data.js (html_search_scorer); tests/test_search.py runs it in Node.
 */
const SAME_MEANING = [
  ["percent", "percentage", "share", "proportion", "fraction"],
  ["hispanic", "latino", "latina", "latinx"],
  ["black", "african"],
  ["race", "racial", "racially", "ethnicity", "ethnic"],
  ["democrat", "democratic", "republican", "party", "candidate"],
  ["vote", "voted", "voting", "voter", "ballot", "election", "electoral"],
  ["precinct", "ward", "polling", "county"],
  ["abstention", "abstain", "nonvoters", "turnout"],
  ["men", "women", "gender", "sex"],
  ["bloc", "polarized", "polarised", "polarization", "polarisation", "cohesion"],
  ["court", "expert", "litigation", "testimony"],
  ["microdata", "rows", "records"],
  ["census", "acs", "pums"],
  ["publish", "release", "disclose", "disclosure"],
  ["safe", "safely", "confidential", "private", "privacy", "anonymous"],
  ["cross", "contingency", "crosstab"],
  ["tabulation", "table", "crosstab"],
  ["histogram", "bucket", "bin", "discretize", "discretise"],
  ["categories", "categorical", "level"],
  ["numeric", "numerical", "continuous", "number"],
  ["click", "conversion", "impression", "advertising", "advertiser"],
  ["train", "learn", "fit"],
  ["aggregate", "aggregated", "grouped", "summary"],
  ["export", "download", "save"],
  ["map", "geographic", "geospatial"],
  ["bird", "animal", "species", "wildlife"],
  ["migration", "migratory", "movement", "move", "route"],
  ["flow", "trip", "origin", "destination", "commute", "commuting", "mobility"],
  ["survey", "poll", "questionnaire"],
  ["phone", "tower", "mobile", "cellular", "handset"],
  ["station", "sensor", "detector", "stop"],
  ["bag", "group", "set"],
  ["individual", "person", "people", "instance"],
  ["classify", "classifier", "classification"],
  ["predict", "prediction", "forecast", "score"],
  ["average", "mean"],
  ["sum", "total"],
  ["patient", "sample", "subject"],
  ["value", "response", "outcome"],
  ["network", "neural", "deep"],
  ["uncertainty", "interval", "error"],
  ["reliable", "trust", "confidence", "accurate", "accuracy"],
  ["warning", "message", "error", "problem", "fail", "fails"],
  ["converge", "convergence", "converged"],
  ["programming", "code", "coding", "python"],
  ["excel", "spreadsheet", "xlsx"],
  ["tune", "hyperparameter", "penalty", "regularization", "regularisation"],
  ["own", "custom", "extend", "add"],
  ["missing", "nan", "absent", "gap"],
  ["quick", "fast", "speed", "slow", "runtime"],
  ["image", "picture", "photo"],
  ["difference", "discrepancy", "distance"],
  ["zone", "place", "region", "area", "location", "site", "district"],
  ["demographic", "composition", "race", "age", "education"],
  ["result", "returns", "outcome"],
  ["ctr", "click"],
  ["limit", "bound", "cap", "contribution"],
  ["minibatch", "batch", "partial"],
  ["immunology", "cytometry", "biology", "medical"],
  ["install", "installation", "setup", "pip"],
  ["rename", "name"],
  ["detection", "detect", "effort", "seen"],
  ["big", "large", "huge", "scale", "million"],
  ["explain", "explanation", "interpret", "interpretation"],
  ["plot", "figure", "chart", "graph", "visualize", "visualise"],
  ["compare", "comparison", "versus", "vs", "beside"],
  ["begin", "start", "quickstart", "introduction", "tutorial"],
  ["wrong", "problem", "bug", "crash"],
  ["user", "person", "people"],
  ["weight", "weighted"],
  ["attribute", "variable", "feature", "column", "covariate"],
  ["test", "check", "validate", "validation"],
  ["assumption", "assume"],
  ["disaggregate", "downscale", "infer"],
  ["method", "algorithm", "estimator", "technique"],
  ["anonymized", "anonymised", "anonymity", "privacy"],
];

const SAYS_LITTLE = new Set(["use", "get", "make", "want", "need", "find", "show", "give", "go"]);

const Ranking = {
  weights: { title: 4, entry: 3, heading: 2, text: 1, sameMeaning: 0.6 },
  byWords: 20,
  byHeading: 14,
  least: 0.25, // part of the query's weight that a page must have, and of what the best page has
  ofBest: 0.4,
  priors: [
    [/^reference\/generated\//, 0.7],
    [/^book\/|^references$/, 0.7],
    [/^explanation\/architecture$/, 0.85],
    [/(^|\/)index$/, 0.8],
    [/^gallery$|^glossary$/, 0.85],
  ],

  stems: (text) => {
    const stemmer = new Stemmer();
    const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return words.map((word) => stemmer.stemWord(word));
  },

  prepared: null,

  /** Per page: the words of its title, headings and index entries; of every word, the words of the same meaning. */
  prepare: () => {
    const index = Search._index;
    const pages = index.docnames.map((name, file) => ({
      title: new Set(Ranking.stems(index.titles[file])),
      entry: new Set(),
      parts: [],
      prior: Ranking.priors.reduce((product, [what, prior]) => (what.test(name) ? product * prior : product), 1),
    }));
    for (const [heading, places] of Object.entries(index.alltitles))
      for (const [file, id] of places) {
        const stems = new Set(Ranking.stems(heading));
        pages[file].parts.push({ stems, text: heading, id });
      }
    for (const [entry, places] of Object.entries(index.indexentries))
      for (const [file, id, isMain] of places)
        if (isMain) {
          const stems = new Set(Ranking.stems(entry));
          stems.forEach((stem) => pages[file].entry.add(stem));
          pages[file].parts.push({ stems, text: null, id });
        }
    const same = new Map();
    for (const group of SAME_MEANING) {
      const stems = [...new Set(group.flatMap(Ranking.stems))];
      for (const stem of stems) same.set(stem, new Set([...(same.get(stem) || []), ...stems]));
    }
    return { pages, same };
  },

  /** The words that stand for a word of the query, with their weights: itself, same meaning, or words that it is part of. */
  meanings: (word) => {
    const { terms, titleterms } = Search._index;
    const known = (stem) => Object.hasOwn(terms, stem) || Object.hasOwn(titleterms, stem);
    const found = new Map([[word, 1]]);
    for (const other of Ranking.prepared.same.get(word) || [])
      if (other !== word) found.set(other, Ranking.weights.sameMeaning);
    if ([...found.keys()].some(known) || word.length < 3) return found;
    for (const stem of [...Object.keys(terms), ...Object.keys(titleterms)])
      if (stem.includes(word) || (stem.length > 4 && word.startsWith(stem))) found.set(stem, Ranking.weights.sameMeaning);
    return found;
  },

  /** How much a word of the query counts on each page that has it, and how rare it is. */
  wordScores: (word) => {
    const { terms, titleterms } = Search._index;
    const { pages } = Ranking.prepared;
    const meanings = Ranking.meanings(word);
    const scores = new Map();
    const count = (file, score) => scores.set(file, Math.max(scores.get(file) || 0, score));
    for (const [stem, weight] of meanings) {
      if (Object.hasOwn(terms, stem)) [terms[stem]].flat().forEach((file) => count(file, weight * Ranking.weights.text));
      if (Object.hasOwn(titleterms, stem))
        [titleterms[stem]].flat().forEach((file) => count(file, weight * Ranking.weights.heading));
      pages.forEach((page, file) => {
        if (page.entry.has(stem)) count(file, weight * Ranking.weights.entry);
        if (page.title.has(stem)) count(file, weight * Ranking.weights.title);
      });
    }
    const rarity = scores.size ? Math.log(1 + pages.length / Math.max(4, scores.size)) : null;
    return { meanings, scores, rarity: rarity && SAYS_LITTLE.has(word) ? rarity / 4 : rarity };
  },

  /** The heading or index entry of a page that has most of the query, and how much of it. */
  bestPart: (page, words, total) => {
    let best = { share: 0, part: null };
    for (const part of page.parts) {
      let has = 0;
      let used = 0;
      for (const { meanings, rarity } of words) {
        const weight = Math.max(0, ...[...meanings].map(([stem, w]) => (part.stems.has(stem) ? w : 0)));
        has += weight * rarity;
        used += weight > 0;
      }
      const share = (has / total) * Math.sqrt(used / Math.max(used, part.stems.size));
      if (share > best.share) best = { share, part };
    }
    return best;
  },

  search: (searchTerms, excludedTerms) => {
    const index = Search._index;
    Ranking.prepared = Ranking.prepared || Ranking.prepare();
    const words = [...searchTerms].map(Ranking.wordScores);
    const known = words.filter((word) => word.rarity !== null);
    const weight = known.reduce((sum, word) => sum + word.rarity, 0);
    const total = weight * (words.length / Math.max(1, known.length)); // words that no page has count as the others do
    const has = (file, word) => [index.terms[word], index.titleterms[word]].flat().includes(file);
    const covers = Ranking.prepared.pages.map((_, file) => {
      const found = known.reduce((sum, { scores, rarity }) => sum + (scores.has(file) ? rarity : 0), 0);
      return total ? found / total : 0;
    });
    const least = Math.max(Ranking.least, Ranking.ofBest * Math.max(...covers));
    const results = [];
    Ranking.prepared.pages.forEach((page, file) => {
      const cover = covers[file];
      if (cover < least || [...excludedTerms].some((word) => has(file, word))) return;
      const counted = known.reduce((sum, { scores, rarity }) => sum + (scores.get(file) || 0) * rarity, 0);
      const { share, part } = Ranking.bestPart(page, known, total);
      const mean = counted / total / Ranking.weights.title;
      const score = page.prior * (Ranking.byWords * cover * (0.4 + 0.6 * mean) + Ranking.byHeading * share ** 2);
      const title = index.titles[file];
      const named = part && part.text && part.text !== title && share >= 0.5;
      results.push([
        index.docnames[file],
        named ? `${title} > ${part.text}` : title,
        part && part.id && share >= 0.5 ? `#${part.id}` : "",
        null,
        score,
        index.filenames[file],
        SearchResultKind.text,
      ]);
    });
    return results;
  },
};

Search.performTermsSearch = Ranking.search;
// Pages opened from a folder can't be fetched for an excerpt; each try would be an error.
if (typeof location !== "undefined" && location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
