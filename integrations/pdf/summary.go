package pdf

import "siteapi/integrations/lead"

// Summary has the texts of a quote, each as it is shown. The document and the page of a
// quote are drawn from the same summary.
type Summary struct {
	*Document
	Words     *Words
	Reference string

	Head            []Row    // reference and date
	Intro, Terms    []string // paragraphs above and below the quote
	Range, Guidance string   // the price, and the explanation below it
	Tax             []Row    // without amounts
	Recipient       []string // name, company, address and telephone number, as typed

	Choices     []Row // project type, complexity and timeline
	Features    []Row // Their labels are empty.
	Adjustments []Row // differences between the sum of the choices and the range
}

// Row is a value with its label and amount, which may be empty.
type Row struct{ Label, Value, Amount string }

// Summarize returns the summary of a document. It passes each text from outside through
// print; shown reports whether a letter can be shown, and is nil if each can.
func Summarize(d *Document, print func(string) string, shown func(rune) bool) (*Summary, error) {
	words, err := WordsIn(d.Locale)
	if err != nil {
		return nil, err
	}
	words.shown = shown

	l := d.Lead
	l.Estimate.Currency = print(short(l.Estimate.Currency))
	s := &Summary{
		Document:  d,
		Words:     words,
		Reference: lead.Reference(l.ID),
		Range:     words.Price(&l),
		Guidance:  print(words.Guidance(&l)),
	}
	for _, row := range words.Tax(&l) {
		s.Tax = append(s.Tax, Row{Label: print(row.Label), Value: row.Value})
	}
	for _, paragraph := range d.Paragraphs(QuoteIntro) {
		s.Intro = append(s.Intro, print(paragraph))
	}
	for _, paragraph := range d.Paragraphs(Terms, words.DisclaimerOf(&l)) {
		s.Terms = append(s.Terms, print(paragraph))
	}
	s.Head = rows(
		Row{Label: words.Reference, Value: s.Reference},
		Row{Label: words.Date, Value: words.DateOf(d.CreatedAt)},
	)
	for _, typed := range []string{
		l.Contact.FirstName + " " + l.Contact.LastName, l.Contact.Company, l.Contact.Email, l.Contact.Phone,
	} {
		if text := print(short(typed)); text != "" {
			s.Recipient = append(s.Recipient, text)
		}
	}

	amount := amounts(words, &l)
	choice := func(label, field, slug string) Row {
		value := print(Label(slug, d.Labels))
		if calculation := words.Calculation(&l, field, slug); calculation != "" {
			value += " · " + print(calculation)
		}
		return Row{label, value, amount(field, slug)}
	}
	s.Choices = rows(
		choice(words.ProjectType, "projectType", l.Selections.ProjectType),
		choice(words.Complexity, "complexity", l.Selections.Complexity),
		choice(words.Timeline, "timeline", l.Selections.Timeline),
	)
	for _, slug := range l.Selections.Features {
		s.Features = append(s.Features, rows(choice("", "features", slug))...)
	}
	for _, line := range [][2]string{
		{lead.LineMinimum, words.Minimum},
		{lead.LineRounding, words.Rounding},
	} {
		if text := amount(line[0], ""); text != "" {
			s.Adjustments = append(s.Adjustments, Row{Value: line[1], Amount: text})
		}
	}
	return s, nil
}

// rows returns the rows that have a value.
func rows(list ...Row) (some []Row) {
	for _, row := range list {
		if row.Value != "" {
			some = append(some, row)
		}
	}
	return some
}

// amounts returns a function that returns the text next to a choice, or next to a line
// without a slug. The text is empty if the service did not price the choices.
func amounts(words *Words, l *lead.Lead) func(field, slug string) string {
	price := l.Price
	if price == nil || len(price.Lines)+len(price.Unpriced) == 0 {
		return func(string, string) string { return "" }
	}

	var values []float64
	for _, line := range price.Lines {
		values = append(values, line.Amount)
	}
	m := words.money(l.Estimate.Currency, values...)

	return func(field, slug string) string {
		switch line := price.Line(field, slug); {
		case line == nil && slug == "":
			return ""
		case line == nil:
			return words.Open
		case line.Amount == 0:
			return words.Included
		default:
			return m.text(line.Amount)
		}
	}
}
