"""Stand in for files that are not there: small, drawn or made up, and always the same."""
