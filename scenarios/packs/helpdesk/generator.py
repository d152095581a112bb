"""The helpdesk's rows and tasks."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from cast import (
    AGENTS,
    ARTICLES,
    DEPARTMENTS,
    MODELS,
    NOW,
    OFFICES,
    ONLY,
    PEOPLE,
    POLICY,
    SLAS,
    SOFTWARE,
    SUBJECTS,
    TAGS,
    TEAMS,
    TITLES,
)
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]
Rows = Iterator[tuple[str, dict[str, object]]]

MOMENT = datetime.fromisoformat(NOW)
TODAY = MOMENT.date()
HOURS = dict(SLAS)
STEPS = ("low", "normal", "high", "urgent")
TECHNICAL = ("Design", "Structures", "Survey")

# ---------------------------------------------------------------- the seed


def rows(rng: random.Random) -> Rows:
    """The firm, its equipment and software, and three months of tickets."""
    people = list(staff(rng))
    seats = list(seats_of(rng, people))
    taken = Counter(seat["licence_id"] for seat in seats)
    for number, (section, text) in enumerate(POLICY, 1):
        yield "policy", {"id": number, "section": section, "text": text}
    for number, name in enumerate(DEPARTMENTS, 11):
        yield "departments", {"id": number, "name": name}
    yield from (("people", person) for person in people)
    for number, (name, does) in enumerate(TEAMS, 31):
        yield "teams", {"id": number, "name": name, "does": does}
    for number, (name, team, level, on_duty) in enumerate(AGENTS, 61):
        yield (
            "agents",
            {"id": number, "name": name, "team_id": team_id(team), "level": level, "on_duty": on_duty},
        )
    for number, (priority, hours) in enumerate(SLAS, 1):
        yield "slas", {"id": number, "priority": priority, "resolve_hours": hours}
    assets = list(equipment(rng, people))
    yield from (("assets", asset) for asset in assets)
    for number, (software, spare) in enumerate(SOFTWARE, 21):
        yield "licences", {"id": number, "software": software, "seats": taken[number] + spare}
    yield from (("grants", seat) for seat in seats)
    yield from (("admin_rights", right) for right in admin_rights(rng, people, assets))
    for number, (title, text, status, _) in enumerate(ARTICLES, 1):
        yield (
            "articles",
            {
                "id": 440 + number,
                "code": f"KB-{100 + number * 3}",
                "title": title,
                "text": text,
                "status": status,
            },
        )
    tickets = list(ticket_history(rng, people, assets))
    yield from (("tickets", ticket) for ticket in tickets)
    yield from (("comments", comment) for comment in comments_on(rng, tickets))


def team_id(name: str) -> int:
    return 31 + [team for team, _ in TEAMS].index(name)


def staff(rng: random.Random) -> Iterator[Row]:
    """The first seven are the heads of the departments; the first three of them are directors."""
    seen: Counter[str] = Counter()
    for place, name in enumerate(PEOPLE):
        seen[name] += 1
        head = place < len(DEPARTMENTS)
        department = place if head else (place * 3 + seen[name]) % len(DEPARTMENTS)
        title = f"Head of {DEPARTMENTS[department]}" if head else rng.choice(TITLES[DEPARTMENTS[department]])
        address = name.lower().replace(" ", ".") + (str(seen[name]) if seen[name] > 1 else "")
        active = head or place % 9 != 4
        yield {
            "id": 101 + place,
            "name": name,
            "email": f"{address}@fenwickstone.example",
            "department_id": 11 + department,
            "office": rng.choice(OFFICES),
            "title": title,
            "manager_id": None if place == 0 else 101 if head else 101 + department,
            "vip": place < 3 or place in (27, 51, 66),
            "active": active,
            "locked": active and rng.random() < 0.12,
        }


def equipment(rng: random.Random, people: list[Row]) -> Iterator[Row]:
    number = 0
    for person in people:
        for kind, chance in (("laptop", 1.0), ("phone", 0.4), ("monitor", 0.45), ("dock", 0.3)):
            if rng.random() < chance * (1 if person["active"] else 0.75):
                number += 1
                yield asset(rng, number, kind, person["office"], "in_use", person["id"])
    for office in OFFICES:
        for kind, count in (("laptop", 4), ("phone", 2), ("monitor", 2), ("dock", 1)):
            for _ in range(count):
                number += 1
                yield asset(rng, number, kind, office, "in_stock", None)
        for kind, status in (("laptop", "in_repair"), ("monitor", "in_repair"), ("laptop", "retired")):
            number += 1
            yield asset(rng, number, kind, office, status, None)


def asset(rng: random.Random, number: int, kind: str, office: str, status: str, person: int | None) -> Row:
    """No two are bought on the same day: newest and oldest are clear."""
    age = number * 7 % 1399 + 3 if status != "in_stock" else number * 11 % 500 + 3
    bought = TODAY - timedelta(days=age)
    return {
        "id": 700 + number,
        "tag": f"{TAGS[kind]}-{4000 + number * 3}",
        "kind": kind,
        "model": rng.choice(MODELS[kind]),
        "office": office,
        "bought_on": bought,
        "warranty_to": bought + timedelta(days=730 if kind == "phone" else 1000),
        "status": status,
        "person_id": person,
    }


def seats_of(rng: random.Random, people: list[Row]) -> Iterator[Row]:
    number = 0
    for licence, (software, _) in enumerate(SOFTWARE, 21):
        for person in people:
            department = DEPARTMENTS[person["department_id"] - 11]
            chance = 0.6 if software in ONLY else 0.22 if person["active"] else 0.4
            if ONLY.get(software, department) == department and rng.random() < chance:
                number += 1
                since = TODAY - timedelta(days=20 + number * 37 % 1201)
                yield {
                    "id": 30 + number,
                    "person_id": person["id"],
                    "licence_id": licence,
                    "granted_on": since,
                }


def admin_rights(rng: random.Random, people: list[Row], assets: list[Row]) -> Iterator[Row]:
    laptops = {one["person_id"]: one["id"] for one in assets if one["kind"] == "laptop"}
    able = [
        one for one in people if DEPARTMENTS[one["department_id"] - 11] in TECHNICAL and one["id"] in laptops
    ]
    for number, person in enumerate(rng.sample([one for one in able if one["active"]], 14), 2601):
        since = TODAY - timedelta(days=rng.randint(0, 5) if number < 2609 else rng.randint(20, 60))
        right = {"person_id": person["id"], "asset_id": laptops[person["id"]], "from_day": since}
        yield {"id": number, **right, "until_day": since + timedelta(days=6), "revoked": number == 2612}


def ticket_history(rng: random.Random, people: list[Row], assets: list[Row]) -> Iterator[Row]:
    """Tickets in the order in which they were opened. Nobody has two live ones with the same subject."""
    mine = {(one["person_id"], one["kind"]): one["id"] for one in assets}
    active = [person for person in people if person["active"]]
    drafts = [draft for _ in range(130) if (draft := old_ticket(rng, active, mine))]
    drafts += [draft for person in rng.sample(active, 60) for draft in live_tickets(rng, person, mine)]
    drafts.sort(key=lambda draft: (draft["opened_at"], draft["person_id"]))
    load: Counter[int] = Counter()
    for place, draft in enumerate(drafts):
        ticket = {"id": 51 + place, "number": f"HD-{2011 + place}"} | draft
        yield ticket | {"agent_id": agent_for(rng, ticket, load)}


def base_ticket(rng: random.Random, person: Row, mine: Row, opened: datetime) -> Row:
    category = rng.choice(list(SUBJECTS))
    team, subjects = SUBJECTS[category]
    priority = rng.choice(("low", "normal", "normal", "normal", "high", "urgent"))
    kind = {"hardware": "laptop", "phone": "phone"}.get(category)
    return {
        "person_id": person["id"],
        "asset_id": mine.get((person["id"], kind)),
        "subject": rng.choice(subjects),
        "category": category,
        "priority": priority,
        "status": "open",
        "team_id": team_id(team),
        "article_id": None,
        "merged_into_id": None,
        "escalated": False,
        "opened_at": iso(opened),
        "due_at": iso(opened + timedelta(hours=HOURS[priority])),
        "resolved_at": None,
    }


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def old_ticket(rng: random.Random, active: list[Row], mine: Row) -> Row:
    opened = MOMENT - timedelta(days=rng.randint(4, 80), minutes=rng.randrange(480))
    resolved = opened + timedelta(hours=rng.randint(1, 60))
    status = "closed" if (MOMENT - resolved).days > 30 or rng.random() < 0.2 else "resolved"
    ticket = base_ticket(rng, rng.choice(active), mine, opened)
    solved = [n for n, article in enumerate(ARTICLES, 441) if article[3] == ticket["subject"]]
    article = solved[0] if solved and rng.random() < 0.6 else None
    return ticket | {"status": status, "resolved_at": iso(resolved), "article_id": article}


def live_tickets(rng: random.Random, person: Row, mine: Row) -> Iterator[Row]:
    """One live ticket, and sometimes a second one about the same thing."""
    hours = rng.choice((1, 2, 3, 5, 9, 14, 20, 30, 44, 52, 60, 75, 90, 130))
    opened = MOMENT - timedelta(hours=hours, minutes=rng.randint(31, 55))
    ticket = base_ticket(rng, person, mine, opened)
    overdue = ticket["due_at"] < NOW
    status = "waiting" if rng.random() < 0.2 else "open"
    escalated = overdue and ticket["priority"] in ("high", "urgent") and rng.random() < 0.3
    yield ticket | {"status": status, "escalated": escalated}
    if rng.random() < 0.3:
        again = opened + timedelta(minutes=rng.randint(9, 30))
        due = iso(again + timedelta(hours=HOURS["normal"]))
        subject = f"{ticket['subject']} (again)"
        yield ticket | {"subject": subject, "priority": "normal", "opened_at": iso(again), "due_at": due}


def agent_for(rng: random.Random, ticket: Row, load: Counter[int]) -> int | None:
    """Live ones are with agents on duty, or nobody yet; no agent has more than seven."""
    team = [
        (number, on_duty)
        for number, (_, name, _, on_duty) in enumerate(AGENTS, 61)
        if team_id(name) == ticket["team_id"]
    ]
    if ticket["status"] in ("resolved", "closed"):
        return rng.choice(team)[0]
    able = [number for number, on_duty in team if on_duty and load[number] < 7]
    if not able or (rng.random() < 0.35 and not ticket["escalated"]):
        return None
    chosen = rng.choice(able)
    load[chosen] += 1
    return chosen


REMARKS = (
    ("Please have a look, it is getting worse.", False),
    ("It happens several times a day.", False),
    ("We are on it.", False),
    ("Seen the same thing in York last week.", True),
    ("Called back, nobody answered.", True),
)


def comments_on(rng: random.Random, tickets: list[Row]) -> Iterator[Row]:
    number = 6000
    for ticket in tickets:
        opened = datetime.fromisoformat(ticket["opened_at"])
        for step in range(rng.choice((0, 0, 1, 2))):
            text, internal = rng.choice(REMARKS)
            number += 1
            author = "Helpdesk" if internal or text == "We are on it." else "Requester"
            written = iso(opened + timedelta(minutes=4 + 3 * step))
            comment = {"author": author, "internal": internal, "text": text, "written_at": written}
            yield {"id": number, "ticket_id": ticket["id"], **comment}


# ---------------------------------------------------------------- what templates look at

TICKETS = """
    SELECT tickets.*, people.name, people.office, people.vip, departments.name AS department,
           teams.name AS team, agents.name AS agent
    FROM tickets JOIN people ON people.id = tickets.person_id JOIN departments ON departments.id = department_id
    JOIN teams ON teams.id = tickets.team_id LEFT JOIN agents ON agents.id = tickets.agent_id
"""
LIVE = "tickets.status IN ('open', 'waiting')"
PERSONS = """
    SELECT people.*, departments.name AS department FROM people
    JOIN departments ON departments.id = department_id
"""


def tickets_where(world: World, condition: str, *values: Any) -> list[Row]:
    return world.rows(f"{TICKETS} WHERE {condition} ORDER BY due_at, tickets.id", *values)


def people_where(world: World, condition: str, *values: Any) -> list[Row]:
    return world.rows(f"{PERSONS} WHERE {condition} ORDER BY people.id", *values)


def assets_where(world: World, condition: str, *values: Any) -> list[Row]:
    return world.rows(f"SELECT * FROM assets WHERE {condition} ORDER BY bought_on DESC, tag", *values)


def agents_of(world: World, team: str) -> list[Row]:
    """On duty, those with the fewest open tickets first, then by name."""
    return world.rows(
        f"""SELECT agents.*, (SELECT COUNT(*) FROM tickets WHERE agent_id = agents.id AND {LIVE}) AS load
            FROM agents JOIN teams ON teams.id = team_id WHERE teams.name = ? AND on_duty
            ORDER BY load, agents.name""",
        team,
    )


def is_shared(world: World, name: str) -> bool:
    return world.value("SELECT COUNT(*) FROM people WHERE name = ?", name) > 1


def named(world: World, person: Row) -> str:
    """How a colleague says who is meant."""
    return (
        f"{person['name']} in {person['department']}" if is_shared(world, person["name"]) else person["name"]
    )


def look_up(world: World, person: Row) -> Row:
    shared = {"department": person["department"]} if is_shared(world, person["name"]) else {}
    return call("search_people", query=person["name"], **shared)


def find_ticket(ticket: Row) -> Row:
    return call("list_tickets", number=ticket["number"])


def chosen_agent(world: World, team: str, priority: str, but: int | None = None) -> Row | None:
    """Whom the rules choose for a ticket of this team and priority."""
    able = [one for one in agents_of(world, team) if one["id"] != but]
    return next((one for one in able if priority != "urgent" or one["level"] > 1), None)


def raised(priority: str) -> str:
    return STEPS[min(3, STEPS.index(priority) + 1)]


# ---------------------------------------------------------------- easy


@template("who-has-it", difficulty="easy", tags=("read",))
def who_has_it(world: World, rng: random.Random) -> Draft | None:
    """Who has a piece of equipment."""
    asset = pick(
        rng,
        world.rows(
            "SELECT assets.*, name FROM assets JOIN people ON people.id = person_id WHERE status = 'in_use' ORDER BY tag"
        ),
    )
    if asset is None or is_shared(world, asset["name"]):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Who has {kind} {tag} at the moment? Full name only.",
            "Somebody found a {kind} with the sticker {tag}. Whose is it? Just the full name.",
            "Tell me the name of the person who uses {tag}, nothing else.",
            kind=asset["kind"],
            tag=asset["tag"],
        ),
        solution=[call("list_assets", tag=asset["tag"])],
        answer={"text": asset["name"]},
    )


@template("ticket-agent", difficulty="easy", tags=("read",))
def ticket_agent(world: World, rng: random.Random) -> Draft | None:
    """Which agent works on a ticket."""
    ticket = pick(rng, tickets_where(world, "agent_id IS NOT NULL"))
    if ticket is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which agent has ticket {number}? Answer with the name only.",
            "Who of us is (or was) working on {number}? Just the agent's full name.",
            "I need the name of the agent on {number}, no more than that.",
            number=ticket["number"],
        ),
        solution=[find_ticket(ticket)],
        answer={"text": ticket["agent"]},
    )


@template("manager", difficulty="easy", tags=("read",))
def manager(world: World, rng: random.Random) -> Draft | None:
    """Somebody's manager."""
    person = pick(rng, people_where(world, "manager_id IS NOT NULL"))
    if person is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "I need an approval for {person}: who is the manager? Name only.",
            "Whom does {person} report to? Just the full name.",
            "Please tell me the name of the manager of {person}, nothing else.",
            person=named(world, person),
        ),
        solution=[look_up(world, person), call("get_person", person_id=person["id"])],
        answer={"text": world.value("SELECT name FROM people WHERE id = ?", person["manager_id"])},
        about=person["id"],
    )


@template("which-article", difficulty="easy", tags=("read",))
def which_article(world: World, rng: random.Random) -> Draft | None:
    """The current article about a problem."""
    article = pick(rng, [one for one in ARTICLES if one[3] is not None])
    if article is None:
        return None
    words = article[0].split(":")[0]
    found = world.rows(
        "SELECT code FROM articles WHERE status = 'current' AND title LIKE ? ORDER BY code", f"{words}%"
    )
    if len(found) != 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Which article of the knowledge base helps with "{words}"? It must be a current one. Code only, like KB-999.',
            'I have somebody on the line: "{words}". Give me the code (KB-...) of the article that is valid for it.',
            'What is the code of our current article on "{words}"? Nothing but the code, please.',
            words=words,
        ),
        solution=[call("search_articles", query=words, status="current")],
        answer={"text": found[0]["code"]},
        about=words,
    )


@template("fewest-tickets", difficulty="easy", tags=("read",))
def fewest_tickets(world: World, rng: random.Random) -> Draft | None:
    """The agent of a team who has least to do, or most."""
    team = rng.choice(TEAMS)[0]
    agents = agents_of(world, team)
    most = rng.random() < 0.5
    if most:
        agents.reverse()
    if len(agents) < 2 or agents[0]["load"] == agents[1]["load"]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which agent of {team} who is on duty has the {most} open tickets right now? Name only.",
            "Of the {team} people on duty, who has the {most} open tickets? Just the name.",
            "Look at {team}: who among those on duty has {most} open tickets? Full name, nothing else.",
            team=team,
            most="most" if most else "fewest",
        ),
        solution=[call("list_agents", team=team, on_duty=True)],
        answer={"text": agents[0]["name"]},
    )


@template("unlock", difficulty="easy", tags=("write",))
def unlock(world: World, rng: random.Random) -> Draft | None:
    """A locked account."""
    person = pick(rng, people_where(world, "locked AND active"))
    if person is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} typed the password wrong too often. Please unlock the account.",
            "Can you unlock {person}'s account?",
            "{person} is locked out. Let them back in, please.",
            person=named(world, person),
        ),
        solution=[look_up(world, person), call("unlock_account", person_id=person["id"])],
    )


@template("comment", difficulty="easy", tags=("write",))
def comment(world: World, rng: random.Random) -> Draft | None:
    """A comment on a ticket."""
    ticket = pick(rng, tickets_where(world, "tickets.status <> 'closed'"))
    text = rng.choice(
        (
            "A part has been ordered.",
            "We will call you at two o'clock.",
            "Please leave the laptop at reception.",
            "The supplier has been told.",
            "This is being tested.",
        )
    )
    internal = rng.random() < 0.4
    if ticket is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Write "{text}" on ticket {number}, {seen}.',
            'Please add a comment to {number}, {seen}: "{text}"',
            'On {number}, note {seen}: "{text}"',
            text=text,
            number=ticket["number"],
            seen="for agents only" if internal else "so that the requester can read it",
        ),
        solution=[
            find_ticket(ticket),
            call("add_comment", ticket_id=ticket["id"], text=text, internal=internal),
        ],
    )


@template("wrong-team", difficulty="easy", tags=("write",))
def wrong_team(world: World, rng: random.Random) -> Draft | None:
    """A ticket that another team should have."""
    ticket = pick(rng, tickets_where(world, LIVE))
    if ticket is None:
        return None
    team = rng.choice([name for name, _ in TEAMS if name != ticket["team"]])
    return Draft(
        prompt=phrase(
            rng,
            "{number} turned out to be something for {team}. Hand it over, please.",
            "Please move ticket {number} to the {team} team.",
            "We cannot do {number} here; it belongs to {team}. Pass it on.",
            number=ticket["number"],
            team=team,
        ),
        solution=[find_ticket(ticket), call("move_ticket", ticket_id=ticket["id"], team=team)],
    )


@template("ask-requester", difficulty="easy", tags=("write",))
def ask_requester(world: World, rng: random.Random) -> Draft | None:
    """A question that a ticket waits for."""
    ticket = pick(rng, tickets_where(world, "tickets.status = 'open'"))
    question = rng.choice(
        (
            "When did it happen last?",
            "Does it also happen at home?",
            "Which room are you in?",
            "Can we ring you today?",
        )
    )
    if ticket is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Ask the requester of {number}: "{question}" and let the ticket wait for the answer.',
            'We need to know something on {number} before going on. Put it on hold with the question "{question}"',
            '{number} should wait until they tell us: "{question}" Please ask that.',
            number=ticket["number"],
            question=question,
        ),
        solution=[find_ticket(ticket), call("wait_for_person", ticket_id=ticket["id"], question=question)],
    )


@template("back-from-repair", difficulty="easy", tags=("write",))
def back_from_repair(world: World, rng: random.Random) -> Draft | None:
    """Equipment that was repaired."""
    asset = pick(rng, assets_where(world, "status = 'in_repair'"))
    if asset is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{kind} {tag} is back from repair and works. Put it into stock.",
            "The workshop sent {tag} back. It can go to stock, please.",
            "Please note that the repair of {tag} is finished.",
            kind=asset["kind"].capitalize(),
            tag=asset["tag"],
        ),
        solution=[call("list_assets", tag=asset["tag"]), call("finish_repair", asset_id=asset["id"])],
    )


# ---------------------------------------------------------------- medium


@template("assign-by-the-rules", difficulty="medium", tags=("write", "policy"))
def assign_by_the_rules(world: World, rng: random.Random) -> Draft | None:
    """An unassigned ticket for whom the rules choose."""
    ticket = pick(rng, tickets_where(world, f"{LIVE} AND agent_id IS NULL"))
    agent = chosen_agent(world, ticket["team"], ticket["priority"]) if ticket else None
    if ticket is None or agent is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Nobody has {number} yet. Give it to the agent that our rules choose.",
            "Please assign ticket {number} as the house rules say.",
            "{number} is still without an agent. Look up how we share out tickets and assign it.",
            number=ticket["number"],
        ),
        solution=[
            call("read_policy"),
            find_ticket(ticket),
            call("list_agents", team=ticket["team"], on_duty=True),
            call("assign_ticket", ticket_id=ticket["id"], agent_id=agent["id"]),
        ],
    )


@template("overdue-ticket", difficulty="medium", tags=("write", "policy", "condition"))
def overdue_ticket(world: World, rng: random.Random) -> Draft | None:
    """One overdue ticket, handled by the rules."""
    ticket = pick(rng, tickets_where(world, f"{LIVE} AND due_at < ? AND NOT escalated", NOW))
    if ticket is None:
        return None
    if ticket["priority"] in ("low", "normal"):
        act = [call("set_priority", ticket_id=ticket["id"], priority=raised(ticket["priority"]))]
    else:
        agent = level_three(world, ticket)
        if agent is None:
            return None
        act = [
            call("list_agents", team=ticket["team"], on_duty=True),
            call("escalate_ticket", ticket_id=ticket["id"], agent_id=agent["id"]),
        ]
    return Draft(
        prompt=phrase(
            rng,
            "{number} is overdue. Do with it what our rules say about that.",
            "The time for ticket {number} has run out: please take the step that the house rules provide.",
            "{person} complains that {number} is late, and it is. Follow our rules for overdue tickets.",
            number=ticket["number"],
            person=ticket["name"],
        ),
        solution=[call("read_policy"), find_ticket(ticket), *act],
    )


def level_three(world: World, ticket: Row) -> Row | None:
    """To whom a ticket is escalated, where that is clear."""
    experts = [one for one in agents_of(world, ticket["team"]) if one["level"] == 3]
    if not experts or (len(experts) > 1 and experts[0]["load"] == experts[1]["load"]):
        return None
    return experts[0] if ticket["agent_id"] not in [one["id"] for one in experts] else None


@template("software-wish", difficulty="medium", tags=("write", "policy", "condition"))
def software_wish(world: World, rng: random.Random) -> Draft | None:
    """Somebody who wants software, and may have it or not."""
    licence = rng.choice(
        world.rows(
            """SELECT *, seats - (SELECT COUNT(*) FROM grants WHERE licence_id = licences.id) AS free
           FROM licences ORDER BY id"""
        )
    )
    person = pick(
        rng,
        people_where(
            world,
            "active AND people.id NOT IN (SELECT person_id FROM grants WHERE licence_id = ?)",
            licence["id"],
        ),
    )
    if person is None or licence["free"] == 0:
        return None
    allowed = ONLY.get(licence["software"], person["department"]) == person["department"]
    if not allowed and rng.random() < 0.85:
        return None
    end = [call("grant_software", person_id=person["id"], licence_id=licence["id"])] if allowed else []
    return Draft(
        prompt=phrase(
            rng,
            "{person} asks for {software}. If our rules allow it, grant a seat; if not, do nothing and answer with the "
            "department that {person} works in, as the reason.",
            "May {person} have {software}? Look at the rules. If so, give them a seat. Otherwise I only want the name "
            "of their department.",
            "{software} for {person}, please, provided that our house rules let them have it. If they do not, leave it "
            "and tell me the department of {person}, nothing else.",
            person=named(world, person),
            software=licence["software"],
        ),
        solution=[call("read_policy"), look_up(world, person), call("list_licences"), *end],
        answer=None if allowed else {"text": person["department"]},
        tags=("write" if allowed else "read", "policy", "condition"),
    )


@template("admin-rights", difficulty="medium", tags=("write", "policy", "condition"))
def admin_rights_wish(world: World, rng: random.Random) -> Draft | None:
    """Somebody who wants admin rights, and may have them or not."""
    technical = rng.random() < 0.65
    wanted = f"departments.name {'' if technical else 'NOT '}IN {TECHNICAL} AND active"
    person = pick(
        rng,
        people_where(
            world,
            f"{wanted} AND people.id NOT IN (SELECT person_id FROM admin_rights WHERE until_day >= '{TODAY}')",
        ),
    )
    if person is None:
        return None
    laptop = assets_where(world, "person_id = ? AND kind = 'laptop'", person["id"])[0]
    days = 14 if person["title"].startswith("Head of") else 7
    end = call("grant_admin_rights", person_id=person["id"], asset_id=laptop["id"], days=days)
    return Draft(
        prompt=phrase(
            rng,
            "{person} wants admin rights on the laptop. Grant them for as long as our rules allow. If the rules do not "
            "allow any, do nothing and answer with the tag of that laptop.",
            "Can we make {person} administrator of their own laptop? Follow the rules, also on how many days. Where "
            "they forbid it, just tell me the laptop's tag.",
            "Admin rights for {person}: if the house rules let us, for the days they name. If not, leave everything as "
            "it is and give me the tag of the laptop so that I can answer them.",
            person=named(world, person),
        ),
        solution=[
            call("read_policy"),
            look_up(world, person),
            call("get_person", person_id=person["id"]),
            *([end] if technical else []),
        ],
        answer=None if technical else {"text": laptop["tag"]},
        tags=("write" if technical else "read", "policy", "condition"),
    )


@template("new-ticket", difficulty="medium", tags=("write", "policy"))
def new_ticket(world: World, rng: random.Random) -> Draft | None:
    """A new ticket with the priority that the rules ask for."""
    vips = "AND vip" if rng.random() < 0.4 else ""
    person = pick(rng, people_where(world, f"active {vips}"))
    what, base = rng.choice(
        (
            ("It is a nuisance, but they can work.", "normal"),
            ("They cannot work at all because of it.", "high"),
            ("The whole office is affected.", "urgent"),
            ("It is not a fault, but a wish for something new.", "low"),
        )
    )
    if person is None:
        return None
    category = rng.choice([name for name in SUBJECTS if name != "hardware"])
    subject = rng.choice(
        {
            "low": ("Second screen wanted", "Larger mailbox wanted", "New ring tone wanted"),
            "urgent": ("Nothing works since this morning", "Total outage"),
        }.get(base, ("Error 4711 on every start", "Window stays white", "Stuck at 99 percent"))
    )
    return Draft(
        prompt=phrase(
            rng,
            'Open a ticket for {person}, category {category}, for the {team} team, with the subject "{subject}". {what} '
            "It is about none of their equipment. The priority is what our rules make of that.",
            '{person} rang: "{subject}". {what} Please open a {category} ticket with {team}, and mind our rules on '
            "priorities; no equipment is to be noted.",
            'New {category} ticket for {team}, requester {person}, subject "{subject}". {what} Set the priority by the '
            "house rules, and note no equipment.",
            person=named(world, person),
            category=category,
            team=SUBJECTS[category][0],
            subject=subject,
            what=what,
        ),
        solution=[
            call("read_policy"),
            look_up(world, person),
            call(
                "open_ticket",
                person_id=person["id"],
                subject=subject,
                category=category,
                priority=raised(base) if person["vip"] else base,
                team=SUBJECTS[category][0],
            ),
        ],
    )


@template("resolve-by-article", difficulty="medium", tags=("write",))
def resolve_by_article(world: World, rng: random.Random) -> Draft | None:
    """A ticket that an article solved."""
    ticket = pick(rng, tickets_where(world, f"{LIVE} AND agent_id IS NOT NULL"))
    if ticket is None:
        return None
    subject = ticket["subject"].removesuffix(" (again)")
    found = [(n, article[0]) for n, article in enumerate(ARTICLES, 441) if article[3] == subject]
    if not found:
        return None
    number, title = found[0]
    words = title.split(":")[0]
    return Draft(
        prompt=phrase(
            rng,
            'The current article on "{words}" solved {number}. Resolve the ticket and name the article in it.',
            '{number} is done, thanks to our article about "{words}" (the one that is valid). Please resolve it with '
            "that article.",
            'Please mark {number} as resolved by the knowledge base article "{words}"; beware of outdated ones.',
            words=words,
            number=ticket["number"],
        ),
        solution=[
            find_ticket(ticket),
            call("search_articles", query=words, status="current"),
            call("resolve_ticket", ticket_id=ticket["id"], article_id=number),
        ],
    )


@template("duplicates", difficulty="medium", tags=("write",))
def duplicates(world: World, rng: random.Random) -> Draft | None:
    """Two tickets about the same thing."""
    newer = pick(rng, tickets_where(world, f"{LIVE} AND subject LIKE '% (again)'"))
    if newer is None:
        return None
    older = tickets_where(
        world,
        f"{LIVE} AND person_id = ? AND subject = ?",
        newer["person_id"],
        newer["subject"].removesuffix(" (again)"),
    )
    if len(older) != 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} has reported the same thing twice. Merge the newer ticket into the older one.",
            "There are two live tickets of {person} about one problem. Make one of them, as we do with duplicates.",
            "Please clear up the duplicate of {person}: the second ticket should be merged into the first.",
            person=named(world, newer),
        ),
        solution=[
            look_up(world, newer),
            call("list_tickets", person_id=newer["person_id"], status="live"),
            call("merge_ticket", ticket_id=newer["id"], into_ticket_id=older[0]["id"]),
        ],
    )


@template("hand-out", difficulty="medium", tags=("write",))
def hand_out(world: World, rng: random.Random) -> Draft | None:
    """Something from stock for somebody."""
    person = pick(rng, people_where(world, "active"))
    kind = rng.choice(("phone", "monitor", "dock"))
    if person is None or (
        kind == "phone" and assets_where(world, "person_id = ? AND kind = 'phone'", person["id"])
    ):
        return None
    stock = assets_where(world, "kind = ? AND office = ? AND status = 'in_stock'", kind, person["office"])
    if not stock:
        return None
    newest = rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "{person} needs a {kind}. Hand out the {which} one that is in stock at their office.",
            "Please give {person} a {kind} from the stock of the office where they work: the {which} we have there.",
            "A {kind} for {person}, please. Take the {which} in stock at their own office.",
            person=named(world, person),
            kind=kind,
            which="newest" if newest else "oldest",
        ),
        solution=[
            look_up(world, person),
            call("list_assets", kind=kind, office=person["office"], status="in_stock"),
            call("hand_out_asset", asset_id=stock[0 if newest else -1]["id"], person_id=person["id"]),
        ],
    )


@template("end-admin-rights", difficulty="medium", tags=("write",))
def end_admin_rights(world: World, rng: random.Random) -> Draft | None:
    """Admin rights that are no longer needed."""
    right = pick(
        rng,
        world.rows(
            f"""SELECT admin_rights.id, admin_rights.person_id, name, department FROM admin_rights
            JOIN (SELECT people.id AS pid, people.name, departments.name AS department FROM people
                  JOIN departments ON departments.id = department_id) ON pid = person_id
            WHERE NOT revoked AND until_day >= '{TODAY}' ORDER BY admin_rights.id"""
        ),
    )
    if right is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} no longer needs the admin rights. End them now.",
            "Please take {person}'s admin rights away today; the installation is done.",
            "The admin rights of {person} should not run on. Revoke them.",
            person=named(world, right),
        ),
        solution=[
            look_up(world, right),
            call("get_person", person_id=right["person_id"]),
            call("revoke_admin_rights", right_id=right["id"]),
        ],
    )


@template("resolved-by-person", difficulty="medium", tags=("read",))
def last_solution(world: World, rng: random.Random) -> Draft | None:
    """The article that solved a person's earlier problem."""
    ticket = pick(rng, tickets_where(world, "tickets.status = 'resolved' AND article_id IS NOT NULL"))
    if ticket is None:
        return None
    same = tickets_where(
        world,
        "person_id = ? AND subject = ? AND tickets.status IN ('resolved', 'closed')",
        ticket["person_id"],
        ticket["subject"],
    )
    if len(same) != 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Which article solved "{subject}" for {person} the other day? Only its code (KB-...).',
            '{person} once had "{subject}", which we resolved. By which article? Answer with the code alone.',
            'I want to reread the article that helped {person} with "{subject}". What is its code? Nothing else.',
            subject=ticket["subject"],
            person=named(world, ticket),
        ),
        solution=[
            look_up(world, ticket),
            call("list_tickets", person_id=ticket["person_id"], status="resolved"),
            call("get_ticket", ticket_id=ticket["id"]),
        ],
        answer={"text": f"KB-{100 + (ticket['article_id'] - 440) * 3}"},
        about=ticket["id"],
    )


@template("any-monitor", difficulty="medium", tags=("write", "free-choice"))
def any_monitor(world: World, rng: random.Random) -> Draft | None:
    """Whichever monitor or laptop there is in stock."""
    person = pick(rng, people_where(world, "active"))
    if person is None:
        return None
    stock = assets_where(world, "kind = 'monitor' AND office = ? AND status = 'in_stock'", person["office"])
    if len(stock) < 2:
        return None
    given = (
        "SELECT kind, office, status, person_id FROM assets WHERE id IN (SELECT id FROM (SELECT * FROM assets EXCEPT "
        "SELECT * FROM initial.assets))"
    )
    kept = (
        "SELECT COUNT(*) FROM (SELECT id, tag, model, bought_on, warranty_to FROM initial.assets EXCEPT "
        "SELECT id, tag, model, bought_on, warranty_to FROM assets)"
    )
    came = (
        "SELECT before.status FROM assets AS after JOIN initial.assets AS before ON before.id = after.id "
        "WHERE after.person_id IS NOT before.person_id"
    )
    return Draft(
        prompt=phrase(
            rng,
            "{person} needs one more monitor and does not care which. Hand out any that is in stock at their office.",
            "Please give {person} some monitor from stock; any one of their office will do.",
            "One monitor for {person}, whichever you find in stock where they work.",
            person=named(world, person),
        ),
        solution=[
            look_up(world, person),
            call("list_assets", kind="monitor", office=person["office"], status="in_stock"),
            call("hand_out_asset", asset_id=stock[0]["id"], person_id=person["id"]),
        ],
        verify={
            "kind": "sql",
            "may_change": ["assets"],
            "assert": [
                {"sql": given, "equals": [["monitor", person["office"], "in_use", person["id"]]]},
                {"sql": kept, "equals": [[0]]},
                {"sql": came, "equals": [["in_stock"]]},
            ],
            "choices": ["hand_out_asset.asset_id"],
        },
    )


# ---------------------------------------------------------------- hard


@template("broken-laptop", difficulty="hard", tags=("write", "policy", "condition"))
def broken_laptop(world: World, rng: random.Random) -> Draft | None:
    """A broken laptop, replaced by the rules."""
    person = pick(rng, people_where(world, "active"))
    if person is None:
        return None
    laptop = assets_where(world, "person_id = ? AND kind = 'laptop'", person["id"])[0]
    stock = assets_where(world, "kind = 'laptop' AND office = ? AND status = 'in_stock'", person["office"])
    over = laptop["warranty_to"] < TODAY.isoformat()
    if len(stock) < 2 or laptop["warranty_to"] == TODAY.isoformat() or (not over and rng.random() < 0.4):
        return None
    new = stock[0] if over else stock[-1]
    return Draft(
        prompt=phrase(
            rng,
            "{person}'s laptop is broken. Take it back and give them another one, both as our rules say.",
            "The laptop of {person} has died. Please see to it by the house rules: what becomes of it, and which one "
            "they get instead.",
            "{person} stands here with a laptop that no longer works. Handle it as the rules want and hand out a "
            "replacement.",
            person=named(world, person),
        ),
        solution=[
            call("read_policy"),
            look_up(world, person),
            call("get_person", person_id=person["id"]),
            call("take_back_asset", asset_id=laptop["id"], goes_to="retired" if over else "in_repair"),
            call("list_assets", kind="laptop", office=person["office"], status="in_stock"),
            call("hand_out_asset", asset_id=new["id"], person_id=person["id"]),
        ],
    )


@template("leaver", difficulty="hard", tags=("write", "policy"))
def leaver(world: World, rng: random.Random) -> Draft | None:
    """All that a colleague who has left still has."""
    person = pick(rng, people_where(world, "NOT active"))
    if person is None:
        return None
    assets = world.rows("SELECT * FROM assets WHERE person_id = ? ORDER BY id", person["id"])
    seats = world.rows("SELECT * FROM grants WHERE person_id = ? ORDER BY id", person["id"])
    if not 3 <= len(assets) + len(seats) <= 9:
        return None
    if any(asset["warranty_to"] == TODAY.isoformat() for asset in assets):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} has left the firm. Please collect everything they still have, as our rules for leavers say.",
            "Clear up after {person}, who no longer works here: equipment and software, by the house rules.",
            "We never finished the off-boarding of {person}. Follow the rules on leavers for all that is still in their "
            "name.",
            person=named(world, person),
        ),
        solution=[
            call("read_policy"),
            look_up(world, person),
            call("get_person", person_id=person["id"]),
            *(
                call(
                    "take_back_asset",
                    asset_id=asset["id"],
                    goes_to="in_stock" if asset["warranty_to"] > TODAY.isoformat() else "retired",
                )
                for asset in assets
            ),
            *(call("withdraw_software", grant_id=seat["id"]) for seat in seats),
        ],
    )


@template("seat-of-a-leaver", difficulty="hard", tags=("write", "policy"))
def seat_of_a_leaver(world: World, rng: random.Random) -> Draft | None:
    """Software of which no seat is free."""
    licence = pick(
        rng,
        world.rows(
            "SELECT * FROM licences WHERE seats = (SELECT COUNT(*) FROM grants WHERE licence_id = licences.id) ORDER BY id"
        ),
    )
    if licence is None:
        return None
    person = pick(
        rng,
        people_where(
            world,
            "active AND people.id NOT IN (SELECT person_id FROM grants WHERE licence_id = ?)",
            licence["id"],
        ),
    )
    left = world.rows(
        "SELECT grants.* FROM grants JOIN people ON people.id = person_id WHERE NOT active AND licence_id = ? "
        "ORDER BY granted_on",
        licence["id"],
    )
    if person is None or not left:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} needs {software}. If no seat is free, do what our rules say for that case.",
            "Please get {person} a seat of {software}; the house rules tell you where from when all are taken.",
            "{software} for {person}, please. I believe that we have no seat left, so look up in the rules what to do.",
            person=named(world, person),
            software=licence["software"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, person),
            call("list_licences"),
            call("list_seats", licence_id=licence["id"]),
            call("withdraw_software", grant_id=left[0]["id"]),
            call("grant_software", person_id=person["id"], licence_id=licence["id"]),
        ],
    )


@template("overdue-review", difficulty="hard", tags=("write", "policy", "condition"))
def overdue_review(world: World, rng: random.Random) -> Draft | None:
    """All overdue tickets of a team."""
    team = rng.choice(TEAMS)[0]
    overdue = tickets_where(world, f"{LIVE} AND due_at < ? AND teams.name = ?", NOW, team)
    raise_these = [one for one in overdue if one["priority"] in ("low", "normal")]
    to_escalate = [one for one in overdue if one["priority"] in ("high", "urgent") and not one["escalated"]]
    experts = [one for one in agents_of(world, team) if one["level"] == 3]
    if len(to_escalate) > 1 and (len(experts) > 1 or experts[0]["load"] + len(to_escalate) > 8):
        return None
    if not 3 <= len(raise_these) + len(to_escalate) <= 9:
        return None
    agents = [level_three(world, one) for one in to_escalate]
    if None in agents:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Go through the overdue tickets of {team} and do with each what our rules say.",
            "{team} has let some tickets run late. Please treat every one of them by the house rules for overdue "
            "tickets.",
            "Overdue review for {team}, please: raise or escalate each ticket as the rules want.",
            team=team,
        ),
        solution=[
            call("read_policy"),
            call("list_tickets", team=team, overdue=True),
            call("list_agents", team=team, on_duty=True),
            *(
                call("set_priority", ticket_id=one["id"], priority=raised(one["priority"]))
                for one in raise_these
            ),
            *(
                call("escalate_ticket", ticket_id=one["id"], agent_id=agent["id"])
                for one, agent in zip(to_escalate, agents, strict=True)
                if agent is not None
            ),
        ],
    )


@template("it-is-back", difficulty="hard", tags=("write", "policy", "condition"))
def it_is_back(world: World, rng: random.Random) -> Draft | None:
    """A problem that was resolved, sooner or later than two weeks ago."""
    ticket = pick(rng, tickets_where(world, "tickets.status = 'resolved'"))
    if ticket is None:
        return None
    same = tickets_where(
        world, "person_id = ? AND subject LIKE ? || '%'", ticket["person_id"], ticket["subject"]
    )
    agent = chosen_agent(world, ticket["team"], ticket["priority"])
    age = MOMENT - datetime.fromisoformat(ticket["resolved_at"])
    recent = age < timedelta(days=13)
    if (
        len(same) != 1
        or agent is None
        or timedelta(days=13) < age < timedelta(days=15)
        or (not recent and rng.random() < 0.4)
    ):
        return None
    if not recent:
        return new_after_all(world, rng, ticket)
    return Draft(
        prompt=back_again(world, rng, ticket),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            call("list_tickets", person_id=ticket["person_id"], status="resolved"),
            call("reopen_ticket", ticket_id=ticket["id"]),
            call("list_agents", team=ticket["team"], on_duty=True),
            call("assign_ticket", ticket_id=ticket["id"], agent_id=agent["id"]),
        ],
    )


def back_again(world: World, rng: random.Random, ticket: Row) -> str:
    return phrase(
        rng,
        '{person} writes that the problem "{subject}" is back. Do what our rules say, up to the assignment.',
        'We had resolved "{subject}" for {person}, but it has come back. Please deal with the ticket by the house rules '
        "and assign it.",
        '"{subject}" again, says {person}. Follow the rules for problems that return, and give it to the right agent.',
        person=named(world, ticket),
        subject=ticket["subject"],
    )


def new_after_all(world: World, rng: random.Random, ticket: Row) -> Draft | None:
    """Too long ago: a new ticket. Its id is the next one."""
    agent = chosen_agent(world, ticket["team"], ticket["priority"])
    if agent is None:
        return None
    new_id = world.value("SELECT MAX(id) + 1 FROM tickets")
    return Draft(
        prompt=back_again(world, rng, ticket),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            call("list_tickets", person_id=ticket["person_id"], status="resolved"),
            call("get_ticket", ticket_id=ticket["id"]),
            call(
                "open_ticket",
                person_id=ticket["person_id"],
                subject=ticket["subject"],
                category=ticket["category"],
                priority=ticket["priority"],
                team=ticket["team"],
                **({"asset_id": ticket["asset_id"]} if ticket["asset_id"] else {}),
            ),
            call("list_agents", team=ticket["team"], on_duty=True),
            call("assign_ticket", ticket_id=new_id, agent_id=agent["id"]),
        ],
    )


@template("agent-is-ill", difficulty="hard", tags=("write",))
def agent_is_ill(world: World, rng: random.Random) -> Draft | None:
    """All tickets of one agent for another one."""
    team = rng.choice(TEAMS)[0]
    agents = agents_of(world, team)
    ill, other = rng.sample(agents, 2)
    if not 4 <= ill["load"] <= 7 or ill["load"] + other["load"] > 8:
        return None
    tickets = tickets_where(world, f"{LIVE} AND agent_id = ?", ill["id"])
    return Draft(
        prompt=phrase(
            rng,
            "{ill} is ill. Give all live tickets of theirs to {other}.",
            "{other} takes over for {ill} today: please reassign every ticket that {ill} still has to do.",
            "Everything that is open or waiting with {ill} should go to {other}.",
            ill=ill["name"],
            other=other["name"],
        ),
        solution=[
            call("list_agents", team=team),
            call("list_tickets", agent_id=ill["id"], status="live"),
            *(call("assign_ticket", ticket_id=one["id"], agent_id=other["id"]) for one in tickets),
        ],
    )


@template("old-laptops", difficulty="hard", tags=("read", "condition"))
def old_laptops(world: World, rng: random.Random) -> Draft | None:
    """Who has an old laptop and trouble with it."""
    office = rng.choice(OFFICES)
    before = rng.choice(("January", "July")), rng.choice((2024, 2025, 2026))
    laptops = assets_where(
        world,
        "kind = 'laptop' AND office = ? AND status = 'in_use' AND bought_on < ?",
        office,
        f"{before[1]}-{1 if before[0] == 'January' else 7:02}-01",
    )
    if not 5 <= len(laptops) <= 10:
        return None
    owners = [laptop["person_id"] for laptop in laptops]
    troubled = [
        ticket["name"]
        for ticket in tickets_where(world, f"{LIVE} AND category = 'hardware'")
        if ticket["person_id"] in owners
    ]
    names = sorted(set(troubled))
    if not names or any(is_shared(world, name) for name in names):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which people with a laptop at {office} that was bought before {before} have a live hardware ticket? Full "
            "names, separated by commas.",
            "For the budget: of those in {office} whose laptop is from before {before}, who has a live ticket "
            "about hardware? Names only, with commas.",
            "I look for people at {office} with a laptop bought before {before} and a live hardware ticket. List "
            "the full names, separated by commas.",
            office=office,
            before=" ".join(map(str, before)),
        ),
        solution=[
            call("list_assets", kind="laptop", office=office, status="in_use", limit=50),
            *(call("list_tickets", person_id=owner, category="hardware", status="live") for owner in owners),
        ],
        answer={"list": names},
    )
