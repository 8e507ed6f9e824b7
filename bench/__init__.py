"""`make bench`: what a record costs, beside what it costs to read it and throw it away."""
