// Starts what every page has.
import { askFirst } from "./confirm.js";
import { protectRequests } from "./csrf.js";
import { linkFields } from "./fields.js";
import { followLogs } from "./follow.js";
import { tryCalls } from "./help.js";
import { followTopics } from "./live.js";
import { showLogs } from "./log.js";
import { foldMenu } from "./menu.js";
import { sendFormsOnce } from "./once.js";
import { openPalette } from "./palette.js";
import { showProblems } from "./problems.js";
import { fitTables } from "./tables.js";
import { takeUploads } from "./uploads.js";

protectRequests();
sendFormsOnce();
askFirst();
foldMenu();
openPalette();
showProblems();
linkFields();
followLogs();
showLogs();
followTopics();
fitTables();
takeUploads();
tryCalls();
