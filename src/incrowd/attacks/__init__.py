"""What an adversary gets out of a table: one module for each attack or family of attacks."""
