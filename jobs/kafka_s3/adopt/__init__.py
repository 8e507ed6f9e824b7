"""Taking over a bucket without a log: `adopt` looks and writes; `objects` reads names, `count` what the last objects
hold, `decide` where each partition goes on, `positions` a person's own word."""
