package systems

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"siteapi/cmd/siteapi/internal/config"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/resolvers/graphqlhttp"
)

// CheckServing adds problems with trusted documents and with the content of the file
// driver, which prevent the service from starting. Most commands run without these checks.
// A check is skipped if one of its settings is invalid.
func CheckServing(s *config.Settings, wrong config.Problems) config.Problems {
	if s.OperationsPath != "" && !wrong.Concern("ENVIRONMENT", "GRAPHQL_*") {
		if _, _, err := Documents(s); err != nil {
			wrong = append(wrong, config.Problem{Setting: "GRAPHQL_DOCUMENTS", Err: err})
		}
	}
	return checkContent(s, wrong)
}

// Documents returns the documents that clients may send, and those of operators who
// are logged in to the inbox. Operators may send any document.
func Documents(s *config.Settings) (clients, operators *graphqlhttp.Documents, err error) {
	o := graphqlhttp.DocumentOptions{Introspection: s.Introspection}
	if s.OperationsPath != "" {
		if o.Trusted, err = graphqlhttp.ReadTrusted(s.OperationsPath); err != nil {
			return nil, nil, err
		}
	}

	if operators, err = graphqlhttp.NewDocuments(o); err != nil {
		return nil, nil, err
	}

	o.TrustedOnly = s.Operations == "trusted"
	clients, err = graphqlhttp.NewDocuments(o)
	return clients, operators, err
}

// checkContent rejects invalid content, and the sample content in production.
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
		return wrong // the first start creates the file
	case errors.Is(err, fs.ErrNotExist):
		return refuse("CMS_FILE", "is required in production, as %s does not exist: %s",
			s.ContentPath(), remedy)
	case err != nil:
		return refuse("CMS_FILE", "cannot be read: %w", err)
	case production && cmsfile.IsSample(content):
		return refuse("CMS_FILE", "%s contains the sample content, not your own: %s",
			s.ContentPath(), remedy)
	}

	if err := cmsfile.Check(content); err != nil {
		return refuse("CMS_FILE", "%s is invalid: %w", s.ContentPath(), err)
	}
	return wrong
}
