"""Proving an export: `verify` walks; `log` checks entries and their chain, `positions` that nothing is missing or
twice, `objects` what is stored, `owners` whose keys these are; `findings` is what comes of it."""
