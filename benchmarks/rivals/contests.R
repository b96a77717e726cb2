# What a package estimates of every contest in a folder: Rscript contests.R PACKAGE FOLDER, with 0.csv, 1.csv, ... of
# shares of groups (g0, g1, ...) and outcomes (o0, o1, ...) and a total. Prints one line of JSON, a list in the files'
# order. seine: debiased estimates, ridge regression. fastei:joint, fastei:average: EM by the normal density, symmetric
# in rows and columns by a joint E step (its default) or by the average of both directions.
given <- commandArgs(trailingOnly = TRUE)
asked <- strsplit(given[1], ":")[[1]]
suppressMessages(library(asked[1], character.only = TRUE))
files <- list.files(given[2], full.names = TRUE)
files <- files[order(as.integer(sub(".csv", "", basename(files))))]
by_seine <- function(units, groups, outcomes) {
  spec <- ei_spec(units, tidyselect::all_of(groups), tidyselect::all_of(outcomes), total = total)
  model <- ei_ridge(spec)
  found <- ei_est(regr = model, riesz = ei_riesz(spec, penalty = model$penalty), data = spec, conf_level = 0.95)
  as_table <- function(column) lapply(groups, function(g) sapply(outcomes, function(o)
    found[[column]][found$predictor == g & found$outcome == o], USE.NAMES = FALSE))
  list(estimate = as_table("estimate"), low = as_table("conf.low"), high = as_table("conf.high"))
}
by_fastei <- function(units, groups, outcomes) {
  counts <- function(names) unname(round(as.matrix(units[names]) * units$total))
  fit <- run_em(X = counts(outcomes), W = counts(groups), method = "mvn_pdf", symmetric = TRUE,
                symmetric_weight_method = asked[2])
  list(estimate = lapply(seq_along(groups), function(r) unname(fit$prob[r, ])))
}
one <- function(file) tryCatch({
  began <- proc.time()[["elapsed"]]
  units <- read.csv(file)
  groups <- grep("^g", names(units), value = TRUE)
  outcomes <- grep("^o", names(units), value = TRUE)
  found <- get(paste0("by_", asked[1]))(units, groups, outcomes)
  c(found, seconds = proc.time()[["elapsed"]] - began)
}, error = function(e) list(error = conditionMessage(e)))
cat(jsonlite::toJSON(lapply(files, one), digits = 8, auto_unbox = TRUE), "\n")
