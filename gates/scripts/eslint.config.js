// Our own scripts: the bundles in static/dist, what is served of them, and packages are not ours.
import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/dist/**", "**/served/**"] },
  js.configs.recommended,
  {
    files: ["**/static/src/js/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "always"],
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["**/static/build.mjs"], languageOptions: { globals: globals.node } },
];
