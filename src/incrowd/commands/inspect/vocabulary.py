"""Words of column names and what they stand for: English, some German, French, Spanish, Italian, Dutch.

Words are written without accents. Of a name, the words that say nothing by themselves (`status`, `code`) are
listed too, so that a word joined from two (`Telefonnummer`) can be taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incrowd.schema import Role


def word_list(text: str) -> Sequence[str]:
    """The words of a text, which is easier to read than a list of quoted ones."""
    return text.split()


@dataclass(frozen=True, slots=True)
class Topic:
    """What a word of a column's name is about, the role that follows, and why, for people."""

    name: str
    role: Role
    reason: str


PERSON = Topic("person", Role.IDENTIFIER, "it names a person")
CONTACT = Topic("contact", Role.IDENTIFIER, "it is a way to find or contact a person")
NUMBER_OF_PERSON = Topic("number", Role.IDENTIFIER, "it is a number by which a person is known")
WEIGHT_OF_SAMPLE = Topic("weight", Role.DROP, "a sampling weight discloses from which stratum somebody is")
TRAIT = Topic("trait", Role.QUASI, "neighbours, colleagues or public registers know it")
AGE = Topic("age", Role.QUASI, "neighbours, colleagues or public registers know it")
BIRTH = Topic("birth", Role.QUASI, "family, registers and networks know when and where somebody was born")
PLACE = Topic("place", Role.QUASI, "where somebody lives, works or was treated is easy to find out")
POSTCODE = Topic("postcode", Role.QUASI, "where somebody lives, works or was treated is easy to find out")
LATITUDE = Topic("coordinate", Role.QUASI, "a position on the map: whoever knows the address knows it")
WORK = Topic("work", Role.QUASI, "colleagues, schools and public profiles know it")
HOME = Topic("home", Role.QUASI, "neighbours and family know it")
LOOKS = Topic("looks", Role.QUASI, "it can be seen")
TIME = Topic("time", Role.QUASI, "others may know when it happened")
HEALTH = Topic("health", Role.SENSITIVE, "it is about health, which a person may want to keep private")
MONEY = Topic("money", Role.SENSITIVE, "it is about money, which a person may want to keep private")
BELIEF = Topic("belief", Role.SENSITIVE, "it is about belief, politics or private life")
LAW = Topic("law", Role.SENSITIVE, "it is about offences or the courts")
MERIT = Topic("merit", Role.SENSITIVE, "it judges a person")

_WORDS: Mapping[Topic, str] = {
    PERSON: """surname forename firstname lastname fullname middlename maiden username login handle
        nickname signature vorname nachname familienname zuname prenom nom nombre apellido apellidos
        cognome nome voornaam achternaam naam guardian screenname contactperson kin""",
    CONTACT: """email mail mails mailadresse phone telephone tel mobile cell fax homepage website url
        address street ip ipaddress telefon telefonnummer handy mobil adresse anschrift strasse hausnummer
        telefono movil cellulare correo direccion calle domicilio indirizzo via telefoon straat adres
        courriel rue telephonique portable contact kontakt""",
    NUMBER_OF_PERSON: """ssn sin nino passport iban bic mrn nhs licence license plate registration dni
        nie nif bsn cpr ahv steuernummer steuerid sozialversicherungsnummer sozialversicherung
        krankenversicherungsnummer personalausweis ausweis reisepass matricule matrikelnummer nir
        securitesociale pasaporte codicefiscale fiscale passaporto paspoort imei imsi vin cookie
        creditcard cardnumber kreditkarte kontonummer medicalrecord""",
    WEIGHT_OF_SAMPLE: """wgt fnlwgt afnlwgt pwgtp wgtp sampleweight samplingweight gewichtung pondere
        ponderation pwgt perwt hhwt finalwt""",
    TRAIT: """sex gender race ethnic ethnicity hispanic latino nationality citizenship citizen immigrant
        migration marital married language tongue veteran military geschlecht staatsangehorigkeit
        staatsburgerschaft nationalitat familienstand zivilstand muttersprache sprache sexe genre
        nationalite matrimonial civil langue sexo genero nacionalidad idioma lengua sesso genere
        nazionalita cittadinanza civile coniugale lingua geslacht nationaliteit burgerlijke burgerlijk
        taal ethnie etnia rac1p hisp mar cit mil caste tribe minority indigenous relationship""",
    AGE: """age ages agegroup ageband agerange agep alter altersgruppe altersklasse edad eta leeftijd
        leeftijdsgroep ageyears""",
    BIRTH: """birth birthdate birthday birthyear birthplace born dob yob geburt geburtsdatum geburtsjahr
        geburtsort naissance nacimiento nascita geboorte geboortejaar geboortedatum""",
    PLACE: """country state province county city town village region district borough neighbourhood
        neighborhood municipality parish residence location area tract block blockgroup precinct metro msa
        puma cbsa fips nuts canton kanton land bundesland stadt ort wohnort gemeinde kreis landkreis
        stadtteil bezirk viertel pays ville departement commune quartier arrondissement lieu pais ciudad
        provincia municipio comunidad barrio localidad comune citta paese regione gemeente stad provincie
        plaats wijk hospital clinic facility site branch store workplace school university college
        krankenhaus klinik schule hopital ecole escuela scuola ospedale ziekenhuis origin geography geo
        station airport destination""",
    POSTCODE: """zip zipcode zip5 zip3 postcode postcodes postal postleitzahl plz fsa codepostal
        codigopostal cap zipplus""",
    LATITUDE: """lat latitude lon lng long longitude coordinate coordinates coords breitengrad
        langengrad latitud longitud latitudine longitudine xcoord ycoord easting northing""",
    WORK: """occupation profession professions job jobtitle workclass working employment employer
        employed industry sector department education educational degree schooling schl qualification
        diploma graduation student beruf tatigkeit arbeitgeber branche abteilung bildung schulabschluss
        abschluss ausbildung metier emploi employeur etudes formation profesion ocupacion empleo empresa
        estudios educacion professione occupazione lavoro impiego istruzione studio titolo beroep
        werkgever opleiding functie occp indp esr cow wkhp naics isco socp rank seniority tenureyears
        laborforce unemployment kostenstelle costcenter costcentre company firma educ edu
        eduyears homeroom""",
    HOME: """household family families children child kids dependents dependants siblings spouse partner
        haushalt haushaltsgrosse kinder kinderzahl familie menage famille enfants enfant hogar hijos
        familia nucleo figli famiglia huishouden kinderen gezin dwelling housing ownership homeowner
        tenure np npf ten wohnung eigentum logement vivienda abitazione woning husband wife mother father
        parent parents rooms bedrooms vehicle vehicles car cars pets hh hhsize""",
    LOOKS: """height eye eyes hair skin build tattoo grosse korpergrosse augenfarbe haarfarbe taille
        estatura altura statura lengte handedness complexion""",
    TIME: """date datetime timestamp day month year quarter weekday datum tag monat jahr quartal jour
        mois annee trimestre fecha dia mes ano giorno mese anno maand jaar kwartaal""",
    HEALTH: """diagnosis diagnoses diagnostic diagnostics diag dx disease diseases icd icd9 icd10
        illness disorder symptom symptoms condition conditions comorbidity comorbidities cancer tumor
        tumour hiv aids infection infected infectious outbreak outcome covid virus result results test
        tests lab labs laboratory glucose glu serum hba1c a1c treatment treatments therapy medication
        medications medicine medicines med meds drug drugs dose dosage prescription procedure procedures
        surgery operation hospitalized hospitalised hospitalization hospitalisation icu intubated
        ventilated readmitted readmission admission admissions discharge inpatient outpatient emergency
        stay death died mortality survival cause pregnancy pregnant pregnancies contraceptive
        contraception abortion fertility disability disabled dis insurance insured insurer payer hicov
        allergy allergies blood pressure systolic diastolic bp heart pulse cholesterol ldl hdl
        triglycerides creatinine hemoglobin haemoglobin insulin bmi weight smoker smoking smoke tobacco
        alcohol drinking substance addiction opioid vaccine vaccinated vaccination immunization depression
        anxiety mental psychiatric phq phq9 gad7 suicide biopsy biomarker genotype gene mutation
        genetic prostate pain injury injuries health clinical specialty diabetes diabetic asthma stroke
        thyroid platelet platelets sodium potassium temperature medicaid medicare diagnose diagnosen krankheit
        krankheiten erkrankung befund medikament medikamente behandlung therapie krankenkasse versicherung
        schwanger schwangerschaft allergie raucher blutdruck gewicht tod todesursache behinderung
        gesundheit maladie maladies diagnostique traitement medicament medicaments grossesse poids sante
        deces handicap assurance tabac diagnostico enfermedad enfermedades tratamiento medicamento
        embarazo peso salud muerte discapacidad seguro tabaquismo diagnosi malattia malattie farmaco
        farmaci terapia gravidanza salute morte disabilita assicurazione fumatore ziekte aandoening
        medicijn medicatie behandeling zwanger gezondheid overleden verzekering rookt medical sleep stress
        mood ecg ekg eeg spo2 oxygen saturation hrv vo2 vo2max bpm respiration respiratory temp
        temperatur calorie calories kcal menstrual triage drg verweildauer liegedauer beatmung
        beatmungsstunden pflegegrad pflegestufe behindert schwerbehindert notfall sturz schmerz wunde
        impfung geimpft koerpertemperatur korpertemperatur krank krankmeldung""",
    MONEY: """income incomes salary salaries wage wages earnings earned pay paid payment payments
        payroll bonus commission capital gain gains loss losses dividend interest debt debts loan loans
        mortgage credit balance wealth worth asset assets savings deposit deposits cost costs charge
        charges price prices amount amounts rent rental tax taxes taxinc fedtax agi fica revenue revenues
        profit profits sales turnover expense expenses expenditure spending spend budget benefit benefits
        welfare stamps pension pensions allowance subsidy claim claims premium default bankruptcy arrears
        funds estate treasury depreciation equity liability liabilities pincp wagp hincp rntp grntp gehalt
        lohn einkommen verdienst vermogen schulden kredit konto kontostand miete steuer steuern rente
        kosten preis betrag umsatz gewinn revenu revenus salaire dette loyer impot impots prix montant
        solde cout ingreso ingresos salario sueldo renta deuda alquiler precio importe impuesto gasto
        gastos reddito stipendio debito affitto imposta prezzo importo spesa guadagno inkomen loon schuld
        huur belasting prijs bedrag uitkering usd eur gbp chf dollars euros purchase refund refunds withheld
        withholding charity donation donations taxable deduction deductions dues overdue remittance
        hhinc hhincome erlos erlose pramie zulage abzug spende spenden zinsen dividende""",
    BELIEF: """religion religious belief faith church denomination party political politics vote voted
        voting orientation sexuality sexual union affair konfession glaube partei wahl gewerkschaft
        religiose parti croyance creencia partido voto sindicato religione fede partito sindacato
        godsdienst geloof partij stem vakbond philosophy ideology opinion attitude""",
    LAW: """offence offense offences offenses crime crimes criminal conviction convictions convicted
        sentence arrest arrests arrested verdict prison jail probation parole victim suspect court lawsuit
        fine fines violation violations straftat delikt urteil strafe verurteilung delit condamnation
        infraction delito condena pena reato condanna misdrijf veroordeling recidivism disciplinary
        misconduct""",
    MERIT: """score scores grade grades gpa mark marks rating ratings evaluation appraisal performance
        exam examination assessment iq ranking promotion warning termination dismissal absence absences
        absenteeism satisfaction suspension suspensions expulsion detention tardy tardies csat nps
        zeugnis beurteilung bewertung leistung pruefung prufung klausur punktzahl resultat bulletin
        calificacion evaluacion voti valutazione punteggio cijfer beoordeling""",
}

_CLEAR: Mapping[str, Topic] = {word: topic for topic, words in _WORDS.items() for word in word_list(words)}

# Words for people: with a number behind them, or alone, they number a person.
PEOPLE = frozenset(
    word_list(
        """patient patients person persons subject member customer client user employee student
        respondent participant pid individual citizen donor tenant policyholder borrower staff pupil
        resident inmate kunde kunden patienten mitarbeiter teilnehmer schuler klient versicherte
        versicherten personal paziente cliente dipendente paciente empleado alumno salarie eleve adherent
        klant werknemer taxpayer applicant"""
    )
)

# Words for people who live together: a number behind them finds the person as well as the person's own.
HOUSEHOLDS = frozenset(word_list("household family hh haushalt familie menage hogar famiglia huishouden"))

# Words that say nothing of a person by themselves, but number or name things.
NUMBERING = frozenset(
    word_list(
        """id ids uid uuid guid key nbr number no num nr code codes record row index case serial account
        token hash nummer numero num kennung schlussel identifiant identificador identificativo order
        invoice transaction encounter session device card reference ref ticket barcode recid recno rowid
        rownum caseid seqno seqnum"""
    )
)

# Words that say nothing by themselves; the word before them counts.
PLAIN = frozenset(
    word_list(
        """status type kind category categories group class band range level size count counts total
        totals sum mean average avg max min median rate ratio share percent percentage pct index flag
        indicator value val values change name names title text label description desc list item time
        times hours minutes days weeks months years duration length period start end begin first last
        current currently ever previous primary secondary main other number used use received made final
        annual monthly weekly yearly daily hourly per highest lowest new old situation estado situacion
        situation stato staat niveau nivel livello stand anzahl zahl gruppe klasse art grad groupe nb nbre
        numero cantidad tipo gruppo groep aantal soort typ categorie categoria kategorie identity group
        identification history place info data home work own national native stage stages phase tags
        contract contracts"""
    )
)

# Of whom a column called "… name" tells: somebody of the family, or who looks after the person.
_NAMED = """mother father parent spouse partner husband wife child agent teacher doctor physician nurse
    manager supervisor owner counselor counsellor therapist advisor adviser caseworker mutter vater"""

# Two words that mean something else together than the last alone.
TOGETHER: Mapping[tuple[str, str], Topic] = {
    ("ip", "address"): CONTACT,
    ("sampling", "weight"): WEIGHT_OF_SAMPLE,
    ("sample", "weight"): WEIGHT_OF_SAMPLE,
    ("survey", "weight"): WEIGHT_OF_SAMPLE,
    ("person", "weight"): WEIGHT_OF_SAMPLE,
    ("replicate", "weight"): WEIGHT_OF_SAMPLE,
    ("final", "weight"): WEIGHT_OF_SAMPLE,
    ("household", "weight"): WEIGHT_OF_SAMPLE,
    ("first", "name"): PERSON,
    ("last", "name"): PERSON,
    ("full", "name"): PERSON,
    ("given", "name"): PERSON,
    ("family", "name"): PERSON,
    ("middle", "name"): PERSON,
    ("street", "name"): CONTACT,
    ("hours", "week"): WORK,
    ("weekly", "hours"): WORK,
    ("working", "hours"): WORK,
    ("living", "standard"): MONEY,
    ("credit", "card"): NUMBER_OF_PERSON,
    ("health", "card"): NUMBER_OF_PERSON,
    ("medical", "record"): NUMBER_OF_PERSON,
    ("criminal", "record"): LAW,
    ("security", "number"): NUMBER_OF_PERSON,
    ("school", "grade"): WORK,
    ("birth", "weight"): HEALTH,
    ("blood", "type"): HEALTH,
    ("length", "stay"): HEALTH,
    ("time", "hospital"): HEALTH,
    ("day", "care"): HOME,
    ("military", "rank"): WORK,
    ("grade", "level"): WORK,
    ("cost", "center"): WORK,
    ("cost", "centre"): WORK,
    ("cycle", "day"): HEALTH,
    ("resp", "rate"): HEALTH,
    **{(word, "hr"): HEALTH for word in word_list("resting max min mean avg average")},
    **{(word, "name"): PERSON for word in (*PEOPLE, *word_list(_NAMED))},
}


def topic_of(word: str) -> Topic | None:
    """What one word stands for; a plural stands for what its singular does."""
    if word in PLAIN:
        return None
    for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"):
        if len(form) >= 2 and form in _CLEAR:
            return _CLEAR[form]
    return None


def known(word: str) -> bool:
    """Is it a word of any list?"""
    return topic_of(word) is not None or word in PEOPLE or word in NUMBERING or word in PLAIN
