package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"siteapi/cmd/siteapi/internal/config"
	cmsfile "siteapi/integrations/cms/file"
)

// CheckServing adds problems in the files that settings name which would keep the service
// from starting. Other commands don't need these files. Nothing is added if a setting that
// decides it cannot be used.
func CheckServing(s *config.Settings, wrong config.Problems) config.Problems {
	if s.OperationsPath != "" && !wrong.Concern("ENVIRONMENT", "GRAPHQL_*") {
		if _, _, err := newDocuments(s); err != nil {
			wrong = append(wrong, config.Problem{Setting: "GRAPHQL_DOCUMENTS", Err: err})
		}
	}
	return checkContent(s, wrong)
}

// checkContent finds content that cannot be used, and a production that would serve the
// sample company: it needs a CMS, or content of its own.
func checkContent(s *config.Settings, wrong config.Problems) config.Problems {
	if s.CMSDriver != "file" || wrong.Concern("ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE") {
		return wrong
	}

	refuse := func(setting, format string, args ...any) config.Problems {
		return append(wrong, config.Problem{Setting: setting, Err: fmt.Errorf(format, args...)})
	}
	const remedy = "set CMS_DRIVER=sanity, or CMS_DRIVER=file with CMS_FILE, the path of your content"
	production := s.Environment != config.Development
	if production && !s.Given("CMS_DRIVER") {
		return refuse("CMS_DRIVER", "is required in production: "+remedy)
	}

	content, err := os.ReadFile(s.ContentPath())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !production:
		return wrong // the first start makes it
	case errors.Is(err, fs.ErrNotExist):
		return refuse("CMS_FILE", "is required in production, as there is no %s: %s", s.ContentPath(), remedy)
	case err != nil:
		return refuse("CMS_FILE", "cannot be read: %w", err)
	case production && cmsfile.IsSample(content):
		return refuse("CMS_FILE", "%s holds the sample company, not a site of yours: %s",
			s.ContentPath(), remedy)
	}

	if err := cmsfile.Check(content); err != nil {
		return refuse("CMS_FILE", "%s cannot be used: %w", s.ContentPath(), err)
	}
	return wrong
}
