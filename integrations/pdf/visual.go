package pdf

import (
	"strings"

	"golang.org/x/text/unicode/bidi"
)

// visual puts a line with Hebrew in it into the order it is read in from left to right,
// since the PDF library places letters as they come. The line as a whole begins at
// the left, as the rest of the document does. Digits between Hebrew words may end up on
// the wrong side of them: the library used does not reorder nested runs.
func visual(line string) string {
	if strings.IndexFunc(line, isRightToLeft) < 0 {
		return line
	}
	var p bidi.Paragraph
	if _, err := p.SetString(line, bidi.DefaultDirection(bidi.LeftToRight)); err != nil {
		return line
	}
	order, err := p.Order()
	if err != nil {
		return line
	}
	var runs []string
	for i := range order.NumRuns() {
		run := order.Run(i)
		text := run.String()
		if run.Direction() == bidi.RightToLeft {
			text = bidi.ReverseString(text)
		}
		runs = append(runs, text)
	}
	return strings.Join(runs, "")
}

func isRightToLeft(r rune) bool { return r >= 0x0590 && r <= 0x05ff }
