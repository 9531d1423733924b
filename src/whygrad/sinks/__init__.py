"""Where telemetry goes: one file per destination; each gets plain records."""
