package mail_test

import (
	"context"
	"fmt"
	netmail "net/mail"
	"os"
	"path/filepath"

	"siteapi/integrations/mail"
	"siteapi/integrations/mail/file"
)

// A repeated mail replaces the first one, because both have the same name and ID.
func ExampleSender() {
	dir, err := os.MkdirTemp("", "mail")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	var sender mail.Sender = file.Open(dir)
	m := &mail.Message{
		ID:      "f81d4fae-visitor@example.com",
		Name:    "f81d4fae-visitor",
		From:    netmail.Address{Name: "Lumen Studio", Address: "hello@example.com"},
		To:      "ana@example.com",
		Subject: "Your quote",
		Text:    "Hello Ana",
		HTML:    "<p>Hello Ana</p>",
	}
	for range 2 {
		fmt.Println(sender.Send(context.Background(), m))
	}

	sent, _ := filepath.Glob(filepath.Join(dir, "*"))
	fmt.Println(len(sent), filepath.Base(sent[0]))

	// Output:
	// <nil>
	// <nil>
	// 1 f81d4fae-visitor.eml
}
