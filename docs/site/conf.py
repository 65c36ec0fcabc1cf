"""What Sphinx is told about the site. `build.py` stages the pages and starts it."""

import incrowd

project = "incrowd"
author = "the authors of incrowd"
version = release = incrowd.__version__
root_doc = "index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4  # as Git hosts name them

highlight_language = "none"  # a block that names no language has none, such as claims and folders
default_role = "code"  # docstrings have single backquotes
napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what parameters are
autodoc_preserve_defaults = True  # as they are written, not as they print
python_display_short_literal_types = True
nitpicky = False  # results are described in docstrings, many by classes that are not public

html_theme = "furo"
html_title = "incrowd"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
