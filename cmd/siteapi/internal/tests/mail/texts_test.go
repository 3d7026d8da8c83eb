package mail

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/pdf"
)

// publishTexts makes texts the firm's own in every language. Other documents are left out.
func publishTexts(s *apptest.Service, texts object, more ...object) {
	s.T.Helper()
	docs := []object{{"_id": "siteSettings", "_type": "siteSettings", "title": "Lumen & Fiii"}}
	own := object{"_id": "quoteTexts", "_type": "quoteTexts", "validityDays": 9}
	for name, text := range texts {
		own[name] = object{"en": text, "es": text, "ro": text}
	}
	content, err := json.Marshal(append(append(docs, own), more...))
	must(s.T, err)
	s.WriteContent(string(content))
	if got := s.Do("POST", "/api/cache/invalidate", `{"type":"all"}`, apptest.CacheAuth); got.Status != 200 {
		s.T.Fatalf("invalidating: %s", got)
	}
}

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
	subject, text, html, page, pdf, thanks string
	headers                                []string
}

// read reads the mail to a visitor, and the page, the PDF and the thanks of the lead.
func read(s *apptest.Service, server *smtptest.Server, id, session string, headers ...string) (r rendered) {
	s.T.Helper()
	m := apptest.Mailed(s.T, server, address(session), 1)
	r.headers = slices.Sorted(maps.Keys(m.Header))
	r.subject, _ = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	found := contents(s.T, m)
	r.text, r.html = found["text/plain"], found["text/html"]

	r.page = string(s.Do("GET", "/api/quote/page?id="+id, "", headers...).Body)
	r.pdf = string(s.Do("GET", "/api/quote/pdf?id="+id, "", headers...).Body)
	r.thanks = string(s.Query(`{ quotePage(id: "`+id+`") { thanks } }`, nil, headers...).Body)
	return r
}

// printed returns the text of a PDF on one line.
func printed(t *testing.T, file string) string {
	t.Helper()
	_, err := exec.LookPath("pdftotext")
	apptest.SkipWithout(t, err)
	path := filepath.Join(t.TempDir(), "quote.pdf")
	must(t, os.WriteFile(path, []byte(file), 0o600))
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-raw", path, "-").Output()
	must(t, err)
	return strings.Join(strings.Fields(string(out)), " ")
}

// A lead is read in the texts that it was accepted with, whatever is published later.
// Unusable texts leave the last usable ones in force, also after a restart; drafts are
// shown with the headers of a preview only.
func TestFirmsTexts(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		server, env := apptest.MailServer(t, smtptest.Options{}, "DATABASE_URL="+database)
		s := apptest.Start(t, env...)

		wants := func(r rendered, mark string) {
			t.Helper()
			file := printed(t, r.pdf)
			for name, shown := range map[string]string{
				pdf.MailSubject: r.subject,
				pdf.MailIntro:   r.text,
				pdf.MailClosing: html.UnescapeString(r.html),
				pdf.QuoteIntro:  html.UnescapeString(r.page),
				pdf.Terms:       file + r.page + r.text,
				pdf.Thanks:      r.thanks,
			} {
				start := name + " " + mark + " Ana "
				isLeft := strings.Contains(shown, "{firstName}") || strings.Contains(shown, "{validUntil}")
				if !strings.Contains(shown, start) || !strings.Contains(shown, " Lumen & Fiii ") || isLeft {
					t.Errorf("%s with %s is shown as %s", name, mark, shown)
				}
			}
			if strings.Count(file, mark) != 2 || strings.Count(r.text, mark) != 3 {
				t.Errorf("texts with %s are in PDF and mail: %s; %s", mark, file, r.text)
			}
		}

		publishTexts(s, all("first"))
		one := submitMailed(s, "one")
		before := read(s, server, one, "one")
		wants(before, "first")

		publishTexts(s, all("second"))
		two := submitMailed(s, "two")
		wants(read(s, server, two, "two"), "second")
		s.Prints("mail test --to me@client.test")
		sample := apptest.Mailed(t, server, "me@client.test", 1).Header.Get("Subject")
		if !strings.HasPrefix(sample, "Test: mailSubject second Ana TESTMAIL") {
			t.Errorf("the sample mail is about %s", sample)
		}
		if after := read(s, server, one, "one"); after.pdf != before.pdf || after.page != before.page ||
			after.thanks != before.thanks {
			t.Errorf("the same lead reads differently: %s", after.page)
		}

		broken := all("third")
		broken[pdf.Terms] = "Dear {name}"
		draft := object{"_id": "drafts.quoteTexts", "_type": "quoteTexts", "terms": object{"ro": "a draft"}}
		publishTexts(s, broken, draft)
		wants(read(s, server, submitMailed(s, "three"), "three"), "second")
		if out, _ := s.Command("doctor"); !strings.Contains(out, `"quoteTexts": its terms in en has an unknown placeholder`) {
			t.Errorf("doctor reports %s", out)
		}
		s.Restart()
		wants(read(s, server, submitMailed(s, "four"), "four"), "second")

		preview := read(s, server, one, "one", "Authorization: Bearer dev-preview-token", "X-Preview: drafts")
		if !strings.Contains(printed(t, preview.pdf), "a draft") || !strings.Contains(preview.page, ">a draft<") ||
			strings.Contains(preview.page, "first") {
			t.Errorf("the preview is %s", preview.page)
		}
		s.Prints("mail preview --drafts --lead "+one, "a draft").Without("first")
		s.Prints("mail preview --lead "+one, "first")
	})
}

// Texts that do harm as markup or as a header stay texts, in all six places.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{})
	s := apptest.Start(t, env...)
	publishTexts(s, object{})
	harmless := read(s, server, submitMailed(s, "harmless"), "harmless")

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
		publishTexts(s, texts)
		r := read(s, server, submitMailed(s, session), session)

		if !slices.Equal(r.headers, harmless.headers) || strings.ContainsAny(r.subject, "\r\n\v\f\x00\u0085\u2028\u2029\u202e") {
			t.Errorf("%s: the mail has the headers %q and the subject %q", session, r.headers, r.subject)
		}
		for _, markup := range []string{"<script", "<img src=x", "<b>", `" onmouseover="`, "&copy;"} {
			if strings.Contains(r.html+r.page, markup) {
				t.Errorf("%s: there is markup: %s", session, r.page)
			}
		}
		if !strings.HasPrefix(r.pdf, "%PDF-") || !bytes.Contains([]byte(r.thanks), []byte(`"thanks":[`)) {
			t.Errorf("%s: %.100s, %s", session, r.pdf, r.thanks)
		}
	}
	if len(apptest.MailsTo(server, "victim@client.test")) > 0 {
		t.Error("a text added a recipient")
	}
}
