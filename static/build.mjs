// Bundles static/src and the installed front-end packages into static/dist.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const source = path.join(here, "src");
const target = path.join(here, "dist");
const draft = path.join(here, `.dist-${process.pid}`);

// Every browser we serve reads woff2; the older formats would triple the size.
const onlyWoff2 = {
  name: "only-woff2",
  setup(build) {
    build.onResolve({ filter: /\.(woff|ttf|eot|svg)(\?.*)?$/ }, () => ({ path: "data:,", external: true }));
  },
};

// Of five thousand icons a page loads those that pages show: src/icons.txt names them.
const onlyOurIcons = {
  name: "only-our-icons",
  setup(build) {
    build.onLoad({ filter: /tabler-icons\.min\.css$/ }, async ({ path: file }) => {
      const names = (await readFile(path.join(source, "icons.txt"), "utf8")).split("\n").filter(Boolean);
      const missing = new Set(names);
      const contents = (await readFile(file, "utf8")).replace(/\.ti-([a-z0-9-]+):before\{[^}]*\}/g, (rule, name) =>
        missing.delete(name) ? rule : "",
      );
      if (missing.size) throw new Error(`src/icons.txt names icons that there are not: ${[...missing].join(", ")}`);
      return { contents, loader: "css", resolveDir: path.dirname(file) };
    });
  },
};

async function manifest(folder) {
  const files = {};
  for (const name of (await readdir(folder)).sort()) {
    const content = await readFile(path.join(folder, name));
    files[name] = { bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
  }
  return files;
}

await rm(draft, { recursive: true, force: true });
await mkdir(draft);
try {
  await esbuild.build({
    entryPoints: {
      vendor: path.join(source, "js/vendor.js"),
      app: path.join(source, "js/app.js"),
      theme: path.join(source, "js/theme.js"),
      echarts: path.join(source, "js/charts.js"),
      terminal: path.join(source, "js/terminal.js"),
      tour: path.join(source, "js/tour.js"),
      drawing: path.join(source, "js/drawing.js"),
    },
    outdir: draft,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    legalComments: "eof",
    logLevel: "warning",
  });
  await esbuild.build({
    entryPoints: {
      vendor: path.join(source, "css/vendor.css"),
      app: path.join(source, "css/app.css"),
      terminal: path.join(source, "css/terminal.css"),
      tour: path.join(source, "css/tour.css"),
      drawing: path.join(source, "css/drawing.css"),
    },
    outdir: draft,
    bundle: true,
    minify: true,
    target: "es2022",
    loader: { ".woff2": "file" },
    assetNames: "[name]",
    plugins: [onlyWoff2, onlyOurIcons],
    legalComments: "eof",
    logLevel: "warning",
  });
  await writeFile(path.join(draft, "manifest.json"), JSON.stringify(await manifest(draft), null, 2) + "\n");
  await rm(target, { recursive: true, force: true });
  await rename(draft, target);
} finally {
  await rm(draft, { recursive: true, force: true });
}
