"""A bicycle workshop: jobs on customers' bikes, and the parts that go into them.

Each route is a tool: its operation_id is the tool's name, its docstring and the descriptions of its arguments
are all that an agent knows of it. Whatever a tool needs to remember goes into the database.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NoReturn

from fastapi import Body, FastAPI, HTTPException, Path, Query
from sqlalchemy import Connection, create_engine, text

REPAIR_TIME = timedelta(days=3)

engine = create_engine("sqlite:///world.db")
app = FastAPI(title="Chain & Sprocket")

Record = dict[str, Any]
JobId = Annotated[int, Path(description="The job's id, as list_jobs shows it.")]


@contextmanager
def transaction() -> Iterator[Connection]:
    """All of a tool's changes, or none of them."""
    with engine.begin() as db:
        yield db


def rows(db: Connection, sql: str, **values: Any) -> list[Record]:
    return [dict(row) for row in db.execute(text(sql), values).mappings()]


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Say no. The agent reads the reason: let it say what to do instead."""
    raise HTTPException(status, reason)


def find(db: Connection, what: str, sql: str, **values: Any) -> Record:
    found = rows(db, sql, **values)
    return found[0] if found else refuse(f"there is no such {what}", 404)


JOBS = """
    SELECT jobs.id AS job_id, customers.name AS customer, bikes.description AS bike, work, status, booked_on, due_on
    FROM jobs JOIN bikes ON bikes.id = bike_id JOIN customers ON customers.id = customer_id
"""


def find_job(db: Connection, job_id: int) -> Record:
    return find(db, "job: see list_jobs", f"{JOBS} WHERE jobs.id = :id", id=job_id)


def require_open(job: Record) -> None:
    if job["status"] != "open":
        refuse(f"job {job['job_id']} is {job['status']}: only open jobs can be worked on")


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
def read_policy() -> list[Record]:
    """The rules of the house that everybody who works here follows."""
    with transaction() as db:
        return rows(db, "SELECT section, text FROM policy ORDER BY id")


@app.get("/customers", operation_id="search_customers")
def search_customers(query: Annotated[str, Query(description="Part of the name.", min_length=2)]) -> list[Record]:
    """Customers by name, each with phone number and bikes."""
    with transaction() as db:
        found = rows(
            db,
            "SELECT id AS customer_id, name, phone FROM customers WHERE instr(lower(name), lower(:query)) ORDER BY id",
            query=query,
        )
        bikes = "SELECT id AS bike_id, description FROM bikes WHERE customer_id = :id ORDER BY id"
        return [customer | {"bikes": rows(db, bikes, id=customer["customer_id"])} for customer in found]


@app.get("/jobs", operation_id="list_jobs")
def list_jobs(
    customer_id: Annotated[int | None, Query(description="Only this customer's jobs.")] = None,
    status: Annotated[
        Literal["open", "ready", "collected", "cancelled"] | None, Query(description="Only jobs of this status.")
    ] = None,
) -> list[Record]:
    """Jobs with customer, bike and the day they are due, the newest first; 20 at most."""
    with transaction() as db:
        return rows(
            db,
            f"{JOBS} WHERE (:customer IS NULL OR customer_id = :customer) AND (:status IS NULL OR status = :status) "
            "ORDER BY jobs.id DESC LIMIT 20",
            customer=customer_id,
            status=status,
        )


@app.get("/jobs/{job_id}", operation_id="get_job")
def get_job(job_id: JobId) -> Record:
    """One job with the parts that went into it and what they cost together, in dollars."""
    with transaction() as db:
        job = find_job(db, job_id)
        parts = rows(
            db,
            "SELECT part_id, name, quantity, price_cents / 100.0 AS price FROM job_parts JOIN parts ON parts.id = part_id "
            "WHERE job_id = :id ORDER BY part_id",
            id=job_id,
        )
        total = round(sum(part["price"] * part["quantity"] for part in parts), 2)
        return job | {"parts": parts, "parts_total": total}


@app.get("/parts", operation_id="find_parts")
def find_parts(query: Annotated[str, Query(description="Part of the part's name.", min_length=2)]) -> list[Record]:
    """Parts by name, with price in dollars and how many are in stock."""
    with transaction() as db:
        return rows(
            db,
            "SELECT id AS part_id, name, price_cents / 100.0 AS price, stock FROM parts "
            "WHERE instr(lower(name), lower(:query)) ORDER BY id",
            query=query,
        )


# ---------------------------------------------------------------- writes


@app.post("/jobs", operation_id="book_job")
def book_job(
    bike_id: Annotated[int, Body(description="The bike's id, as search_customers shows it.")],
    work: Annotated[str, Body(description="What is to be done, in a few words.", min_length=3)],
) -> Record:
    """Book a job on a bike; it is due in three days. Refuses a bike that has an open job."""
    with transaction() as db:
        find(db, "bike: see search_customers", "SELECT id FROM bikes WHERE id = :id", id=bike_id)
        running = rows(db, "SELECT id FROM jobs WHERE bike_id = :id AND status = 'open'", id=bike_id)
        if running:
            refuse(f"this bike is in for job {running[0]['id']} already: finish or cancel that one first")
        today = datetime.now().date()
        new = rows(
            db,
            "INSERT INTO jobs (bike_id, work, booked_on, due_on) VALUES (:bike, :work, :today, :due) RETURNING id",
            bike=bike_id,
            work=work,
            today=today.isoformat(),
            due=(today + REPAIR_TIME).isoformat(),
        )
        return find_job(db, new[0]["id"])


@app.post("/jobs/{job_id}/parts", operation_id="use_part")
def use_part(
    job_id: JobId,
    part_id: Annotated[int, Body(description="The part's id, as find_parts shows it.")],
    quantity: Annotated[int, Body(description="How many.", ge=1)],
) -> Record:
    """Take parts out of stock and put them into an open job. Refuses more than there are."""
    with transaction() as db:
        require_open(find_job(db, job_id))
        part = find(db, "part: see find_parts", "SELECT * FROM parts WHERE id = :id", id=part_id)
        if part["stock"] < quantity:
            refuse(f"there are only {part['stock']} of {part['name']} in stock")
        db.execute(text("UPDATE parts SET stock = stock - :n WHERE id = :id"), {"n": quantity, "id": part_id})
        db.execute(
            text(
                "INSERT INTO job_parts (job_id, part_id, quantity) VALUES (:job, :part, :n) "
                "ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity"
            ),
            {"job": job_id, "part": part_id, "n": quantity},
        )
    return get_job(job_id)


@app.post("/jobs/{job_id}/finish", operation_id="finish_job")
def finish_job(job_id: JobId) -> Record:
    """Mark an open job as ready to be collected."""
    return set_status(job_id, "ready")


@app.post("/jobs/{job_id}/cancel", operation_id="cancel_job")
def cancel_job(job_id: JobId) -> Record:
    """Cancel an open job. Refuses one that parts went into: see read_policy."""
    with transaction() as db:
        if rows(db, "SELECT part_id FROM job_parts WHERE job_id = :id", id=job_id):
            refuse("parts went into this job, so it cannot be cancelled: it has to be finished and paid for")
    return set_status(job_id, "cancelled")


def set_status(job_id: int, status: str) -> Record:
    with transaction() as db:
        require_open(find_job(db, job_id))
        db.execute(text("UPDATE jobs SET status = :status WHERE id = :id"), {"status": status, "id": job_id})
        return find_job(db, job_id)
