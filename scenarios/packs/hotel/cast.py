"""Who and what there is in the hotel: people, rooms, rates and house rules."""

TODAY = "2026-05-11"

ROOM_TYPES = (
    # name, sleeps, dollars a night, how many on each floor
    ("Single", 1, 85, 2),
    ("Double", 2, 120, 3),
    ("Superior Double", 2, 150, 2),
    ("Family", 4, 190, 1),
    ("Suite", 4, 260, 1),
)

SEASONS = (
    ("Winter", "2025-12-01", "2026-02-28", 80),
    ("Spring", "2026-03-01", "2026-05-22", 100),
    ("Early summer", "2026-05-23", "2026-06-30", 120),
    ("High summer", "2026-07-01", "2026-08-31", 150),
    ("Autumn", "2026-09-01", "2026-11-30", 90),
    ("Winter", "2026-12-01", "2027-02-28", 80),
)

STAFF = (
    ("Rosa Lindt", "housekeeper", 1),
    ("Tamsin Byrne", "housekeeper", 2),
    ("Kofi Asante", "housekeeper", 3),
    ("Ilse Brandt", "housekeeper", 4),
    ("Ivana Kos", "housekeeper", None),
    ("Marek Duda", "porter", None),
    ("Rosa Linden", "clerk", None),
    ("Theo Marsh", "clerk", None),
    ("Priya Nair", "clerk", None),
)

ISSUES = ("Shower", "Heating", "Window", "Lock", "Carpet", "Lamp", "Basin", "Television")

TOWNS = ("Leeds", "Bristol", "Utrecht", "Ghent", "Cork", "Lyon", "Porto", "Bergen", "Graz", "Turin")

GUESTS = (
    "Marta Nowak",
    "Maria Nowak",
    "Marta Nowacka",
    "Marta Nowak",
    "John Carter",
    "Joan Carter",
    "John Carver",
    "John Carter",
    "Elena Petrova",
    "Elena Petrov",
    "Alena Petrova",
    "Samuel Okoro",
    "Samuel Okafor",
    "Samira Okoro",
    "Ingrid Solberg",
    "Ingrid Solheim",
    "Astrid Solberg",
    "Luca Moretti",
    "Lucia Moretti",
    "Luca Moretto",
    "Hannah Weiss",
    "Hanna Weiss",
    "Hannah Weisz",
    "Pierre Lambert",
    "Pierrette Lambert",
    "Pierre Lamberti",
    "Aoife Byrne",
    "Aoife Burns",
    "Owen Pritchard",
    "Owain Pritchard",
    "Owen Prichard",
    "Sofia Almeida",
    "Sofia Almada",
    "Sonia Almeida",
    "Dmitri Volkov",
    "Dmitri Wolkow",
    "Noor Haddad",
    "Noor Haddadi",
    "Nora Haddad",
    "Emeka Eze",
    "Emeka Ezeani",
    "Grace Whitfield",
    "Grace Whitford",
    "Graham Whitfield",
    "Mei Tanaka",
    "Mai Tanaka",
    "Kenji Tanaka",
    "Anders Holm",
    "Anders Holmberg",
    "Andrea Holm",
    "Beatriz Campos",
    "Beatrice Campion",
    "Tomasz Zielinski",
    "Tomas Zelinka",
    "Yara Mansour",
    "Yara Mansoor",
    "Felix Baumann",
    "Felicia Baumann",
    "Felix Bauer",
    "Ruth Abernathy",
    "Ruth Abercrombie",
    "Colm Gallagher",
    "Colm Gallacher",
    "Ines Duarte",
    "Ines Duran",
    "Victor Stahl",
    "Viktor Stahl",
    "Chloe Bennett",
    "Chloe Benett",
    "Arjun Rao",
    "Arjun Rane",
    "Freya Lund",
    "Freja Lund",
    "Miles Thornton",
    "Myles Thornton",
    "Paula Ricci",
    "Paola Ricci",
    "Harriet Stone",
    "Harriet Stowe",
    "Oskar Nyberg",
    "Edith Marlow",
    "Edith Marlowe",
    "Bram de Wit",
    "Bram de Witte",
    "Leila Farouk",
    "Layla Farouk",
    "George Pemberton",
    "Georgia Pemberton",
    "Naomi Adler",
    "Noemi Adler",
)

POLICY = (
    (
        "Cancellations",
        "A booking cancelled three days or more before the day of arrival costs nothing. Cancelled two days or one "
        "day before, it costs the first night; on the day of arrival itself, the full stay. Gold members pay "
        "nothing until the day before arrival, and the first night on the day itself.",
    ),
    (
        "Late check-out",
        "Rooms are left by 11:00. Staying until 13:00 costs $20 and until 16:00 $45. Silver members pay half of "
        "that. Gold members pay nothing until 13:00 and $20 until 16:00.",
    ),
    (
        "Upgrades",
        "A free upgrade is given before the guests come, goes exactly one category up and keeps the price. Gold "
        "members may have one for any stay, silver members for stays of one or two nights, others never. The room "
        "is the lowest-numbered one of that category that is free for the whole stay; if none is free, the guest "
        "stays where the booking is.",
    ),
    (
        "Complaints",
        "Guests in house who complain of noise get a credit of 10 percent of the room price, of the heating, the "
        "shower or the lift 20 percent: in whole dollars, rounded down, and never more than $60.",
    ),
    (
        "Disputed charges",
        "A disputed charge of up to $30 is voided without questions. A larger one stays on the bill; the manager "
        "will talk to the guest.",
    ),
    (
        "Membership",
        "Guests become silver with two stays and gold with three. Only stays that took place and are over count: "
        "not those in house or to come, nor what was cancelled or a no-show. Levels are raised when a guest asks, "
        "and never taken away.",
    ),
    (
        "Unpaid bills",
        "Who still owes us for an earlier booking, a cancelled one included, gets no new booking until that is "
        "paid.",
    ),
    (
        "Housekeeping",
        "A cleaning is given to the housekeeper of the room's floor. If that housekeeper has six open cleanings "
        "today already, it is given to Ivana Kos, who has no floor of her own.",
    ),
    (
        "Broken rooms",
        "A guest who has to move because of a repair keeps the price and gets the lowest-numbered free room of "
        "the same type. The guest is moved first, then the room is taken out of use.",
    ),
    (
        "Discretion",
        "We tell callers neither who stays here nor in which room. Colleagues may know.",
    ),
)
