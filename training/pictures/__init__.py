"""Pictures of what runs logged and of what evaluations found. `plots.py` is their door."""
