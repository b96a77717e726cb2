"""Tables to differentially private tables."""
