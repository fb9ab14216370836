// Bundles static/src and the installed front-end packages into static/dist.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import esbuild from "esbuild";
import { PurgeCSS } from "purgecss";
import subsetFont from "subset-font";

const here = path.dirname(fileURLToPath(import.meta.url));
const source = path.join(here, "src");
const target = path.join(here, "dist");
const draft = path.join(here, `.dist-${process.pid}`);

// What pages are made of besides classes.
const ELEMENTS =
  ("html body a abbr address article aside b blockquote br button caption code col colgroup dd del details dialog div dl dt " +
    "em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr i iframe img input kbd label legend li main mark " +
    "nav ol optgroup option output p pre progress s samp section select small span strong sub summary sup svg table tbody " +
    "td textarea tfoot th thead time tr ul var video").split(" ");

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

// Of the kit's rules a page loads those whose classes our pages write: src/classes.txt names them, the icons' too.
async function purge(folder) {
  const file = path.join(folder, "vendor.css");
  const names = ["classes.txt", "icons.txt"].map((list) => readFile(path.join(source, list), "utf8"));
  const [classes, icons] = (await Promise.all(names)).map((text) => text.split("\n").filter(Boolean));
  const kept = new Set([...classes, "ti", ...icons.map((name) => `ti-${name}`)]);
  const whole = await readFile(file, "utf8");
  // Elements and attributes are kept whole, by every name and value that the kit asks for: they are the page's ground.
  const attributes = [...whole.matchAll(/\[([a-z-]+)(?:[~|^$*]?=["']?([^"'\]]*)["']?)?\]/g)];
  const ground = [...ELEMENTS, ...attributes.flatMap(([, name, value]) => [name, value ?? ""])];
  const [{ css }] = await new PurgeCSS().purge({
    content: [{ raw: [...kept, ...ground].join("\n"), extension: "txt" }],
    css: [{ raw: whole }],
    defaultExtractor: (text) => text.split("\n"),
    keyframes: true,
  });
  await writeFile(file, css);
}

// And of the icons' font the glyphs of those icons.
async function subset(folder) {
  const file = path.join(folder, "tabler-icons.woff2");
  const rules = await readFile(path.join(folder, "vendor.css"), "utf8");
  const glyphs = [...rules.matchAll(/\.ti-[a-z0-9-]+:+before\{content:"\\?([^"]+)"/g)].map(([, glyph]) =>
    /^[0-9a-f]{4,5}$/.test(glyph) ? String.fromCodePoint(Number.parseInt(glyph, 16)) : glyph,
  );
  if (!glyphs.length) throw new Error("the style sheet draws no icon");
  await writeFile(file, await subsetFont(await readFile(file), glyphs.join(""), { targetFormat: "woff2" }));
}

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
      uploads: path.join(source, "js/uploads.js"),
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
  await purge(draft);
  await subset(draft);
  await writeFile(path.join(draft, "manifest.json"), JSON.stringify(await manifest(draft), null, 2) + "\n");
  await rm(target, { recursive: true, force: true });
  await rename(draft, target);
} finally {
  await rm(draft, { recursive: true, force: true });
}
