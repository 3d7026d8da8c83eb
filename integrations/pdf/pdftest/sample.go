// Package pdftest holds the sample documents of tests and benchmarks.
package pdftest

import (
	_ "embed" // the logo
	"fmt"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
)

//go:embed logo.png
var logo []byte // a result of PrepareLogo

// Kinds returns the kinds of sample documents.
func Kinds() []string { return []string{"minimal", "typical", "longest"} }

// Sample returns a document: "minimal" has only the required fields, "typical" has the
// fields that most leads have, and "longest" is the longest that the service accepts.
func Sample(locale, kind string) pdf.Document {
	d := pdf.Document{
		Locale:    locale,
		CreatedAt: time.Date(2026, time.March, 4, 10, 30, 15, 0, time.UTC),
		Lead: lead.Lead{
			ID:         "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
			Contact:    lead.Contact{FirstName: "Ana", LastName: "Pop", Email: "ana@example.com"},
			Selections: lead.Selections{ProjectType: "web-app"},
			Estimate:   lead.Estimate{Min: 4000, Max: 6500, Currency: "EUR"},
		},
	}

	s := &d.Lead
	switch kind {
	case "typical":
		d.Company = sender()
		d.Labels = labels(locale)
		s.Contact = lead.Contact{
			FirstName: "Ștefania",
			LastName:  "Núñez Țurcanu",
			Email:     "stefania@example.com",
			Phone:     "+40 721 555 014",
			Company:   "Brânză & Fiii SRL",
		}
		s.Selections = lead.Selections{
			ProjectType: "online-shop",
			Complexity:  "moderate",
			Timeline:    "three-to-six-months",
			Features: []string{
				"user-accounts",
				"online-payments",
				"multilingual-content",
				"blog",
				"analytics-dashboard",
				"booking-calendar",
				"newsletter",
			},
		}
		s.Estimate = lead.Estimate{Min: 12000, Max: 18500, Currency: "EUR"}

	case "longest":
		d.Company = sender()
		s.Contact = lead.Contact{
			FirstName: strings.Repeat("W", 100),
			LastName:  strings.Repeat("Ștefan ", 14) + "Ix",
			Email: strings.Repeat("a", 64) + "@" +
				strings.Repeat(strings.Repeat("b", 59)+".", 3) + "e.example",
			Phone:   "+40 721 555 014 ext. 0123456789",
			Company: strings.Repeat("Întreprinderea ", 6) + "Generală",
		}
		s.Selections = lead.Selections{
			ProjectType: slug("project", 64),
			Complexity:  slug("complexity", 64),
			Timeline:    slug("timeline", 64),
		}
		for i := range 50 {
			name := fmt.Sprintf("feature-%02d-", i)
			if i%3 == 0 { // It has no place for a line break.
				s.Selections.Features = append(s.Selections.Features, name+strings.Repeat("m", 64-len(name)))
				continue
			}
			s.Selections.Features = append(s.Selections.Features, slug(name+"with", 64))
		}
		s.Estimate = lead.Estimate{Min: 999999998.5, Max: 1e9, Currency: "RON"}
	}
	return d
}

func sender() pdf.Company {
	return pdf.Company{
		Name:   "Atelier Nord",
		Logo:   logo,
		Accent: "#0f766e",
		Lines: []pdf.Line{
			{Text: "Strada Mihai Eminescu 12"},
			{Text: "010512 București, România"},
			{Text: "+40 21 555 0123", Link: "tel:+40215550123"},
			{Text: "hello@ateliernord.example", Link: "mailto:hello@ateliernord.example"},
		},
	}
}

// slug returns a slug of n characters that consists of words.
func slug(start string, n int) string {
	for len(start) < n {
		start += "-word"
	}
	return strings.TrimRight(start[:n-1], "-") +
		strings.Repeat("x", n-len(strings.TrimRight(start[:n-1], "-")))
}

func labels(locale string) map[string]string {
	switch locale {
	case "es":
		return map[string]string{
			"online-shop":          "Tienda en línea",
			"moderate":             "Media",
			"three-to-six-months":  "De tres a seis meses",
			"user-accounts":        "Cuentas de usuario",
			"online-payments":      "Pagos en línea",
			"multilingual-content": "Contenido multilingüe",
			"blog":                 "Blog",
			"analytics-dashboard":  "Panel de análisis",
			"booking-calendar":     "Calendario de reservas",
			"newsletter":           "Boletín por correo",
		}
	case "ro":
		return map[string]string{
			"online-shop":          "Magazin online",
			"moderate":             "Medie",
			"user-accounts":        "Conturi de utilizator",
			"online-payments":      "Plăți online",
			"blog":                 "Blog",
			"multilingual-content": "Conținut în mai multe limbi",
			"analytics-dashboard":  "Panou de statistici",
			"booking-calendar":     "Calendar de programări",
			"newsletter":           "Buletin informativ",
			"three-to-six-months":  "Între trei și șase luni",
		}
	default:
		return nil // The texts are spelled out from the slugs.
	}
}
