"""What is wrong with a pack, found by starting its worlds and playing its tasks."""
