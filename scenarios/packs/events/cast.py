"""Who and what there is at Copperfield Events: the names and the fixed facts that generator.py builds on."""

TODAY = "2026-09-14"

POLICY = (
    (
        "Refunds",
        "What we give back depends on the days from today to the first day of the event: 30 days or more, the whole "
        "price; 14 to 29 days, half of it; fewer than 14, nothing, and the ticket stays as it is. Early Bird tickets "
        "are never taken back. When an event is cancelled, every paid ticket is refunded in full, Early Bird tickets "
        "too.",
    ),
    (
        "Transfers",
        "A ticket can be transferred once, until the day before the event. This costs nothing with seven days or more "
        "to go, and $10 with fewer. Student tickets go to students only. Complimentary tickets are not transferred.",
    ),
    (
        "Discounts",
        "Only Standard tickets are discounted. An order placed by a member gets 10 percent off. An order of five "
        "tickets or more gets 15 percent off, whoever places it. There is one discount for an order, the larger one.",
    ),
    (
        "Unpaid orders",
        "An order that was placed more than seven days ago and is still unpaid is cancelled. Younger ones are left "
        "alone.",
    ),
    (
        "Waiting lists",
        "Tickets that become free are offered to those who wait for that type: members first, then all others; among "
        "members, and among the others, whoever joined first. An offer that was made more than three days ago has "
        "lapsed: it is taken back, and the ticket goes to the next in line.",
    ),
    (
        "Complimentary tickets",
        "These get one: speakers of a scheduled session of the event; people of the press; and guests of a sponsor who "
        "has paid for that event, four for gold, two for silver, one for bronze. Nobody else gets one, and sponsors "
        "whose pledge is still unpaid get none yet.",
    ),
    (
        "Speakers",
        "Nobody speaks in more than two sessions on one day. When a speaker drops out of a session that has another "
        "speaker, it goes ahead without them; a session that would have nobody left is cancelled, and its speaker stays "
        "in our records of it.",
    ),
    (
        "Rooms",
        "A session gets the smallest free room of its venue that seats everybody who is expected.",
    ),
    (
        "Sponsors",
        "Gold costs $6,000, silver $3,000 and bronze $1,200. Sponsors who have paid for an earlier event of ours that is "
        "over get 10 percent off.",
    ),
    (
        "At the door",
        "Student tickets admit students. Anybody else who comes with one pays the difference to Standard first (upgrade "
        "the ticket, then check it in).",
    ),
    (
        "Discretion",
        "We give no addresses of attendees to the outside. Colleagues may have them.",
    ),
)

VENUES = (  # name, street, district, rooms with their seats
    ("Quayside Hall", "2 Custom House Quay", "Docklands",
     (("Great Hall", 220), ("Anchor Room", 90), ("Sail Loft", 60), ("Chart Room", 36), ("Galley", 20))),
    ("The Old Tannery", "41 Bark Street", "Northbank",
     (("Drum Hall", 160), ("Vat Room", 80), ("Hide Loft", 45), ("Press Room", 24))),
    ("Observatory House", "Hill Road", "Highfield",
     (("Dome", 140), ("Meridian Room", 70), ("Comet Room", 40), ("Almanac Room", 28))),
    ("Mercer Gardens Pavilion", "Mercer Gardens", "Southfields",
     (("Glasshouse", 180), ("Orangery", 75), ("Potting Shed", 30))),
)  # fmt: skip

DATA, BOOKS, DESIGN, CODE = "data", "books", "design", "software"
FOOD, FILM, MUSEUMS, MUSIC, GAMES, GARDENS = "food", "film", "museums", "music", "games", "gardens"

EVENTS = (  # name, venue, subject, first day, days, status, people, price of a Standard ticket, has VIP tickets
    ("Northern Data Summit 2025", 0, DATA, "2025-09-15", 2, "over", 24, 240, True),
    ("Harbour Design Days 2025", 1, DESIGN, "2025-10-02", 2, "over", 22, 180, False),
    ("Small Press Fair 2025", 3, BOOKS, "2025-11-08", 2, "over", 16, 40, False),
    ("Spring Choral Weekend 2026", 2, MUSIC, "2026-04-18", 2, "over", 20, 90, False),
    ("Food and Fermentation Forum 2026", 3, FOOD, "2026-06-12", 1, "over", 18, 120, True),
    ("Small Press Fair 2026", 3, BOOKS, "2026-09-13", 3, "on_sale", 30, 44, False),
    ("Northern Data Summit 2026", 0, DATA, "2026-09-14", 2, "on_sale", 46, 260, True),
    ("Urban Gardening Day 2026", 3, GARDENS, "2026-09-19", 1, "cancelled", 16, 56, False),
    ("Harbour Design Days 2026", 1, DESIGN, "2026-09-24", 2, "on_sale", 38, 190, True),
    ("Quayside Book Night 2026", 0, BOOKS, "2026-09-18", 1, "on_sale", 24, 36, False),
    ("Harbour Developers Day 2026", 1, CODE, "2026-10-02", 1, "on_sale", 34, 150, False),
    ("Museum Futures 2026", 2, MUSEUMS, "2026-10-08", 2, "on_sale", 30, 210, True),
    ("Night of Short Films 2026", 2, FILM, "2026-10-17", 1, "on_sale", 28, 30, False),
    ("Autumn Choral Weekend 2026", 2, MUSIC, "2026-10-31", 2, "on_sale", 26, 96, True),
    ("Tabletop Games Expo 2026", 0, GAMES, "2026-11-20", 3, "on_sale", 32, 64, True),
    ("Food and Fermentation Forum 2027", 3, FOOD, "2027-02-12", 1, "planned", 0, 130, True),
    ("Northern Data Summit 2027", 0, DATA, "2027-03-15", 2, "planned", 0, 280, True),
)  # fmt: skip

TITLES = {
    DATA: ("Opening Keynote", "Dashboards That Lie", "Small Data, Large Decisions", "The Honest Forecast",
           "Counting What Matters", "Maps Without Borders", "Clean Tables, Clear Heads", "The Last Spreadsheet",
           "Panel: Who Owns the Numbers?", "Charts for People in a Hurry"),
    BOOKS: ("Opening Reading", "Printing by Hand", "The Short Novel", "Poems for the Platform", "How We Choose a Cover",
            "Translators at Work", "Books That Nobody Ordered", "Panel: The Price of a Book"),
    DESIGN: ("Opening Keynote", "Letters in the Street", "Designing for the Left-Handed", "Chairs and Other Arguments",
             "The Patient Prototype", "Colour After Dark", "Forms People Finish", "Panel: Repair or Replace?",
             "Signs for Getting Lost"),
    CODE: ("Opening Keynote", "Deleting Code with Confidence", "The Quiet Outage", "Tests That Read Like Stories",
           "Naming Things Twice", "One Machine Is Enough", "Panel: Ten Years of Maintenance"),
    FOOD: ("Opening Tasting", "Sourdough Without Fear", "Kimchi at Scale", "The Vinegar Cellar", "Cheese and Patience",
           "Panel: Waste Not"),
    FILM: ("Opening Screening", "Nine Minutes of Silence", "Films From the Archive", "Cutting to the Sound",
           "Panel: The Short Film Budget"),
    MUSEUMS: ("Opening Keynote", "Labels Worth Reading", "The Museum at Night", "Objects on Loan",
              "Lighting Old Paper", "A Room for Touching", "Panel: What to Give Back", "Counting Visitors Kindly"),
    MUSIC: ("Opening Rehearsal", "Breathing Together", "Rounds and Canons", "Sight-Singing for the Shy",
            "The Tenor Problem", "Songs From the Valleys", "Closing Concert"),
    GAMES: ("Opening Tournament", "Dice and Their Discontents", "Teaching Chess to Six-Year-Olds",
            "The Well-Made Rulebook", "Cooperative Evenings", "Painting Small Armies", "Panel: Games in Libraries",
            "Grand Final"),
    GARDENS: ("Balcony Tomatoes", "Bees on the Roof", "Compost Clinic"),
}  # fmt: skip

SPEAKERS = (
    ("Amara Diallo", DATA), ("Bettina Krause", DATA), ("Jonas Wikander", DATA), ("Priscilla Tan", DATA),
    ("Marek Dvorak", DATA), ("Sunita Bose", DATA), ("Oliver Finch", BOOKS), ("Olivia Finch", BOOKS),
    ("Carmen Ruiz", BOOKS), ("Declan Moore", BOOKS), ("Ingrid Moen", DESIGN), ("Lukas Brandt", DESIGN),
    ("Lucas Brand", DESIGN), ("Yuki Harada", DESIGN), ("Folake Adeyemi", DESIGN), ("Pavel Sokolov", CODE),
    ("Rebecca Lyle", CODE), ("Tariq Aziz", CODE), ("Mina Rahimi", CODE), ("Giulia Conti", FOOD),
    ("Sandor Balogh", FOOD), ("Esther Mwangi", FOOD), ("Henri Dubois", FILM), ("Katya Orlova", FILM),
    ("Samuel Reyes", FILM), ("Philippa Crane", MUSEUMS), ("Nils Aaker", MUSEUMS), ("Dorothea Lang", MUSEUMS),
    ("Adaeze Obi", MUSEUMS), ("Bryn Llewellyn", MUSIC), ("Catrin Llewellyn", MUSIC), ("Matteo Ferri", MUSIC),
    ("Hana Kovac", GAMES), ("Toby Marsh", GAMES), ("Ruby Okonkwo", GAMES), ("Wendell Price", GARDENS),
)  # fmt: skip

ORGANISATIONS = (
    "Lumen Labs", "Lumen Laboratories", "Tidewater Insurance", "Ferris & Cole", "Copper Kettle Books",
    "Northbank Council", "Bright Harbour Studio", "Harbour Light Press", "Oakhurst School", "Delta Freight",
)  # fmt: skip

SPONSORS = (
    "Tidewater Insurance", "Tideway Ferries", "Lumen Labs", "Delta Freight", "Delta Print", "Northbank Council",
    "Kestrel Coffee", "Kestrel Cycles", "Paper Moon Supplies", "Granite Bank", "Greenway Seeds", "Halcyon Hotels",
)  # fmt: skip

TOWNS = ("Ashport", "Bellmoor", "Carrick", "Dunhaven", "Eastleigh Cross", "Fernhill", "Garrowby", "Holm")

ATTENDEES = (
    "Marta Nowak", "Marta Nowak", "Maria Nowak", "Martha Novak", "Daniel Okafor", "Daniel Okafor", "Daniela Okafor",
    "Sophie Turner", "Sophia Turner", "Sophie Turnbull", "James Whitaker", "James Whittaker", "Jamie Whitaker",
    "Aisha Rahman", "Aisha Rehman", "Ayesha Rahman", "Liam Doherty", "Liam Docherty", "Leon Doherty",
    "Elif Kaya", "Elif Kaya", "Elis Kay", "Chen Wei", "Chen Wen", "Wei Chen", "Grace Mbeki", "Grace Mbeke",
    "Gareth Mbeki", "Isabel Romero", "Isabelle Romero", "Isabel Moreno", "Ravi Pillai", "Ravi Pillay", "Rani Pillai",
    "Tom Ashdown", "Tom Ashton", "Thom Ashdown", "Klara Lindholm", "Clara Lindholm", "Klara Lindahl",
    "Peter Novotny", "Petra Novotna", "Peter Novak", "Fatima Zahra", "Fatima Zahid", "Farah Zahra",
    "George Hanley", "Georgia Hanley", "George Henley", "Nadia Petrenko", "Nadja Petrenko", "Nadia Petrova",
    "Simon Achterberg", "Simone Achterberg", "Simon Acker", "Hugh Lennox", "Hugo Lennox", "Hugh Lenox",
    "Yvonne Carter", "Yvette Carter", "Ivan Carter", "Ben Sutherland", "Benno Sutherland", "Ben Sunderland",
    "Lena Fischer", "Lena Fisher", "Lea Fischer", "Omar Haddad", "Omar Hadad", "Umar Haddad", "Julia Santos",
    "Juliana Santos", "Julia Sandoz", "Keith Barlow", "Kate Barlow", "Keith Harlow", "Miriam Adler", "Miriam Adair",
    "Mirjam Adler", "Noah Fielding", "Noel Fielding", "Nora Fielding", "Paul Verhoeven", "Paula Verhoeven",
    "Pauline Vermeer", "Quentin Shaw", "Quincy Shaw", "Rosa Delgado", "Rose Delgado", "Rosa Salgado", "Stefan Ilic",
    "Stefan Ilich", "Stefanie Ilic", "Tessa Moran", "Tessa Morgan", "Teresa Moran", "Una Gallagher", "Una Gallacher",
    "Victor Lindqvist", "Viktor Lindqvist", "Victor Lindgren", "Wanda Kowalska", "Wanda Kowalczyk", "Xenia Doukas",
    "Yann Le Goff", "Yann Le Gall", "Zoe Palmer", "Zoey Palmer", "Zoe Parmer", "Alan Burke", "Alana Burke",
    "Allan Burke", "Bridget Nolan", "Bridget Noonan", "Carl Jensen", "Karl Jensen", "Carla Jensen", "Dora Weiss",
    "Dora Weisz", "Edgar Prince", "Edgar Price", "Flora McKay", "Flora Mackay", "Gina Russo", "Gino Russo",
)  # fmt: skip

NEWCOMERS = (
    "Astrid Holt", "Bilal Qureshi", "Corinne Mabey", "Dario Venturi", "Eluned Pryce", "Florian Gerber",
    "Greta Salonen", "Hamish Orr", "Imani Njoroge", "Jorge Ibarra",
)  # fmt: skip
"""Who is not an attendee yet."""
