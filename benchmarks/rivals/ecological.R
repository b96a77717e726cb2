# One method of an R package, on a county or on the example of King's package: Rscript ecological.R METHOD FILE.
# "package:" loads the package alone. Prints one line of JSON.
given <- commandArgs(trailingOnly = TRUE)
method <- given[1]
package <- sub(":.*", "", method)
suppressWarnings(suppressMessages(library(package, character.only = TRUE)))
if (grepl(":$", method)) quit()
groups <- c("wh", "bl", "natam")
parties <- c("dem", "rep", "non")
say <- function(...) cat(jsonlite::toJSON(list(...), digits = 8, auto_unbox = TRUE), "\n")
set.seed(0)
if (method == "ei:king") {
  data(matproii)
  invisible(capture.output(suppressMessages(out <- ei(t ~ x, total = "n", data = matproii))))
  say(shares = eiread(out, "maggs")[1:2], phi = as.numeric(out$phi))
  quit()
}
s <- read.csv(given[2])
cells <- lapply(groups, function(g) as.matrix(s[paste0(g, parties)]))
rows <- sapply(cells, rowSums)
cols <- Reduce(`+`, cells)
colnames(rows) <- groups
colnames(cols) <- parties
quantiles <- function(draws) list(
  shares = matrix(colMeans(draws), 3), lower = matrix(apply(draws, 2, quantile, .025), 3),
  upper = matrix(apply(draws, 2, quantile, .975), 3))
frame <- data.frame(rows, cols, total = rowSums(rows))
if (method == "fastei:mult") say(shares = run_em(X = cols, W = rows, method = "mult")$prob)
if (method == "fastei:mvn_pdf") say(shares = run_em(X = cols, W = rows, method = "mvn_pdf")$prob)
if (method == "fastei:mvn_pdf_sym") say(shares = run_em(X = cols, W = rows, method = "mvn_pdf", symmetric = TRUE)$prob)
if (method == "fastei:bootstrap") {  # its standard deviations as intervals of a normal distribution
  fit <- run_em(X = cols, W = rows, method = "mvn_pdf")
  sd <- bootstrap(fit, nboot = 100, seed = 0)$sd
  say(shares = fit$prob, lower = fit$prob - 1.96 * sd, upper = fit$prob + 1.96 * sd)
}
if (method == "lphom:nslphom_dual") say(shares = nslphom_dual(rows, cols, verbose = FALSE)$VTM12.w)
if (method == "ecolRxC:ecolRxC") say(shares = ecolRxC(rows, cols)$VTM)
if (method == "eiPack:ei.MD.bayes") {  # tuned as its help page does it
  formula <- cbind(dem, rep, non) ~ cbind(wh, bl, natam)
  invisible(capture.output(tuned <- tuneMD(formula, data = frame, ntunes = 10, totaldraws = 10000)))
  fit <- ei.MD.bayes(formula, data = frame, tune.list = tuned, sample = 1000, thin = 100, burnin = 100000)
  counts <- as.matrix(fit$draws$Cell.counts)  # groups fastest
  do.call(say, quantiles(sweep(counts, 2, rep(colSums(rows), 3), "/")))
}
if (method == "eiCompare:ei_iter") {  # King's model, pair by pair, by way of ei
  shares <- data.frame(rows / frame$total, cols / frame$total, total = frame$total)
  invisible(capture.output(suppressMessages(
    out <- ei_iter(shares, parties, groups, "total", name = "king", seed = 0))))
  found <- out$estimates
  pick <- function(column) sapply(parties, function(p) sapply(groups, function(g)
    found[[column]][found$cand == p & found$race == g]))
  say(shares = pick("mean"), lower = pick("ci_lower"), upper = pick("ci_upper"))
}
