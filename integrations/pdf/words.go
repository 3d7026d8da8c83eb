package pdf

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/text/language"
)

// words are the fixed texts of a document in one language.
type words struct {
	tag         language.Tag
	title       string // of the document
	reference   string
	date        string
	estimate    string // heading of the range
	guide       string // below the range
	preparedFor string
	project     string
	projectType string
	complexity  string
	timeline    string
	features    string
	next        string
	steps       [3]string
	note        string
	disclaimer  string
	page        string     // with the number and the total
	day         string     // with day, month and year
	months      [12]string //
	codeFirst   bool       // whether the currency stands before the number
}

// languages returns the texts by locale.
func languages() map[string]*words {
	return map[string]*words{"en": english(), "es": spanish(), "ro": romanian()}
}

// Locales lists the languages that a document can be written in.
func Locales() []string { return slices.Sorted(maps.Keys(languages())) }

// wordsIn returns the texts in a locale, in English for an unknown one.
func wordsIn(locale string) *words {
	if w, ok := languages()[locale]; ok {
		return w
	}
	return english()
}

// dateOf spells a day out, as UTC has it.
func (w *words) dateOf(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf(w.day, t.Day(), w.months[t.Month()-1], t.Year())
}

func english() *words {
	return &words{
		tag:         language.English,
		title:       "Project estimate",
		reference:   "Reference",
		date:        "Date",
		estimate:    "Estimated range",
		guide:       "A guide price for the selections below.",
		preparedFor: "Prepared for",
		project:     "Your project",
		projectType: "Project type",
		complexity:  "Complexity",
		timeline:    "Timeline",
		features:    "Features",
		next:        "What happens next",
		steps: [3]string{
			"We read your selections and prepare our questions.",
			"We contact you to talk through your goals, priorities and dates.",
			"You receive a written proposal with a defined scope, schedule and price.",
		},
		note: "Please note",
		disclaimer: "This estimate is based only on the options you selected. It is not a binding offer. " +
			"The final price depends on the agreed scope of work and is set out in the written proposal, together with any taxes that apply.",
		page: "Page %d of %d",
		day:  "%d %s %d",
		months: [12]string{"January", "February", "March", "April", "May", "June",
			"July", "August", "September", "October", "November", "December"},
		codeFirst: true,
	}
}

func spanish() *words {
	return &words{
		tag:         language.Spanish,
		title:       "Presupuesto orientativo",
		reference:   "Referencia",
		date:        "Fecha",
		estimate:    "Importe estimado",
		guide:       "Un precio orientativo para las opciones que figuran a continuación.",
		preparedFor: "Preparado para",
		project:     "Su proyecto",
		projectType: "Tipo de proyecto",
		complexity:  "Complejidad",
		timeline:    "Plazo",
		features:    "Funcionalidades",
		next:        "Próximos pasos",
		steps: [3]string{
			"Revisamos las opciones que ha elegido y preparamos nuestras preguntas.",
			"Nos ponemos en contacto con usted para hablar de sus objetivos, prioridades y fechas.",
			"Recibe una propuesta por escrito con el alcance, el calendario y el precio definidos.",
		},
		note: "Aviso",
		disclaimer: "Este presupuesto se basa únicamente en las opciones que ha elegido y no constituye una oferta vinculante. " +
			"El precio final depende del alcance que se acuerde y figurará en la propuesta por escrito, junto con los impuestos que correspondan.",
		page: "Página %d de %d",
		day:  "%d de %s de %d",
		months: [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio",
			"julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
	}
}

func romanian() *words {
	return &words{
		tag:         language.Romanian,
		title:       "Estimare de preț",
		reference:   "Referință",
		date:        "Data",
		estimate:    "Preț estimat",
		guide:       "Un preț orientativ pentru opțiunile de mai jos.",
		preparedFor: "Pregătită pentru",
		project:     "Proiectul dumneavoastră",
		projectType: "Tipul proiectului",
		complexity:  "Complexitate",
		timeline:    "Termen",
		features:    "Funcționalități",
		next:        "Pașii următori",
		steps: [3]string{
			"Analizăm opțiunile alese și ne pregătim întrebările.",
			"Vă contactăm pentru a discuta despre obiectivele, prioritățile și termenele dumneavoastră.",
			"Primiți o propunere scrisă, în care sunt stabilite conținutul lucrărilor, calendarul și prețul.",
		},
		note: "De reținut",
		disclaimer: "Această estimare se bazează exclusiv pe opțiunile pe care le-ați ales și nu reprezintă o ofertă fermă. " +
			"Prețul final depinde de conținutul convenit al lucrărilor și va fi precizat în propunerea scrisă, împreună cu eventualele taxe și impozite.",
		page: "Pagina %d din %d",
		day:  "%d %s %d",
		months: [12]string{"ianuarie", "februarie", "martie", "aprilie", "mai", "iunie",
			"iulie", "august", "septembrie", "octombrie", "noiembrie", "decembrie"},
	}
}
