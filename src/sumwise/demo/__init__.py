"""Stories for ``sumwise demo``, one per file; to add a story, add a file.

The file ``demo/NAME.py`` defines ``STORY``, and the demo finds it there::

    \"\"\"Who voted for whom: precinct totals to the cells.\"\"\"

    from sumwise.demo.story import Finding, Story


    def run(say):
        from sumwise.ecological import Goodman  # heavy imports stay inside
        ...
        say("200 precincts, two groups, two candidates; the cells are hidden.")
        ...
        return [Finding("support of group A for candidate 1", estimate, truth, low, high)]


    STORY = Story("Who voted for whom", family="ecological", run=run, order=20)

A story is about data generated from a fixed seed, so that the truth is known and every run says the same. It says a
few lines for somebody who has never seen the method (what is held, what is asked, what comes out), and ends in
findings, which print as "estimated ..., truth ..., interval covers: yes". It takes ten seconds at most, compilation
included, and writes no files outside of a temporary folder. Its test is ``tests/demo/test_NAME.py``; what holds
for all stories is tested in ``tests/demo/test_story.py``. Order: containers 10, ecological 20, proportions 30,
distribution 40, collective 50, maxent 60, aggregate 70, privacy 80.
"""

from sumwise.demo.story import Finding, Findings, Story, choose, stories

__all__ = ["Finding", "Findings", "Story", "choose", "stories"]
