"""The live learner: from a spec to a program, its state, its report and its snapshot."""
