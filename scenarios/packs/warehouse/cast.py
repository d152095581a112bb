"""The warehouses' people, goods and rules: what rows are made from."""

POLICY = (
    (
        "Putting away",
        "Goods that arrive go into one bin of their site, in the zone that their storage asks for: the bin "
        "that holds most of the same item already. Only where no such bin holds any, take the bin of that "
        "zone with the most free room.",
    ),
    (
        "Damage on arrival",
        "Units that arrive damaged are received too, but into the quarantine bin of the site. They are "
        "never put with sound goods.",
    ),
    (
        "Picking",
        "Each line of an order is picked from one bin: of the bins at the order's site that hold enough "
        "for all that the line still needs, the one that holds the least. If there is no such bin for one "
        "of the lines, pick nothing at all and put the order on hold.",
    ),
    (
        "Reordering",
        "An item is ordered again when its usable stock (outside quarantine, all sites) and what is on "
        "order come together to its reorder point or less. Order exactly the reorder quantity, from the "
        "item's supplier, delivered to Ashby. Items due from one supplier go on one order. Otherwise order "
        "nothing.",
    ),
    (
        "Late deliveries",
        "A purchase order that is more than 14 days late is cancelled if nothing of it has been received. "
        "Any other late order gets a new expected day: today plus the supplier's lead time.",
    ),
    (
        "Stock counts",
        "A count that differs from the books by no more than 5 percent of what the books say is accepted. "
        "Any larger difference is rejected, and counted again another day.",
    ),
    (
        "Write-offs",
        "Up to 250 euros, 250 included, the supervisor of the site where the goods lie approves. Above "
        "that, or if that supervisor asked for it, the manager of that site does. Nobody from another site "
        "may approve.",
    ),
    (
        "Transfers",
        "Goods for another site are taken from the one bin that holds the most of the item, outside "
        "quarantine and wherever it is, other than at the site that needs them.",
    ),
    (
        "Suppliers on hold",
        "Only accounts puts a supplier on hold or lifts a hold. Do it when accounts asks, never to get an "
        "order through.",
    ),
)

SITES = (
    ("Ashby", "Ashby-de-la-Zouch"),
    ("Corby", "Corby"),
    ("Marston", "Marston Gate"),
    ("Thirsk", "Thirsk"),
)

STAFF = (  # name, role, site
    ("Helen Ashworth", "manager", "Ashby"),
    ("Marta Nowak", "supervisor", "Ashby"),
    ("Tom Radley", "clerk", "Ashby"),
    ("Iqra Hussain", "clerk", "Ashby"),
    ("Daniel Price", "clerk", "Ashby"),
    ("Gareth Pugh", "manager", "Corby"),
    ("Maria Nowak", "supervisor", "Corby"),
    ("Tom Radcliffe", "clerk", "Corby"),
    ("Sunita Rao", "clerk", "Corby"),
    ("Olu Bankole", "manager", "Marston"),
    ("Jean Fletcher", "supervisor", "Marston"),
    ("Danielle Price", "clerk", "Marston"),
    ("Piotr Zielinski", "clerk", "Marston"),
    ("Joan Fletcher", "manager", "Thirsk"),
    ("Kwame Mensah", "supervisor", "Thirsk"),
    ("Iqbal Hussain", "clerk", "Thirsk"),
    ("Beth Lomax", "clerk", "Thirsk"),
)

SUPPLIERS = (  # name, lead days, on hold
    ("Northern Dairies", 4, False),
    ("Northfield Dairy", 6, False),
    ("Castle Mill", 9, False),
    ("Castleford Foods", 12, False),
    ("Brightway Cleaning", 10, False),
    ("Bright & Sons", 14, True),
    ("Harbour Teas", 21, False),
    ("Orchard Lane", 7, False),
    ("Peak Paper", 8, False),
    ("Solvex", 15, False),
    ("Verdant Grocers", 5, True),
    ("Old Abbey Preserves", 11, False),
)

ITEMS = (  # name, storage, unit cost in cents, supplier
    ("Oat Milk 1 l", "ambient", 95, "Castle Mill"),
    ("Oat Milk Barista 1 l", "ambient", 120, "Castle Mill"),
    ("Rolled Oats 1 kg", "ambient", 140, "Castle Mill"),
    ("Rolled Oats 5 kg", "ambient", 610, "Castle Mill"),
    ("Plain Flour 1.5 kg", "ambient", 85, "Castle Mill"),
    ("Plain Flour 16 kg", "ambient", 790, "Castle Mill"),
    ("Whole Milk 2 l", "cold", 130, "Northern Dairies"),
    ("Skimmed Milk 2 l", "cold", 125, "Northern Dairies"),
    ("Salted Butter 250 g", "cold", 185, "Northern Dairies"),
    ("Unsalted Butter 250 g", "cold", 190, "Northern Dairies"),
    ("Double Cream 300 ml", "cold", 145, "Northern Dairies"),
    ("Mature Cheddar 400 g", "cold", 310, "Northfield Dairy"),
    ("Mild Cheddar 400 g", "cold", 290, "Northfield Dairy"),
    ("Natural Yoghurt 1 kg", "cold", 175, "Northfield Dairy"),
    ("Greek Yoghurt 1 kg", "cold", 240, "Northfield Dairy"),
    ("Chopped Tomatoes 400 g", "ambient", 45, "Castleford Foods"),
    ("Chopped Tomatoes 2.5 kg", "ambient", 230, "Castleford Foods"),
    ("Chick Peas 400 g", "ambient", 50, "Castleford Foods"),
    ("Kidney Beans 400 g", "ambient", 52, "Castleford Foods"),
    ("Basmati Rice 5 kg", "ambient", 890, "Castleford Foods"),
    ("Long Grain Rice 5 kg", "ambient", 560, "Castleford Foods"),
    ("Floor Cleaner 5 l", "ambient", 740, "Brightway Cleaning"),
    ("Floor Polish 5 l", "hazardous", 1150, "Brightway Cleaning"),
    ("Bleach 5 l", "hazardous", 420, "Brightway Cleaning"),
    ("Thick Bleach 5 l", "hazardous", 480, "Brightway Cleaning"),
    ("Washing-up Liquid 5 l", "ambient", 530, "Brightway Cleaning"),
    ("Laundry Liquid 10 l", "ambient", 1420, "Bright & Sons"),
    ("Laundry Powder 8 kg", "ambient", 1260, "Bright & Sons"),
    ("Fabric Softener 5 l", "ambient", 610, "Bright & Sons"),
    ("Earl Grey 100 bags", "ambient", 320, "Harbour Teas"),
    ("Earl Grey 500 bags", "ambient", 1380, "Harbour Teas"),
    ("Breakfast Tea 100 bags", "ambient", 260, "Harbour Teas"),
    ("Breakfast Tea 500 bags", "ambient", 1120, "Harbour Teas"),
    ("Peppermint Tea 100 bags", "ambient", 340, "Harbour Teas"),
    ("Apple Juice 1 l", "ambient", 110, "Orchard Lane"),
    ("Cloudy Apple Juice 1 l", "cold", 165, "Orchard Lane"),
    ("Pear Juice 1 l", "ambient", 130, "Orchard Lane"),
    ("Cider Vinegar 500 ml", "ambient", 150, "Orchard Lane"),
    ("Paper Towels 6 rolls", "ambient", 480, "Peak Paper"),
    ("Paper Towels 24 rolls", "ambient", 1690, "Peak Paper"),
    ("Toilet Tissue 36 rolls", "ambient", 1240, "Peak Paper"),
    ("Napkins White 500", "ambient", 390, "Peak Paper"),
    ("Napkins Red 500", "ambient", 410, "Peak Paper"),
    ("White Spirit 5 l", "hazardous", 960, "Solvex"),
    ("Methylated Spirit 5 l", "hazardous", 1080, "Solvex"),
    ("Descaler 5 l", "hazardous", 870, "Solvex"),
    ("Drain Opener 1 l", "hazardous", 360, "Solvex"),
    ("Baby Spinach 500 g", "cold", 210, "Verdant Grocers"),
    ("Mixed Leaves 500 g", "cold", 195, "Verdant Grocers"),
    ("Cherry Tomatoes 1 kg", "cold", 280, "Verdant Grocers"),
    ("Strawberry Jam 340 g", "ambient", 155, "Old Abbey Preserves"),
    ("Raspberry Jam 340 g", "ambient", 165, "Old Abbey Preserves"),
    ("Seville Marmalade 340 g", "ambient", 175, "Old Abbey Preserves"),
    ("Lemon Curd 320 g", "ambient", 160, "Old Abbey Preserves"),
)

CUSTOMERS = (
    "Bellamy's Café",
    "Bellamy House Hotel",
    "Riverside Academy",
    "Riverside Care Home",
    "The Copper Kettle",
    "The Copper Pan",
    "St Anne's School",
    "St Anne's Hospice",
    "Moorland Stores",
    "Moor View Inn",
    "Dunmore Catering",
    "Larkfield Farm Shop",
    "Queen Street Bakery",
    "Kingsway Canteen",
)
