package apptest

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// OpenWorkbook returns the rows of a workbook as LibreOffice shows them.
func OpenWorkbook(t *testing.T, file []byte) [][]string {
	t.Helper()
	program, err := exec.LookPath("soffice")
	SkipWithout(t, err)

	folder := t.TempDir()
	path := filepath.Join(folder, "table.xlsx")
	must(t, os.WriteFile(path, file, 0o600))

	// Comma, quotes, UTF-8, from the first line, cells as they are shown.
	cmd := exec.CommandContext(t.Context(), program, "--headless", "-env:UserInstallation=file://"+folder+"/profile",
		"--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true", "--outdir", folder, path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("soffice: %v\n%s", err, out)
	}

	text, err := os.ReadFile(filepath.Join(folder, "table.csv"))
	must(t, err)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	must(t, err)
	return rows
}
