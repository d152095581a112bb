"""The IT helpdesk: colleagues open tickets, agents work on them, equipment and access are handed out.

Reading order: what is fixed, the tables, the plumbing, what the tools are given and show, the rules at
work, then the tools themselves, reads before writes. Which priority a ticket has, who gets what and for
how long stands in the house rules: read_policy.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

from fastapi import Body, FastAPI, HTTPException, Path, Query
from pydantic import Field
from sqlalchemy import ColumnElement, ForeignKey, Select, and_, create_engine, event, func, or_, select
from sqlalchemy.orm import (
    DeclarativeBase,
    InstrumentedAttribute,
    Mapped,
    Session,
    mapped_column,
    relationship,
    sessionmaker,
)

# ---------------------------------------------------------------- what is fixed

MOST_OPEN_TICKETS = 8
"""Of one agent."""
LONGEST_ADMIN_DAYS = 30
LIVE = ("open", "waiting")

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Department(Table):
    __tablename__ = "departments"
    name: Mapped[str]


class Person(Table):
    __tablename__ = "people"
    name: Mapped[str]
    email: Mapped[str]
    department_id: Mapped[int] = mapped_column(ForeignKey("departments.id"))
    office: Mapped[str]
    title: Mapped[str]
    manager_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    vip: Mapped[bool]
    active: Mapped[bool]
    locked: Mapped[bool]
    department: Mapped[Department] = relationship(lazy="joined", innerjoin=True)
    manager: Mapped["Person | None"] = relationship(remote_side="Person.id")


class Team(Table):
    __tablename__ = "teams"
    name: Mapped[str]
    does: Mapped[str]


class Agent(Table):
    __tablename__ = "agents"
    name: Mapped[str]
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"))
    level: Mapped[int]
    on_duty: Mapped[bool]
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)


class Sla(Table):
    __tablename__ = "slas"
    priority: Mapped[str]
    resolve_hours: Mapped[int]


class Asset(Table):
    __tablename__ = "assets"
    tag: Mapped[str]
    kind: Mapped[str]
    model: Mapped[str]
    office: Mapped[str]
    bought_on: Mapped[date]
    warranty_to: Mapped[date]
    status: Mapped[str]
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    person: Mapped[Person | None] = relationship(lazy="joined")


class Licence(Table):
    __tablename__ = "licences"
    software: Mapped[str]
    seats: Mapped[int]


class Grant(Table):
    __tablename__ = "grants"
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    licence_id: Mapped[int] = mapped_column(ForeignKey("licences.id"))
    granted_on: Mapped[date]
    person: Mapped[Person] = relationship(lazy="joined", innerjoin=True)
    licence: Mapped[Licence] = relationship(lazy="joined", innerjoin=True)


class AdminRight(Table):
    __tablename__ = "admin_rights"
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    asset_id: Mapped[int] = mapped_column(ForeignKey("assets.id"))
    from_day: Mapped[date]
    until_day: Mapped[date]
    revoked: Mapped[bool] = mapped_column(default=False)
    person: Mapped[Person] = relationship()
    asset: Mapped[Asset] = relationship()


class Article(Table):
    __tablename__ = "articles"
    code: Mapped[str]
    title: Mapped[str]
    text: Mapped[str]
    status: Mapped[str]


class Ticket(Table):
    __tablename__ = "tickets"
    number: Mapped[str]
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    asset_id: Mapped[int | None] = mapped_column(ForeignKey("assets.id"))
    subject: Mapped[str]
    category: Mapped[str]
    priority: Mapped[str]
    status: Mapped[str] = mapped_column(default="open")
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"))
    agent_id: Mapped[int | None] = mapped_column(ForeignKey("agents.id"))
    article_id: Mapped[int | None] = mapped_column(ForeignKey("articles.id"))
    merged_into_id: Mapped[int | None] = mapped_column(ForeignKey("tickets.id"))
    escalated: Mapped[bool] = mapped_column(default=False)
    opened_at: Mapped[str]
    due_at: Mapped[str]
    resolved_at: Mapped[str | None]
    person: Mapped[Person] = relationship(lazy="joined", innerjoin=True)
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)
    agent: Mapped[Agent | None] = relationship(lazy="joined")
    asset: Mapped[Asset | None] = relationship()
    article: Mapped[Article | None] = relationship()
    merged_into: Mapped["Ticket | None"] = relationship(remote_side="Ticket.id")


class Comment(Table):
    __tablename__ = "comments"
    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id"))
    author: Mapped[str]
    internal: Mapped[bool]
    text: Mapped[str]
    written_at: Mapped[str]


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Fenwick & Stone IT Helpdesk")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    return db.get(table, key) or refuse(f"No {table.__name__.lower()} with id {key}: look it up first.", 404)


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in db.scalars(query.limit(limit))]}


def narrow(query: Select[Row], *wanted: tuple[InstrumentedAttribute[Any], Any]) -> Select[Row]:
    """Keep the rows whose columns have the wanted values. None means that any value will do."""
    return query.where(*(column == value for column, value in wanted if value is not None))


def mentions(text: str, *columns: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def stamp() -> str:
    return now().isoformat(timespec="seconds")


def plain(name: str) -> str:
    return name.replace("_", " ")


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
PersonId: TypeAlias = Annotated[Id, Path(description="The person's id, from search_people.")]
TicketId: TypeAlias = Annotated[Id, Path(description="The ticket's id, from list_tickets.")]
AssetId: TypeAlias = Annotated[Id, Path(description="The asset's id, from list_assets or get_person.")]
GrantId: TypeAlias = Annotated[Id, Path(description="The seat's id, from get_person or list_seats.")]
RightId: TypeAlias = Annotated[Id, Path(description="The admin right's id, from get_person.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]
Priority: TypeAlias = Literal["low", "normal", "high", "urgent"]
Category: TypeAlias = Literal["hardware", "software", "network", "access", "phone"]
Kind: TypeAlias = Literal["laptop", "monitor", "phone", "dock"]
Office: TypeAlias = Literal["Leith", "York", "Bath", "Derry"]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_person(person: Person) -> Record:
    return {
        "person_id": person.id,
        "name": person.name,
        "email": person.email,
        "title": person.title,
        "department": person.department.name,
        "office": person.office,
        "manager_id": person.manager_id,
        "vip": person.vip,
        "active": person.active,
        "locked": person.locked,
    }


def show_agent(agent: Agent, open_tickets: int) -> Record:
    return {
        "agent_id": agent.id,
        "name": agent.name,
        "team": agent.team.name,
        "level": agent.level,
        "on_duty": agent.on_duty,
        "open_tickets": open_tickets,
    }


def show_asset(asset: Asset) -> Record:
    return {
        "asset_id": asset.id,
        "tag": asset.tag,
        "kind": asset.kind,
        "model": asset.model,
        "office": asset.office,
        "bought_on": asset.bought_on,
        "warranty_to": asset.warranty_to,
        "status": asset.status,
        "person_id": asset.person_id,
        "person": asset.person.name if asset.person else None,
    }


def show_ticket(ticket: Ticket) -> Record:
    return {
        "ticket_id": ticket.id,
        "number": ticket.number,
        "subject": ticket.subject,
        "category": ticket.category,
        "priority": ticket.priority,
        "status": ticket.status,
        "person_id": ticket.person_id,
        "person": ticket.person.name,
        "team": ticket.team.name,
        "agent": ticket.agent.name if ticket.agent else None,
        "escalated": ticket.escalated,
        "opened_at": ticket.opened_at,
        "due_at": ticket.due_at,
        "resolved_at": ticket.resolved_at,
    }


def show_seat(grant: Grant) -> Record:
    return {
        "grant_id": grant.id,
        "software": grant.licence.software,
        "person_id": grant.person_id,
        "person": grant.person.name,
        "active": grant.person.active,
        "granted_on": grant.granted_on,
    }


def show_right(right: AdminRight) -> Record:
    return {
        "right_id": right.id,
        "person": right.person.name,
        "asset_id": right.asset_id,
        "tag": right.asset.tag,
        "from_day": right.from_day,
        "until_day": right.until_day,
        "revoked": right.revoked,
    }


def show_article(article: Article) -> Record:
    return {
        "article_id": article.id,
        "code": article.code,
        "title": article.title,
        "text": article.text,
        "status": article.status,
    }


# ---------------------------------------------------------------- the rules at work


def moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def due(db: Session, priority: str, opened_at: str) -> str:
    hours = db.scalars(select(Sla.resolve_hours).where(Sla.priority == priority)).one()
    return moment(datetime.fromisoformat(opened_at) + timedelta(hours=hours))


def next_number(db: Session) -> str:
    last = db.scalar(select(func.max(Ticket.number))) or "HD-1000"
    return f"HD-{int(last.removeprefix('HD-')) + 1}"


def require_live(ticket: Ticket) -> None:
    if ticket.status not in LIVE:
        refuse(f"Ticket {ticket.number} is {ticket.status}: reopen_ticket first, or open a new one.")


def require_active(person: Person) -> None:
    if not person.active:
        refuse(f"{person.name} has left the firm.")


def open_tickets_of(agent: Agent) -> Select[Ticket]:
    return select(Ticket).where(Ticket.agent_id == agent.id, Ticket.status.in_(LIVE))


def require_room(db: Session, agent: Agent) -> None:
    if not agent.on_duty:
        refuse(f"{agent.name} is off duty: choose another agent, see list_agents.")
    count = db.scalar(select(func.count()).select_from(open_tickets_of(agent).subquery())) or 0
    if count >= MOST_OPEN_TICKETS:
        refuse(f"{agent.name} has {count} open tickets, the most one may: choose another, see list_agents.")


def seats_taken(db: Session, licence: Licence) -> int:
    return db.scalar(select(func.count()).where(Grant.licence_id == licence.id)) or 0


def live_rights(person: Person) -> Select[AdminRight]:
    """Not revoked and not over."""
    running = (AdminRight.revoked.is_(False), AdminRight.until_day >= today())
    return select(AdminRight).where(AdminRight.person_id == person.id, *running).order_by(AdminRight.id)


def add_comment_row(db: Session, ticket: Ticket, text: str, *, internal: bool) -> Record:
    comment = Comment(
        ticket_id=ticket.id, author="Helpdesk", internal=internal, text=text, written_at=stamp()
    )
    return show_comment(save(db, comment))


def show_comment(comment: Comment) -> Record:
    return {
        "author": comment.author,
        "internal": comment.internal,
        "text": comment.text,
        "written_at": comment.written_at,
    }


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """The house rules that staff must follow: priorities, escalation, equipment, software, admin rights; and
    the time now."""
    with transaction() as db:
        sections = db.scalars(select(Policy).order_by(Policy.id))
        rules = [{"section": section.section, "text": section.text} for section in sections]
        return {"now": stamp(), "sections": rules}


@app.get("/people", operation_id="search_people")
async def search_people(
    query: Annotated[
        str, Query(min_length=2, description="Words from the name, email address or job title.")
    ],
    department: Annotated[str | None, Query(description="Only this department, by its name.")] = None,
    office: Annotated[Office | None, Query(description="Only people of this office.")] = None,
    limit: Limit = 10,
) -> Record:
    """Find colleagues by name, email or title. Returns ids, departments, offices and who has left or is locked."""
    with transaction() as db:
        found = select(Person).join(Department, Person.department_id == Department.id)
        found = narrow(found, (Department.name, department), (Person.office, office))
        wanted = mentions(query, Person.name, Person.email, Person.title)
        return page(db, found.where(wanted).order_by(Person.name, Person.id), show_person, limit)


@app.get("/people/{person_id}", operation_id="get_person")
async def get_person(person_id: PersonId) -> Record:
    """Show one colleague with manager, equipment, software seats and running admin rights."""
    with transaction() as db:
        person = find(db, Person, person_id)
        assets = db.scalars(select(Asset).where(Asset.person_id == person.id).order_by(Asset.id))
        grants = db.scalars(select(Grant).where(Grant.person_id == person.id).order_by(Grant.id))
        return {
            **show_person(person),
            "manager": person.manager.name if person.manager else None,
            "assets": [show_asset(asset) for asset in assets],
            "software": [show_seat(grant) for grant in grants],
            "admin_rights": [show_right(right) for right in db.scalars(live_rights(person))],
        }


@app.get("/teams", operation_id="list_teams")
async def list_teams() -> Record:
    """List the teams of the helpdesk and what each does."""
    with transaction() as db:
        teams = db.scalars(select(Team).order_by(Team.name))
        return {"results": [{"team_id": team.id, "name": team.name, "does": team.does} for team in teams]}


@app.get("/agents", operation_id="list_agents")
async def list_agents(
    team: Annotated[str | None, Query(description="Only this team, by its name.")] = None,
    on_duty: Annotated[
        bool | None, Query(description="Only those on duty, or only those who are not.")
    ] = None,
    limit: Limit = 30,
) -> Record:
    """List agents by name with team, level (1 to 3), whether they are on duty, and how many tickets they have."""
    with transaction() as db:
        mine = (Ticket.agent_id == Agent.id, Ticket.status.in_(LIVE))
        counted = select(func.count(Ticket.id)).where(*mine).scalar_subquery()
        found = select(Agent).join(Team, Agent.team_id == Team.id)
        found = narrow(found, (Team.name, team), (Agent.on_duty, on_duty)).order_by(Agent.name).limit(limit)
        return {
            "results": [show_agent(agent, count) for agent, count in db.execute(found.add_columns(counted))]
        }


@app.get("/tickets", operation_id="list_tickets")
async def list_tickets(
    number: Annotated[
        str | None, Query(description="Only the ticket with this number, like HD-2104.")
    ] = None,
    query: Annotated[str | None, Query(description="Words from the subject.")] = None,
    person_id: Annotated[
        Id | None, Query(description="Only this person's tickets, from search_people.")
    ] = None,
    agent_id: Annotated[Id | None, Query(description="Only this agent's tickets, from list_agents.")] = None,
    team: Annotated[str | None, Query(description="Only this team's tickets, by its name.")] = None,
    category: Annotated[Category | None, Query(description="Only tickets of this category.")] = None,
    priority: Annotated[Priority | None, Query(description="Only tickets of this priority.")] = None,
    status: Annotated[
        Literal["open", "waiting", "resolved", "closed", "live"] | None,
        Query(description="Only tickets in this status; live means open or waiting."),
    ] = None,
    unassigned: Annotated[bool, Query(description="Only tickets that no agent has.")] = False,
    overdue: Annotated[bool, Query(description="Only live tickets whose time is over.")] = False,
    limit: Limit = 20,
) -> Record:
    """List tickets, soonest due first, and how many there are in all. get_ticket shows comments and equipment."""
    with transaction() as db:
        found = select(Ticket).join(Team, Ticket.team_id == Team.id)
        wanted = ((Ticket.person_id, person_id), (Ticket.agent_id, agent_id), (Team.name, team))
        found = narrow(found, *wanted, (Ticket.category, category), (Ticket.priority, priority))
        if number is not None:
            found = found.where(Ticket.number == number.strip().upper())
        if query is not None:
            found = found.where(mentions(query, Ticket.subject))
        if status is not None:
            found = found.where(Ticket.status.in_(LIVE if status == "live" else (status,)))
        if unassigned:
            found = found.where(Ticket.agent_id.is_(None))
        if overdue:
            found = found.where(Ticket.status.in_(LIVE), Ticket.due_at < stamp())
        return page(db, found.order_by(Ticket.due_at, Ticket.id), show_ticket, limit)


@app.get("/tickets/{ticket_id}", operation_id="get_ticket")
async def get_ticket(ticket_id: TicketId) -> Record:
    """Show one ticket with its equipment, the article that solved it, what it was merged into, and comments."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        comments = db.scalars(select(Comment).where(Comment.ticket_id == ticket.id).order_by(Comment.id))
        return {
            **show_ticket(ticket),
            "asset": show_asset(ticket.asset) if ticket.asset else None,
            "article": ticket.article.code if ticket.article else None,
            "merged_into": ticket.merged_into.number if ticket.merged_into else None,
            "comments": [show_comment(comment) for comment in comments],
        }


@app.get("/assets", operation_id="list_assets")
async def list_assets(
    tag: Annotated[str | None, Query(description="Only the asset with this tag, like LT-4012.")] = None,
    kind: Annotated[Kind | None, Query(description="Only this kind.")] = None,
    office: Annotated[Office | None, Query(description="Only assets at this office.")] = None,
    status: Annotated[
        Literal["in_use", "in_stock", "in_repair", "retired"] | None, Query(description="Only this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List equipment, the newest first (then by tag), and how many there are in all."""
    with transaction() as db:
        wanted = ((Asset.kind, kind), (Asset.office, office), (Asset.status, status))
        found = narrow(select(Asset), *wanted)
        if tag is not None:
            found = found.where(Asset.tag == tag.strip().upper())
        return page(db, found.order_by(Asset.bought_on.desc(), Asset.tag), show_asset, limit)


@app.get("/licences", operation_id="list_licences")
async def list_licences() -> Record:
    """List the licensed software with its seats and how many of them are free."""
    with transaction() as db:
        counted = select(func.count(Grant.id)).where(Grant.licence_id == Licence.id).scalar_subquery()
        return {
            "results": [
                {
                    "licence_id": licence.id,
                    "software": licence.software,
                    "seats": licence.seats,
                    "free": licence.seats - taken,
                }
                for licence, taken in db.execute(
                    select(Licence).add_columns(counted).order_by(Licence.software)
                )
            ]
        }


@app.get("/licences/{licence_id}/seats", operation_id="list_seats")
async def list_seats(
    licence_id: Annotated[Id, Path(description="The licence, from list_licences.")], limit: Limit = 30
) -> Record:
    """List who has a seat of a licence and since when, oldest first, and whether they still work here."""
    with transaction() as db:
        licence = find(db, Licence, licence_id)
        found = select(Grant).where(Grant.licence_id == licence.id).order_by(Grant.granted_on, Grant.id)
        return page(db, found, show_seat, limit)


@app.get("/articles", operation_id="search_articles")
async def search_articles(
    query: Annotated[str, Query(min_length=2, description="Words from the title or the text.")],
    status: Annotated[
        Literal["current", "outdated"] | None, Query(description="Only articles in this status.")
    ] = None,
    limit: Limit = 10,
) -> Record:
    """Find articles of the knowledge base, by code. Outdated ones must not be used any more."""
    with transaction() as db:
        found = narrow(select(Article), (Article.status, status))
        found = found.where(mentions(query, Article.title, Article.text))
        return page(db, found.order_by(Article.code), show_article, limit)


# ---------------------------------------------------------------- writes: tickets


@app.post("/tickets", operation_id="open_ticket")
async def open_ticket(
    person_id: Annotated[Id, given("Who has the problem, from search_people.")],
    subject: Annotated[str, given("What it is about, in a few words.", min_length=3, max_length=80)],
    category: Annotated[Category, given("Hardware, software, network, access or phone.")],
    priority: Annotated[Priority, given("The house rules say which.")],
    team: Annotated[str, given("The name of the team that will work on it, from list_teams.")],
    asset_id: Annotated[
        Id | None, given("The equipment it is about, from get_person or list_assets.")
    ] = None,
) -> Record:
    """Open a ticket; its priority sets when it is due. Refuses people who have left, equipment of somebody
    else, and a second live ticket of the same person with the same subject."""
    with transaction() as db:
        person, chosen = find(db, Person, person_id), find_team(db, team)
        require_active(person)
        asset = find(db, Asset, asset_id) if asset_id is not None else None
        if asset is not None and asset.person_id != person.id:
            refuse(f"{asset.tag} is not {person.name}'s: see get_person for their equipment.")
        same = (Ticket.person_id == person.id, func.lower(Ticket.subject) == subject.lower())
        if other := db.scalars(select(Ticket).where(*same, Ticket.status.in_(LIVE))).first():
            refuse(f"{person.name} has a live ticket about this: {other.number}. Add a comment there.")
        ticket = Ticket(
            number=next_number(db),
            person=person,
            asset=asset,
            subject=subject,
            category=category,
            priority=priority,
            team=chosen,
            opened_at=(opened_at := stamp()),
            due_at=due(db, priority, opened_at),
        )
        return show_ticket(save(db, ticket))


def find_team(db: Session, name: str) -> Team:
    team = db.scalars(select(Team).where(func.lower(Team.name) == name.lower())).first()
    return team or refuse(f"There is no team {name!r}: see list_teams.", 404)


@app.post("/tickets/{ticket_id}/agent", operation_id="assign_ticket")
async def assign_ticket(
    ticket_id: TicketId, agent_id: Annotated[Id, given("The agent, from list_agents.")]
) -> Record:
    """Give a live ticket to an agent of its team. Refuses agents of other teams (move_ticket first), those
    off duty, and those who have eight tickets."""
    with transaction() as db:
        ticket, agent = find(db, Ticket, ticket_id), find(db, Agent, agent_id)
        require_live(ticket)
        if agent.team_id != ticket.team_id:
            refuse(f"{agent.name} is in {agent.team.name}; {ticket.number} is with {ticket.team.name}.")
        if ticket.agent_id == agent.id:
            refuse(f"{agent.name} has {ticket.number} already.")
        require_room(db, agent)
        ticket.agent = agent
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/team", operation_id="move_ticket")
async def move_ticket(
    ticket_id: TicketId, team: Annotated[str, given("The name of the new team, from list_teams.")]
) -> Record:
    """Hand a live ticket to another team; it then has no agent. Refuses the team that has it."""
    with transaction() as db:
        ticket, chosen = find(db, Ticket, ticket_id), find_team(db, team)
        require_live(ticket)
        if ticket.team_id == chosen.id:
            refuse(f"{ticket.number} is with {chosen.name} already.")
        ticket.team, ticket.agent = chosen, None
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/priority", operation_id="set_priority")
async def set_priority(
    ticket_id: TicketId, priority: Annotated[Priority, given("The new priority; the house rules say which.")]
) -> Record:
    """Change the priority of a live ticket; it is then due so many hours after it was opened. Refuses the
    priority that it has."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        require_live(ticket)
        if ticket.priority == priority:
            refuse(f"{ticket.number} is {priority} already.")
        ticket.priority, ticket.due_at = priority, due(db, priority, ticket.opened_at)
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/escalation", operation_id="escalate_ticket")
async def escalate_ticket(
    ticket_id: TicketId, agent_id: Annotated[Id, given("The level 3 agent who takes it, from list_agents.")]
) -> Record:
    """Escalate an overdue ticket to a level 3 agent of its team. Refuses tickets that are not overdue or were
    escalated before, agents below level 3 or of other teams, and those off duty or with eight tickets."""
    with transaction() as db:
        ticket, agent = find(db, Ticket, ticket_id), find(db, Agent, agent_id)
        require_live(ticket)
        if ticket.escalated:
            refuse(f"{ticket.number} was escalated already.")
        if ticket.due_at >= stamp():
            refuse(f"{ticket.number} is not overdue: it is due at {ticket.due_at}.")
        if agent.team_id != ticket.team_id or agent.level < 3:
            refuse(f"{agent.name} is no level 3 agent of {ticket.team.name}: see list_agents.")
        require_room(db, agent)
        ticket.escalated, ticket.agent = True, agent
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/comments", operation_id="add_comment")
async def add_comment(
    ticket_id: TicketId,
    text: Annotated[str, given("What to write.", min_length=1, max_length=500)],
    internal: Annotated[bool, given("True: only agents see it. False: the person sees it, too.")] = False,
) -> Record:
    """Write a comment on a ticket that is not closed, for the person or only for agents."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        if ticket.status == "closed":
            refuse(f"{ticket.number} is closed: open a new ticket.")
        return {"number": ticket.number, **add_comment_row(db, ticket, text, internal=internal)}


@app.post("/tickets/{ticket_id}/waiting", operation_id="wait_for_person")
async def wait_for_person(
    ticket_id: TicketId,
    question: Annotated[str, given("What the person is asked.", min_length=3, max_length=500)],
) -> Record:
    """Ask the person something on an open ticket, which then waits for the answer. Refuses other statuses."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        if ticket.status != "open":
            refuse(f"{ticket.number} is {ticket.status}, not open.")
        ticket.status = "waiting"
        add_comment_row(db, ticket, question, internal=False)
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/resolution", operation_id="resolve_ticket")
async def resolve_ticket(
    ticket_id: TicketId,
    article_id: Annotated[Id | None, given("The article that solved it, from search_articles.")] = None,
) -> Record:
    """Mark a live ticket as resolved, with the article that solved it, if one did. Refuses tickets that no
    agent has, and outdated articles."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        require_live(ticket)
        if ticket.agent_id is None:
            refuse(f"No agent has {ticket.number}: assign_ticket first.")
        article = find(db, Article, article_id) if article_id is not None else None
        if article is not None and article.status == "outdated":
            refuse(f"{article.code} is outdated: search_articles for a current one.")
        ticket.status, ticket.resolved_at, ticket.article = "resolved", stamp(), article
        return {**show_ticket(ticket), "article": article.code if article else None}


@app.post("/tickets/{ticket_id}/reopening", operation_id="reopen_ticket")
async def reopen_ticket(ticket_id: TicketId) -> Record:
    """Open a resolved ticket again, with its team but without an agent: the problem is back. Refuses those
    resolved over 14 days ago, and tickets that are not resolved."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        if ticket.status != "resolved" or ticket.resolved_at is None:
            refuse(f"{ticket.number} is {ticket.status}, not resolved.")
        if datetime.fromisoformat(ticket.resolved_at) < now() - timedelta(days=14):
            refuse(
                f"{ticket.number} was resolved at {ticket.resolved_at}, over 14 days ago: open a new ticket."
            )
        ticket.status, ticket.resolved_at, ticket.article = "open", None, None
        ticket.agent = None
        return show_ticket(ticket)


@app.post("/tickets/{ticket_id}/merge", operation_id="merge_ticket")
async def merge_ticket(
    ticket_id: TicketId,
    into_ticket_id: Annotated[Id, given("The older live ticket about the same thing, from list_tickets.")],
) -> Record:
    """Close a live ticket as a duplicate of an older live one. Refuses to merge older into newer ones, and
    tickets of different categories."""
    with transaction() as db:
        ticket, other = find(db, Ticket, ticket_id), find(db, Ticket, into_ticket_id)
        require_live(ticket)
        require_live(other)
        if other.opened_at >= ticket.opened_at:
            refuse(f"{other.number} is not older than {ticket.number}: merge the newer into the older one.")
        if other.category != ticket.category:
            refuse(f"{ticket.number} is about {ticket.category}, {other.number} about {other.category}.")
        ticket.status, ticket.resolved_at, ticket.merged_into = "closed", stamp(), other
        return {**show_ticket(ticket), "merged_into": other.number}


# ---------------------------------------------------------------- writes: equipment


@app.post("/assets/{asset_id}/person", operation_id="hand_out_asset")
async def hand_out_asset(
    asset_id: AssetId, person_id: Annotated[Id, given("Who gets it, from search_people.")]
) -> Record:
    """Hand equipment that is in stock to a person of the same office. Refuses what is not in stock, people
    who have left or work elsewhere, and a second laptop or phone."""
    with transaction() as db:
        asset, person = find(db, Asset, asset_id), find(db, Person, person_id)
        require_active(person)
        if asset.status != "in_stock":
            refuse(f"{asset.tag} is {plain(asset.status)}, not in stock: see list_assets.")
        if asset.office != person.office:
            refuse(f"{asset.tag} is in {asset.office}, {person.name} in {person.office}: choose one there.")
        if asset.kind in ("laptop", "phone"):
            require_none(db, person, asset.kind)
        asset.status, asset.person = "in_use", person
        return show_asset(asset)


def require_none(db: Session, person: Person, kind: str) -> None:
    same = (Asset.person_id == person.id, Asset.kind == kind)
    if other := db.scalars(select(Asset).where(*same)).first():
        refuse(f"{person.name} has a {kind} already ({other.tag}): take_back_asset first.")


@app.post("/assets/{asset_id}/return", operation_id="take_back_asset")
async def take_back_asset(
    asset_id: AssetId,
    goes_to: Annotated[
        Literal["in_stock", "in_repair", "retired"],
        given("Back to stock, to repair, or out of use for good."),
    ],
) -> Record:
    """Take equipment back from the person who has it. Running admin rights on it end. Refuses what nobody has."""
    with transaction() as db:
        asset = find(db, Asset, asset_id)
        if asset.status != "in_use":
            refuse(f"{asset.tag} is {plain(asset.status)}: nobody has it.")
        running = (AdminRight.asset_id == asset.id, AdminRight.revoked.is_(False))
        for right in db.scalars(select(AdminRight).where(*running, AdminRight.until_day >= today())):
            right.revoked = True
        asset.status, asset.person = goes_to, None
        return show_asset(asset)


@app.post("/assets/{asset_id}/repair/end", operation_id="finish_repair")
async def finish_repair(asset_id: AssetId) -> Record:
    """Bring equipment back from repair into stock. Refuses what is not in repair."""
    with transaction() as db:
        asset = find(db, Asset, asset_id)
        if asset.status != "in_repair":
            refuse(f"{asset.tag} is {plain(asset.status)}, not in repair.")
        asset.status = "in_stock"
        return show_asset(asset)


# ---------------------------------------------------------------- writes: access


@app.post("/people/{person_id}/unlock", operation_id="unlock_account")
async def unlock_account(person_id: PersonId) -> Record:
    """Unlock the account of a person. Refuses accounts that are not locked, and people who have left."""
    with transaction() as db:
        person = find(db, Person, person_id)
        require_active(person)
        if not person.locked:
            refuse(f"{person.name}'s account is not locked.")
        person.locked = False
        return show_person(person)


@app.post("/people/{person_id}/software", operation_id="grant_software")
async def grant_software(
    person_id: PersonId, licence_id: Annotated[Id, given("The software, from list_licences.")]
) -> Record:
    """Give a person a seat of licensed software. Refuses where no seat is free (see list_seats for who could
    give theirs back), people who have one already, and people who have left."""
    with transaction() as db:
        person, licence = find(db, Person, person_id), find(db, Licence, licence_id)
        require_active(person)
        same = (Grant.person_id == person.id, Grant.licence_id == licence.id)
        if db.scalars(select(Grant).where(*same)).first():
            refuse(f"{person.name} has a seat of {licence.software} already.")
        if seats_taken(db, licence) >= licence.seats:
            refuse(f"All {licence.seats} seats of {licence.software} are taken: see list_seats.")
        return show_seat(save(db, Grant(person=person, licence=licence, granted_on=today())))


@app.delete("/seats/{grant_id}", operation_id="withdraw_software")
async def withdraw_software(grant_id: GrantId) -> Record:
    """Take a software seat back from a person, so that somebody else can have it."""
    with transaction() as db:
        grant = find(db, Grant, grant_id)
        shown = show_seat(grant)
        db.delete(grant)
        return {"withdrawn": shown}


@app.post("/people/{person_id}/admin-rights", operation_id="grant_admin_rights")
async def grant_admin_rights(
    person_id: PersonId,
    asset_id: Annotated[Id, given("The laptop of that person, from get_person.")],
    days: Annotated[int, given("For how many days, today included; the house rules say.", ge=1, le=365)],
) -> Record:
    """Give a person admin rights on their own laptop for some days. Refuses more than 30 days, what is not
    their laptop, and a second running right on it."""
    with transaction() as db:
        person, asset = find(db, Person, person_id), find(db, Asset, asset_id)
        require_active(person)
        if asset.kind != "laptop" or asset.person_id != person.id:
            refuse(f"{asset.tag} is not {person.name}'s laptop: see get_person.")
        if days > LONGEST_ADMIN_DAYS:
            refuse(f"Admin rights are given for {LONGEST_ADMIN_DAYS} days at most, not {days}.")
        if running := db.scalars(live_rights(person).where(AdminRight.asset_id == asset.id)).first():
            refuse(f"{person.name} has admin rights on {asset.tag} until {running.until_day}.")
        until = today() + timedelta(days=days - 1)
        right = AdminRight(person=person, asset=asset, from_day=today(), until_day=until)
        return show_right(save(db, right))


@app.post("/admin-rights/{right_id}/revocation", operation_id="revoke_admin_rights")
async def revoke_admin_rights(right_id: RightId) -> Record:
    """End running admin rights at once. Refuses those that are over or revoked."""
    with transaction() as db:
        right = find(db, AdminRight, right_id)
        if right.revoked or right.until_day < today():
            refuse("These admin rights are over already.")
        right.revoked = True
        return show_right(right)
