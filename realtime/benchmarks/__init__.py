"""What `warmline bench` measures of the service; the engine's own benchmark is part of the engine."""
