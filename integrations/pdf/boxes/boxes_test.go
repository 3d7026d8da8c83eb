package boxes_test

import (
	"bytes"
	"testing"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/boxes"
	"siteapi/integrations/pdf/pdfbench"
)

func TestReadFindsTheMarks(t *testing.T) {
	t.Parallel()
	r, err := pdf.New(pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := pdfbench.Sample("ro", "typical")
	d.Submission.Contact.Company = `A (B) \ C) č ċ`
	file, err := r.Render(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := boxes.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[boxes.Kind]int{}
	texts := map[string]boxes.Mark{}
	for _, m := range pages[0] {
		kinds[m.Kind]++
		texts[m.Text] = m
	}
	if kinds[boxes.Picture] != 1 || kinds[boxes.Bar] < 10 || kinds[boxes.Text] < 30 {
		t.Errorf("the kinds are %v", kinds)
	}
	if m := texts["Estimare de preț"]; !m.Bold || m.Size != 26 || m.Colour != (boxes.Colour{23, 27, 34}) {
		t.Errorf("the title is %+v", m)
	}
	if _, ok := texts[d.Submission.Contact.Company]; !ok {
		t.Error("brackets and backslashes are read wrongly")
	}

	for name, broken := range map[string][]byte{
		"nothing":         nil,
		"text":            []byte("hello"),
		"a cut file":      file[:len(file)-100],
		"moved objects":   append([]byte("x"), file...),
		"no page tree":    bytes.Replace(file, []byte("/Kids"), []byte("/Kods"), 1),
		"no contents":     bytes.Replace(file, []byte("/Contents"), []byte("/Centents"), 1),
		"no fonts":        bytes.ReplaceAll(file, []byte("\n/F"), []byte("\n/G")),
		"broken contents": bytes.Replace(file, []byte("stream\nx"), []byte("stream\ny"), 1),
		"a table too far": bytes.Replace(file, []byte("startxref\n"), []byte("startxref\n9"), 1),
	} {
		if _, err := boxes.Read(broken); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}
