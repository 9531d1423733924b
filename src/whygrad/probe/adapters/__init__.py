"""Other people's agents as the protocol wants them; no verdict is given here."""
