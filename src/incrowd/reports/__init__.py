"""Pictures as SVG, and the HTML page about a release."""
