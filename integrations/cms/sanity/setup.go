package sanity

import (
	"context"
	"fmt"
	"net/http"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

const (
	webhookFilter     = `_type != "quoteSubmission"`
	webhookProjection = `{_id, _type, language, locale, _lang, __i18n_lang}`
)

// DescribeWebhook returns the settings of the webhook, one per line, without its secrets.
func (d *Driver) DescribeWebhook(w cms.Webhook) []string {
	return []string{
		"at https://www.sanity.io/manage/project/" + d.ProjectID + "/api/webhooks",
		"URL:         " + w.URL,
		"dataset:     " + d.Dataset,
		"trigger on:  create, update, delete; drafts and versions off",
		"filter:      " + webhookFilter,
		"projection:  " + webhookProjection,
		"HTTP method: POST",
		"HTTP header: Authorization: Bearer <one value of CMS_WEBHOOK_SECRET>",
		"secret:      <one value of CMS_WEBHOOK_SIGNING_SECRET>",
	}
}

// CreateWebhook creates the webhook unless one for this URL exists, and returns a message
// with the result.
func (d *Driver) CreateWebhook(ctx context.Context, w cms.Webhook) (string, error) {
	const op = "creating the webhook"
	path := "/v2021-10-04/hooks/projects/" + d.ProjectID

	var existing []struct {
		Name, URL  string
		IsDisabled bool
		Rule       struct{ Filter, Projection string }
	}
	if err := d.call(ctx, upstream.Request{Op: op, Path: path}, &existing); err != nil {
		return "", err
	}

	for _, e := range existing {
		if e.URL != w.URL {
			continue
		}

		if e.IsDisabled || e.Rule.Filter != webhookFilter || e.Rule.Projection != webhookProjection {
			return fmt.Sprintf(
				"the webhook %q already exists, but is disabled or has different settings: compare them",
				e.Name), nil
		}
		return fmt.Sprintf("the webhook %q already exists", e.Name), nil
	}

	body := map[string]any{
		"type":          "document",
		"name":          "siteapi",
		"url":           w.URL,
		"dataset":       d.Dataset,
		"httpMethod":    http.MethodPost,
		"apiVersion":    "v2021-03-25",
		"includeDrafts": false,
		"headers":       map[string]string{"Authorization": "Bearer " + w.Token},
		"rule": map[string]any{
			"on":         []string{"create", "update", "delete"},
			"filter":     webhookFilter,
			"projection": webhookProjection,
		},
	}
	if w.Secret != "" {
		body["secret"] = w.Secret
	}

	request := upstream.Request{Op: op, Method: http.MethodPost, Path: path, Body: body}
	if err := d.call(ctx, request, new(any), w.Token, w.Secret); err != nil {
		return "", err
	}
	return "webhook created", nil
}
