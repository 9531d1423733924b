"""The report as one page: no request, no third party, everything that the user wrote escaped."""
