"""Reports on releases: facts, words and pictures on one page, and charts as SVG."""
