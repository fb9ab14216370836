"""The guided tours: for each built-in role, the pages of its first day in order, and what is done on each."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Stop:
    """One page of a tour: `view` is an entry of the navigation, whose permissions are the stop's too."""

    view: str
    title: str | Promise
    text: str | Promise


_TOKENS = Stop(
    "identity:tokens",
    _("A token for programs"),
    _(
        "The command line and your own programs sign in with a token instead of your password. It is shown once and "
        "can be revoked here."
    ),
)
_MESSAGES = Stop(
    "notices:messages",
    _("What you are told"),
    _("Decisions, ends of terms and warnings come here, and by e-mail where the centre sends any."),
)
_HELP = Stop(
    "tickets:tickets",
    _("When you need help"),
    _("Open a ticket and see who works on it and until when it is to be answered."),
)
_CUSTOMERS = Stop(
    "operator:tenants",
    _("Customers"),
    _(
        "A new tenant gets its first administrator, an account and a quota in one form. On its page you see "
        "what it uses, what it owes, and who its people are."
    ),
)
_ALARMS = Stop(
    "operator:alarms",
    _("What cannot wait"),
    _("Faults and limits, with what to do. Rules and who is called are a click away."),
)
_INBOX = Stop(
    "operator:inbox",
    _("What waits for you"),
    _("Applications that need a decision of the centre, the oldest first."),
)
_STATISTICS = Stop(
    "operator:statistics",
    _("How it goes"),
    _("Resources, tasks, operations and energy by day, week or month."),
)

TENANT_TOURS: dict[str, tuple[Stop, ...]] = {
    "tenant_front_line": (
        Stop(
            "console:home",
            _("Everything at a glance"),
            _(
                "What runs for you, what you asked for lately, and what it costs. The figures change by themselves."
            ),
        ),
        Stop(
            "catalog:commodities",
            _("Ask for a service"),
            _(
                "Open a commodity, say how much of it you need, and submit. The price is shown before, and the people "
                "who decide are told at once."
            ),
        ),
        Stop(
            "workloads:workloads",
            _("What you were given"),
            _(
                "Each resource has a page: its log and figures, a terminal, its files, and buttons to resize or end it."
            ),
        ),
        Stop(
            "workloads:environments",
            _("A notebook with one click"),
            _("Start JupyterLab from a template. It stops when nobody uses it, and its files stay."),
        ),
        Stop(
            "files:volumes",
            _("Your data"),
            _(
                "Upload files here or with weir cp. A volume is there in every piece of work that you mount it into."
            ),
        ),
        Stop(
            "client:install",
            _("The command line"),
            _(
                "Copy the line to install weir. After that, weir submit train.py runs your script in the pool."
            ),
        ),
        _TOKENS,
    ),
    "tenant_decision_maker": (
        Stop(
            "approvals:inbox",
            _("What waits for you"),
            _(
                "Each task shows who asks, for what and at which price. Approve it, return it with a remark, or hand "
                "it over."
            ),
        ),
        Stop(
            "orders:forms",
            _("How far an application is"),
            _("Every application shows its steps: who decided what and when, and who is next."),
        ),
        Stop(
            "billing:costs",
            _("What it costs"),
            _("Costs by day, service, organization, business system and person."),
        ),
        _MESSAGES,
    ),
    "tenant_operations_manager": (
        Stop(
            "billing:account",
            _("The money there is"),
            _(
                "Balance, credit limit and what is reserved. New work starts only while they last; people are told "
                "before they end."
            ),
        ),
        Stop(
            "billing:costs",
            _("Where it goes"),
            _(
                "Costs by day, service, organization, business system and person, to be downloaded as a table."
            ),
        ),
        Stop(
            "billing:bills",
            _("The bills"),
            _("Each line of a bill names the resource, the time and the price that it was reckoned from."),
        ),
        Stop(
            "catalog:coupons",
            _("Coupons"),
            _("Claim what the centre gives away; it is used before the balance is."),
        ),
        Stop(
            "workloads:workloads",
            _("What the tenant uses"),
            _("All resources of your people. End here what somebody who left has forgotten."),
        ),
        _HELP,
    ),
    "tenant_system_administrator": (
        Stop(
            "people:people",
            _("Bring your people in"),
            _(
                "Invite them by e-mail or by a link, one by one or from a table, and give each a role. Somebody must "
                "have a role that decides before an application can be submitted."
            ),
        ),
        Stop(
            "orgs:organizations",
            _("How the tenant is divided"),
            _(
                "Organizations and business systems, each with its members and its quota. Costs are shown by both."
            ),
        ),
        _HELP,
        _TOKENS,
        _MESSAGES,
    ),
}
PROVIDER_TOURS: dict[str, tuple[Stop, ...]] = {
    "system_administrator": (
        Stop(
            "operator:home",
            _("What the centre still lacks"),
            _(
                "Until everything is there to sell, this page lists what is missing, each with a link to where it "
                "is made."
            ),
        ),
        Stop(
            "operator:centre",
            _("The centre itself"),
            _(
                "Its name, language, time zone and how it sends e-mail. Try the e-mail before you invite anybody."
            ),
        ),
        Stop(
            "operators:operators",
            _("Your colleagues"),
            _("Operators, their roles and posts. A role shows its own part of the menu and nothing else."),
        ),
        _CUSTOMERS,
        Stop(
            "ticketing:categories",
            _("Who answers what"),
            _("Categories of tickets, the form of each, and whom it goes to."),
        ),
        Stop(
            "operator:logs",
            _("When something went wrong"),
            _("The log of all servers and nodes in one place, found by time, part and word."),
        ),
    ),
    "cluster_administrator": (
        Stop(
            "fleet:nodes",
            _("Add a node"),
            _(
                "The page shows the line to run on the new machine. It joins by itself, and its cards appear here."
            ),
        ),
        Stop(
            "fleet:devices",
            _("The cards"),
            _(
                "Each with its health, what it does now and who has which part. Take one out of use before repair."
            ),
        ),
        Stop(
            "fleet:groups",
            _("Who may use which cards"),
            _("Resource groups put devices together and open them to tenants."),
        ),
        Stop(
            "scheduling_admin:queues",
            _("Queues"),
            _(
                "Shares, limits and priorities of the work that waits. A change says beforehand what it would change."
            ),
        ),
        Stop(
            "scheduling_admin:environment_templates",
            _("Environments with one click"),
            _("What people may start: its image, its size and which accelerator it gets."),
        ),
        _ALARMS,
        Stop(
            "rollouts:components",
            _("Keep it up to date"),
            _("The version of every part, and new releases brought to one node first, then to the others."),
        ),
    ),
    "operations_manager": (
        Stop(
            "catalogue_admin:commodities",
            _("What you sell"),
            _(
                "A commodity says what the buyer gets, what is asked in the form, who approves and what it costs. A "
                "change makes a new version; running orders keep theirs."
            ),
        ),
        _INBOX,
        Stop(
            "operator:cases",
            _("Every application and order"),
            _("Find one by number, tenant, person or state, and take the list away as a table."),
        ),
        _CUSTOMERS,
        _STATISTICS,
    ),
    "front_line": (
        Stop(
            "operator:tickets",
            _("Your work"),
            _("Claim a ticket, carry it out and answer it here; the clock shows until when."),
        ),
        _INBOX,
        Stop(
            "operator:pool",
            _("The pool now"),
            _("What is used, what is free and what waits, by kind of card."),
        ),
        _ALARMS,
    ),
    "executive": (
        Stop(
            "operator:home",
            _("The centre on one page"),
            _("What is sold, what is used and what it brings, up to this minute."),
        ),
        _STATISTICS,
        Stop(
            "operator:capacity",
            _("When more is needed"),
            _("What was asked for by day, and when it will be more than there is."),
        ),
    ),
}
