"""The workshop's seed rows, and the templates that its tasks are drawn from.

`subworlds generate my_world --seed-rows` writes seed.sql, `subworlds generate my_world --write` writes tasks.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta

from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

CUSTOMERS = (
    *("Anna Berg", "Anna Bergman", "Luca Moretti", "Luca Morel", "Priya Nair", "Tomasz Zielinski"),
    *("Grace Okafor", "Grace O'Connell", "Mehmet Demir", "Sofia Lindqvist", "Noah Weiss", "Noah Weisz"),
    *("Yuki Tanaka", "Omar Haddad", "Elena Petrova", "Hugo Martins"),
)
COLOURS = ("red", "blue", "green", "black", "white", "yellow")
KINDS = ("city bike", "road bike", "mountain bike", "cargo bike", "folding bike")
PARTS = {
    "inner tube 26 inch": 650,
    "inner tube 28 inch": 700,
    "brake pads": 1250,
    "brake cable": 475,
    "chain 8-speed": 1890,
    "chain 11-speed": 3450,
    "front light": 2400,
    "rear light": 1650,
    "bell": 590,
    "pedals": 2995,
    "saddle": 4250,
    "bottle holder": 820,
}
WORK = ("new brakes", "a flat tyre", "the yearly service", "a slipping chain", "new lights", "a wobbly wheel")
POLICY = {
    "Parts": "Parts that went into a job are never taken out again. Such a job is finished and paid for; "
    "it is not cancelled.",
    "Cancelling": "A customer may cancel an open job for nothing as long as no part went into it.",
    "One job at a time": "A bike has one open job at most.",
    "Stock": "Nobody promises a part that is not in stock.",
    "Collecting": "A bike is handed over when its job is ready. Bikes are kept for 30 days, then we call.",
}


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The seed, table by table, in an order that references can follow."""
    for section, rule in POLICY.items():
        yield "policy", {"section": section, "text": rule}
    for name, price in PARTS.items():
        yield "parts", {"name": name, "price_cents": price, "stock": rng.choice((0, 2, 3, 5, 8, 12))}
    bike = 0
    bikes: list[int] = []
    for number, name in enumerate(CUSTOMERS, 1):
        yield "customers", {"id": number, "name": name, "phone": f"555-{rng.randint(1000, 9999)}"}
        for description in rng.sample([f"{colour} {kind}" for colour in COLOURS for kind in KINDS], rng.randint(1, 3)):
            bike += 1
            bikes.append(bike)
            yield "bikes", {"id": bike, "customer_id": number, "description": description}
    job = 0
    for bike in bikes:
        for status in rng.choice((("open",), ("collected", "open"), ("collected",), ("ready",), ("cancelled", "open"))):
            job += 1
            booked = date(2026, 3, 1) - timedelta(days=rng.randint(0, 4) if status == "open" else rng.randint(10, 90))
            dates = {"booked_on": booked, "due_on": booked + timedelta(days=3)}
            yield "jobs", {"id": job, "bike_id": bike, "work": rng.choice(WORK), "status": status, **dates}
            if status != "cancelled" and rng.random() < 0.6:
                for part in rng.sample(range(1, len(PARTS) + 1), rng.randint(1, 2)):
                    yield "job_parts", {"job_id": job, "part_id": part, "quantity": rng.randint(1, 2)}


OPEN_JOBS = """
    SELECT jobs.id, work, bikes.description AS bike, customers.name AS customer, customer_id,
           (SELECT count(*) FROM job_parts WHERE job_id = jobs.id) AS parts
    FROM jobs JOIN bikes ON bikes.id = bike_id JOIN customers ON customers.id = customer_id
    WHERE status = 'open' ORDER BY jobs.id
"""


def look_up(job: dict[str, object]) -> list[dict[str, object]]:
    """How a person finds a job: by the customer, then among the customer's jobs."""
    return [
        call("search_customers", query=job["customer"]),
        call("list_jobs", customer_id=job["customer_id"], status="open"),
    ]


@template("part-in-stock", difficulty="easy", tags=("read",))
def part_in_stock(world: World, rng: random.Random) -> Draft | None:
    """How many of a part there are."""
    part = pick(rng, world.rows("SELECT * FROM parts WHERE stock > 0 ORDER BY id"))
    if part is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many do we have of this part: {name}? Answer with the number only.",
            "Count the stock of the {name}, please. Just the number.",
            "What is left on the shelf of the {name}? Give me the number.",
            name=part["name"],
        ),
        solution=[call("find_parts", query=part["name"])],
        answer={"number": part["stock"]},
    )


@template("book-job", difficulty="easy", tags=("write",))
def book_job(world: World, rng: random.Random) -> Draft | None:
    """Book a job on a bike that has none."""
    bike = pick(
        rng,
        world.rows(
            "SELECT bikes.id, description, name FROM bikes JOIN customers ON customers.id = customer_id "
            "WHERE bikes.id NOT IN (SELECT bike_id FROM jobs WHERE status = 'open') ORDER BY bikes.id"
        ),
    )
    if bike is None:
        return None
    work = rng.choice(WORK)
    return Draft(
        prompt=phrase(
            rng,
            "{name} has brought in the {bike}. Please book it in; write down \"{work}\" as the work.",
            "Book a job for the {bike} of {name}. The work, word for word: \"{work}\".",
            "The {bike} of {name} needs a job. Note \"{work}\" as what is to be done.",
            name=bike["name"],
            bike=bike["description"],
            work=work,
        ),
        solution=[call("search_customers", query=bike["name"]), call("book_job", bike_id=bike["id"], work=work)],
    )


@template("finish-job", difficulty="medium", tags=("write",))
def finish_job(world: World, rng: random.Random) -> Draft | None:
    """Mark a customer's job as ready."""
    job = pick(rng, world.rows(OPEN_JOBS))
    if job is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The {bike} of {customer} is done. Please mark its job as ready.",
            "We are through with {customer}'s {bike}: it can be collected. Put that down.",
            "Set the open job on the {bike} of {customer} to ready, please.",
            customer=job["customer"],
            bike=job["bike"],
        ),
        solution=[*look_up(job), call("finish_job", job_id=job["id"])],
    )


@template("cost-of-parts", difficulty="medium", tags=("read",))
def cost_of_parts(world: World, rng: random.Random) -> Draft | None:
    """What the parts in an open job cost."""
    job = pick(rng, [job for job in world.rows(OPEN_JOBS) if job["parts"]])
    if job is None:
        return None
    cents = world.value(
        "SELECT sum(price_cents * quantity) FROM job_parts JOIN parts ON parts.id = part_id WHERE job_id = ?", job["id"]
    )
    return Draft(
        prompt=phrase(
            rng,
            "{customer} asks what the parts for the {bike} come to so far. The amount in dollars, number only.",
            "How much are the parts in the open job on {customer}'s {bike}? In dollars, just the number.",
            "What do we charge {customer} for parts on the {bike}, as of now? Only the dollars, as a number.",
            customer=job["customer"],
            bike=job["bike"],
        ),
        solution=[*look_up(job), call("get_job", job_id=job["id"])],
        answer={"number": cents / 100},
    )


@template("cancel-if-allowed", difficulty="medium", tags=("read", "refusal"))
def cancel_if_allowed(world: World, rng: random.Random) -> Draft | None:
    """A customer wants to cancel; the house's rules decide, and a part tells why not."""
    job = pick(rng, world.rows(OPEN_JOBS))
    if job is None:
        return None
    parts = world.rows("SELECT name FROM job_parts JOIN parts ON parts.id = part_id WHERE job_id = ?", job["id"])
    prompt = phrase(
        rng,
        "{customer} would like to cancel the job on the {bike}. Do so if our rules allow it, and answer \"cancelled\". "
        "If not, leave it alone and name the parts that went into it, separated by commas.",
        "Can the job on {customer}'s {bike} be cancelled under our rules? Then cancel it and say \"cancelled\"; "
        "otherwise change nothing and list the parts in it, with commas between them.",
        customer=job["customer"],
        bike=job["bike"],
    )
    look = [call("read_policy"), *look_up(job), call("get_job", job_id=job["id"])]
    if parts:
        return Draft(prompt, look, answer={"list": [part["name"] for part in parts]})
    cancel = call("cancel_job", job_id=job["id"])
    return Draft(prompt, [*look, cancel], answer={"text": "cancelled"}, tags=("write", "refusal"))


@template("fit-parts", difficulty="hard", tags=("write",))
def fit_parts(world: World, rng: random.Random) -> Draft | None:
    """Two parts go into a job, which is then ready."""
    job = pick(rng, [job for job in world.rows(OPEN_JOBS) if not job["parts"]])
    stock = world.rows("SELECT * FROM parts WHERE stock >= 3 ORDER BY id")
    if job is None or len(stock) < 2:
        return None
    first, second = rng.sample(stock, 2)
    two = rng.randint(1, 2)
    return Draft(
        prompt=phrase(
            rng,
            "{customer}'s {bike} got {two} of the {second} and one {first}. Put them into its job and mark it ready.",
            "Into the open job on the {bike} of {customer} went one {first} and {two} of the {second}. "
            "Take them out of stock for it; the job is ready then.",
            customer=job["customer"],
            bike=job["bike"],
            first=first["name"],
            second=second["name"],
            two=two,
        ),
        solution=[
            *look_up(job),
            call("find_parts", query=first["name"]),
            call("use_part", job_id=job["id"], part_id=first["id"], quantity=1),
            call("find_parts", query=second["name"]),
            call("use_part", job_id=job["id"], part_id=second["id"], quantity=two),
            call("finish_job", job_id=job["id"]),
        ],
    )
