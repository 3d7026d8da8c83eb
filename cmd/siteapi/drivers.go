package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/crm"
	crmfile "siteapi/integrations/crm/file"
	"siteapi/integrations/crm/hubspot"
	"siteapi/integrations/delivery"
)

// cmsDriver is what every CMS driver offers.
type cmsDriver interface {
	cms.Content
	cms.Submissions
}

// openCMS opens the driver that CMS_DRIVER names.
func openCMS(s *Settings, log zerolog.Logger) (cmsDriver, error) {
	if err := beginContent(s, log); err != nil {
		return nil, err
	}
	d, err := cmsfile.Open(cmsfile.Options{Path: s.contentPath(), Dir: s.DataDir, Log: log})
	if err != nil {
		return nil, fmt.Errorf("opening the content file: %w", err)
	}
	return d, nil
}

// beginContent writes the sample where a site has no content file of its own yet.
func beginContent(s *Settings, log zerolog.Logger) error {
	if s.CMSFile != "" {
		return nil
	}
	path := s.contentPath()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, cmsfile.Sample(), 0o600); err != nil {
		return fmt.Errorf("writing the sample content: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing the sample content: %w", err)
	}
	event := log.Info()
	if s.Environment == production {
		event = log.Warn()
	}
	event.Str("file", path).Msg("serving sample content: edit this file, or set CMS_FILE or CMS_DRIVER")
	return nil
}

// openCRM opens the driver that CRM_DRIVER names.
func openCRM(s *Settings, log zerolog.Logger) (crm.Contacts, error) {
	if s.CRMDriver == "hubspot" {
		return hubspot.New(hubspot.Options{
			Token: s.HubSpotToken, BaseURL: s.HubSpotAPIURL,
			ObjectsPath: s.HubSpotObjectsPath, PropertiesPath: s.HubSpotPropertiesPath,
			Report: func(gap string) { log.Warn().Str("gap", gap).Msg("the CRM does not hold everything of a lead") },
		}), nil
	}
	return crmfile.Open(crmfile.Options{Dir: filepath.Join(s.DataDir, "crm")})
}

// openCache opens the backend that CACHE_URL names.
func openCache(_ context.Context, s *Settings, onFill func(cache.FillReport)) (cache.Cache, error) {
	switch s.CacheURL.Scheme {
	case "memory":
		return memory.New(memory.Options{FillTimeout: fillTimeout, OnFill: onFill})
	default:
		return nil, errors.New("CACHE_URL: this scheme is not supported yet")
	}
}

// senders tells the queue how each target takes a submission.
func senders(s *Settings, submissions cms.Submissions, contacts crm.Contacts) map[delivery.Target]delivery.Send {
	return map[delivery.Target]delivery.Send{
		delivery.CMS: submissions.Put,
		delivery.CRM: func(ctx context.Context, q *quoteSubmission) error {
			return contacts.Upsert(ctx, crm.Lead{Submission: q, PDFURL: s.SiteURL + q.PDFPath()})
		},
	}
}
