"""`demo --paper`: the running example of each paper, told step by step by what the program does with it."""
