# seine's debiased estimates of every contest in a folder: Rscript seine.R FOLDER, with 0.csv, 1.csv, ... of shares of
# groups (g0, g1, ...) and outcomes (o0, o1, ...) and a total. Prints one line of JSON, a list in the files' order.
suppressMessages(library(seine))
files <- list.files(commandArgs(trailingOnly = TRUE)[1], full.names = TRUE)
files <- files[order(as.integer(sub(".csv", "", basename(files))))]
one <- function(file) tryCatch({
  began <- proc.time()[["elapsed"]]
  units <- read.csv(file)
  groups <- grep("^g", names(units), value = TRUE)
  outcomes <- grep("^o", names(units), value = TRUE)
  spec <- ei_spec(units, tidyselect::all_of(groups), tidyselect::all_of(outcomes), total = total)
  model <- ei_ridge(spec)
  found <- ei_est(regr = model, riesz = ei_riesz(spec, penalty = model$penalty), data = spec, conf_level = 0.95)
  as_table <- function(column) lapply(groups, function(g) sapply(outcomes, function(o)
    found[[column]][found$predictor == g & found$outcome == o], USE.NAMES = FALSE))
  list(estimate = as_table("estimate"), low = as_table("conf.low"), high = as_table("conf.high"),
       seconds = proc.time()[["elapsed"]] - began)
}, error = function(e) list(error = conditionMessage(e)))
cat(jsonlite::toJSON(lapply(files, one), digits = 8, auto_unbox = TRUE), "\n")
