// Package compose writes the mails about a lead. Each mail is one list of blocks, from
// which both its text and its HTML are made.
package compose

import (
	"bytes"
	"fmt"
	"html"
	"image"
	_ "image/jpeg" // formats of logos
	_ "image/png"
	"regexp"
	"strings"

	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// letter is a mail as a list of blocks.
type letter struct {
	locale  string
	subject string
	company pdf.Company
	blocks  []block
	footer  string
}

// block is a part of a letter, in both forms.
type block struct{ text, html string }

func (l *letter) add(text, html string) { l.blocks = append(l.blocks, block{text, html}) }

func (l *letter) paragraph(text string) {
	l.add(text, `<p class="ink" style="margin:0 0 16px;`+ink+`">`+
		strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n")+`</p>`)
}

func (l *letter) title(text string) {
	l.add(strings.ToUpper(text),
		`<h1 class="ink" style="margin:0 0 16px;font-size:22px;line-height:1.25;`+ink+`">`+
			html.EscapeString(text)+`</h1>`)
}

func (l *letter) heading(text string) {
	l.add(strings.ToUpper(text),
		`<h2 class="muted" style="margin:24px 0 8px;font-size:13px;font-weight:600;`+muted+`">`+
			html.EscapeString(text)+`</h2>`)
}

// figure is the range, the most prominent part of a mail.
func (l *letter) figure(label, value, note string) {
	text := label + ": " + value
	if note != "" {
		text += "\n" + note
		note = `<div class="muted" style="font-size:13px;` + muted + `">` + html.EscapeString(note) + `</div>`
	}
	l.add(text, fmt.Sprintf(`<div class="panel" style="margin:0 0 16px;padding:16px 18px;background:#f3f5f8;`+
		`border-left:4px solid %s"><div class="muted" style="font-size:13px;%s">%s</div>`+
		`<div class="ink" style="font-size:26px;line-height:1.3;font-weight:700;%s">%s</div>%s</div>`,
		accent(l.company.Accent), muted, html.EscapeString(label), ink, html.EscapeString(value), note))
}

// fact is a labelled value. Those without a value are left out.
type fact struct{ label, value, link string }

func (l *letter) facts(list ...fact) {
	var lines []string
	rows := ""
	for _, f := range list {
		if f.value == "" {
			continue
		}
		lines = append(lines, f.label+": "+f.value)

		value := html.EscapeString(f.value)
		if f.link != "" {
			value = anchor(f.link, f.value)
		}

		rows += `<tr><td class="muted" ` +
			`style="padding:3px 16px 3px 0;vertical-align:top;white-space:nowrap;` + muted + `">` +
			html.EscapeString(f.label) + `</td>` +
			`<td class="ink" style="padding:3px 0;word-break:break-word;` + ink + `">` + value + `</td></tr>`
	}

	if len(lines) > 0 {
		l.add(strings.Join(lines, "\n"),
			`<table role="presentation" cellpadding="0" cellspacing="0" style="margin:0 0 8px;font-size:15px">`+
				rows+`</table>`)
	}
}

func (l *letter) list(tag string, items ...string) {
	var lines []string
	rows := ""
	for i, item := range items {
		mark := "-"
		if tag == "ol" {
			mark = fmt.Sprintf("%d.", i+1)
		}
		lines = append(lines, mark+" "+item)
		rows += `<li style="margin:0 0 4px">` + html.EscapeString(item) + `</li>`
	}
	if len(lines) > 0 {
		l.add(strings.Join(lines, "\n"), fmt.Sprintf(
			`<%s class="ink" style="margin:0 0 16px;padding-left:22px;%s">%s</%[1]s>`, tag, ink, rows))
	}
}

func (l *letter) button(text, link string) {
	l.add(text+":\n"+link, `<p style="margin:24px 0 16px"><a class="button" href="`+html.EscapeString(link)+
		`" style="display:inline-block;padding:11px 20px;border-radius:6px;background:#171b22;color:#ffffff;`+
		`font-weight:600;text-decoration:none">`+html.EscapeString(text)+`</a></p>`)
}

func (l *letter) small(text string) {
	l.add(text, `<p class="muted" style="margin:16px 0 0;font-size:13px;`+muted+`">`+html.EscapeString(text)+`</p>`)
}

// message returns the mail without its addresses.
func (l *letter) message() mail.Message {
	return mail.Message{
		Subject: l.subject,
		Locale:  l.locale,
		Text:    l.plain(),
		HTML:    l.page(),
		Logo:    l.company.Logo,
	}
}

// plain returns the text of the mail, with the company as its signature.
func (l *letter) plain() string {
	var parts []string
	for _, b := range l.blocks {
		parts = append(parts, b.text)
	}
	if l.footer != "" {
		parts = append(parts, l.footer)
	}

	text := strings.Join(parts, "\n\n") + "\n"

	signature := ""
	if l.company.Name != "" {
		signature = l.company.Name + "\n"
	}
	for _, line := range l.company.Lines {
		signature += line.Text + "\n"
	}

	if signature != "" {
		text += "\n-- \n" + signature
	}

	return strings.ReplaceAll(text, "\u00a0", " ")
}

const (
	ink   = `color:#171b22;`
	muted = `color:#5f6773;`
)

// head has the styles for dark mode and small screens. Programs that drop it show the light mail.
const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">` +
	`<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">` +
	`<style>:root{color-scheme:light dark}
@media (max-width:480px){.card td.body{padding:20px 18px!important}.outer{padding:0!important}.card{border-radius:0!important}}
@media (prefers-color-scheme:dark){
body,.page{background:#101317!important}.card{background:#1b2027!important}.panel{background:#262c35!important}
.ink,.ink a{color:#eceff3!important}.muted,.muted a{color:#a7b0bc!important}.rule{border-color:#343b46!important}
.button{background:#eceff3!important;color:#171b22!important}.logo{background:#ffffff;color:#171b22;padding:8px;border-radius:6px}
}</style>`

// page returns the HTML of the mail.
func (l *letter) page() string {
	var out strings.Builder
	out.WriteString(`<!doctype html><html lang="` + html.EscapeString(l.locale) + `"><head>` + head + `<title>` +
		html.EscapeString(l.subject) + `</title></head><body style="margin:0;padding:0;background:#eef0f3">` +
		`<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" ` +
		`style="background:#eef0f3"><tr>` +
		`<td class="outer" align="center" style="padding:24px 12px">` +
		`<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" ` +
		`style="max-width:600px;background:#ffffff;border-top:4px solid ` + accent(l.company.Accent) + `;border-radius:6px;` +
		`font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"><tr>` +
		`<td class="body" align="left" style="padding:28px 32px">` + l.letterhead())
	for _, b := range l.blocks {
		out.WriteString(b.html)
	}
	out.WriteString(l.foot() + `</td></tr></table></td></tr></table></body></html>`)
	return out.String()
}

// letterhead is the logo, whose name shows where pictures are off, or the company's name.
func (l *letter) letterhead() string {
	name := html.EscapeString(l.company.Name)
	config, _, err := image.DecodeConfig(bytes.NewReader(l.company.Logo))

	switch {
	case err == nil:
		const most = 40
		width, height := config.Width*most/max(config.Height, 1), most
		if width > 220 {
			width, height = 220, max(1, config.Height*220/config.Width)
		}
		return fmt.Sprintf(`<p class="ink" style="margin:0 0 24px;font-weight:700;%s">`+
			`<img class="logo" src="cid:%s" alt="%s" `+
			`width="%d" height="%d" style="border:0;max-width:100%%"></p>`, ink, mail.LogoID, name, width, height)
	case name != "":
		return `<p class="ink" style="margin:0 0 24px;font-size:18px;font-weight:700;` + ink + `">` +
			name + `</p>`
	}
	return ""
}

// foot is the company's address, and the reason for the mail.
func (l *letter) foot() string {
	var lines []string
	if l.company.Name != "" {
		lines = append(lines, `<strong>`+html.EscapeString(l.company.Name)+`</strong>`)
	}

	for _, line := range l.company.Lines {
		if line.Link == "" {
			lines = append(lines, html.EscapeString(line.Text))
		} else {
			lines = append(lines, anchor(line.Link, line.Text))
		}
	}

	text := strings.Join(lines, `<br>`)
	if l.footer != "" {
		text += `<p style="margin:16px 0 0">` + html.EscapeString(l.footer) + `</p>`
	}

	if text == "" {
		return ""
	}

	return `<div class="muted rule" ` +
		`style="margin:28px 0 0;padding:16px 0 0;border-top:1px solid #dadee4;font-size:13px;` +
		muted + `">` + text + `</div>`
}

func anchor(link, text string) string {
	return `<a href="` + html.EscapeString(link) + `" style="color:inherit">` +
		html.EscapeString(text) + `</a>`
}

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// accent returns the company's colour, or blue if it has none.
func accent(text string) string {
	if colour.MatchString(text) {
		return text
	}
	return "#1f4fd8"
}
