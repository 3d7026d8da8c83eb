package mail

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
)

// publishTexts makes texts the firm's own in every language. Other documents are left out.
func (m mailing) publishTexts(texts object, more ...object) {
	m.T.Helper()
	docs := []object{{"_id": "siteSettings", "_type": "siteSettings", "title": "Lumen & Fiii"}}
	own := object{"_id": "quoteTexts", "_type": "quoteTexts", "validityDays": 9}
	for name, text := range texts {
		own[name] = object{"en": text, "es": text, "ro": text}
	}
	content, err := json.Marshal(append(append(docs, own), more...))
	must(m.T, err)
	m.Publish(string(content))
}

// storesTexts waits until texts with a mark are stored. A lead is accepted without the firm's
// texts while the database is slow to store them.
func (m mailing) storesTexts(mark string) {
	m.T.Helper()
	apptest.Eventually(m.T, "the texts are stored", func() bool {
		r, err := m.App.Data.Store.CurrentRevision(m.T.Context(), store.Texts, "")
		return err == nil && strings.Contains(r.Body, mark)
	})
}

type object = map[string]any

// all returns the six texts with a mark.
func all(mark string) object {
	texts := object{}
	for _, name := range pdf.TextNames() {
		texts[name] = name + " " + mark + " {firstName} {reference} {company} {validUntil}"
	}
	return texts
}

// rendered is what a visitor reads of a lead.
type rendered struct {
	letter
	page, thanks string
	pdf          []byte
}

// read reads the mail to the visitor of a session, and the page, the PDF and the thanks of
// its lead.
func (m mailing) read(session, id string, headers ...string) rendered {
	m.T.Helper()
	body := func(view string) []byte { return m.Do("GET", "/api/quote/"+view+"?id="+id, "", headers...).Body }
	thanks := m.Query(`{ quotePage(id: "`+id+`") { thanks } }`, nil, headers...).Body
	return rendered{m.receives(address(session), 1), string(body("page")), string(thanks), body("pdf")}
}

// submitted submits a lead, and reads it.
func (m mailing) submitted(session string) (id string, r rendered) {
	m.T.Helper()
	id = m.submit(session)
	return id, m.read(session, id)
}

// A lead is read in the texts that it was accepted with, whatever is published later.
// Unusable texts leave the last usable ones in force, also after a restart; drafts are
// shown with the headers of a preview only.
func TestFirmsTexts(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := start(t, "DATABASE_URL="+database)
		wants := func(mark string, r rendered) {
			t.Helper()
			file, page := apptest.PDFText(t, r.pdf), html.UnescapeString(r.page)
			places := map[string]string{
				pdf.MailSubject: r.subject,
				pdf.MailIntro:   r.text(),
				pdf.MailClosing: html.UnescapeString(r.parts["text/html"]),
				pdf.QuoteIntro:  page,
				pdf.Terms:       file + page + r.text(),
				pdf.Thanks:      r.thanks,
			}
			for _, name := range pdf.TextNames() {
				shown, known := places[name]
				if !known { // Each is shown somewhere.
					shown = r.subject + r.text() + file + page + r.thanks
				}
				start := name + " " + mark + " Ana "
				isLeft := strings.Contains(shown, "{firstName}") || strings.Contains(shown, "{validUntil}")
				if !strings.Contains(shown, start) || !strings.Contains(shown, " Lumen & Fiii ") || isLeft {
					t.Errorf("%s with %s is shown as %s", name, mark, shown)
				}
			}
			if strings.Count(file, mark) != 2 || strings.Count(r.text(), mark) != 3 {
				t.Errorf("texts with %s are in PDF and mail: %s; %s", mark, file, r.text())
			}
		}

		s.publishTexts(all("first"))
		s.storesTexts("first")
		one, before := s.submitted("one")
		wants("first", before)

		s.publishTexts(all("second"))
		s.storesTexts("second")
		_, two := s.submitted("two")
		wants("second", two)
		s.Prints("mail test --to me@client.test")
		if sample := s.receives("me@client.test", 1).subject; !strings.HasPrefix(sample, "Test: mailSubject second Ana TESTMAIL") {
			t.Errorf("the sample mail is %s", sample)
		}
		if after := s.read("one", one); !bytes.Equal(after.pdf, before.pdf) || after.page != before.page || after.thanks != before.thanks {
			t.Errorf("the same lead reads differently: %s", after.page)
		}

		broken := all("third")
		broken[pdf.Terms] = "Dear {name}"
		draft := object{"_id": "drafts.quoteTexts", "_type": "quoteTexts", "terms": object{"ro": "a draft"}}
		s.publishTexts(broken, draft)
		_, three := s.submitted("three")
		wants("second", three)
		if out, _ := s.Command("doctor"); !strings.Contains(out, `"quoteTexts": its terms in en has an unknown placeholder`) {
			t.Errorf("doctor reports %s", out)
		}
		s.Restart()
		_, four := s.submitted("four")
		wants("second", four)

		preview := s.read("one", one, "Authorization: Bearer dev-preview-token", "X-Preview: drafts")
		if !strings.Contains(apptest.PDFText(t, preview.pdf), "a draft") || !strings.Contains(preview.page, ">a draft<") ||
			strings.Contains(preview.page, " first ") {
			t.Errorf("the preview is %s", preview.page)
		}
		s.Prints("mail preview --drafts --lead "+one, "a draft").Without("first")
		s.Prints("mail preview --lead "+one, "first")
	})
}

// Texts that do harm as markup or as a header stay texts, in all six places.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publishTexts(object{})
	_, harmless := s.submitted("harmless")
	names := func(r rendered) []string { return slices.Sorted(maps.Keys(r.Header)) }

	for session, text := range map[string]string{
		"script":     "</title></style><script>alert(1)</script>",
		"attribute":  `" onmouseover="alert(1)" x="`,
		"entity":     "&copy;&lt;script&gt;&#60;img src=x onerror=alert(1)>",
		"crlf":       "Hello\r\nBcc: victim@client.test\r\n\r\nbody",
		"lf":         "Hello\nBcc: victim@client.test",
		"cr":         "Hello\rBcc: victim@client.test",
		"next-line":  "Hello\u0085Bcc: victim@client.test",
		"separator":  "Hello\u2028Bcc: victim@client.test\u2029X-Evil: 1",
		"feeds":      "Hello\v\fBcc: victim@client.test\x00\x1b[2J",
		"encoded":    "=?utf-8?q?Hello=0D=0ABcc:_victim@client.test?=",
		"dots":       "Hello\r\n.\r\nMAIL FROM:<victim@client.test>\r\n..",
		"boundary":   "--\r\nContent-Type: text/html\r\n\r\n<b>bold</b>\r\n----",
		"direction":  "Hello \u202egnp.exe\u202c \u2066x\u2069",
		"format":     "%s %d %!(EXTRA) $1 \\0",
		"pdf":        ") Tj ET endstream endobj %%EOF (",
		"javascript": "[link](javascript:alert(1)) javascript:alert(1)",
		"long":       strings.Repeat("Ș", 2000),
		"lines":      strings.Repeat("a\n", 999),
	} {
		texts := object{}
		for _, name := range pdf.TextNames() {
			texts[name] = text
		}
		s.publishTexts(texts)
		_, r := s.submitted(session)

		if !slices.Equal(names(r), names(harmless)) || strings.ContainsAny(r.subject, "\r\n\v\f\x00\u0085\u2028\u2029\u202e") {
			t.Errorf("%s: the mail has the headers %q and the subject %q", session, names(r), r.subject)
		}
		for _, markup := range []string{"<script", "<img src=x", "<b>", `" onmouseover="`, "&copy;"} {
			if strings.Contains(r.parts["text/html"]+r.page, markup) {
				t.Errorf("%s: there is markup: %s", session, r.page)
			}
		}
		if !bytes.HasPrefix(r.pdf, []byte("%PDF-")) || !strings.Contains(r.thanks, `"thanks":[`) {
			t.Errorf("%s: %.100s, %s", session, r.pdf, r.thanks)
		}
	}
	if len(s.mails("victim@client.test")) > 0 {
		t.Error("the firm's words added a recipient")
	}
}
