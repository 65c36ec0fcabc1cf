"""From a request to a verified release."""
