"""What analysts do with an ecological fit: turnout, candidates of choice, polarisation, districts, race from names."""

from sumwise.voting.ballot_forms import merge_lines, ranked_choice_rounds
from sumwise.voting.candidates_of_choice import VotingPatterns, voting_patterns
from sumwise.voting.central_votes import allocate_central_votes
from sumwise.voting.districts import district_performance
from sumwise.voting.homogeneous_precincts import homogeneous_units
from sumwise.voting.polarisation import POLARISED, decisive_groups, polarised_voting
from sumwise.voting.surname_geocoding import bisg, uncertain_margins
from sumwise.voting.turnout_by_group import Turnout, turnout

__all__ = [
    "POLARISED",
    "Turnout",
    "VotingPatterns",
    "allocate_central_votes",
    "bisg",
    "decisive_groups",
    "district_performance",
    "homogeneous_units",
    "merge_lines",
    "polarised_voting",
    "ranked_choice_rounds",
    "turnout",
    "uncertain_margins",
    "voting_patterns",
]
