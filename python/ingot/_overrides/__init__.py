"""Overrides: torch's own operators carried out by ingot.

The descriptions of the operations declare them, with dispatch.py (how an operator is replaced) and limits.py (which
calls go to ingot); measured.py has the figures; control.py is what users call.
"""
