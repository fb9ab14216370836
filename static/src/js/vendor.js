// The kit's behaviour (menus, dialogs, tabs) and htmx, configured for a page that forbids inline code.
import "@tabler/core";
import htmx from "htmx.org";

htmx.config.allowEval = false;
htmx.config.allowScriptTags = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.selfRequestsOnly = true;
htmx.config.historyCacheSize = 0;
window.htmx = htmx;
