def rate(nodes):
    return None


def said(theirs, ours):
    return "no slurm" if theirs is None else f"Slurm {theirs:.0f} jobs/s: {ours / theirs:.1f} times"
