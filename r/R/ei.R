# Ecological inference by the Python library sumwise. Each function hands its data over and its frame back: nothing is
# computed in R, so that numbers are those of Python.

methods <- c("EcologicalEM", "King", "MultinomialDirichlet", "Goodman", "Bounds")

library_of <- function(module) reticulate::import(module, delay_load = FALSE)

# R writes 1000 as a double; Python's counts are whole numbers.
python_values <- function(values) {
  lapply(values, function(x) if (is.numeric(x) && length(x) == 1 && x == round(x) && abs(x) < 1e9) as.integer(x) else x)
}

# A formula's side as a data frame: cbind(a, b) has a column for each, a share alone has one.
side_of <- function(part, data, where) {
  values <- eval(part, data, where)
  if (is.data.frame(values)) return(values)
  if (!is.matrix(values)) return(setNames(data.frame(values), paste(deparse(part), collapse = "")))
  if (is.null(colnames(values))) {
    colnames(values) <- if (is.call(part)) vapply(as.list(part)[-1], function(x) paste(deparse(x), collapse = ""), "")
  }
  as.data.frame(values, check.names = FALSE)
}

margins_of <- function(formula, data, total, unit, mismatch) {
  if (!inherits(formula, "formula") || length(formula) != 3) stop("formula is outcomes ~ groups, as cbind(yes, no) ~ cbind(black, white)")
  where <- environment(formula)
  sides <- list(cols = side_of(formula[[2]], data, where), rows = side_of(formula[[3]], data, where))
  if (any(vapply(sides, ncol, 0L) == 1) && is.null(total)) stop("a share alone needs total=, the column of how many people it is of")
  frame <- data.frame(row.names = seq_len(nrow(data)))
  named <- list()
  for (side in names(sides)) {
    columns <- reticulate::dict()
    for (name in names(sides[[side]])) {
      column <- paste(side, name)
      frame[[column]] <- as.numeric(sides[[side]][[name]])
      reticulate::py_set_item(columns, name, column)
    }
    if (ncol(sides[[side]]) == 1) reticulate::py_set_item(columns, paste("not", names(sides[[side]])), NULL)
    named[[side]] <- columns
  }
  if (!is.null(total)) frame[["people"]] <- as.numeric(if (is.character(total)) data[[total]] else total)
  if (!is.null(unit)) frame[["unit"]] <- as.character(data[[unit]])
  library_of("sumwise")$Margins$from_frame(
    python_frame(frame), named$rows, named$cols, total = if (!is.null(total)) "people",
    unit = if (!is.null(unit)) "unit", mismatch = mismatch
  )
}

ei <- function(formula, data, total = NULL, method = "EcologicalEM", unit = NULL, mismatch = "raise", level = 0.95, ...) {
  method <- match.arg(method, methods)
  margins <- margins_of(formula, data, total, unit, mismatch)
  fit <- do.call(library_of("sumwise.ecological")[[method]], python_values(list(...)))
  fit$fit(margins)
  made <- list(fit = fit, margins = margins, method = method, level = level, call = match.call())
  made$estimates <- r_frame(fit$estimate(level)$to_frame())
  structure(made, class = "sumwise_ei")
}

bounds <- function(formula, data, ...) ei(formula, data, method = "Bounds", ...)

# Column by column: reticulate knows the frames of some versions of pandas only.
r_frame <- function(frame) {
  columns <- frame$to_dict("list")
  as.data.frame(lapply(columns, unlist), optional = TRUE, stringsAsFactors = FALSE)
}

python_frame <- function(frame) library_of("pandas")$DataFrame(lapply(as.list(frame), as.list))

# An array of NumPy, which old versions of reticulate leave as it is.
r_array <- function(x) {
  if (is.numeric(x)) return(x)
  array(unlist(x$ravel(order = "F")$tolist()), dim = unlist(x$shape))
}

as.data.frame.sumwise_ei <- function(x, ...) x$estimates

print.sumwise_ei <- function(x, digits = 3, ...) {
  cat(x$method, ": ", x$margins$n_units, " units, ", 100 * x$level, "% intervals (", x$fit$interval_kind, ")\n", sep = "")
  print(x$estimates, digits = digits, row.names = FALSE)
  invisible(x)
}

summary.sumwise_ei <- function(object, ...) {
  list(estimates = object$estimates, sensitivity = tryCatch(sensitivity(object), error = function(e) NULL),
       interval_kind = object$fit$interval_kind, converged = object$fit$fit_$converged)
}

ei_units <- function(object, level = object$level) {
  m <- object$margins
  shares <- r_array(object$fit$cells_)
  ends <- if (object$method == "Bounds") NULL else object$fit$unit_interval(m, level)
  index <- expand.grid(unit = seq_len(dim(shares)[1]), group = seq_len(dim(shares)[2]), outcome = seq_len(dim(shares)[3]))
  names <- list(vapply(library_of("builtins")$list(m$units), as.character, ""), unlist(m$row_names), unlist(m$col_names))
  found <- data.frame(unit = names[[1]][index$unit], group = names[[2]][index$group], outcome = names[[3]][index$outcome],
                      share = as.vector(shares))
  if (!is.null(ends)) found[c("low", "high")] <- list(as.vector(r_array(ends[[1]])), as.vector(r_array(ends[[2]])))
  found
}

ei_draws <- function(object, n_draws = 2000, seed = 0) {
  values <- r_array(object$fit$draws(as.integer(n_draws), as.integer(seed))$values)
  dimnames(values) <- list(NULL, unlist(object$margins$row_names), unlist(object$margins$col_names))
  values
}

sensitivity <- function(object) r_frame(library_of("sumwise.ecological")$sensitivity(object$fit, object$margins))

polarised_voting <- function(contests, ...) {
  if (inherits(contests, "sumwise_ei")) contests <- list(contest = contests)
  fits <- reticulate::dict()
  for (name in names(contests)) reticulate::py_set_item(fits, name, contests[[name]]$fit)
  r_frame(do.call(library_of("sumwise.voting")$polarised_voting, c(list(fits), python_values(list(...)))))
}

plot.sumwise_ei <- function(x, xlab = "share of the group", ...) {
  e <- x$estimates
  places <- rev(seq_len(nrow(e)))
  before <- par(mar = c(4, 12, 1, 1))
  on.exit(par(before))
  plot(e$share, places, xlim = c(0, 1), yaxt = "n", ylab = "", xlab = xlab, pch = 19, ...)
  axis(2, places, paste(e$group, e$outcome, sep = ": "), las = 1, cex.axis = 0.8)
  segments(e$lower_bound, places, e$upper_bound, places, col = "grey80", lwd = 6)
  segments(e$low, places, e$high, places, lwd = 2)
  points(e$share, places, pch = 19)
  invisible(e)
}
