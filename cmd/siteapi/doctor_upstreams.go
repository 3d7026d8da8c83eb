package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// settingsType is the document type of the site settings.
const settingsType = "siteSettings"

// checkCMS proves the credentials, reads the content of a locale, and makes a write that
// changes nothing.
func (d *doctor) checkCMS(ctx context.Context) []diagnosis {
	s := d.settings
	switch {
	case s.CMSDriver == "file" && s.CMSFile == "" && notThere(s.ContentPath()):
		return []diagnosis{warning("there is no content file at "+s.ContentPath(), "the first start begins one with sample content; edit that, or set CMS_FILE or CMS_DRIVER")}
	case s.CMSDriver == "file" && d.stranger():
		return notLooked()
	}
	c, err := openCMS(s, d.log, nil)
	if err != nil {
		return []diagnosis{failure(err.Error(), "correct the settings of the CMS, or the content file")}
	}
	began := time.Now()
	if err := c.Ping(ctx); err != nil {
		return []diagnosis{failure(err.Error(), upstreamAdvice(err, "SANITY_TOKEN", "SANITY_PROJECT_ID, SANITY_DATASET and SANITY_API_URL"))}
	}
	docs, err := c.Fetch(ctx, cms.Query{Types: append([]string{settingsType}, s.ContentTypes...), Locale: string(schema.DefaultLocale)})
	if err != nil {
		return []diagnosis{failure(err.Error(), upstreamAdvice(err, "SANITY_TOKEN", "SANITY_PROJECT_ID, SANITY_DATASET and SANITY_API_URL"))}
	}
	var found []diagnosis
	// To remove what is not there takes the same right as to store a submission.
	eraser, ok := c.(cms.Eraser)
	if ok {
		err = eraser.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())})
	}
	if err != nil {
		found = append(found, failure("content can be read, submissions can't be stored: "+err.Error(), "give SANITY_TOKEN the role Editor"))
	}
	has := false
	for _, doc := range docs {
		has = has || doc.Type == settingsType
	}
	if !has {
		found = append(found, warning("the CMS has no published document of type "+settingsType+": the field SiteSettings answers null", "create and publish it"))
	}
	if data, err := os.ReadFile(s.ContentPath()); s.CMSDriver == "file" && s.Environment == config.Production && err == nil && bytes.Equal(data, cmsfile.Sample()) {
		found = append(found, warning("the sample content is being served", "edit "+s.ContentPath()+", or set CMS_FILE or CMS_DRIVER"))
	}
	return append(found, fine("%s: %d documents in %s, read in %v", s.CMSDriver, len(docs), schema.DefaultLocale, time.Since(began).Round(time.Millisecond)))
}

// checkCRM proves the credentials and looks a contact up that nobody has.
func (d *doctor) checkCRM(ctx context.Context) []diagnosis {
	s := d.settings
	switch {
	case s.CRMDriver == "file" && notThere(s.DataDir):
		return []diagnosis{fine("file: the folder is made at the first start")}
	case s.CRMDriver == "file" && d.stranger():
		return notLooked()
	}
	contacts, err := openCRM(s, d.log, nil, func() {})
	if err != nil {
		return []diagnosis{failure(err.Error(), "correct the settings of the CRM")}
	}
	began := time.Now()
	lookup, ok := contacts.(crm.Lookup)
	if err = contacts.Ping(ctx); err == nil && ok {
		_, err = lookup.Missing(ctx, []string{"doctor@siteapi.invalid"})
	}
	if err != nil {
		return []diagnosis{failure(err.Error(), upstreamAdvice(err, "HUBSPOT_TOKEN", "HUBSPOT_API_URL and HUBSPOT_OBJECTS_PATH"))}
	}
	return []diagnosis{fine("%s: answered in %v%s", s.CRMDriver, time.Since(began).Round(time.Millisecond),
		map[string]string{"hubspot": "; `siteapi crm setup` creates the properties of leads"}[s.CRMDriver])}
}

// upstreamAdvice says what to do about a remote system's error.
func upstreamAdvice(err error, token, place string) string {
	switch upstream.KindOf(err) {
	case upstream.Refused:
		return fmt.Sprintf("see whether %s is valid and has the rights the README names", token)
	case upstream.Limited:
		return "the quota is used up: wait, or have it raised"
	case upstream.Rejected:
		return "see " + place
	case upstream.Unavailable:
	}
	return "see whether the machine reaches the network, then " + place + "; leads wait meanwhile and are not lost"
}
