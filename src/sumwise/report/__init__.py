"""From results to one offline page."""
