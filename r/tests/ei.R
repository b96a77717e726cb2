# Rscript ei.R FOLDER: fits the precincts in FOLDER/votes.csv and writes what was found there, for the test in Python.
library(sumwise)
folder <- commandArgs(TRUE)[1]
votes <- read.csv(file.path(folder, "votes.csv"), check.names = FALSE)

found <- ei(cbind(A, B, stayed) ~ cbind(black, white), votes, unit = "precinct", level = 0.9)
write.csv(as.data.frame(found), file.path(folder, "estimates.csv"), row.names = FALSE)
write.csv(ei_units(found), file.path(folder, "units.csv"), row.names = FALSE)
print(found)
stopifnot(identical(dim(ei_draws(found, 50)), c(50L, 2L, 3L)), abs(sum(ei_draws(found, 50)[1, "black", ]) - 1) < 1e-9)
stopifnot(nrow(sensitivity(found)) == 2, nrow(polarised_voting(list(mayor = found), abstention = "stayed")) == 2)
stopifnot(isTRUE(summary(found)$converged))

votes$people <- votes$black + votes$white
votes$x <- votes$black / votes$people
votes$t <- votes$A / votes$people
king <- ei(t ~ x, votes, total = "people", method = "King", n_draws = 100)
write.csv(as.data.frame(king), file.path(folder, "king.csv"), row.names = FALSE)
write.csv(as.data.frame(bounds(t ~ x, votes, total = "people")), file.path(folder, "bounds.csv"), row.names = FALSE)

votes$A[1] <- votes$A[1] + 1
refused <- tryCatch(ei(cbind(A, B, stayed) ~ cbind(black, white), votes), error = conditionMessage)
stopifnot(grepl("1 of 40 units", refused), grepl("Hint", refused))
pdf(file.path(folder, "plot.pdf"))
plot(found)
invisible(dev.off())
