"""If differences between groups were between places

Support for each group's first choice, from the estimate to voting that depends on the place alone.
"""

from sumwise import synthetic
from sumwise.ecological import EcologicalEM, sensitivity_band
from sumwise.plots import plot_sensitivity_band

margins = synthetic.precincts(80, random_state=0).margins
plot_sensitivity_band(sensitivity_band(EcologicalEM().fit(margins), margins))
