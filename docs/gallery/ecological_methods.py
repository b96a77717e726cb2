"""Several methods side by side

Where methods with different assumptions agree, the answer depends less on any one of them.
"""

from sumwise import synthetic
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King
from sumwise.plots import method_numbers, plot_methods

margins = synthetic.precincts(80, random_state=3).margins
methods = {"EM": EcologicalEM(), "King": King(random_state=0), "Goodman": Goodman(), "middle of bounds": Bounds()}
plot_methods(method_numbers({name: method.fit(margins) for name, method in methods.items()}))
