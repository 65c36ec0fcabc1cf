"""What each command does, as a function of Python."""
