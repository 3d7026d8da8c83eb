package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"siteapi/cmd/siteapi/internal/workbook"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/operations"
	"siteapi/schema/request"
)

// writeTime is how long a client may take to receive a few kilobytes. The time of the whole
// file is not limited.
const writeTime = 30 * time.Second

// Handler serves a workbook with the entries of an operation, whose arguments are the
// parameters of the query. `language` is that of the headings.
func Handler(op *operations.Operation, executor operations.Executor, zone *time.Location) http.Handler {
	e := Export{
		Operation: op,
		Zone:      zone,
		Run: func(ctx context.Context, variables map[string]any) (json.RawMessage, *schema.Error) {
			value, _, problem := op.Run(ctx, executor, variables)
			return value, problem
		},
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := request.RecordFrom(r.Context())
		record.Operation = op.Summary()
		query, arguments := r.URL.Query(), map[string]any{}
		language, refused := Language(cmp.Or(query.Get("language"), string(schema.AcceptedLocale(r.Header))))
		if refused == nil {
			refused = rest.BindTexts(query, op.Arguments, arguments)
		}
		if refused != nil {
			rest.WriteProblem(w, r, refused)
			return
		}
		op.ReadDays(arguments, zone)

		begun := false
		err := e.Write(r.Context(), arguments, func() (Table, error) {
			begun = true
			setFile(w.Header(), time.Now().In(zone))
			return e.Workbook(patientWriter{w, http.NewResponseController(w)}, language)
		})
		refused, isRefused := errors.AsType[*schema.Error](err)
		switch {
		case err == nil:
		case !begun && isRefused:
			rest.WriteProblem(w, r, refused)
		case isRefused:
			record.Refuse(refused.Code, refused.Fields)
			panic(http.ErrAbortHandler) // the client must not take a part for the whole
		default: // the client is gone
			panic(http.ErrAbortHandler)
		}
	})
}

// setFile sets the headers of a workbook of a day.
func setFile(h http.Header, day time.Time) {
	h.Set("Content-Type", workbook.ContentType)
	h.Set("Content-Disposition", `attachment; filename="leads-`+day.Format(time.DateOnly)+`.xlsx"`)
	h.Set("Cache-Control", "no-store")
}

// patientWriter gives a client time for each write instead of for the whole response.
type patientWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
}

func (w patientWriter) Write(part []byte) (int, error) {
	// A response that is not sent over a network has no deadline.
	_ = w.controller.SetWriteDeadline(time.Now().Add(writeTime))
	return w.ResponseWriter.Write(part)
}
