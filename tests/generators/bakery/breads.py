BREADS = ("rye", "spelt", "white", "walnut")
