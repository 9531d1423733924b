"""Producers of traces: one folder per framework."""
