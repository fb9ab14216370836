"""Files that say how a job is to run, as people bring them from elsewhere: batch scripts of Slurm and PBS, a Kubernetes
Job, a SkyPilot task. Each directive is taken, or named with why it is not."""
