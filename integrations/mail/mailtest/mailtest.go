// Package mailtest verifies the promises that every mail driver makes.
package mailtest

import (
	"context"
	"errors"
	netmail "net/mail"
	"slices"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/upstream"
)

// Fate is what a mail server does with the mails of a test.
type Fate string

// The fates.
const (
	Accepted  Fate = "accepted"
	Later     Fate = "refused for now"
	Ours      Fate = "refused because of the sender, as every mail"
	OnlyHere  Fate = "refused for a reason that may be ours, unlike others"
	NoMailbox Fate = "refused because there is no such mailbox"
	Rejected  Fate = "refused because of the state of the mailbox"
	Away      Fate = "not received, because the server is away"
	Lost      Fate = "accepted, and the response is lost"
)

// outcomes has the result of [mail.Sender.Send] for each fate.
var outcomes = map[Fate]struct {
	kind    upstream.Kind
	cause   error
	arrives bool
}{
	Accepted:  {"", nil, true},
	Later:     {upstream.Unavailable, nil, false},
	Ours:      {upstream.Refused, nil, false},
	OnlyHere:  {upstream.Rejected, mail.ErrRefused, false},
	NoMailbox: {upstream.Rejected, mail.ErrNoMailbox, false},
	Rejected:  {upstream.Rejected, nil, false},
	Away:      {upstream.Unavailable, nil, false},
	Lost:      {upstream.Unavailable, lead.ErrUnconfirmed, true},
}

// Recipient is the address of the mails. Sales is another one, which a server accepts with
// [OnlyHere].
const (
	Recipient = "ana@client.test"
	Sales     = "sales@lumen.test"
	From      = "quotes@lumen.test"
)

// Subject is a driver with its server.
type Subject struct {
	Sender mail.Sender
	IDs    func() []string // Message-IDs of the mails that arrived, each once
}

// Run verifies a driver. open returns it with a server that gives mails a fate; a driver
// that writes mails to a disk is never refused, and has only some fates.
func Run(t *testing.T, open func(t *testing.T, f Fate) Subject, fates ...Fate) {
	for _, fate := range fates {
		t.Run(string(fate), func(t *testing.T) {
			t.Parallel()
			verify(t, open(t, fate), fate)
		})
	}
	t.Run("not recorded", func(t *testing.T) {
		t.Parallel()
		notRecorded(t, open(t, Accepted))
	})
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := open(t, Accepted)
		if err := s.Sender.Send(ctx, message()); !errors.Is(err, context.Canceled) || errors.Is(err, lead.ErrUnconfirmed) {
			t.Errorf("a canceled mail ends with %v", err)
		}
	})
}

// Fates lists all fates.
func Fates() []Fate { return []Fate{Accepted, Later, Ours, OnlyHere, NoMailbox, Rejected, Away, Lost} }

func message() *mail.Message {
	return &mail.Message{
		ID:      "5f0c@lumen.test",
		Name:    "5f0c-visitor",
		From:    netmail.Address{Name: "Lumen Studio", Address: From},
		To:      Recipient,
		Subject: "Estimare pentru proiect",
		Text:    "Bună",
		HTML:    "<p>Bună</p>",
	}
}

// verify sends a mail twice. Both attempts have the same result, and the copies have one
// id. The hand-over is recorded before a mail may arrive.
func verify(t *testing.T, s Subject, fate Fate) {
	t.Helper()
	want := outcomes[fate]
	for range 2 {
		m, handedOver := message(), false
		m.HandOver = func() error { handedOver = true; return nil }
		err := s.Sender.Send(t.Context(), m)

		if kind := upstream.KindOf(err); (err == nil) != (want.kind == "") || err != nil && kind != want.kind {
			t.Errorf("the error is %v, want kind %q", err, want.kind)
		}
		for _, cause := range []error{mail.ErrRefused, mail.ErrNoMailbox, lead.ErrUnconfirmed} {
			if errors.Is(err, cause) != errors.Is(want.cause, cause) {
				t.Errorf("the error is %v, want the cause %v", err, want.cause)
			}
		}
		if want.arrives && !handedOver {
			t.Error("the mail arrived before its hand-over was recorded")
		}
	}

	var ids []string
	if want.arrives {
		ids = []string{message().ID}
	}
	if got := s.IDs(); !slices.Equal(got, ids) {
		t.Errorf("the mails %q arrived, want %q", got, ids)
	}
	if found, err := s.Sender.Check(t.Context()); fate == Accepted && (err != nil || found == "") ||
		(fate == Ours || fate == Away) && err == nil {
		t.Errorf("the check found %q, %v", found, err)
	}
}

// notRecorded sends nothing if the hand-over cannot be recorded.
func notRecorded(t *testing.T, s Subject) {
	t.Helper()
	m := message()
	m.HandOver = func() error { return errors.New("the database is down") }
	err := s.Sender.Send(t.Context(), m)
	if upstream.KindOf(err) != upstream.Unavailable || errors.Is(err, lead.ErrUnconfirmed) || len(s.IDs()) > 0 {
		t.Errorf("the error is %v, and the mails %q arrived", err, s.IDs())
	}
}
