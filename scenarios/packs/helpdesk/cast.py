"""Who and what there is in the firm: people, agents, software, articles and house rules."""

NOW = "2026-03-18T09:30:00+00:00"

DEPARTMENTS = ("Design", "Structures", "Survey", "Finance", "People", "Sales", "Legal")
OFFICES = ("Leith", "York", "Bath", "Derry")

TITLES = {
    "Design": ("Designer", "Draughtsman", "Architect"),
    "Structures": ("Structural Engineer", "Graduate Engineer", "Analyst"),
    "Survey": ("Surveyor", "Field Technician"),
    "Finance": ("Accountant", "Payroll Clerk"),
    "People": ("Recruiter", "People Partner"),
    "Sales": ("Bid Writer", "Account Manager"),
    "Legal": ("Solicitor", "Paralegal"),
}

PEOPLE = (
    "Fiona Stone",
    "Gareth Fenwick",
    "Helen Ashby",
    "Ivor Lloyd",
    "Janet Moss",
    "Keith Barlow",
    "Laura Penn",
    "Maria Nowak",
    "Marta Nowak",
    "Maria Novak",
    "Maria Nowak",
    "Daniel Reyes",
    "Danielle Reyes",
    "Daniel Reyers",
    "Aisha Khan",
    "Aisha Kahn",
    "Ayesha Khan",
    "Aisha Khan",
    "Peter Lindgren",
    "Petra Lindgren",
    "Peter Lindberg",
    "Sean Doherty",
    "Shaun Doherty",
    "Sean Dougherty",
    "Clara Winters",
    "Clare Winters",
    "Clara Winter",
    "Oliver Grant",
    "Olivia Grant",
    "Oliver Grantham",
    "Nadia Rahman",
    "Nadia Raman",
    "Nadja Rahman",
    "Hugh Marsden",
    "Hugo Marsden",
    "Hugh Marston",
    "Isabel Cortez",
    "Isabel Cortes",
    "Isobel Cortez",
    "Tom Whitaker",
    "Tom Whittaker",
    "Thomas Whitaker",
    "Zoe Hartley",
    "Zoe Harley",
    "Zara Hartley",
    "Ben Ashworth",
    "Ben Ashcroft",
    "Benita Ashworth",
    "Kirsty Muir",
    "Kirstie Muir",
    "Kirsty Moir",
    "Rafael Sousa",
    "Rafaela Sousa",
    "Rafael Souza",
    "Wei Zhang",
    "Wei Zheng",
    "Wen Zhang",
    "Lena Fischer",
    "Lena Fisher",
    "Leona Fischer",
    "Marcus Bell",
    "Marcus Beal",
    "Mark Bell",
    "Sunita Patel",
    "Sunita Patil",
    "Anita Patel",
    "Euan Reid",
    "Ewan Reid",
    "Euan Read",
    "Carys Bevan",
    "Carys Beavan",
    "Cerys Bevan",
    "Jonas Berg",
    "Jonas Bergh",
    "Johanna Berg",
    "Dina Saleh",
    "Dana Saleh",
    "Dina Salah",
    "Patrick Quinn",
    "Patricia Quinn",
    "Padraig Quinn",
    "Ursula Kemp",
    "Rory Kemp",
    "Una Campbell",
)

TEAMS = (
    ("Service Desk", "First questions, telephones and whatever fits nowhere else"),
    ("Hardware", "Laptops, monitors, docks and their repair"),
    ("Networks", "Office networks, wireless and the VPN"),
    ("Applications", "Installed and licensed software"),
    ("Access", "Accounts, permissions and shared folders"),
)

AGENTS = (
    # name, team, level, on duty
    ("Abel Moran", "Service Desk", 1, 1),
    ("Bridie Cole", "Service Desk", 2, 1),
    ("Cormac Hale", "Service Desk", 3, 1),
    ("Dora Finch", "Service Desk", 1, 0),
    ("Edgar Voss", "Hardware", 1, 1),
    ("Farah Aziz", "Hardware", 3, 1),
    ("Gwen Parry", "Hardware", 3, 1),
    ("Harun Demir", "Hardware", 2, 0),
    ("Ingrid Falk", "Networks", 2, 1),
    ("Jorge Prado", "Networks", 3, 1),
    ("Kay Lomax", "Networks", 3, 0),
    ("Lars Friis", "Networks", 1, 1),
    ("Mona Achebe", "Applications", 3, 1),
    ("Nils Haas", "Applications", 2, 1),
    ("Orla Keane", "Applications", 1, 1),
    ("Pavel Cerny", "Access", 2, 1),
    ("Queenie Tran", "Access", 3, 1),
    ("Rhys Morgan", "Access", 1, 1),
)

SLAS = (("urgent", 4), ("high", 8), ("normal", 48), ("low", 120))

MODELS = {
    "laptop": ("Corvid 14", "Corvid 16", "Slate Pro 15"),
    "monitor": ("Vista 27", "Vista 32"),
    "phone": ("Pebble 5", "Pebble 6"),
    "dock": ("Harbour D2",),
}
TAGS = {"laptop": "LT", "monitor": "MN", "phone": "PH", "dock": "DK"}

SOFTWARE = (
    # name, seats beyond those that are taken in the seed
    ("AutoDraft", 0),
    ("StructCalc", 2),
    ("LedgerPro", 1),
    ("PhotoBench", 0),
    ("FlowChart", 4),
    ("SignPDF", 0),
)
ONLY = {"StructCalc": "Structures", "LedgerPro": "Finance"}

SUBJECTS = {
    # category: team, subjects
    "hardware": (
        "Hardware",
        (
            "Laptop does not start",
            "Keyboard keys stick",
            "Screen flickers",
            "Battery empty within an hour",
            "Dock not recognised",
            "Fan is very loud",
        ),
    ),
    "network": (
        "Networks",
        (
            "VPN drops every few minutes",
            "No wireless in meeting room",
            "Network drive is slow",
            "Cannot reach the project server",
            "Video calls freeze",
        ),
    ),
    "software": (
        "Applications",
        (
            "AutoDraft crashes when printing",
            "StructCalc licence error",
            "Spreadsheet macros blocked",
            "Mail search finds nothing",
            "PDF signing fails",
        ),
    ),
    "access": (
        "Access",
        (
            "Cannot open the tender folder",
            "Password reset mail never arrives",
            "Calendar of the team not visible",
            "Locked out after holiday",
            "Shared mailbox missing",
        ),
    ),
    "phone": (
        "Service Desk",
        (
            "Voicemail is not sent on",
            "Phone rings only once",
            "No sound in calls",
            "Headset not paired",
        ),
    ),
}

ARTICLES = (
    # title, text, status, subject that it solves
    (
        "Laptop does not start: hold the power key",
        "Hold the key for 20 seconds, unplug, start.",
        "outdated",
        None,
    ),
    (
        "Laptop does not start: reset the battery",
        "Use the pin hole on the back, wait a minute, start on mains.",
        "current",
        "Laptop does not start",
    ),
    (
        "Screen flickers: display driver",
        "Install the driver of January and set 60 Hz.",
        "current",
        "Screen flickers",
    ),
    ("Screen flickers: change the cable", "Order a new cable.", "outdated", None),
    (
        "Dock not recognised: firmware",
        "Update the dock's firmware with the Harbour tool.",
        "current",
        "Dock not recognised",
    ),
    (
        "VPN drops: the new client",
        "Install VPN client 6 and remove client 5.",
        "current",
        "VPN drops every few minutes",
    ),
    ("VPN drops: longer timeout", "Set the timeout of client 5 to 90.", "outdated", None),
    (
        "Network drive slow: reconnect by name",
        "Map the drive by its server name, not its address.",
        "current",
        "Network drive is slow",
    ),
    (
        "Video calls freeze: use the 5 GHz band",
        "Choose the network FS-Fast.",
        "current",
        "Video calls freeze",
    ),
    (
        "AutoDraft crashes when printing: page set-up",
        "Delete the saved page set-up and choose the plotter again.",
        "current",
        "AutoDraft crashes when printing",
    ),
    ("AutoDraft crashes when printing: reinstall", "Remove and install AutoDraft.", "outdated", None),
    (
        "StructCalc licence error: refresh the token",
        "Sign out of StructCalc, sign in, refresh.",
        "current",
        "StructCalc licence error",
    ),
    (
        "Macros blocked: trusted folder",
        "Move the file to the trusted folder of the department.",
        "current",
        "Spreadsheet macros blocked",
    ),
    (
        "Mail search: rebuild the index",
        "Rebuild the index over night.",
        "current",
        "Mail search finds nothing",
    ),
    (
        "PDF signing: renew the certificate",
        "Renew the certificate in SignPDF's settings.",
        "current",
        "PDF signing fails",
    ),
    (
        "Shared mailbox missing: add it by hand",
        "Add the mailbox in the account's settings.",
        "current",
        "Shared mailbox missing",
    ),
    ("Headset pairing", "Hold both buttons until the light is blue.", "current", "Headset not paired"),
    (
        "No sound in calls: choose the device",
        "Choose the headset in the call's settings.",
        "current",
        "No sound in calls",
    ),
)

POLICY = (
    (
        "Priorities",
        "A fault is normal. It is high when the person cannot work at all because of it, and urgent when "
        "a whole office is affected. A wish for something new is low. For directors (marked vip) it is one step more, "
        "but never more than urgent.",
    ),
    (
        "Assignment",
        "A ticket goes to the agent of its team who is on duty and has the fewest open tickets; among "
        "equals to the first by name. Level 1 agents get no urgent tickets.",
    ),
    (
        "Overdue tickets",
        "An overdue ticket of high or urgent priority is escalated to the level 3 agent of its team "
        "who is on duty and has the fewest open tickets, unless it was escalated before. An overdue ticket of low or "
        "normal priority is not escalated: its priority is raised one step.",
    ),
    (
        "Admin rights",
        "Only people in Design, Structures and Survey may have admin rights, on their own laptop: for 7 "
        "days, heads of department for 14. Nobody else gets them, whatever they say.",
    ),
    (
        "Laptops",
        "A broken laptop whose warranty is over is retired, and its owner gets the newest laptop in stock at "
        "the office. One under warranty goes to repair, and its owner gets the oldest laptop in stock at the office.",
    ),
    (
        "Software",
        "StructCalc is only for Structures and LedgerPro only for Finance; everything else is for everyone. "
        "Where no seat is free, the seat of somebody who has left is withdrawn and given on, the longest-held first.",
    ),
    (
        "Leavers",
        "From colleagues who have left, all equipment is taken back and all software seats are withdrawn. "
        "Equipment under warranty goes to stock, the rest is retired.",
    ),
    (
        "Returning problems",
        "A problem that is back within 14 days of its resolution is the old ticket, reopened. "
        "Later it is a new ticket with the subject, category, priority, team and equipment of the old one. Either is "
        "then assigned.",
    ),
    (
        "Duplicates",
        "Of two live tickets of one person about the same thing, the newer is merged into the older.",
    ),
    (
        "Articles",
        "When a ticket is resolved by an article of the knowledge base, the article is named. Outdated ones "
        "are never used.",
    ),
)
