"""What programs write of themselves: where it lies, and how much of it counts. Client and portal go by the same."""

# Below the folder that a program runs in, and the variable that names it.
FOLDER = "weir-metrics"
VARIABLE = "WEIR_METRICS_DIR"

NAMES_PER_WORK = 200
NAME_CHARACTERS = 120
LINE_BYTES = 64 * 1024
STEP_MAX = 2**53
POINTS_PER_BATCH = 2_000
