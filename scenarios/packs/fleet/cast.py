"""The fleet's people, vehicles, customers and rules: what rows are made from."""

POLICY = (
    (
        "Choosing a vehicle",
        "Of the vehicles that are free and can do the trip, take the one with the smallest payload; where "
        "several have that payload, the one with the lowest odometer.",
    ),
    (
        "Choosing a driver",
        "Of the drivers who are free and may drive the vehicle, take the one with the fewest kilometres in "
        "the week of the trip, its own kilometres not counted.",
    ),
    (
        "Kilometres a week",
        "With the trip, nobody may come to more than 1,400 kilometres in a week, Monday to Sunday. If even "
        "the driver with the fewest would, assign nobody: the trip keeps its vehicle and waits for planning.",
    ),
    (
        "Services",
        "A service is booked once a vehicle has done 27,000 kilometres or more since the last one, unless "
        "one is open already: on the first workday, Monday to Friday, from tomorrow on, on which the "
        "vehicle has no trip.",
    ),
    (
        "Inspections",
        "An inspection is booked once the present one runs out within 30 days, unless one is open already: "
        "on the first workday from tomorrow on without a trip, as for services.",
    ),
    (
        "Drivers off sick",
        "Who reports sick is set to off sick and taken off every planned trip that starts today or on one "
        "of the next three days. Later trips stay theirs. The vehicles stay on the trips.",
    ),
    (
        "Cancellations",
        "A customer may cancel a trip up to 48 hours before it starts. Later than that nothing is "
        "cancelled: the trip stays as planned.",
    ),
    (
        "Fines and breakdowns",
        "A fine is paid by the driver. A breakdown is paid by the company, whatever it costs.",
    ),
    (
        "Scratches and collisions",
        "Above 1,000 euros they are handed to the insurer and stay open there. Up to 1,000 euros, 1,000 "
        "included, the company pays; but the driver pays if the same driver had another scratch or "
        "collision within the 365 days before, whatever it cost and however it ended.",
    ),
    (
        "Spaces in the yard",
        "A vehicle may only be moved to a depot that has two or more free spaces before it comes: one is "
        "always kept for emergencies.",
    ),
    (
        "Dear fuel",
        "A fill-up that cost more than 1.90 euros a litre is dear. Dear fill-ups are only listed, never "
        "changed.",
    ),
)

DEPOTS = (  # name, town, spaces
    ("Aire Street", "Leeds", 11),
    ("Sutton Dock", "Hull", 13),
    ("Trafford Gate", "Manchester", 9),
    ("Castle Lane", "Lancaster", 12),
)

VEHICLES = (  # depot, plate, model, category, payload in kg
    ("Aire Street", "YK21 OVX", "Ford Transit", "B", 1150),
    ("Aire Street", "YK21 OVZ", "Ford Transit", "B", 1150),
    ("Aire Street", "YJ70 KLM", "VW Crafter", "B", 1300),
    ("Aire Street", "YK19 DHA", "Iveco Daily 70C", "C1", 3400),
    ("Aire Street", "YK22 DHB", "Mercedes Atego 816", "C1", 3100),
    ("Aire Street", "YJ23 RWE", "MAN TGM 18", "C", 9200),
    ("Aire Street", "YJ23 RWF", "DAF LF 290", "C", 9800),
    ("Aire Street", "YK20 PNT", "Scania P280", "C", 9200),
    ("Aire Street", "YK24 BGS", "Volvo FH 460", "CE", 24500),
    ("Aire Street", "YJ24 BGT", "DAF XF 480", "CE", 25200),
    ("Sutton Dock", "KX21 TBO", "Renault Master", "B", 1200),
    ("Sutton Dock", "KX21 TBD", "Renault Master", "B", 1200),
    ("Sutton Dock", "KV69 EEM", "Ford Transit", "B", 1100),
    ("Sutton Dock", "KX20 MNA", "Isuzu N75", "C1", 3600),
    ("Sutton Dock", "KV22 MNA", "Mercedes Atego 816", "C1", 3100),
    ("Sutton Dock", "KX23 ZGU", "MAN TGM 18", "C", 9200),
    ("Sutton Dock", "KV23 ZGU", "Volvo FL 250", "C", 9600),
    ("Sutton Dock", "KX24 LWP", "Scania R450", "CE", 24800),
    ("Sutton Dock", "KX24 LWR", "Volvo FH 460", "CE", 24500),
    ("Trafford Gate", "MA21 CJU", "VW Crafter", "B", 1300),
    ("Trafford Gate", "MA71 CJU", "Ford Transit", "B", 1150),
    ("Trafford Gate", "MX20 FPK", "Iveco Daily 70C", "C1", 3400),
    ("Trafford Gate", "MX22 FPK", "Isuzu N75", "C1", 3600),
    ("Trafford Gate", "MA23 HOV", "DAF LF 290", "C", 9800),
    ("Trafford Gate", "MA23 HOW", "MAN TGM 18", "C", 9200),
    ("Trafford Gate", "MX24 YDC", "DAF XF 480", "CE", 25200),
    ("Trafford Gate", "MX24 YDG", "Scania R450", "CE", 24800),
    ("Castle Lane", "PO21 SVE", "Ford Transit", "B", 1150),
    ("Castle Lane", "PO21 SVF", "Renault Master", "B", 1200),
    ("Castle Lane", "PN70 GHJ", "VW Crafter", "B", 1300),
    ("Castle Lane", "PO19 WXA", "Mercedes Atego 816", "C1", 3100),
    ("Castle Lane", "PN22 WXA", "Iveco Daily 70C", "C1", 3400),
    ("Castle Lane", "PO23 KDT", "Volvo FL 250", "C", 9600),
    ("Castle Lane", "PN23 KDT", "Scania P280", "C", 9200),
    ("Castle Lane", "PO24 RRA", "Volvo FH 460", "CE", 24500),
    ("Castle Lane", "PN24 RRA", "DAF XF 480", "CE", 25200),
)

RETIRED = (  # depot, plate, model, category, payload in kg
    ("Aire Street", "YK14 OVX", "Ford Transit", "B", 1100),
    ("Sutton Dock", "KV13 ZGU", "MAN TGL 12", "C", 6800),
    ("Castle Lane", "PO12 KDT", "DAF LF 220", "C", 7400),
)

SPARE = ("YK20 PNT", "KV69 EEM", "KX23 ZGU", "MA71 CJU", "MX22 FPK", "PO21 SVF", "PN23 KDT")
"""Plates of vehicles that nobody has planned for."""

DRIVERS = {
    "Aire Street": (
        "Paul Turner",
        "Marta Nowak",
        "Gemma Ellis",
        "Dave Holroyd",
        "Samir Patel",
        "Karen Bligh",
        "Tomasz Wilk",
        "Jack Oddy",
    ),
    "Sutton Dock": (
        "Paul Turner",
        "Marek Nowak",
        "Gemma Ellison",
        "Steve Craven",
        "Aisha Begum",
        "Colin Thirkell",
        "Ruta Kazlauskas",
        "Neil Stamford",
    ),
    "Trafford Gate": (
        "Paula Turner",
        "Dean Ashcroft",
        "Samira Patel",
        "Liam Doherty",
        "Olga Petrova",
        "Winston Clarke",
        "Bev Hargreaves",
    ),
    "Castle Lane": (
        "Dave Holroyd",
        "Jill Fairclough",
        "Ian Postlethwaite",
        "Hamza Yusuf",
        "Kate Woodhouse",
        "Ray Butterworth",
        "Lena Sorensen",
        "Jacob Oddie",
    ),
}

DESTINATIONS = (  # town, kilometres there and back
    ("York", 90),
    ("Sheffield", 130),
    ("Preston", 170),
    ("Lincoln", 240),
    ("Birmingham", 330),
    ("Carlisle", 370),
    ("Newcastle", 300),
    ("Leicester", 310),
    ("Norwich", 520),
    ("Glasgow", 640),
    ("Cardiff", 690),
    ("London", 640),
    ("Dover", 860),
    ("Plymouth", 980),
    ("Aberdeen", 1080),
)

LONG_HAULS = (("Wick", 1440), ("Thurso", 1480), ("Inverness", 1230))

CUSTOMERS = (
    "Bramley Foods",
    "Bramhall Furniture",
    "Northgate Timber",
    "Northway Tiles",
    "Pennine Paper",
    "Humber Steel",
    "Humberside Glass",
    "Kirkstall Brewery",
    "Ribble Dairies",
    "Orchard & Vine",
    "Salford Ceramics",
    "Morecambe Marine",
    "Dales Organic",
    "Albion Packaging",
)

FAULTS = ("brakes", "engine", "tyres", "electrics", "bodywork", "tail_lift")
