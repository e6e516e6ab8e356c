"""No test here depends on how fast the machine is."""

from hypothesis import HealthCheck, settings

settings.register_profile("properties", deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("properties")
