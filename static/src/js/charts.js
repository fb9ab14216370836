// Draws each <div data-chart data-option="{…}"> from the ECharts option in its attribute.
import { BarChart, GaugeChart, HeatmapChart, LineChart, PieChart, ScatterChart } from "echarts/charts";
import {
  DatasetComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

echarts.use([BarChart, GaugeChart, HeatmapChart, LineChart, PieChart, ScatterChart, CanvasRenderer]);
echarts.use([DatasetComponent, GridComponent, LegendComponent, MarkLineComponent]);
echarts.use([TitleComponent, TooltipComponent, VisualMapComponent]);

// Told apart on either ground, at 3:1 against it.
const COLOURS = {
  light: ["#0b6e8f", "#b45309", "#6d28d9", "#15803d", "#be123c", "#475569"],
  dark: ["#4fb3d4", "#fbbf24", "#b79df5", "#4ade80", "#fb7185", "#cbd5e1"],
};

const resized = new ResizeObserver((entries) => {
  for (const entry of entries) echarts.getInstanceByDom(entry.target)?.resize();
});

function draw(element) {
  echarts.getInstanceByDom(element)?.dispose();
  const dark = document.documentElement.dataset.bsTheme === "dark";
  const chart = echarts.init(element, dark ? "dark" : undefined);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  chart.setOption({
    backgroundColor: "transparent",
    color: COLOURS[dark ? "dark" : "light"],
    animation: !still,
    ...JSON.parse(element.dataset.option),
  });
  resized.observe(element);
}

function drawAll(root) {
  if (root.matches?.("[data-chart]")) draw(root);
  for (const element of root.querySelectorAll("[data-chart]")) draw(element);
}

document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt));
document.addEventListener("weir:theme", () => drawAll(document));
document.addEventListener("htmx:beforeCleanupElement", (event) => {
  if (!event.target.matches?.("[data-chart]")) return;
  resized.unobserve(event.target);
  echarts.getInstanceByDom(event.target)?.dispose();
});
drawAll(document);
