"""The user's source: its lines, its expressions and what feeds what."""
