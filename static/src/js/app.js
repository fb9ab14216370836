// Starts what every page has.
import { protectRequests } from "./csrf.js";
import { followTopics } from "./live.js";
import { sendFormsOnce } from "./once.js";

protectRequests();
sendFormsOnce();
followTopics();
