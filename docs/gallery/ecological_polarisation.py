"""Racially polarised voting: each group less all others

Filled marks are differences whose interval excludes zero.
"""

from sumwise import synthetic
from sumwise.ecological import EcologicalEM
from sumwise.plots import plot_polarisation, polarisation_numbers
from sumwise.voting import voting_patterns

fit = EcologicalEM().fit(synthetic.precincts(120, 3, 3, random_state=2).margins)
plot_polarisation(polarisation_numbers(voting_patterns(fit)))
