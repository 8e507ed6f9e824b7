"""Dead letters: `dead_letters` writes those of a range, `objects` reads them, `report` sends them to their topic,
`redrive` back to the one that they come from, those that are of the export (`live`)."""
