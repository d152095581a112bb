"""Who banks at Harbour Street, where they pay, and the rules on its wall."""

TOWNS = ("Eastbrook", "Fairhaven", "Kingsmere", "Oldport", "Stonefield")

CUSTOMERS = (
    # name, town, tier; some share a name, more nearly do
    ("Marta Nowak", "Eastbrook", "basic"),
    ("Marta Nowak", "Oldport", "plus"),
    ("Maria Nowak", "Eastbrook", "basic"),
    ("Marta Nowakowska", "Stonefield", "plus"),
    ("James Whitlock", "Fairhaven", "basic"),
    ("James Whitlock", "Kingsmere", "basic"),
    ("Jane Whitlock", "Fairhaven", "plus"),
    ("Amara Obi", "Eastbrook", "basic"),
    ("Amara Obiora", "Eastbrook", "plus"),
    ("Henrik Dahl", "Oldport", "basic"),
    ("Henrike Dahl", "Oldport", "basic"),
    ("Lucia Ferrer", "Kingsmere", "plus"),
    ("Lucia Ferrero", "Stonefield", "basic"),
    ("Samuel Adler", "Stonefield", "basic"),
    ("Samira Adler", "Stonefield", "plus"),
    ("Noor Haddad", "Fairhaven", "basic"),
    ("Nora Haddad", "Fairhaven", "basic"),
    ("Peter Lindqvist", "Kingsmere", "basic"),
    ("Petra Lindqvist", "Kingsmere", "plus"),
    ("Callum Reid", "Oldport", "basic"),
    ("Calum Reid", "Eastbrook", "basic"),
    ("Yuki Tanabe", "Eastbrook", "plus"),
    ("Zofia Wrona", "Fairhaven", "basic"),
    ("Dele Akande", "Kingsmere", "basic"),
    ("Rosa Quintana", "Oldport", "plus"),
    ("Ivo Marek", "Stonefield", "basic"),
    ("Greta Holm", "Eastbrook", "basic"),
    ("Tomas Vesely", "Fairhaven", "plus"),
    ("Aisha Karim", "Kingsmere", "basic"),
    ("Benedict Shaw", "Oldport", "basic"),
    ("Clara Venn", "Stonefield", "plus"),
    ("Dmitri Volkov", "Eastbrook", "basic"),
    ("Esther Mwangi", "Fairhaven", "basic"),
    ("Fergus Boyle", "Kingsmere", "plus"),
    ("Hana Suzuki", "Oldport", "basic"),
    ("Imran Siddiqui", "Stonefield", "basic"),
    ("Judith Kessler", "Eastbrook", "plus"),
    ("Kwame Mensah", "Fairhaven", "basic"),
    ("Leonie Brandt", "Kingsmere", "basic"),
    ("Miguel Santos", "Oldport", "basic"),
    ("Odile Girard", "Stonefield", "basic"),
    ("Pavel Horak", "Eastbrook", "basic"),
    ("Ruth Abramson", "Fairhaven", "plus"),
    ("Sven Aalto", "Kingsmere", "basic"),
)

MERCHANTS = (
    "Greenleaf Grocers",
    "Larkin Books",
    "Cobalt Coffee",
    "Northline Rail",
    "Harbour Fuel",
    "Willow Pharmacy",
    "Pixelworks Games",
    "Thistle Outdoor",
    "Bramble Bakery",
    "Orchid Cinema",
    "Meridian Electronics",
    "Casa Verde",
    "Fleet Street Shoes",
    "Tidewater Hotel",
)

LANDLORDS = ("Stonegate Lettings", "Elm Court Housing", "Quayside Homes", "Alder Property")
CLUBS = ("Oldport Rowing Club", "City Gym", "Kingsmere Choir", "Fairhaven Tennis", "Little Acorns Nursery")
SUPPLIERS = ("Brightspark Energy", "Clearwater Utilities", "Summit Broadband", "Halcyon Insurance")
TRADES = ("Oakline Motors", "Hobbs Roofing", "Verity Dental", "Marlow Kitchens")
HOLDERS = ("Tidewater Hotel", "Swift Car Rental", "Harbour Fuel", "Grand Lodge Hotel")
COURTS = ("Eastbrook County Court", "Kingsmere County Court")

FEES = (
    ("Card replacement fee", 12_00),
    ("Overdraft fee", 18_00),
    ("Late payment fee", 9_50),
    ("Paper statement fee", 4_00),
    ("Foreign currency fee", 6_75),
    ("Returned payment fee", 15_00),
)

POLICY = (
    (
        "Who is who",
        "Some customers share a name, and more have names that look alike. Go by the town as well before you touch "
        "anything.",
    ),
    (
        "Payments to payees",
        "The desk makes single payments of up to $2,500 for basic customers and up to $5,000 for plus customers. Leave "
        "a larger one unmade, and do not split it: the customer has to come in and sign for it.",
    ),
    (
        "New payees",
        "In the three days after a payee was added, a payment to it may not be more than $500. Do not split a payment "
        "to get around this.",
    ),
    (
        "Giving fees back",
        "When a customer asks for it, give a fee back if it is not older than 60 days. Basic customers get one fee back "
        "in twelve months, counted over all their accounts: if one was given back since this day last year, leave the "
        "next as it is. Plus customers get every fee back. A card replacement fee is never given back.",
    ),
    (
        "Lost and stolen cards",
        "Block the card first, with the right reason, and then send a new one. A basic customer who lost a card pays "
        "the card replacement fee, charged to the account of the card once the new one is on its way. Stolen or damaged "
        "cards are replaced for nothing, and plus customers never pay.",
    ),
    (
        "Mislaid cards",
        "A card that may turn up again is frozen, not blocked.",
    ),
    (
        "Payments that a customer does not recognise",
        "Open a dispute for each of them, and block the card they were made with as misused. Send a new card only when "
        "the customer asks for it.",
    ),
    (
        "Small disputes",
        "Open disputes about $25 or less are not worth an investigation: they are closed as upheld. Larger ones are left "
        "to the investigators.",
    ),
    (
        "Money held by merchants",
        "On request, release a merchant's hold that was placed 7 days ago or earlier. Younger ones are for the merchant "
        "to release. What a court holds stays.",
    ),
    (
        "Overdrafts",
        "No overdraft is given or raised on an account that was opened less than six months ago, whatever the tools "
        "would let you do.",
    ),
    (
        "Closing an account",
        "Cancel its standing orders, block its cards as not needed, move what is on it to another account of the same "
        "customer, and close it then.",
    ),
)
