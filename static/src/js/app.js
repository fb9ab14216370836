// Starts what every page has.
import { askFirst } from "./confirm.js";
import { protectRequests } from "./csrf.js";
import { linkFields } from "./fields.js";
import { followLogs } from "./follow.js";
import { followTopics } from "./live.js";
import { sendFormsOnce } from "./once.js";
import { showProblems } from "./problems.js";
import { fitTables } from "./tables.js";
import { keepOwnTabSeen } from "./tabs.js";
import { takeUploads } from "./uploads.js";

protectRequests();
sendFormsOnce();
askFirst();
showProblems();
linkFields();
followLogs();
followTopics();
fitTables();
keepOwnTabSeen();
takeUploads();
