"""What `subworlds bench` measures, room by room, and the processes it measures."""
