"""AMD Instinct and Radeon, by `rocm-smi --json`."""

from __future__ import annotations

from node_agent.drivers.rocm_json import rocm_cards
from node_agent.drivers.tool_driver import Card, ToolDriver


class AmdDriver(ToolDriver):
    """ROCm presents itself to PyTorch as CUDA."""

    vendor, tool = "amd", "rocm-smi"
    arguments = ("--showproductname", "--showuniqueid", "--showuse", "--showmeminfo", "vram", "--showtemp",
                 "--showpower", "--showdriverversion", "--json")  # fmt: skip
    visible, torch_name = "HIP_VISIBLE_DEVICES", "cuda:0"
    api, api_file = "ROCm", "/opt/rocm/.info/version"

    def parse(self, text: str) -> list[Card]:
        return rocm_cards(text, default_model="AMD GPU")
