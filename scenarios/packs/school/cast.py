"""Who is at Larchfield School, and the rules on its wall."""

TEACHERS = (
    ("Mathematics", "Edith Farrow"),
    ("Mathematics", "Owen Pryce"),
    ("English", "Helen Marsh"),
    ("English", "Hugh Marsden"),
    ("French", "Claire Dubois"),
    ("French", "Alan Whitby"),
    ("History", "Rupert Lane"),
    ("Geography", "Sunita Rao"),
    ("Science", "Gwen Tully"),
    ("Science", "Gwenda Tolley"),
    ("Art", "Milo Hart"),
    ("Music", "Bridget Shaw"),
    ("Sport", "Joe Tanner"),
)

ROOMS = (
    ("Room 11", "classroom", 18),
    ("Room 12", "classroom", 20),
    ("Room 14", "classroom", 24),
    ("Room 21", "classroom", 26),
    ("Room 22", "classroom", 28),
    ("Room 23", "classroom", 30),
    ("North Lab", "laboratory", 24),
    ("South Lab", "laboratory", 20),
    ("Loft Studio", "studio", 20),
    ("Garden Studio", "studio", 24),
    ("Gym", "gym", 40),
    ("Small Gym", "gym", 22),
)

FIRST_NAMES = (
    *("Ada", "Adam", "Alice", "Alina", "Amir", "Anna", "Anya", "Arlo", "Beth", "Bruno", "Carl", "Cara", "Daisy", "Dana"),
    *("Eli", "Ella", "Emil", "Ewan", "Faye", "Finn", "Freya", "Gus", "Hanna", "Harun", "Ida", "Iris", "Ivan", "Jana"),
    *("Jonas", "Jude", "Kai", "Katya", "Lara", "Leo", "Lina", "Luca", "Maja", "Mara", "Max", "Mina", "Nadia", "Nico"),
    *("Olga", "Omar", "Otto", "Pia", "Rafi", "Rosa", "Ruben", "Sam", "Sana", "Tess", "Theo", "Uma", "Vera", "Zoe"),
)

FAMILIES = (
    *("Abbott", "Adeyemi", "Barlow", "Bauer", "Bell", "Bellamy", "Castro", "Chen", "Dalton", "Dobson", "Ekström"),
    *("Farah", "Fisher", "Gallo", "Greene", "Haas", "Hassan", "Ito", "Jansen", "Kaur", "Keller", "Kelleher"),
    *("Larsen", "Lopez", "Mackay", "Mackie", "Moreau", "Nkosi", "Novak", "O'Neill", "Pereira", "Quinn", "Rossi"),
    *("Sato", "Schmid", "Silva", "Tran", "Turner", "Usman", "Vance", "Walsh", "Weber", "Yilmaz", "Zhang"),
)

TWINS_IN_NAME = (("Anna", "Novak"), ("Leo", "Silva"), ("Sam", "Turner"))
"""Two students of the school have each of these names."""

ADULT_NAMES = (
    *("Agnes", "Boris", "Carmen", "David", "Elena", "Frank", "Gita", "Hugo", "Irene", "Jakob", "Karen", "Louis"),
    *("Mona", "Nils", "Olive", "Paul", "Queenie", "Ralph", "Sylvia", "Tariq", "Ursula", "Viktor", "Wanda", "Yusuf"),
)

TITLES = {
    "Mathematics": ("Algebra test", "Geometry test"),
    "English": ("Essay on a poem", "Reading test"),
    "French": ("Vocabulary test", "Listening test"),
    "History": ("Essay on sources", "Test on the Romans"),
    "Geography": ("Map test", "Essay on rivers"),
    "Science": ("Test on cells", "Lab report"),
    "Art": ("Portfolio", "Still life"),
    "Music": ("Rhythm test", "Recital"),
    "Sport": ("Endurance test", "Ball games test"),
}

POLICY = (
    (
        "Who is who",
        "Some students share a name. Go by the class as well before you touch anything or tell anybody anything.",
    ),
    (
        "Who may be told",
        "Grades and absences are told only to guardians who may be told. To anybody else, whatever the relation, the "
        "office says nothing but the name of the student's first contact.",
    ),
    (
        "Excusing absences",
        "Accept a note when the guardian who signed it may be told, it was handed in no later than 5 days after its last "
        "day, and the reason is good: illness or an appointment always, family for 2 days at most, travel never. "
        "Decline every other note.",
    ),
    (
        "Ringing in sick",
        "When a guardian rings before school, mark the student absent today and file a note for the days they name, "
        "signed by that guardian. Decide on the note another day.",
    ),
    (
        "Places in classes",
        "The last free place of a class is kept for newcomers to the school: a student who changes class may not take it.",
    ),
    (
        "Dropping courses",
        "Nobody drops below five courses in the middle of the year. Switching to the parallel course is no drop. Those who "
        "leave the school are another matter.",
    ),
    (
        "Correcting grades",
        "The office corrects a grade when the assessment was held within the last 30 days. Older grades stand, whatever the "
        "teacher says: only the head can change them.",
    ),
    (
        "Lateness",
        "Whoever was late on three days or more since the first of February is reported to the tutor of the class, but not "
        "again within four weeks of the last report about it.",
    ),
    (
        "Leaving the school",
        "End all of the student's courses first, then record the leaving. Grades and attendance stay as they are.",
    ),
)
