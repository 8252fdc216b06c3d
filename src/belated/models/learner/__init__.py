"""The live learner: from a spec to a player; its state, report and snapshot."""
