package mail

import (
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/schema"
)

func TestMain(m *testing.M) { apptest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mailing is a service and the mail server that it uses.
type mailing struct {
	*apptest.Service
	server *smtptest.Server
}

// start starts a service that mails, with additional settings.
func start(t *testing.T, env ...string) mailing {
	t.Helper()
	server, env := apptest.MailServer(t, smtptest.Options{}, env...)
	return mailing{apptest.Start(t, env...), server}
}

func address(session string) string { return session + "@client.test" }

const sales = "sales@lumen.test"

// submit submits a lead with its own mail address, and returns its id.
func (m mailing) submit(session string, headers ...string) string {
	m.T.Helper()
	return m.submitFrom(session, address(session), headers...)
}

// submitFrom submits a lead with a mail address, and returns its id.
func (m mailing) submitFrom(session, email string, headers ...string) string {
	m.T.Helper()
	input := apptest.NewLead(session, `"contact": {"lastName": "Pop", "phone": "+40 (721) 000-000"}`)
	input["contact"].(map[string]any)["email"] = email
	return m.MustSubmit("REST", input, headers...)
}

// noMailReason returns why the visitor of a lead has no mail, or an empty string.
func (m mailing) noMailReason(id string) lead.NoMailReason {
	m.T.Helper()
	return schema.ValueOr(m.ShowLead(id).NoMailReason, "")
}

// letter is a mail with decoded parts.
type letter struct {
	mail.Header
	subject string
	parts   map[string]string // by media type
}

// mails returns the mails that the server accepted for a recipient.
func (m mailing) mails(to string) []*mail.Message { return apptest.MailsTo(m.server, to) }

// receives waits until a recipient has n mails, and returns the last one.
func (m mailing) receives(to string, n int) letter {
	m.T.Helper()
	last := apptest.Mailed(m.T, m.server, to, n)
	subject, err := new(mime.WordDecoder).DecodeHeader(last.Header.Get("Subject"))
	must(m.T, err)

	l := letter{last.Header, subject, map[string]string{}}
	l.decode(m.T, l.Get("Content-Type"), last.Body)
	return l
}

// decode adds the parts of a body.
func (l letter) decode(t *testing.T, kind string, body io.Reader) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	must(t, err)
	if !strings.HasPrefix(media, "multipart/") {
		text, _ := io.ReadAll(body)
		l.parts[media] = string(text)
		return
	}
	for reader := multipart.NewReader(body, params["boundary"]); ; {
		part, err := reader.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return
		}
		must(t, err)
		l.decode(t, part.Header.Get("Content-Type"), part)
	}
}

// text returns the plain text.
func (l letter) text() string { return l.parts["text/plain"] }

// isDelivered waits until a lead has arrived everywhere.
func (m mailing) isDelivered(id string) {
	m.T.Helper()
	apptest.Eventually(m.T, "the lead is delivered", func() bool { return m.ShowLead(id).State == lead.StateDelivered })
}
